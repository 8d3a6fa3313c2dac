/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * LSG with sparse keys of their own (Condevaux and Harispe 2022, section 3.2): means of tokens on
 * end, of tokens with one hash, and means by the weights of the first row. Key t of the sequence
 * stands at token t f, so windows show it as the paper counts places.
 */
#include "lsg.h"

#include "../core/error.h"
#include "../../backends/kernels/forms.h"

/* K, V and the mask of their rows. */
enum { TEMP_K, TEMP_V, TEMP_MASK, TEMPS };

static heed_status attend_sparse(struct heed_lsg *l, const struct heed_program_temp temps[TEMPS])
{
    const int64_t b = l->d.block, f = l->d.factor, s = l->d.sparse_block;
    const struct heed_program_attn attn = {
        "attend",
        HEED_PROGRAM_O,
        { temps[TEMP_K].array, temps[TEMP_V].array, temps[TEMP_MASK].array },
    };
    const heed_keys keys = {
        .k = temps[TEMP_K].t, .v = temps[TEMP_V].t, .mask = { .t = temps[TEMP_MASK].t }
    };
    heed_source *source;

    heed_lsg_globals_add(l);
    source = heed_builder_source(&l->b, &keys, 2);
    source->pos_step = (int32_t)f;
    source->pos_span = 1;
    *heed_builder_term(&l->b) = (heed_term){
        .kind = HEED_TERM_WINDOW, .left = b + s * f, .right = -2 * b, .block = (int32_t)b
    };
    if (!heed_lsg_causal(l))
        *heed_builder_term(&l->b) = (heed_term){
            .kind = HEED_TERM_WINDOW,
            .left = -2 * b,
            .right = b + 1 + (s - 1) * f,
            .block = (int32_t)b,
        };
    heed_lsg_local_add(l);
    return heed_program_attend(l->c, &l->b, &attn, NULL, 0);
}

/* ---- pooled keys ---- */

/* `rows` keys and values for each head of the text's, and a byte for each. */
static heed_status temps_add(struct heed_lsg *l, int64_t rows,
                             struct heed_program_temp temps[TEMPS])
{
    const heed_tensor *of[2] = { &l->d.text.k, &l->d.text.v };
    heed_status status = HEED_OK;
    int64_t shape[6];

    for (uint32_t i = 0; i < 2 && status >= 0; i++) {
        heed_program_shape(shape, of[i], &l->d.text);
        shape[4] = rows;
        shape[5] = of[i]->shape[of[i]->ndim - 1];
        status = heed_program_temp_add(l->c, HEED_F32, shape, &temps[i]);
    }
    if (status < 0)
        return status;
    heed_program_shape(shape, of[0], &l->d.text);
    shape[4] = rows;
    shape[5] = 1;
    status = heed_program_temp_add(l->c, HEED_U8, shape, &temps[TEMP_MASK]);
    temps[TEMP_MASK].t.ndim = 5;        /* [B][heads][rows] */
    return status;
}

/* K, with the mask of its rows, or V; desc has the kind and its parameters. */
static heed_status pool(struct heed_lsg *l, const struct heed_program_temp temps[TEMPS],
                        uint32_t which, const struct heed_program_temp *ids, heed_pool_desc desc)
{
    const struct heed_program_use uses[] = {
        { HK_POOL_X, HEED_PROGRAM_TEXT + HEED_KEYS_K + which, 0 },
        { HK_POOL_MASK, HEED_PROGRAM_TEXT + HEED_KEYS_MASK, 0 },
        { HK_POOL_LEN, HEED_PROGRAM_TEXT + HEED_KEYS_LEN, 0 },
        { HK_POOL_IDS, ids != NULL ? ids->array : HEED_PROGRAM_NONE, 0 },
        { HK_POOL_Y, temps[which].array, 0 },
        { HK_POOL_Y_MASK, temps[TEMP_MASK].array, 0 },
    };

    desc.size = sizeof(desc);
    desc.flags = l->c->flags;
    desc.numerics = l->c->plan->numerics;
    desc.x = which == TEMP_K ? l->d.text.k : l->d.text.v;
    desc.y = temps[which].t;
    desc.mask = l->d.text.mask.t;
    desc.len = l->d.text.len.t;
    if (ids != NULL)
        desc.ids = ids->t;
    if (which == TEMP_K)
        desc.y_mask = temps[TEMP_MASK].t;
    return heed_program_stage(l->c, &heed_op_pool, which == TEMP_K ? "pool_k" : "pool_v", &desc,
                             uses, HEED_COUNT(uses));
}

