/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Golden cases about arithmetic: every step of docs/numerics.md section 4 that is built, but step
 * 2, has one whose digest depends on it.
 */
#include "build.h"

#include <string.h>

/* ---- steps 1, 3, 5 to 12: dense ------------------------------------------- */

#define BASE(name, n_q, n_k, d, d_v, factor, cap, more)                                            \
    void golden_case_##name(struct golden *g)                                                      \
    {                                                                                              \
        golden_base(g, n_q, n_k, d, d_v);                                                          \
        g->desc.scale = factor;                                                                    \
        g->desc.softcap = cap;                                                                     \
        g->desc.flags |= more;                                                                     \
    }
BASE(one_key, 1, 1, 1, 1, 0, 0, 0)
BASE(dense, 37, 100, 33, 19, 0, 0, 0)
BASE(dense_long, 3, 2100, 16, 9, 0, 0, 0)
BASE(dense_default_scale, 4, 70, 5, 3, 0, 0, 0)
BASE(dense_scale, 4, 70, 7, 3, -1.25, 0, 0)
BASE(dense_scale_zero, 4, 70, 7, 3, 0, 0, HEED_ATTN_SCALE_GIVEN)
BASE(no_channels, 3, 70, 0, 5, 0, 0, 0)
BASE(no_values, 5, 70, 6, 0, 0, 0, 0)
BASE(no_keys, 5, 0, 6, 4, 0, 0, 0)
/* Maxima that rise and fall by hundreds: rescales inside a chunk and between chunks. */
BASE(steep, 6, 3000, 4, 5, 40, 0, 0)
BASE(huge, 6, 300, 4, 5, 1e9, 0, 0)
BASE(softcap_small, 5, 200, 8, 5, 0, 30, 0)
BASE(softcap_large, 5, 200, 8, 5, 3, 1.5, 0)
#undef BASE

void golden_case_subnormal(struct golden *g)
{
    uint32_t *v;

    golden_base(g, 5, 200, 8, 5);
    v = g->kv[0].v.handle;
    for (int64_t i = 0; i < 2 * 200 * 5; i++)
        v[i] = (v[i] & 0x807fffffu) | ((uint32_t)(i % 5) << 23);
}

void golden_case_specials(struct golden *g)
{
    static const uint32_t values[] = { 0x7fc00000u, 0x7f800000u, 0xff800000u, 0xffc12345u,
                                       0x7f7fffffu, 0xff7fffffu, 0x00000001u, 0x80000000u };

    golden_base(g, 8, 90, 3, 4);
    for (int64_t i = 0; i < 8; i++) {
        if (i % 3 == 0) /* one row of q, one key of head 1 in K, one of head 0 in V */
            golden_put_bits(g->args.q.handle, i * 3, values[i]);
        golden_put_bits(g->kv[0].v.handle, 7 * i, values[i]);
    }
    golden_put_bits(g->kv[0].k.handle, (90 + 40) * 3, 0xff800000u);
}

void golden_case_nan_scores(struct golden *g)
{
    golden_base(g, 3, 1300, 2, 2);
    for (int64_t i = 1024; i < 1300; i++) /* head 0: a chunk of NaN after one of numbers */
        golden_put_bits(g->kv[0].k.handle, i * 2, 0x7fc00000u);
}

void golden_case_sink(struct golden *g)
{
    golden_base(g, 5, 130, 8, 5);
    golden_sinks(g, HEED_F32);
}

void golden_case_sink_in_lse(struct golden *g)
{
    golden_base(g, 5, 130, 8, 5);
    golden_sinks(g, HEED_F32);
    g->desc.flags |= HEED_ATTN_LSE_WITH_SINK;
    golden_put(HEED_F32, g->args.sinks.handle, 1, 90, 0);
}

