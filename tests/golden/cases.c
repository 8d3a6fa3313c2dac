/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The golden cases: every step of docs/numerics.md section 3 that is built has one whose digest
 * depends on it. Cases are never changed, only added; a changed digest is a new numerics version.
 */
#include "build.h"

#include <string.h>

/* ---- steps 1, 3, 5 to 12: dense ------------------------------------------- */

static void one_key(struct golden *g)
{
    golden_base(g, 1, 1, 1, 1);
}

static void dense(struct golden *g)
{
    golden_base(g, 37, 100, 33, 19);
}

static void dense_long(struct golden *g)
{
    golden_base(g, 3, 2100, 16, 9);
}

static void dense_default_scale(struct golden *g)
{
    golden_base(g, 4, 70, 5, 3);
}

static void dense_scale(struct golden *g)
{
    golden_base(g, 4, 70, 7, 3);
    g->desc.scale = -1.25;
}

static void dense_scale_zero(struct golden *g)
{
    golden_base(g, 4, 70, 7, 3);
    g->desc.flags |= HEED_ATTN_SCALE_GIVEN;
}

static void no_channels(struct golden *g)
{
    golden_base(g, 3, 70, 0, 5);
}

static void no_values(struct golden *g)
{
    golden_base(g, 5, 70, 6, 0);
}

static void no_keys(struct golden *g)
{
    golden_base(g, 5, 0, 6, 4);
}

/* Maxima that rise and fall by hundreds: rescales inside a chunk and between chunks. */
static void steep(struct golden *g)
{
    golden_base(g, 6, 3000, 4, 5);
    g->desc.scale = 40;
}

static void huge(struct golden *g)
{
    golden_base(g, 6, 300, 4, 5);
    g->desc.scale = 1e9;
}

static void softcap_small(struct golden *g)
{
    golden_base(g, 5, 200, 8, 5);
    g->desc.softcap = 30;
}

static void softcap_large(struct golden *g)
{
    golden_base(g, 5, 200, 8, 5);
    g->desc.scale = 3;
    g->desc.softcap = 1.5;
}

static void subnormal(struct golden *g)
{
    uint32_t *v;

    golden_base(g, 5, 200, 8, 5);
    v = g->kv[0].v.handle;
    for (int64_t i = 0; i < 2 * 200 * 5; i++)
        v[i] = (v[i] & 0x807fffffu) | ((uint32_t)(i % 5) << 23);
}

static void specials(struct golden *g)
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

static void nan_scores(struct golden *g)
{
    golden_base(g, 3, 1300, 2, 2);
    for (int64_t i = 1024; i < 1300; i++) /* head 0: a chunk of NaN after one of numbers */
        golden_put_bits(g->kv[0].k.handle, i * 2, 0x7fc00000u);
}

static void sink(struct golden *g)
{
    golden_base(g, 5, 130, 8, 5);
    golden_sinks(g);
}

static void sink_in_lse(struct golden *g)
{
    golden_base(g, 5, 130, 8, 5);
    golden_sinks(g);
    g->desc.flags |= HEED_ATTN_LSE_WITH_SINK;
    golden_put(HEED_F32, g->args.sinks.handle, 1, 90, 0);
}

static void sink_special(struct golden *g)
{
    golden_base(g, 5, 130, 8, 5);
    golden_sinks(g);
    g->desc.flags |= HEED_ATTN_LSE_WITH_SINK;
    golden_put_bits(g->args.sinks.handle, 0, 0xff800000u);
    golden_put_bits(g->args.sinks.handle, 1, 0xffffffffu);
}

static void no_lse(struct golden *g)
{
    golden_base(g, 5, 130, 8, 5);
    memset(&g->desc.lse, 0, sizeof(g->desc.lse));
}

/* ---- storage types and strides --------------------------------------------- */

static void f16(struct golden *g)
{
    golden_query(g, HEED_F16, 1, 2, 9, 20, 13);
    golden_source(g, HEED_F16, 1, 2, 150);
}

static void bf16(struct golden *g)
{
    golden_query(g, HEED_BF16, 1, 2, 9, 20, 13);
    golden_source(g, HEED_BF16, 1, 2, 150);
}

static void mixed_types(struct golden *g)
{
    golden_query(g, HEED_BF16, 1, 2, 9, 20, 13);
    golden_source(g, HEED_F16, 1, 2, 150);
    golden_source(g, HEED_F32, 1, 2, 40);
    g->desc.o.dtype = HEED_F16;
}

