/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Golden cases about step 2 of docs/numerics.md: which keys a row sees, in which order.
 */
#include "build.h"

#include <stdbool.h>
#include <string.h>

/* ---- step 2: terms ------------------------------------------------------------- */

void golden_case_causal(struct golden *g)
{
    golden_base(g, 70, 70, 6, 4);
    g->sources[0].flags = HEED_SOURCE_CAUSAL;
}

void golden_case_causal_at_end(struct golden *g)
{
    golden_base(g, 20, 300, 6, 4);
    g->sources[0].flags = HEED_SOURCE_CAUSAL;
    g->desc.flags = HEED_ATTN_ALIGN_END;
}

void golden_case_window(struct golden *g)
{
    golden_base(g, 150, 150, 6, 4);
    golden_term(g, 0, (heed_term){ .kind = HEED_TERM_WINDOW, .left = 20, .right = 7 });
}

void golden_case_window_block(struct golden *g)
{
    golden_base(g, 90, 90, 6, 4);
    golden_term(g, 0, (heed_term){ .kind = HEED_TERM_WINDOW, .block = 8, .left = 8, .right = 8 });
    golden_term(g, 0,
                (heed_term){ .kind = HEED_TERM_WINDOW, .block = 8, .left = 40, .right = -24 });
    golden_term(g, 0, (heed_term){ .kind = HEED_TERM_WINDOW, .left = -60, .right = HEED_FAR });
}

void golden_case_window_dilated(struct golden *g)
{
    golden_base(g, 90, 90, 6, 4);
    golden_term(g, 0,
                (heed_term){ .kind = HEED_TERM_WINDOW,
                             .left = 30,
                             .right = 30,
                             .step = 3,
                             .flags = HEED_TERM_PHASE_QUERY });
}

void golden_case_strided_heads(struct golden *g)
{
    golden_base(g, 20, 400, 6, 4);
    golden_term(g, 0,
                (heed_term){
                    .kind = HEED_TERM_ALL, .step = 5, .phase = -1, .flags = HEED_TERM_PHASE_HEAD });
}

void golden_case_combs(struct golden *g)
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

void golden_case_global_list(struct golden *g)
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

void golden_case_global_first(struct golden *g)
{
    golden_base(g, 80, 150, 6, 4);
    golden_term(g, 0, (heed_term){ .kind = HEED_TERM_WINDOW, .left = 4, .right = 4 });
    golden_term(g, 0,
                (heed_term){ .kind = HEED_TERM_GLOBAL,
                             .flags = HEED_TERM_KEYS | HEED_TERM_ROWS,
                             .block = 3 });
    golden_term(g, 0, (heed_term){ .kind = HEED_TERM_ALL, .step = 16 });
}

void golden_case_listed(struct golden *g)
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

void golden_case_listed_heads(struct golden *g)
{
    const int64_t shape[3] = { 2, 9, 90 };
    int32_t lists[2 * 9 * 90];

    golden_base(g, 9, 400, 6, 4);
    for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++)
        lists[i] = (int32_t)(golden_next(g) % 400);
    g->sources[0].layout = HEED_LAYOUT_LISTED;
    g->sources[0].slot = golden_slot_i32(g, 3, shape, lists);
}

void golden_case_sources_three(struct golden *g)
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

void golden_case_lengths(struct golden *g)
{
    const int64_t keys[] = { 0, 33, 90 }, rows[] = { 12, 5, 0 };

    golden_query(g, HEED_F32, 3, 1, 12, 6, 4);
    golden_source(g, HEED_F32, 3, 1, 90);
    g->sources[0].len_slot = golden_slot_i64(g, 3, keys);
    g->desc.q_len_slot = golden_slot_i64(g, 3, rows);
    g->sources[0].flags = HEED_SOURCE_CAUSAL;
    g->desc.flags = HEED_ATTN_ALIGN_END;
    golden_sinks(g, HEED_F32);
    g->desc.flags |= HEED_ATTN_LSE_WITH_SINK;
}

