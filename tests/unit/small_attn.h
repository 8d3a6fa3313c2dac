/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A small attention with a mask, lengths and positions in its slots, none of them constant, for
 * tests of plans and runs on devices that compute nothing.
 */
#ifndef HEED_TESTS_UNIT_SMALL_ATTN_H
#define HEED_TESTS_UNIT_SMALL_ATTN_H

#include <heed/attn.h>

#include <string.h>

static heed_source source;
static heed_slot slots[3];
static heed_attn_desc desc;

static heed_tensor dense(uint32_t dtype, int64_t b, int64_t h, int64_t n, int64_t d)
{
    return heed_array4(dtype, NULL, b, h, n, d).t;
}

static void small_desc(int64_t b, int64_t h, int64_t n_q, int64_t n_k, int64_t d, int64_t d_v)
{
    source = (heed_source){
        .k = dense(HEED_F16, b, 1, n_k, d),
        .v = dense(HEED_BF16, b, 1, n_k, d_v),
        .len_slot = 2,
        .mask_slot = 1,
    };
    memset(slots, 0, sizeof(slots));
    slots[0].t = (heed_tensor){ HEED_U8, 3, { b, 1, n_k }, { n_k, n_k, 1 } };
    slots[1].t = (heed_tensor){ HEED_I32, 1, { b }, { 1 } };
    slots[2].t = (heed_tensor){ HEED_I64, 1, { b }, { 1 } };
    desc = (heed_attn_desc){
        .size = sizeof(desc),
        .flags = HEED_ATTN_ALIGN_START,
        .q = dense(HEED_F32, b, h, n_q, d),
        .o = dense(HEED_F32, b, h, n_q, d_v),
        .lse = { HEED_F32, 3, { b, h, n_q }, { h * n_q, n_q, 1 } },
        .q_pos_slot = 3,
        .sources = &source,
        .n_sources = 1,
        .source_size = sizeof(source),
        .slots = slots,
        .n_slots = 3,
        .slot_size = sizeof(slots[0]),
    };
}

#endif
