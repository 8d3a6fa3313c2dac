/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * LSG with sparse keys that are computed (Condevaux and Harispe 2022, sections 3.1 to 3.3): tokens
 * of large norm and means. The sparse keys are in one sequence, of which a query block sees a part
 * on each side of its local blocks: lists of tokens, or windows over keys that lie f tokens apart.
 */
#include "program.h"

#include "../core/error.h"
#include "../../backends/kernels/forms.h"

enum { DESC_V1 = 1112 };
_Static_assert(sizeof(heed_lsg_program_desc) == DESC_V1, "heed_lsg_program_desc may only grow");

/* Run-time slots that no set of keys has: the two sides of the chosen tokens. */
enum { SLOT_LEFT = HEED_MECHANISM_LIST, SLOT_RIGHT = HEED_MECHANISM_TABLE };

#define COUNT(array) ((uint32_t)(sizeof(array) / sizeof(*(array))))

struct lsg {
    struct heed_composer *c;
    struct heed_builder b;
    heed_lsg_program_desc d;
    int64_t n, blocks, per_block;       /* per_block: c */
    int64_t unit;                       /* u: tokens that are chosen from at one time */
    uint32_t sparse[3];                 /* arrays of set 2 */
};

static bool causal(const struct lsg *l)
{
    return l->d.flags & HEED_LSG_CAUSAL;
}

/* ---- parameters ---- */

static heed_status divides(const struct lsg *l, const char *field, int64_t wanted, int64_t got,
                           int64_t part, int64_t whole)
{
    if (whole % part == 0)
        return HEED_OK;
    return heed_report_fill(l->c->report, HEED_E_VALUE, field, wanted, got,
                            "%lld does not divide %lld", (long long)part, (long long)whole);
}

/* Blocks that tokens are chosen from begin where blocks begin, and a side is whole ones. */
static heed_status units_check(const struct lsg *l)
{
    const int64_t s = l->d.sparse_block, f = l->d.factor, u = l->unit;
    heed_status status = divides(l, "sparse_block", l->d.block, s, u, l->d.block);

    if (status >= 0)
        status = divides(l, "factor", u, f, f, u);
    return status >= 0 ? divides(l, "sparse_block", u / f, s, u / f, s) : status;
}

static heed_status parameters(struct lsg *l)
{
    heed_lsg_program_desc *d = &l->d;
    heed_status status =
        heed_builder_within(&l->b, "sparsity", d->sparsity, HEED_LSG_NORM, HEED_LSG_POOLING);

    if (status >= 0)
        status = heed_builder_range(&l->b, "block", &d->block, 128, INT32_MAX);
    if (status >= 0)
        status = heed_builder_range(&l->b, "factor", &d->factor, 2, d->block);
    if (status >= 0)
        status = heed_builder_range(&l->b, "sparse_block", &d->sparse_block, d->block, 1 << 28);
    if (status >= 0)
        status = divides(l, "factor", d->block, d->factor, d->factor, d->block);
    if (status < 0)
        return status;
    l->blocks = l->n / d->block + (l->n % d->block != 0);
    l->per_block = d->block / d->factor;
    l->unit = d->sparse_block < d->block ? d->sparse_block : d->block;
    return d->sparsity == HEED_LSG_NORM ? units_check(l) : HEED_OK;
}

static heed_status arrays(struct lsg *l)
{
    const heed_lsg_program_desc *d = &l->d;
    int64_t n_globals;
    heed_status status = heed_builder_self(&l->b, &d->q, &d->o, &d->text, &l->n);

    if (status >= 0)
        status = heed_builder_within(&l->b, "text.k", l->n, 0, INT32_MAX);
    if (status >= 0)
        status = heed_program_keys(l->c, "text", &d->text);
    if (status >= 0 && d->globals.k.ndim)
        status = heed_builder_keys(&l->b, "globals", &d->globals, &n_globals);
    return status >= 0 ? heed_program_keys(l->c, "globals", &d->globals) : status;
}

/* ---- attention ---- */

static void globals_add(struct lsg *l)
{
    if (l->d.globals.k.ndim)
        heed_builder_source(&l->b, &l->d.globals, 1);
}

static void local_add(struct lsg *l)
{
    heed_source *source = heed_builder_source(&l->b, &l->d.text, 0);

    source->flags = causal(l) ? HEED_SOURCE_CAUSAL : 0;
    *heed_builder_term(&l->b) = (heed_term){
        .kind = HEED_TERM_WINDOW,
        .left = l->d.block,
        .right = causal(l) ? 0 : l->d.block,
        .block = (int32_t)l->d.block,
    };
}