static void f16_extremes(struct golden *g)
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

static void grouped_heads(struct golden *g)
{
    golden_query(g, HEED_F32, 2, 6, 5, 8, 4);
    golden_source(g, HEED_F32, 2, 3, 90);
    golden_source(g, HEED_F32, 1, 1, 20);
}

static void strides(struct golden *g)
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

/* ---- step 2: terms ------------------------------------------------------------- */

static void causal(struct golden *g)
{
    golden_base(g, 70, 70, 6, 4);
    g->sources[0].flags = HEED_SOURCE_CAUSAL;
}

static void causal_at_end(struct golden *g)
{
    golden_base(g, 20, 300, 6, 4);
    g->sources[0].flags = HEED_SOURCE_CAUSAL;
    g->desc.flags = HEED_ATTN_ALIGN_END;
}

static void window(struct golden *g)
{
    golden_base(g, 150, 150, 6, 4);
    golden_term(g, 0, (heed_term){ .kind = HEED_TERM_WINDOW, .left = 20, .right = 7 });
}

static void window_block(struct golden *g)
{
    golden_base(g, 90, 90, 6, 4);
    golden_term(g, 0, (heed_term){ .kind = HEED_TERM_WINDOW, .block = 8, .left = 8, .right = 8 });
    golden_term(g, 0,
                (heed_term){ .kind = HEED_TERM_WINDOW, .block = 8, .left = 40, .right = -24 });
    golden_term(g, 0, (heed_term){ .kind = HEED_TERM_WINDOW, .left = -60, .right = HEED_FAR });
}

static void window_dilated(struct golden *g)
{
    golden_base(g, 90, 90, 6, 4);
    golden_term(g, 0,
                (heed_term){ .kind = HEED_TERM_WINDOW,
                             .left = 30,
                             .right = 30,
                             .step = 3,
                             .flags = HEED_TERM_PHASE_QUERY });
}

static void strided_heads(struct golden *g)
{
    golden_base(g, 20, 400, 6, 4);
    golden_term(g, 0,
                (heed_term){
                    .kind = HEED_TERM_ALL, .step = 5, .phase = -1, .flags = HEED_TERM_PHASE_HEAD });
}

static void combs(struct golden *g)
{
    golden_base(g, 60, 200, 6, 4);
    golden_term(g, 0, (heed_term){ .kind = HEED_TERM_ALL, .step = 7, .phase = 2 });
    golden_term(g, 0, (heed_term){ .kind = HEED_TERM_WINDOW, .left = 9, .right = 2 });
    golden_term(g, 0, (heed_term){ .kind = HEED_TERM_ALL, .step = 3, .phase = 1 });
    golden_term(g, 0, (heed_term){ .kind = HEED_TERM_GLOBAL, .block = 5 });
    golden_term(g, 0, (heed_term){ .kind = HEED_TERM_WINDOW, .left = 90, .right = 90, .step = 3 });
    golden_term(g, 0, (heed_term){ .kind = HEED_TERM_SEGMENT, .block = 20 });
    {
        const int64_t shape[2] = { 3, 2 };
        const int32_t ranges[] = { 0, 12, 100, 110, 190, 200 };

        g->terms[0][5].slot = golden_slot_i32(g, 2, shape, ranges);
    }
}

static void global_list(struct golden *g)
{
    const int64_t entries = 5;
    const int32_t keys[] = { 3, 64, 65, 120, 149 }, rows[] = { 0, 7, 40, 41, 79 };

    golden_base(g, 80, 150, 6, 4);
    golden_term(g, 0, (heed_term){ .kind = HEED_TERM_WINDOW, .left = 4, .right = 4 });
    golden_term(g, 0,
                (heed_term){ .kind = HEED_TERM_GLOBAL,
                             .flags = HEED_TERM_KEYS,
                             .slot = golden_slot_i32(g, 1, &entries, keys) });
    golden_term(g, 0,
                (heed_term){ .kind = HEED_TERM_GLOBAL,
                             .flags = HEED_TERM_ROWS,
                             .slot = golden_slot_i32(g, 1, &entries, rows) });
    g->sources[0].flags = HEED_SOURCE_CAUSAL;
}

static void global_first(struct golden *g)
{
    golden_base(g, 80, 150, 6, 4);
    golden_term(g, 0, (heed_term){ .kind = HEED_TERM_WINDOW, .left = 4, .right = 4 });
    golden_term(g, 0,
                (heed_term){ .kind = HEED_TERM_GLOBAL,
                             .flags = HEED_TERM_KEYS | HEED_TERM_ROWS,
                             .block = 3 });
    golden_term(g, 0, (heed_term){ .kind = HEED_TERM_ALL, .step = 16 });
}