void golden_case_sink_special(struct golden *g)
{
    golden_base(g, 5, 130, 8, 5);
    golden_sinks(g, HEED_F32);
    g->desc.flags |= HEED_ATTN_LSE_WITH_SINK;
    golden_put_bits(g->args.sinks.handle, 0, 0xff800000u);
    golden_put_bits(g->args.sinks.handle, 1, 0xffffffffu);
}

void golden_case_sink_f16(struct golden *g)
{
    golden_base(g, 5, 130, 8, 5);
    golden_sinks(g, HEED_F16);
    g->desc.flags |= HEED_ATTN_LSE_WITH_SINK;
}

void golden_case_sink_bf16(struct golden *g)
{
    golden_base(g, 5, 130, 8, 5);
    golden_sinks(g, HEED_BF16);
}

void golden_case_no_lse(struct golden *g)
{
    golden_base(g, 5, 130, 8, 5);
    memset(&g->desc.lse, 0, sizeof(g->desc.lse));
}

/* ---- storage types and strides --------------------------------------------- */

void golden_case_f16(struct golden *g)
{
    golden_query(g, HEED_F16, 1, 2, 9, 20, 13);
    golden_source(g, HEED_F16, 1, 2, 150);
}

void golden_case_bf16(struct golden *g)
{
    golden_query(g, HEED_BF16, 1, 2, 9, 20, 13);
    golden_source(g, HEED_BF16, 1, 2, 150);
}

void golden_case_mixed_types(struct golden *g)
{
    golden_query(g, HEED_BF16, 1, 2, 9, 20, 13);
    golden_source(g, HEED_F16, 1, 2, 150);
    golden_source(g, HEED_F32, 1, 2, 40);
    g->desc.o.dtype = HEED_F16;
}

void golden_case_f16_extremes(struct golden *g)
{
    static const uint16_t values[] = { 0x0001, 0x83ff, 0x0400, 0x7bff,
                                       0xfbff, 0x7c00, 0x8000, 0x7e01 };
    uint16_t *v;

    golden_query(g, HEED_F16, 1, 1, 6, 4, 8);
    golden_source(g, HEED_F16, 1, 1, 70);
    v = g->kv[0].v.handle;
    for (int64_t key = 0; key < 70; key++) {
        for (int64_t t = 0; t < 8; t++)
            v[key * 8 + t] = key % 3 == 0 ? values[t] : (uint16_t)(v[key * 8 + t] & 0x83ff);
    }
}

void golden_case_i8(struct golden *g)
{
    const int64_t by_head[] = { 2, 150 }, for_all[] = { 1, 40 };

    golden_query(g, HEED_F32, 1, 4, 9, 21, 13);
    golden_source(g, HEED_I8, 1, 2, 150);
    golden_source(g, HEED_I8, 1, 2, 40);
    g->sources[0].k_scale_slot = golden_slot_scales(g, HEED_F32, 2, by_head);
    g->sources[0].v_scale_slot = golden_slot_scales(g, HEED_F16, 2, by_head);
    g->sources[1].k_scale_slot = golden_slot_scales(g, HEED_F16, 2, for_all);
    g->sources[1].v_scale_slot = golden_slot_scales(g, HEED_F32, 2, for_all);
}

/* With scales, and without. */
static void small(struct golden *g, uint32_t dtype)
{
    const int64_t by_head[] = { 2, 150 };

    golden_query(g, HEED_F32, 1, 4, 9, 21, 13);
    golden_source(g, dtype, 1, 2, 150);
    golden_source(g, dtype, 1, 2, 40);
    g->sources[0].k_scale_slot = golden_slot_scales(g, HEED_F16, 2, by_head);
    g->sources[0].v_scale_slot = golden_slot_scales(g, HEED_F32, 2, by_head);
}

void golden_case_f8e4m3(struct golden *g)
{
    small(g, HEED_F8E4M3);
}

void golden_case_f8e5m2(struct golden *g)
{
    small(g, HEED_F8E5M2);
}

