/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * LSG with sparse keys that are computed (Condevaux and Harispe 2022, sections 3.1 to 3.3): its
 * parameters, local keys, and the tokens of large norm. The sparse keys are in one sequence, of
 * which a query block sees a part on each side of its local blocks: here lists of tokens, whereas
 * lsg_keys.c has keys of their own.
 */
#include "lsg.h"

#include "../core/error.h"
#include "../../backends/kernels/forms.h"

#include <stdio.h>

enum { DESC_V1 = 1528 };
_Static_assert(sizeof(heed_lsg_program_desc) == DESC_V1, "heed_lsg_program_desc may only grow");

/* Run-time slots that no set of keys has: the two sides of the chosen tokens. */
enum { SLOT_LEFT = HEED_MECHANISM_LIST, SLOT_RIGHT = HEED_MECHANISM_TABLE };

/* ---- parameters ---- */

static heed_status divides(const struct heed_lsg *l, const char *field, int64_t wanted, int64_t got,
                           int64_t part, int64_t whole)
{
    if (whole % part == 0)
        return HEED_OK;
    return heed_report_fill(l->c->report, HEED_E_VALUE, field, wanted, got,
                            "%lld does not divide %lld", (long long)part, (long long)whole);
}

/* Blocks that tokens are chosen from, or hashed in, begin where blocks begin; of those chosen a
 * side is whole blocks. */
static heed_status units_check(const struct heed_lsg *l)
{
    const int64_t s = l->d.sparse_block, f = l->d.factor, u = l->unit;
    heed_status status = divides(l, "sparse_block", l->d.block, s, u, l->d.block);

    if (status >= 0)
        status = divides(l, "factor", u, f, f, u);
    if (status >= 0 && l->d.sparsity == HEED_LSG_NORM)
        status = divides(l, "sparse_block", u / f, s, u / f, s);
    return status;
}

/* Only LSH takes matrices; the hashes of the last one are the sparse keys of a block. */
static heed_status rounds_check(const struct heed_lsg *l)
{
    const int64_t hashes = l->unit / l->d.factor;
    const heed_tensor *last = NULL;
    char field[16];
    uint32_t n = 0;

    for (uint32_t r = 0; r < HEED_SELECT_ROUNDS; r++) {
        if (l->d.rounds[r].ndim != 0) {
            last = &l->d.rounds[r];
            n = r;
        }
    }
    snprintf(field, sizeof(field), "rounds[%u]", (unsigned)n);
    if (l->d.sparsity != HEED_LSG_LSH)
        return last == NULL ? HEED_OK
                            : heed_report_fill(l->c->report, HEED_E_VALUE, field, 0, last->ndim,
                                               "only LSH takes matrices");
    if (last == NULL)
        return heed_report_fill(l->c->report, HEED_E_NULL, field, 0, 0, "LSH wants matrices");
    if (hashes == 1)
        return heed_report_fill(l->c->report, HEED_E_UNSUPPORTED, "factor", l->unit / 2,
                                l->d.factor, "one key for a block is no hash: pool instead");
    if (last->ndim <= 6 && hashes % 2 == 0 && last->shape[last->ndim - 1] == hashes / 2)
        return HEED_OK;
    return heed_report_fill(l->c->report, HEED_E_SHAPE, field, hashes / 2,
                            last->ndim <= 6 ? last->shape[last->ndim - 1] : 0,
                            "%lld hashes for a block are wanted, two for each column",
                            (long long)hashes);
}

static heed_status parameters(struct heed_lsg *l)
{
    heed_lsg_program_desc *d = &l->d;
    heed_status status =
        heed_builder_within(&l->b, "sparsity", d->sparsity, HEED_LSG_NORM, HEED_LSG_BOS_POOLING);

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
    if (d->sparsity == HEED_LSG_NORM || d->sparsity == HEED_LSG_LSH)
        status = units_check(l);
    return status >= 0 ? rounds_check(l) : status;
}

static heed_status arrays(struct heed_lsg *l)
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

void heed_lsg_globals_add(struct heed_lsg *l)
{
    if (l->d.globals.k.ndim)
        heed_builder_source(&l->b, &l->d.globals, 1);
}

void heed_lsg_local_add(struct heed_lsg *l)
{
    heed_source *source = heed_builder_source(&l->b, &l->d.text, 0);

    source->flags = heed_lsg_causal(l) ? HEED_SOURCE_CAUSAL : 0;
    *heed_builder_term(&l->b) = (heed_term){
        .kind = HEED_TERM_WINDOW,
        .left = l->d.block,
        .right = heed_lsg_causal(l) ? 0 : l->d.block,
        .block = (int32_t)l->d.block,
    };
}

/* ---- the tokens with the largest norm ---- */

/* The text by a list of tokens, s for each block; those listed are present. */
static void list_add(struct heed_lsg *l, uint32_t number, const struct heed_program_temp *index)
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

static heed_status choose(struct heed_lsg *l, const struct heed_program_temp *index, int64_t front,
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
    return heed_program_stage(l->c, &heed_op_select, "select", &desc, uses, HEED_COUNT(uses));
}

/* Pads make the lists of all blocks views of one array: that of block B begins at place (B - 1) c -
 * s on the left, (B + 2) c on the right, and has s places. */
static heed_status norm(struct heed_lsg *l)
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
    heed_lsg_globals_add(l);
    list_add(l, SLOT_LEFT, &index);
    if (!heed_lsg_causal(l))
        list_add(l, SLOT_RIGHT, &index);
    heed_lsg_local_add(l);
    {
        const struct heed_program_use lists[] = {
            { heed_program_slot(&l->b, SLOT_LEFT), index.array, 0 },
            { heed_program_slot(&l->b, SLOT_RIGHT), index.array, right_at },
        };
        const struct heed_program_attn attn = {
            "attend", HEED_PROGRAM_O, { HEED_PROGRAM_NONE, HEED_PROGRAM_NONE, HEED_PROGRAM_NONE }
        };

        return heed_program_attend(l->c, &l->b, &attn, lists, HEED_COUNT(lists));
    }
}

/* ---- the program ---- */

static heed_status compose(struct heed_composer *c, const void *given)
{
    static heed_status (*const kinds[])(struct heed_lsg *) = {
        [HEED_LSG_NORM] = norm,
        [HEED_LSG_POOLING] = heed_lsg_pooling,
        [HEED_LSG_LSH] = heed_lsg_hashing,
        [HEED_LSG_BOS_POOLING] = heed_lsg_bos_pooling,
    };
    struct heed_lsg l = { .c = c };
    heed_status status = heed_program_open(c, given, DESC_V1, &l.d, sizeof(l.d), HEED_LSG_CAUSAL);

    heed_builder_begin(&l.b, c->report);
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