static void listed(struct golden *g)
{
    const int64_t shape[3] = { 1, 3, 6 };
    const int32_t lists[] = { 4, 0, 4, -1, 19, 40, 12, 12, 12, 12, 12, 12, -1, -1, -1, -1, -1, -1 };

    golden_base(g, 23, 100, 6, 4);
    g->sources[0].layout = HEED_LAYOUT_LISTED;
    g->sources[0].run = 5;
    g->sources[0].rows = 8;
    golden_slot_i64(g, 0, NULL); /* so that the list is bound by run: its entry 40 names no key */
    g->sources[0].slot = golden_slot_i32(g, 3, shape, lists);
    g->sources[0].flags = HEED_SOURCE_CAUSAL;
    g->desc.flags = HEED_ATTN_ALIGN_END;
}

static void listed_heads(struct golden *g)
{
    const int64_t shape[3] = { 2, 9, 90 };
    int32_t lists[2 * 9 * 90];

    golden_base(g, 9, 400, 6, 4);
    for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++)
        lists[i] = (int32_t)(golden_next(g) % 400);
    g->sources[0].layout = HEED_LAYOUT_LISTED;
    g->sources[0].slot = golden_slot_i32(g, 3, shape, lists);
}

static void sources_three(struct golden *g)
{
    golden_base(g, 40, 50, 6, 4);
    golden_source(g, HEED_F32, 1, 1, 30);
    golden_source(g, HEED_F32, 1, 2, 40);
    g->sources[0].flags = HEED_SOURCE_END;
    g->sources[1].pos0 = 1;
    g->sources[1].pos_step = 4;
    g->sources[1].pos_span = 3;
    golden_term(g, 0, (heed_term){ .kind = HEED_TERM_WINDOW, .left = 30, .right = 0 });
    golden_term(g, 1, (heed_term){ .kind = HEED_TERM_WINDOW, .left = 10, .right = 10, .block = 4 });
    g->sources[2].flags = HEED_SOURCE_CAUSAL;
}

/* ---- items: lengths, masks, packed sequences, positions ----------------------- */

static void lengths(struct golden *g)
{
    const int64_t keys[] = { 0, 33, 90 }, rows[] = { 12, 5, 0 };

    golden_query(g, HEED_F32, 3, 1, 12, 6, 4);
    golden_source(g, HEED_F32, 3, 1, 90);
    g->sources[0].len_slot = golden_slot_i64(g, 3, keys);
    g->desc.q_len_slot = golden_slot_i64(g, 3, rows);
    g->sources[0].flags = HEED_SOURCE_CAUSAL;
    g->desc.flags = HEED_ATTN_ALIGN_END;
    golden_sinks(g);
    g->desc.flags |= HEED_ATTN_LSE_WITH_SINK;
}

static void ragged(struct golden *g)
{
    const int64_t q_begins[] = { 0, 9, 20 }, q_lengths[] = { 7, 11, 4 };
    const int64_t begins[] = { 100, 0, 30 }, sizes[] = { 90, 25, 70 };

    golden_query(g, HEED_F32, 1, 2, 26, 6, 4);
    golden_source(g, HEED_F32, 1, 2, 150);
    g->desc.q_layout = g->sources[0].layout = HEED_LAYOUT_RAGGED;
    g->desc.q_slot = golden_slot_i64(g, 3, q_begins);
    g->sources[0].len_slot = golden_slot_i64(g, 3, sizes); /* bound by run: 90 is cut to 50 */
    g->sources[0].slot = golden_slot_i64(g, 3, begins);
    golden_slot_i64(g, 0, NULL);
    g->desc.q_len_slot = golden_slot_i64(g, 3, q_lengths);
    g->desc.flags = HEED_ATTN_ALIGN_END;
    golden_term(g, 0, (heed_term){ .kind = HEED_TERM_WINDOW, .left = 12, .right = 0 });
}