/* Scales of 0, subnormal and large ones, Inf and NaN, which a window shows to some rows only. */
void golden_case_i8_special(struct golden *g)
{
    static const uint32_t odd[] = { 0, 0x80000000, 0x00000007, 0x807fffff, 0x7c000000, 0x7f800000,
                                    0xff800000, 0x7fc00001 };
    const int64_t n = 260;
    int8_t *bytes;

    golden_query(g, HEED_F32, 1, 1, n, 6, 5);
    golden_source(g, HEED_I8, 1, 1, n);
    bytes = g->kv[0].v.handle;
    g->sources[0].k_scale_slot = golden_slot_scales(g, HEED_F32, 1, &n);
    g->sources[0].v_scale_slot = golden_slot_scales(g, HEED_F32, 1, &n);
    for (int64_t i = 0; i < 8; i++) {
        void *k = golden_slot_data(g, g->sources[0].k_scale_slot);
        void *v = golden_slot_data(g, g->sources[0].v_scale_slot);

        golden_put_bits(k, 10 + 30 * i, odd[i]);
        golden_put_bits(v, 20 + 30 * i, odd[i]);
        bytes[(20 + 30 * i) * 5] = 0;           /* 0 * Inf is NaN */
        bytes[(20 + 30 * i) * 5 + 1] = -128;
    }
    golden_term(g, 0, (heed_term){ .kind = HEED_TERM_WINDOW, .left = 2, .right = 2 });
}

void golden_case_grouped_heads(struct golden *g)
{
    golden_query(g, HEED_F32, 2, 6, 5, 8, 4);
    golden_source(g, HEED_F32, 2, 3, 90);
    golden_source(g, HEED_F32, 1, 1, 20);
}

void golden_case_strides(struct golden *g)
{
    heed_tensor *k, *v;

    golden_base(g, 9, 40, 6, 4);
    k = &g->desc.q; /* rows walk back */
    k->stride[2] = -6;
    g->args.q.offset = 8 * 6 * sizeof(float);
    k = &g->sources[0].k; /* heads interleaved, channels walk back */
    k->stride[1] = 6;
    k->stride[2] = 12;
    k->stride[3] = -1;
    g->kv[0].k.offset = 5 * sizeof(float);
    v = &g->sources[0].v; /* one head for both, channel-major */
    v->stride[1] = 0;
    v->stride[2] = 1;
    v->stride[3] = 40;
}

/* ---- step 4: biases -------------------------------------------------------------- */

void golden_case_bias_dense(struct golden *g)
{
    const int64_t shape[4] = { 1, 2, 10, 90 };
    uint32_t slot;

    golden_base(g, 10, 90, 6, 4);
    slot = golden_slot_floats(g, HEED_F32, 4, shape, 2);
    for (int64_t i = 0; i < 2 * 10 * 90; i += 7)
        golden_put_bits(golden_slot_data(g, slot), i, 0xff800000u);
    golden_bias(g, 0, (heed_bias){ .kind = HEED_BIAS_DENSE, .t = slot });
    g->desc.softcap = 5;
}

void golden_case_bias_broadcast(struct golden *g)
{
    const int64_t keys[4] = { 1, 1, 1, 90 }, rows[4] = { 1, 2, 10, 1 };

    golden_base(g, 10, 90, 6, 4);
    golden_bias(
        g, 0,
        (heed_bias){ .kind = HEED_BIAS_DENSE, .t = golden_slot_floats(g, HEED_F16, 4, keys, 2) });
    golden_bias(
        g, 0,
        (heed_bias){ .kind = HEED_BIAS_DENSE, .t = golden_slot_floats(g, HEED_BF16, 4, rows, 2) });
}