void golden_case_ragged(struct golden *g)
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

/* o and lse begin elsewhere, in another order, in rows of their own; items 0 and 1 share rows of q,
 * and those of item 2 end with o. */
void golden_case_ragged_apart(struct golden *g)
{
    const int64_t q_begins[] = { 5, 3, 20 }, o_begins[] = { 12, 0, 27 }, lengths[] = { 9, 11, 6 };

    golden_query(g, HEED_F32, 1, 2, 26, 6, 4);
    g->desc.o.shape[2] = g->desc.lse.shape[2] = 30;
    g->desc.o.stride[1] = 30 * 4;
    g->desc.lse.stride[1] = 30;
    g->o_count = 2 * 30 * 4;
    g->lse_count = 2 * 30;
    golden_source(g, HEED_F32, 3, 2, 80);
    g->desc.q_layout = HEED_LAYOUT_RAGGED;
    g->desc.q_slot = golden_slot_i64(g, 3, q_begins);
    g->desc.q_len_slot = golden_slot_i64(g, 3, lengths); /* bound by run: 6 is cut to 3 */
    golden_slot_i64(g, 0, NULL);
    g->desc.o_slot = golden_slot_i64(g, 3, o_begins);
    g->sources[0].flags = HEED_SOURCE_CAUSAL;
    g->desc.flags = HEED_ATTN_ALIGN_END;
}

void golden_case_mask(struct golden *g)
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

/* Rows that keep some of 130 keys, every eighth of them none, and of the block in the middle nobody
 * any; what no row of an item keeps is NaN. */
static void row_mask(struct golden *g, bool *keep)
{
    for (int64_t i = 0; i < 2 * 10 * 130; i++)
        keep[i] = golden_next(g) % 3 && i / 130 % 8 != 5 && i % 130 / 64 != 1 && i % 7;
    for (int64_t i = 0; i < 2 * 2 * 130; i++) {
        const int64_t key = i % 130;
        bool seen = false;

        for (int64_t row = 0; row < 10; row++)
            seen = seen || keep[row * 130 + key] || keep[(10 + row) * 130 + key];
        if (!seen)
            golden_put_bits(g->kv[0].v.handle, i * 4, 0x7fc00000u);
    }
}

void golden_case_row_mask(struct golden *g)
{
    const int64_t shape[3] = { 2, 10, 130 };
    bool keep[2 * 10 * 130];
    uint8_t *bytes;

    golden_query(g, HEED_F32, 2, 2, 10, 6, 4);
    golden_source(g, HEED_F32, 2, 2, 130);
    row_mask(g, keep);
    bytes = golden_array(g, HEED_U8, 2 * 10 * 130); /* of each head, for both items */
    for (int64_t i = 0; i < 2 * 10 * 130; i++)
        bytes[i] = keep[i] ? (uint8_t)(1 + i % 255) : 0;
    g->sources[0].row_mask_slot = golden_slot_of(g, golden_tensor(HEED_U8, 3, shape), bytes);
    g->sources[0].flags = HEED_SOURCE_CAUSAL;
    g->desc.flags = HEED_ATTN_ALIGN_END;
    golden_term(g, 0, (heed_term){ .kind = HEED_TERM_WINDOW, .left = 100, .right = 0 });
    golden_term(g, 0, (heed_term){ .kind = HEED_TERM_GLOBAL, .block = 3 });
}

/* Words of 32 keys, of which the last has bits of keys that are not there; items have their own. */
void golden_case_row_mask_bits(struct golden *g)
{
    const int64_t shape[4] = { 2, 1, 10, 5 };
    bool keep[2 * 10 * 130];
    uint32_t *words;

    golden_query(g, HEED_F32, 2, 2, 10, 6, 4);
    golden_source(g, HEED_F32, 2, 2, 130);
    row_mask(g, keep);
    words = golden_array(g, HEED_I32, 2 * 10 * 5);
    for (int64_t i = 0; i < 2 * 10 * 5; i++)
        words[i] = i % 5 == 4 ? 0xfffffffcu : 0;
    for (int64_t i = 0; i < 2 * 10 * 130; i++)
        words[i / 130 * 5 + i % 130 / 32] |= (uint32_t)keep[i] << i % 130 % 32;
    g->sources[0].row_mask_slot = golden_slot_of(g, golden_tensor(HEED_I32, 4, shape), words);
}