static heed_status pool_and_attend(struct heed_lsg *l, int64_t rows,
                                   const struct heed_program_temp *ids, const heed_pool_desc *desc)
{
    struct heed_program_temp temps[TEMPS];
    heed_status status = temps_add(l, rows, temps);

    if (status >= 0)
        status = pool(l, temps, TEMP_K, ids, *desc);
    if (status >= 0)
        status = pool(l, temps, TEMP_V, ids, *desc);
    return status >= 0 ? attend_sparse(l, temps) : status;
}

static int64_t parts_of(int64_t whole, int64_t part)
{
    return whole / part + (whole % part != 0);
}

heed_status heed_lsg_pooling(struct heed_lsg *l)
{
    const heed_pool_desc desc = {
        .kind = HEED_POOL_MEAN,
        .tail = HEED_TAIL_CEIL,
        .kernel = l->d.factor,
        .stride = l->d.factor,
    };

    return pool_and_attend(l, parts_of(l->n, l->d.factor), NULL, &desc);
}

/* ---- hashes ---- */

static heed_status hash(struct heed_lsg *l, const struct heed_program_temp *ids)
{
    struct heed_program_use uses[4 + HEED_SELECT_ROUNDS] = {
        { HK_SELECT_X, HEED_PROGRAM_TEXT, 0 },
        { HK_SELECT_MASK, HEED_PROGRAM_TEXT + HEED_KEYS_MASK, 0 },
        { HK_SELECT_LEN, HEED_PROGRAM_TEXT + HEED_KEYS_LEN, 0 },
        { HK_SELECT_Y, ids->array, 0 },
    };
    heed_select_desc desc = {
        .size = sizeof(desc),
        .flags = l->c->flags,
        .numerics = l->c->plan->numerics,
        .kind = HEED_SELECT_HASH,
        .block = l->unit,
        .x = l->d.text.k,
        .y = ids->t,
        .mask = l->d.text.mask.t,
        .len = l->d.text.len.t,
    };

    for (uint32_t r = 0; r < HEED_SELECT_ROUNDS; r++) {
        desc.rounds[r] = l->d.rounds[r];
        uses[4 + r] =
            (struct heed_program_use){ HK_SELECT_ROUNDS + r, HEED_PROGRAM_ROUNDS + r, 0 };
    }
    return heed_program_stage(l->c, &heed_op_select, "select", &desc, uses, HEED_COUNT(uses));
}

heed_status heed_lsg_hashing(struct heed_lsg *l)
{
    const int64_t hashes = l->unit / l->d.factor;
    const heed_pool_desc desc = {
        .kind = HEED_POOL_BUCKET, .block = l->unit, .buckets = hashes
    };
    struct heed_program_temp ids;
    int64_t shape[6];
    heed_status status;

    heed_program_shape(shape, &l->d.text.k, &l->d.text);
    shape[4] = l->n;
    shape[5] = 1;
    status = heed_program_temp_add(l->c, HEED_I32, shape, &ids);
    ids.t.ndim = 5;                     /* [B][heads][tokens] */
    if (status >= 0)
        status = hash(l, &ids);
    return status >= 0 ? pool_and_attend(l, parts_of(l->n, l->unit) * hashes, &ids, &desc)
                       : status;
}

/* ---- means by the weights of the first row ---- */

/* Which groups have a token: what a pooling without channels writes. By one head if the text's mask
 * is; heads of q have no mask by those of keys. */
static heed_status groups(struct heed_lsg *l, int64_t heads, int64_t rows,
                          struct heed_program_temp *mask)
{
    const heed_keys *text = &l->d.text;
    const uint32_t mask_axes = text->mask.t.ndim;
    const bool by_head =
        mask_axes > 1 && mask_axes <= 6 && text->mask.t.shape[mask_axes - 2] != 1;
    struct heed_program_temp none;
    heed_pool_desc desc = {
        .size = sizeof(desc),
        .flags = l->c->flags,
        .numerics = l->c->plan->numerics,
        .kind = HEED_POOL_MEAN,
        .tail = HEED_TAIL_CEIL,
        .kernel = l->d.factor,
        .stride = l->d.factor,
        .x = text->k,
        .mask = text->mask.t,
        .len = text->len.t,
    };
    int64_t shape[6];
    heed_status status;