void golden_case_bias_alibi(struct golden *g)
{
    const int64_t heads = 2;

    golden_base(g, 50, 130, 6, 4);
    golden_bias(g, 0,
                (heed_bias){ .kind = HEED_BIAS_ALIBI,
                             .t = golden_slot_floats(g, HEED_F32, 1, &heads, -4) });
    g->desc.flags = HEED_ATTN_ALIGN_END;
    g->desc.q_pos0 = (int64_t)1 << 30; /* |delta| does not fit a float */
}

void golden_case_bias_table(struct golden *g)
{
    const int64_t shape[2] = { 2, 40 };
    uint32_t slot;

    golden_base(g, 50, 130, 6, 4);
    slot = golden_slot_floats(g, HEED_BF16, 2, shape, 2);
    ((uint16_t *)golden_slot_data(g, slot))[13] = 0xff80;
    golden_bias(g, 0, (heed_bias){ .kind = HEED_BIAS_TABLE, .t = slot, .zero = 20 });
}

void golden_case_bias_map(struct golden *g)
{
    const int64_t shape[2] = { 1, 8 }, keys = 130, rows = 50, entries = 30;
    int32_t map[30];
    int64_t k[130], q[50];
    uint32_t slots[4];

    golden_base(g, 50, 130, 6, 4);
    for (int i = 0; i < 30; i++)
        map[i] = i % 11 - 1; /* 8 and 9 lie outside, so does -1 */
    for (int i = 0; i < 130; i++)
        k[i] = (int64_t)(golden_next(g) % 60);
    for (int i = 0; i < 50; i++)
        q[i] = (int64_t)(golden_next(g) % 60);
    slots[0] = golden_slot_i64(g, keys, k);
    slots[1] = golden_slot_i32(g, 1, &entries, map); /* bound by run */
    slots[2] = golden_slot_i64(g, rows, q);
    slots[3] = golden_slot_floats(g, HEED_F32, 2, shape, 2);
    golden_bias(g, 0,
                (heed_bias){ .kind = HEED_BIAS_TABLE,
                             .t = slots[3],
                             .map = slots[1],
                             .zero = 15,
                             .k_coord = slots[0],
                             .q_coord = slots[2] });
    golden_bias(
        g, 0,
        (heed_bias){ .kind = HEED_BIAS_TABLE, .t = slots[3], .zero = 3, .k_coord = slots[0] });
}

void golden_case_everything(struct golden *g)
{
    const int64_t heads = 4, entries = 4, dense_shape[4] = { 2, 1, 30, 200 };
    const int64_t sizes[] = { 180, 70 };
    const int32_t keys[] = { 2, 5, 77, 150 };

    golden_query(g, HEED_BF16, 2, 4, 30, 24, 10);
    golden_source(g, HEED_F16, 2, 2, 200);
    golden_source(g, HEED_BF16, 1, 4, 64);
    golden_sinks(g, HEED_F32);
    g->desc.softcap = 12;
    g->desc.scale = 0.75;
    g->desc.flags = HEED_ATTN_ALIGN_END | HEED_ATTN_LSE_WITH_SINK;
    g->sources[0].len_slot = golden_slot_i64(g, 2, sizes);
    golden_term(g, 0,
                (heed_term){ .kind = HEED_TERM_WINDOW,
                             .left = 25,
                             .right = 5,
                             .step = 2,
                             .flags = HEED_TERM_PHASE_QUERY });
    golden_term(g, 0, (heed_term){ .kind = HEED_TERM_WINDOW, .left = 6, .right = 6 });
    golden_term(
        g, 0,
        (heed_term){ .kind = HEED_TERM_GLOBAL, .slot = golden_slot_i32(g, 1, &entries, keys) });
    golden_bias(g, 0,
                (heed_bias){ .kind = HEED_BIAS_DENSE,
                             .t = golden_slot_floats(g, HEED_F16, 4, dense_shape, 1) });
    golden_bias(g, 0,
                (heed_bias){ .kind = HEED_BIAS_ALIBI,
                             .t = golden_slot_floats(g, HEED_F32, 1, &heads, -5) });
    g->sources[1].flags = HEED_SOURCE_CAUSAL;
}