/* ---- the tokens with the largest norm ---- */

/* The text by a list of tokens, s for each block; those listed are present. */
static void list_add(struct lsg *l, uint32_t number, const struct heed_program_temp *index)
{
    const heed_tensor *t = &index->t;
    const heed_keys text = { .k = l->d.text.k, .v = l->d.text.v };
    const heed_slot slot = {
        .t = { .dtype = HEED_I32,
               .ndim = 6,
               .shape = { t->shape[0], t->shape[1], t->shape[2], t->shape[3], l->blocks,
                          l->d.sparse_block },
               .stride = { t->stride[0], t->stride[1], t->stride[2], t->stride[3], l->per_block,
                           1 } },
    };
    heed_source *source = heed_builder_source(&l->b, &text, 0);

    source->layout = HEED_LAYOUT_LISTED;
    source->slot = heed_builder_slot(&l->b, number, &slot);
    source->run = 1;
    source->rows = (int32_t)l->d.block;
}

static heed_status choose(struct lsg *l, const struct heed_program_temp *index, int64_t front,
                          int64_t back)
{
    const struct heed_program_use uses[] = {
        { HK_SELECT_X, HEED_PROGRAM_TEXT, 0 },
        { HK_SELECT_MASK, HEED_PROGRAM_TEXT + HEED_KEYS_MASK, 0 },
        { HK_SELECT_LEN, HEED_PROGRAM_TEXT + HEED_KEYS_LEN, 0 },
        { HK_SELECT_Y, index->array, 0 },
    };
    heed_select_desc desc = {
        .size = sizeof(desc),
        .flags = l->c->flags,
        .numerics = l->c->plan->numerics,
        .kind = HEED_SELECT_NORM,
        .block = l->unit,
        .count = l->unit / l->d.factor,
        .pad_front = front,
        .pad_back = back,
        .x = l->d.text.k,
        .y = index->t,
        .mask = l->d.text.mask.t,
        .len = l->d.text.len.t,
    };

    desc.y.ndim = 5;        /* [B][heads][places]: the temporary without its last axis */
    return heed_program_step(l->c, &heed_op_select, "select", &desc, uses, COUNT(uses));
}

/* Pads make the lists of all blocks views of one array: that of block B begins at place (B - 1) c -
 * s on the left, (B + 2) c on the right, and has s places. */
static heed_status norm(struct lsg *l)
{
    const int64_t c = l->per_block, s = l->d.sparse_block, u = l->unit;
    const int64_t chosen = (l->n / u + (l->n % u != 0)) * (u / l->d.factor);
    const int64_t front = c + s, back = (l->blocks + 1) * c + s - chosen;
    struct heed_program_temp index;
    const uint64_t right_at = (uint64_t)(3 * c + s) * sizeof(int32_t);
    int64_t shape[6];
    heed_status status;

    heed_program_shape(shape, &l->d.text.k, &l->d.text);
    shape[4] = front + chosen + back;
    shape[5] = 1;
    status = heed_program_temp_add(l->c, HEED_I32, shape, &index);
    if (status >= 0)
        status = choose(l, &index, front, back);
    if (status < 0)
        return status;
    globals_add(l);
    list_add(l, SLOT_LEFT, &index);
    if (!causal(l))
        list_add(l, SLOT_RIGHT, &index);
    local_add(l);
    {
        const struct heed_program_use lists[] = {
            { heed_program_slot(&l->b, SLOT_LEFT), index.array, 0 },
            { heed_program_slot(&l->b, SLOT_RIGHT), index.array, right_at },
        };

        return heed_program_attend(l->c, &l->b, l->sparse, lists, COUNT(lists));
    }
}

/* ---- sparse keys of their own ---- */

/* Key t of the sparse sequence stands at token t f: windows see it as the paper counts places. */
static heed_status attend_sparse(struct lsg *l, const struct heed_program_temp temps[3])
{
    const int64_t b = l->d.block, f = l->d.factor, s = l->d.sparse_block;
    const heed_keys keys = { .k = temps[0].t, .v = temps[1].t, .mask = { .t = temps[2].t } };
    heed_source *source;

    globals_add(l);
    source = heed_builder_source(&l->b, &keys, 2);
    source->pos_step = (int32_t)f;
    source->pos_span = 1;
    *heed_builder_term(&l->b) = (heed_term){
        .kind = HEED_TERM_WINDOW, .left = b + s * f, .right = -2 * b, .block = (int32_t)b
    };
    if (!causal(l))
        *heed_builder_term(&l->b) = (heed_term){
            .kind = HEED_TERM_WINDOW,
            .left = -2 * b,
            .right = b + 1 + (s - 1) * f,
            .block = (int32_t)b,
        };
    local_add(l);
    for (uint32_t i = 0; i < 3; i++)
        l->sparse[i] = temps[i].array;
    return heed_program_attend(l->c, &l->b, l->sparse, NULL, 0);
}

