/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Shape A: packs K of DENSE sources into panels, once for all strips, and notes for every block
 * whether all of its V is finite. A group is one 64-key block of one source, item and key head.
 */
#define HK_ITEMS 1
#define HK_VECTORS 1
#include "rows.h"

struct hk_shared {
    hk_u32 unused;
};

/* Keys of the longest item: what lies beyond is nobody's and is not read. */
HK_FN hk_i64 hk_keys_most(const struct hk_call *call, HK_GLOBAL const struct hk_source *source)
{
    hk_i64 most = 0, b;

    for (b = 0; b < call->plan->n_batch && most < source->n_k; b++)
        most = hk_max(most, hk_keys_cut(call, source, b).len);
    return most;
}

/* Are rows [first, end) finite? 0 * x is NaN where x is not. */
HK_FN int hk_rows_finite(const struct hk_matrix *v, hk_i64 d_v, hk_i64 first, hk_i64 end)
{
    float rest = 0.0f;
    hk_vec sum = hkv_set(0.0f);
    hk_i64 i, t;

    for (i = first; i < end; i++) {
        t = 0;
        if (hk_matrix_plain(v)) {
            HK_GLOBAL const float *row = (HK_GLOBAL const float *)v->base + i * v->row;

            for (; t + 16 <= d_v; t += 16)
                sum = hkv_fma(hkv_load(row + t), hkv_set(0.0f), sum);
        }
        for (; t < d_v; t++)
            rest = hk_fma(hk_matrix_element(v, i, t), 0.0f, rest);
    }
    return rest == rest && hkv_word(hkv_ordered(sum)) == 0xffffu;
}

HK_FN void hk_main(const struct hk_call *call, hk_i64 group, HK_LOCAL struct hk_shared *shared)
{
    HK_GLOBAL const struct hk_plan *plan = call->plan;
    hk_u32 s;

    (void)shared;
    for (s = 0; s < plan->n_sources; s++) {
        HK_GLOBAL const struct hk_source *source = call->sources + s;
        const hk_i64 items = source->shared ? 1 : plan->n_batch;
        const hk_i64 n = source->packs ? items * source->heads * source->blocks : 0;

        if (group < n) {
            const hk_i64 block = group % source->blocks, b = group / source->blocks / source->heads;
            const hk_i64 head = group / source->blocks % source->heads, first = block * HK_BLOCK;
            const hk_i64 len = source->shared ? hk_keys_most(call, source)
                                              : hk_keys_cut(call, source, b).len;
            const struct hk_matrix k =
                hk_matrix_get(call, &source->k, call->buffer[HK_BUF_K(s)], b, head, 0);
            const struct hk_matrix v =
                hk_matrix_get(call, &source->v, call->buffer[HK_BUF_V(s)], b, head, 0);
            HK_GLOBAL float *out =
                (HK_GLOBAL float *)(call->work + source->packed_at) + group * HK_BLOCK * plan->d;
            hk_i64 i;

            if (first >= len)
                return;
            for (i = 0; i < HK_BLOCK; i++)
                hk_key_pack(&k, first + i < len ? first + i : -1, plan->d,
                            out + i / 16 * 16 * plan->d + i % 16);
            ((HK_GLOBAL hk_u32 *)(call->work + source->finite_at))[group] =
                (hk_u32)hk_rows_finite(&v, plan->d_v, first, hk_min(first + HK_BLOCK, len));
            return;
        }
        group -= n;
    }
}

#include "entry.h"