/* Keys that a bias removes hold NaN and would poison the row if they were consulted. */
void golden_case_bias_removes(struct golden *g)
{
    const int64_t shape[4] = { 1, 1, 1, 90 };
    uint32_t slot;

    golden_base(g, 10, 90, 6, 4);
    slot = golden_slot_floats(g, HEED_F32, 4, shape, 2);
    for (int64_t key = 0; key < 90; key += 4) {
        golden_put_bits(golden_slot_data(g, slot), key, 0xff800000u);
        golden_put_bits(g->kv[0].k.handle, key * 6, 0x7fc00000u);
        golden_put_bits(g->kv[0].v.handle, key * 4, 0x7f800000u);
    }
    golden_bias(g, 0, (heed_bias){ .kind = HEED_BIAS_DENSE, .t = slot });
}

/* ---- step 3: biases that join the score ------------------------------------------ */

/* Rows of tables, the last of which comes first: a negative stride. */
static uint32_t rows_from_end(struct golden *g, uint32_t dtype, int64_t heads, int64_t len,
                              int64_t d)
{
    const int64_t shape[3] = { heads, len, d };
    heed_tensor t = golden_tensor(dtype, 3, shape);
    char *data = golden_floats(g, dtype, heads * len * d, 0);

    t.stride[1] = -d;
    return golden_slot_of(g, t, data + (size_t)((len - 1) * d) * golden_size_of(dtype));
}

/* He et al. 2021: content to position and position to content, clamped. */
void golden_case_dot(struct golden *g)
{
    golden_base(g, 50, 130, 6, 4);
    golden_bias(g, 0,
                (heed_bias){ .kind = HEED_BIAS_DOT,
                             .t = rows_from_end(g, HEED_F32, 2, 40, 6),
                             .u = rows_from_end(g, HEED_BF16, 1, 40, 6),
                             .zero = 19 });
}

/* One term each, through a map with entries outside the table, by coordinates; softcap and a TABLE
 * come after. */
void golden_case_dot_map(struct golden *g)
{
    const int64_t shape[3] = { 2, 8, 6 }, values[2] = { 2, 30 }, keys = 130, rows = 50;
    const int64_t entries = 30;
    int32_t map[30];
    int64_t k[130], q[50];
    uint32_t slots[5];

    golden_base(g, 50, 130, 6, 4);
    g->desc.softcap = 9;
    for (int i = 0; i < 30; i++)
        map[i] = i % 11 - 1;
    for (int i = 0; i < 130; i++)
        k[i] = (int64_t)(golden_next(g) % 60);
    for (int i = 0; i < 50; i++)
        q[i] = (int64_t)(golden_next(g) % 60);
    slots[0] = golden_slot_i64(g, keys, k);
    slots[1] = golden_slot_i32(g, 1, &entries, map);
    slots[2] = golden_slot_i64(g, rows, q);
    slots[3] = golden_slot_floats(g, HEED_F16, 3, shape, 0);
    slots[4] = golden_slot_floats(g, HEED_F32, 2, values, 1);
    golden_bias(g, 0,
                (heed_bias){ .kind = HEED_BIAS_DOT,
                             .u = slots[3],
                             .map = slots[1],
                             .zero = 15,
                             .k_coord = slots[0],
                             .q_coord = slots[2] });
    golden_bias(g, 0, (heed_bias){ .kind = HEED_BIAS_TABLE, .t = slots[4], .zero = 15 });
    golden_bias(g, 0,
                (heed_bias){ .kind = HEED_BIAS_DOT, .t = slots[3], .map = slots[1], .zero = 9 });
}

/* Heads in groups, keys at steps; rows of the table that no visible key has hold NaN, and a second
 * bias has no index within its table. */
