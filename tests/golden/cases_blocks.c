/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Golden cases of keys and values in blocks.
 */
#include "build.h"

/* Over a border of chunks, and beside a source of f16. */
static void blocks(struct golden *g, uint32_t k, uint32_t v)
{
    golden_query(g, HEED_F32, 1, 4, 5, 64, 96);
    golden_source(g, k, 1, 2, 1100);
    if (v != k) {
        g->sources[0].v = golden_tensor(v, 4, (const int64_t[]){ 1, 2, 1100, 96 });
        g->kv[0].v.handle = golden_floats(g, v, 2 * 1100 * 96, 0);
    }
    golden_source(g, HEED_F16, 1, 2, 40);
}

#define BLOCKS(name, NAME)                                                                         \
    void golden_case_##name(struct golden *g)                                                      \
    {                                                                                              \
        blocks(g, HEED_##NAME, HEED_##NAME);                                                       \
    }
BLOCKS(q8_0, Q8_0)
BLOCKS(q4_0, Q4_0)
BLOCKS(q4_1, Q4_1)
BLOCKS(q5_0, Q5_0)
BLOCKS(q5_1, Q5_1)
BLOCKS(iq4_nl, IQ4_NL)
#undef BLOCKS

/* Scales and minima of k and v that a window shows to some rows only, and a DOT bias. */
void golden_case_blocks_mixed(struct golden *g)
{
    static const uint16_t odd[] = { 0, 0x8000, 0x0007, 0x83ff, 0x7bff, 0x7c00, 0xfc00, 0x7e01 };
    const int64_t table[] = { 1, 9, 32 }, n = 260;
    void *k, *v;

    golden_query(g, HEED_F32, 1, 1, n, 32, 64);
    golden_source(g, HEED_Q5_1, 1, 1, n);
    g->sources[0].v = golden_tensor(HEED_Q4_1, 4, (const int64_t[]){ 1, 1, n, 64 });
    g->kv[0].v.handle = golden_floats(g, HEED_Q4_1, n * 64, 0);
    k = g->kv[0].k.handle;
    v = g->kv[0].v.handle;
    for (int64_t i = 0; i < 8; i++) {
        golden_put_half(k, (10 + 30 * i) * 12 + i % 2, odd[i]);
        golden_put_half(v, (20 + 30 * i) * 20 + 10 * (i / 2 % 2) + i % 2, odd[i]);
    }
    golden_term(g, 0, (heed_term){ .kind = HEED_TERM_WINDOW, .left = 2, .right = 2 });
    golden_bias(g, 0,
                (heed_bias){ .kind = HEED_BIAS_DOT,
                             .zero = 4,
                             .u = golden_slot_floats(g, HEED_F32, 3, table, -2) });
}

void golden_case_blocks_paged(struct golden *g)
{
    const int64_t shape[] = { 3, 9 }, sizes[] = { 140, 0, 100 };
    const int32_t table[] = { 4, 0, -1, 2, 2, 6, 5, 1,  3, 5,   4, 3, 2, 1,
                              0, 6, 5,  4, 0, 4, 1, -7, 3, 100, 5, 6, -1 };

    golden_query(g, HEED_F32, 3, 4, 10, 64, 32);
    golden_source(g, HEED_Q8_0, 7, 2, 16);
    g->sources[0].v = golden_tensor(HEED_Q4_0, 4, (const int64_t[]){ 7, 2, 16, 32 });
    g->kv[0].v.handle = golden_floats(g, HEED_Q4_0, 7 * 2 * 16 * 32, 0);
    g->sources[0].layout = HEED_LAYOUT_PAGED;
    g->sources[0].len_slot = golden_slot_i64(g, 3, sizes);
    g->sources[0].slot = golden_slot_i32(g, 2, shape, table);
    g->sources[0].flags = HEED_SOURCE_CAUSAL;
    g->desc.flags = HEED_ATTN_ALIGN_END;
}