static void mask(struct golden *g)
{
    const int64_t shape[3] = { 2, 2, 130 };
    uint8_t *bytes;

    golden_query(g, HEED_F32, 2, 2, 6, 6, 4);
    golden_source(g, HEED_F32, 2, 2, 130);
    bytes = golden_array(g, HEED_U8, 2 * 2 * 130);
    for (int64_t i = 0; i < 2 * 2 * 130; i++)
        bytes[i] = (uint8_t)(golden_next(g) % 3);
    memset(bytes + 130, 0, 130); /* item 0, head 1 sees nothing */
    g->sources[0].mask_slot = golden_slot_of(g, golden_tensor(HEED_U8, 3, shape), bytes);
    for (int64_t i = 0; i < 130; i++) {
        if (bytes[i] == 0) /* not consulted */
            golden_put_bits(g->kv[0].v.handle, i * 4, 0x7fc00000u);
    }
}

static void positions(struct golden *g)
{
    const int64_t offsets[] = { -3, 40 };

    golden_query(g, HEED_F32, 2, 1, 12, 6, 4);
    golden_source(g, HEED_F32, 2, 1, 60);
    g->desc.q_pos0 = -5;
    g->desc.q_pos_step = 3;
    g->desc.q_pos_slot = golden_slot_i64(g, 2, offsets);
    g->sources[0].pos0 = -20;
    g->sources[0].pos_step = 2;
    g->sources[0].pos_span = 3;
    g->sources[0].flags = HEED_SOURCE_CAUSAL;
    golden_term(g, 0, (heed_term){ .kind = HEED_TERM_WINDOW, .block = 5, .left = 17, .right = 4 });
}

/* ---- step 4: biases -------------------------------------------------------------- */

static void bias_dense(struct golden *g)
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

static void bias_broadcast(struct golden *g)
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

static void bias_alibi(struct golden *g)
{
    const int64_t heads = 2;

    golden_base(g, 50, 130, 6, 4);
    golden_bias(g, 0,
                (heed_bias){ .kind = HEED_BIAS_ALIBI,
                             .t = golden_slot_floats(g, HEED_F32, 1, &heads, -4) });
    g->desc.flags = HEED_ATTN_ALIGN_END;
    g->desc.q_pos0 = (int64_t)1 << 30; /* |delta| does not fit a float */
}

static void bias_table(struct golden *g)
{
    const int64_t shape[2] = { 2, 40 };
    uint32_t slot;

    golden_base(g, 50, 130, 6, 4);
    slot = golden_slot_floats(g, HEED_BF16, 2, shape, 2);
    ((uint16_t *)golden_slot_data(g, slot))[13] = 0xff80;
    golden_bias(g, 0, (heed_bias){ .kind = HEED_BIAS_TABLE, .t = slot, .zero = 20 });
}

static void bias_map(struct golden *g)
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

static void everything(struct golden *g)
{
    const int64_t heads = 4, entries = 4, dense_shape[4] = { 2, 1, 30, 200 };
    const int64_t sizes[] = { 180, 70 };
    const int32_t keys[] = { 2, 5, 77, 150 };

    golden_query(g, HEED_BF16, 2, 4, 30, 24, 10);
    golden_source(g, HEED_F16, 2, 2, 200);
    golden_source(g, HEED_BF16, 1, 4, 64);
    golden_sinks(g);
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

#define CASE(name)                                                                                 \
    {                                                                                              \
#name, name                                                                                \
    }
const struct golden_case golden_cases[] = {
    CASE(one_key),
    CASE(dense),
    CASE(dense_long),
    CASE(dense_default_scale),
    CASE(dense_scale),
    CASE(dense_scale_zero),
    CASE(no_channels),
    CASE(no_values),
    CASE(no_keys),
    CASE(steep),
    CASE(huge),
    CASE(softcap_small),
    CASE(softcap_large),
    CASE(subnormal),
    CASE(specials),
    CASE(nan_scores),
    CASE(sink),
    CASE(sink_in_lse),
    CASE(sink_special),
    CASE(no_lse),
    CASE(f16),
    CASE(bf16),
    CASE(mixed_types),
    CASE(f16_extremes),
    CASE(grouped_heads),
    CASE(strides),
    CASE(causal),
    CASE(causal_at_end),
    CASE(window),
    CASE(window_block),
    CASE(window_dilated),
    CASE(strided_heads),
    CASE(combs),
    CASE(global_list),
    CASE(global_first),
    CASE(listed),
    CASE(listed_heads),
    CASE(sources_three),
    CASE(lengths),
    CASE(ragged),
    CASE(mask),
    CASE(positions),
    CASE(bias_dense),
    CASE(bias_broadcast),
    CASE(bias_alibi),
    CASE(bias_table),
    CASE(bias_map),
    CASE(everything),
};
#undef CASE
const size_t golden_n_cases = sizeof(golden_cases) / sizeof(*golden_cases);