void golden_case_dot_grouped(struct golden *g)
{
    const int64_t shape[3] = { 4, 200, 10 }, entries = 100, n_keys = 4;
    const int32_t keys[] = { 1, 40, 41, 90 };
    int32_t map[100];
    uint32_t slot, outside;

    golden_query(g, HEED_F32, 1, 4, 70, 10, 5);
    golden_source(g, HEED_F16, 1, 2, 130);
    g->desc.flags = HEED_ATTN_ALIGN_END;
    g->sources[0].flags = HEED_SOURCE_CAUSAL;
    golden_term(g, 0, (heed_term){ .kind = HEED_TERM_WINDOW, .left = 40, .right = 40 });
    golden_term(g, 0, (heed_term){ .kind = HEED_TERM_ALL, .step = 3, .phase = 1 });
    golden_term(g, 0,
                (heed_term){ .kind = HEED_TERM_GLOBAL,
                             .slot = golden_slot_i32(g, 1, &n_keys, keys) });
    slot = golden_slot_floats(g, HEED_F32, 3, shape, 0);
    for (int64_t i = 0; i < 4 * 200 * 10; i++) {
        if (i / 10 % 200 > 150) /* keys in the future */
            golden_put_bits(golden_slot_data(g, slot), i, 0x7fc00000u);
    }
    for (int i = 0; i < 100; i++)
        map[i] = 200 + i;
    outside = golden_slot_i32(g, 1, &entries, map);
    golden_bias(g, 0, (heed_bias){ .kind = HEED_BIAS_DOT, .t = slot, .u = slot, .zero = 150 });
    golden_bias(g, 0, (heed_bias){ .kind = HEED_BIAS_DOT, .t = slot, .map = outside });
}

/* Scores fall by about 1 a key down to -130 and values grow by as much: every weight counts, those
 * next to the cut at -100 included. */
void golden_case_far_weights(struct golden *g)
{
    golden_base(g, 4, 130, 1, 2);
    g->desc.scale = 0.6875;
    for (int64_t row = 0; row < 8; row++)
        golden_put(HEED_F32, g->args.q.handle, row, 64 + row, -6);
    for (int64_t key = 0; key < 2 * 130; key++) {
        int64_t j = key % 130;

        golden_put(HEED_F32, g->kv[0].k.handle, key, -j, 0);
        for (int64_t t = 0; t < 2; t++)
            golden_put(HEED_F32, g->kv[0].v.handle, 2 * key + t,
                       (int64_t)(golden_next(g) >> 40) - (1 << 23), (int)j - 40);
    }
}

/* Subnormal sums of one key a chunk, the second with the opposite score. Scaled by a half to the
 * common maximum every other sum is a tie, which fma and a rounded product break differently. */
void golden_case_subnormal_chunks(struct golden *g)
{
    const int64_t shape[3] = { 1, 1, 1100 };
    uint8_t *mask;
    uint32_t *k, *v;

    golden_base(g, 40, 1100, 2, 16);
    g->desc.scale = 0.375;
    k = g->kv[0].k.handle;
    v = g->kv[0].v.handle;
    for (int64_t head = 0; head < 2; head++) {
        for (int64_t t = 0; t < 2; t++)
            k[(head * 1100 + 1050) * 2 + t] = k[(head * 1100 + 10) * 2 + t] ^ 0x80000000u;
    }
    for (int64_t i = 0; i < 2 * 1100 * 16; i++)
        v[i] &= 0x80003fffu;
    mask = golden_array(g, HEED_U8, 1100);
    mask[10] = mask[1050] = 1;
    g->sources[0].mask_slot = golden_slot_of(g, golden_tensor(HEED_U8, 3, shape), mask);
}

/* Sinks about as heavy as the keys. */
void golden_case_sink_even(struct golden *g)
{
    golden_base(g, 40, 12, 8, 5);
    golden_sinks(g, HEED_F32);
    g->desc.flags |= HEED_ATTN_LSE_WITH_SINK;
}