/* K (with the mask of its rows) or V. */
static heed_status pool(struct lsg *l, const struct heed_program_temp *y,
                        const struct heed_program_temp *y_mask, bool of_k)
{
    const struct heed_program_use uses[] = {
        { HK_POOL_X, HEED_PROGRAM_TEXT + (of_k ? HEED_KEYS_K : HEED_KEYS_V), 0 },
        { HK_POOL_MASK, HEED_PROGRAM_TEXT + HEED_KEYS_MASK, 0 },
        { HK_POOL_LEN, HEED_PROGRAM_TEXT + HEED_KEYS_LEN, 0 },
        { HK_POOL_Y, y->array, 0 },
        { HK_POOL_Y_MASK, of_k ? y_mask->array : HEED_PROGRAM_NONE, 0 },
    };
    heed_pool_desc desc = {
        .size = sizeof(desc),
        .flags = l->c->flags,
        .numerics = l->c->plan->numerics,
        .kind = HEED_POOL_MEAN,
        .tail = HEED_TAIL_CEIL,
        .kernel = l->d.factor,
        .stride = l->d.factor,
        .x = of_k ? l->d.text.k : l->d.text.v,
        .y = y->t,
        .mask = l->d.text.mask.t,
        .len = l->d.text.len.t,
    };

    if (of_k) {
        desc.y_mask = y_mask->t;
        desc.y_mask.ndim = 5;
    }
    return heed_program_step(l->c, &heed_op_pool, of_k ? "pool_k" : "pool_v", &desc, uses,
                             COUNT(uses));
}

static heed_status pooling(struct lsg *l)
{
    const int64_t rows = l->n / l->d.factor + (l->n % l->d.factor != 0);
    const heed_tensor *of[2] = { &l->d.text.k, &l->d.text.v };
    struct heed_program_temp temps[3];
    int64_t shape[6];
    heed_status status = HEED_OK;

    for (uint32_t i = 0; i < 2 && status >= 0; i++) {
        heed_program_shape(shape, of[i], &l->d.text);
        shape[4] = rows;
        shape[5] = of[i]->shape[of[i]->ndim - 1];
        status = heed_program_temp_add(l->c, HEED_F32, shape, &temps[i]);
    }
    if (status < 0)
        return status;
    heed_program_shape(shape, &l->d.text.k, &l->d.text);
    shape[4] = rows;
    shape[5] = 1;
    status = heed_program_temp_add(l->c, HEED_U8, shape, &temps[2]);
    if (status >= 0)
        status = pool(l, &temps[0], &temps[2], true);
    if (status >= 0)
        status = pool(l, &temps[1], NULL, false);
    temps[2].t.ndim = 5;
    return status >= 0 ? attend_sparse(l, temps) : status;
}

/* ---- the program ---- */

static heed_status compose(struct heed_composer *c, const void *given)
{
    static heed_status (*const kinds[])(struct lsg *) = {
        [HEED_LSG_NORM] = norm,
        [HEED_LSG_POOLING] = pooling,
    };
    struct lsg l = { .c = c };
    heed_status status = heed_program_open(c, given, DESC_V1, &l.d, sizeof(l.d), HEED_LSG_CAUSAL);

    heed_builder_begin(&l.b, c->report);
    for (uint32_t i = 0; i < 3; i++)
        l.sparse[i] = HEED_PROGRAM_NONE;
    if (status >= 0)
        status = arrays(&l);
    if (status >= 0)
        status = parameters(&l);
    return status >= 0 ? kinds[l.d.sparsity](&l) : status;
}

heed_status heed_lsg_program_check(heed_device *device, const heed_lsg_program_desc *desc,
                                   heed_report *report)
{
    const struct heed_program_call call = { compose, desc };

    return heed_op_check(&heed_op_program, device, &call, report);
}

heed_status heed_lsg_program_plan(heed_device *device, const heed_lsg_program_desc *desc,
                                  heed_plan **out, heed_report *report)
{
    const struct heed_program_call call = { compose, desc };

    return heed_op_plan(&heed_op_program, device, &call, out, report);
}