/* ALiBi as a factor of each head times one array: -Inf there removes, though a factor is 0. */
void golden_case_bias_factor(struct golden *g)
{
    const int64_t shape[4] = { 1, 1, 10, 90 }, heads = 2;
    uint32_t slot, factor;

    golden_base(g, 10, 90, 6, 4);
    slot = golden_slot_floats(g, HEED_F16, 4, shape, 2);
    factor = golden_slot_floats(g, HEED_BF16, 1, &heads, -1);
    ((uint16_t *)golden_slot_data(g, factor))[1] = 0;
    for (int64_t i = 0; i < 900; i += 7)
        ((uint16_t *)golden_slot_data(g, slot))[i] = 0xfc00;
    golden_bias(g, 0, (heed_bias){ .kind = HEED_BIAS_DENSE, .t = slot, .u = factor });
}

void golden_case_positions(struct golden *g)
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

/* Items share pages; some pages are not there, and no length ends with one. */
static void paged(struct golden *g, uint32_t dtype, int64_t page)
{
    const int64_t shape[] = { 3, 9 };
    const int32_t table[] = { 4, 0, -1, 2, 2, 6, 7, 1, 3, 5, 4, 3, 2, 1, 0, 6, 5, 4,
                              0, 4, 1, -7, 3, 100, 5, 6, -1 };
    const int64_t sizes[] = { 9 * page, 0, 7 * page - 5 };

    golden_query(g, dtype == HEED_I8 ? HEED_F32 : dtype, 3, 4, 10, 6, 4);
    golden_source(g, dtype, 7, 2, page);
    g->sources[0].layout = HEED_LAYOUT_PAGED;
    g->sources[0].len_slot = golden_slot_i64(g, 3, sizes);
    g->sources[0].slot = golden_slot_i32(g, 2, shape, table);
    g->sources[0].flags = HEED_SOURCE_CAUSAL;
    g->desc.flags = HEED_ATTN_ALIGN_END;
}

void golden_case_paged(struct golden *g)
{
    paged(g, HEED_F32, 12);
}

void golden_case_paged_f16(struct golden *g)
{
    paged(g, HEED_F16, 64);
    golden_term(g, 0, (heed_term){ .kind = HEED_TERM_WINDOW, .left = 90, .right = 0 });
    golden_term(g, 0, (heed_term){ .kind = HEED_TERM_GLOBAL, .block = 4 });
    golden_term(g, 0, (heed_term){ .kind = HEED_TERM_ALL, .step = 5, .phase = 2 });
}

void golden_case_i8_paged(struct golden *g)
{
    const int64_t shape[] = { 7, 2, 16 };

    paged(g, HEED_I8, 16);
    g->sources[0].k_scale_slot = golden_slot_scales(g, HEED_F16, 3, shape);
    g->sources[0].v_scale_slot = golden_slot_scales(g, HEED_F32, 3, shape);
}

void golden_case_ring(struct golden *g)
{
    const int64_t heads[] = { 149, 0, 41, 150 }, sizes[] = { 150, 33, 111, 150 };

    golden_query(g, HEED_F32, 4, 2, 5, 6, 4);
    golden_source(g, HEED_F32, 4, 2, 150);
    g->sources[0].layout = HEED_LAYOUT_RING;
    g->sources[0].len_slot = golden_slot_i64(g, 4, sizes);
    g->sources[0].slot = golden_slot_i64(g, 4, heads);
    g->sources[0].flags = HEED_SOURCE_END;
    g->desc.flags = HEED_ATTN_ALIGN_START;
    golden_term(g, 0, (heed_term){ .kind = HEED_TERM_WINDOW, .left = 70, .right = 0 });
}