    heed_program_shape(shape, &text->k, text);
    if (by_head && shape[3] != heads)
        return heed_report_fill(l->c->report, HEED_E_UNSUPPORTED, "text.mask", heads, shape[3],
                                "a mask by key heads, and rows are weighed by heads of q");
    desc.x.shape[desc.x.ndim - 1] = 0;
    if (!by_head && desc.x.ndim > 2)
        desc.x.shape[desc.x.ndim - 3] = 1;
    shape[3] = by_head ? heads : 1;
    shape[4] = rows;
    status = heed_program_temp_add(l->c, HEED_F32, shape, &none);
    shape[5] = 1;
    if (status >= 0)
        status = heed_program_temp_add(l->c, HEED_U8, shape, mask);
    if (status < 0)
        return status;
    mask->t.ndim = 5;
    desc.y = none.t;
    desc.y_mask = mask->t;
    {
        const struct heed_program_use uses[] = {
            { HK_POOL_X, HEED_PROGRAM_TEXT, 0 },
            { HK_POOL_MASK, HEED_PROGRAM_TEXT + HEED_KEYS_MASK, 0 },
            { HK_POOL_LEN, HEED_PROGRAM_TEXT + HEED_KEYS_LEN, 0 },
            { HK_POOL_Y, none.array, 0 },
            { HK_POOL_Y_MASK, mask->array, 0 },
        };

        return heed_program_stage(l->c, &heed_op_pool, "groups", &desc, uses, HEED_COUNT(uses));
    }
}

/* One row for each group, all of them the first row of q, by which the keys of the group are
 * weighed; K or V is what is added up. */
static heed_status weigh(struct heed_lsg *l, uint32_t which, const struct heed_program_temp *y)
{
    const struct heed_program_attn attn = {
        which == TEMP_K ? "weigh_k" : "weigh_v",
        y->array,
        { HEED_PROGRAM_NONE, HEED_PROGRAM_NONE, HEED_PROGRAM_NONE },
    };
    heed_keys keys = l->d.text;
    struct heed_builder b;
    heed_tensor *q;

    heed_builder_begin(&b, l->c->report);
    q = &b.m.desc.q;
    *q = l->d.q;
    q->shape[q->ndim - 2] = y->t.shape[4];
    q->stride[q->ndim - 2] = 0;
    b.m.desc.o = y->t;
    b.m.desc.q_pos_step = (int32_t)l->d.factor;
    if (which == TEMP_K)
        keys.v = keys.k;
    heed_builder_source(&b, &keys, 0);
    *heed_builder_term(&b) =
        (heed_term){ .kind = HEED_TERM_WINDOW, .block = (int32_t)l->d.factor };
    {
        const struct heed_program_use v = { heed_attn_v(0),
                                            HEED_PROGRAM_TEXT + HEED_KEYS_K + which, 0 };

        return heed_program_attend(l->c, &b, &attn, &v, 1);
    }
}

heed_status heed_lsg_bos_pooling(struct heed_lsg *l)
{
    const int64_t heads = l->d.q.ndim > 2 ? l->d.q.shape[l->d.q.ndim - 3] : 1;
    const int64_t rows = parts_of(l->n, l->d.factor);
    const heed_tensor *of[2] = { &l->d.text.k, &l->d.text.v };
    struct heed_program_temp temps[TEMPS];
    heed_status status = groups(l, heads, rows, &temps[TEMP_MASK]);

    for (uint32_t i = 0; i < 2 && status >= 0; i++) {
        int64_t shape[6];

        heed_program_shape(shape, of[i], &l->d.text);
        heed_program_batch(shape, &l->d.q, 3);
        heed_program_batch(shape, of[1 - i], 3);
        shape[3] = heads;
        shape[4] = rows;
        shape[5] = of[i]->shape[of[i]->ndim - 1];
        status = heed_program_temp_add(l->c, HEED_F32, shape, &temps[i]);
        if (status >= 0)
            status = weigh(l, i, &temps[i]);
    }
    return status >= 0 ? attend_sparse(l, temps) : status;
}
