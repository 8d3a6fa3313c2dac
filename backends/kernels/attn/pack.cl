/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * For the lanes kernels: puts K of sources whose items do not lie in one tensor into panels, once
 * for all strips, and notes for every block whether all of its V is finite. A group is a worker,
 * which takes blocks of 64 keys, of one source, item and key head each, until none is left.
 */
#define HK_THREADS 1
#define HK_VECTORS 1
#include "rows.h"
#include "worker.h"

/* Keys of the longest item: what lies beyond is nobody's and is not read. */
HK_FN hk_i64 hk_keys_max(const struct hk_call *call, HK_GLOBAL const struct hk_source *source)
{
    hk_i64 max = 0, b;

    for (b = 0; b < call->plan->n_batch && max < source->n_k; b++)
        max = hk_max(max, hk_keys_cut(call, source, b).len);
    return max;
}

/* Block number `task` of the source, counted over its items, key heads and blocks. */
HK_FN void hk_block_pack(const struct hk_call *call, hk_u32 s, hk_i64 task, HK_GLOBAL float *temp)
{
    HK_GLOBAL const struct hk_source *source = call->sources + s;
    const hk_i64 d = call->plan->d, d_v = call->plan->d_v;
    const hk_i64 first = task % source->blocks * HK_BLOCK;
    const hk_i64 head = task / source->blocks % source->heads;
    const hk_i64 b = task / source->blocks / source->heads;
    const struct hk_cut cut = hk_keys_cut(call, source, b);
    const hk_i64 len = source->shared ? hk_keys_max(call, source) : cut.len;
    struct hk_matrix k, v;
    hk_i64 keys[HK_BLOCK];

    if (first >= len)
        return;
    k = hk_keys_get(call, source, &source->k, &source->k_scale, &source->k_scaling, hk_k(call, s),
                    b, head, &cut);
    v = hk_keys_get(call, source, &source->v, &source->v_scale, &source->v_scaling, hk_v(call, s),
                    b, head, &cut);
    hk_keys_fill(&k, first, len, keys);
    hk_keys_pack(&k, keys, d,
                 (HK_GLOBAL float *)(call->work + source->packed_at) +
                     task * HK_BLOCK * source->panel_rows,
                 temp);
    ((HK_GLOBAL hk_u32 *)(call->work + source->finite_at))[task] =
        (hk_u32)hk_rows_finite(&v, d_v, keys, temp);
}

HK_FN void hk_main(const struct hk_call *call, hk_i64 group)
{
    HK_GLOBAL const struct hk_plan *plan = call->plan;
    HK_GLOBAL hk_i32 *counter = (HK_GLOBAL hk_i32 *)(call->work + plan->counter_at) + 1;
    struct hk_worker_layout at;
    HK_GLOBAL float *temp;
    hk_i64 task;

    hk_worker_find(plan, &at);
    temp = (HK_GLOBAL float *)(call->work + plan->workers_at + group * plan->worker_bytes +
                               at.temp);
    while ((task = hk_take(counter)) < plan->pack_tasks) {
        hk_u32 s = 0;

        while (task >= call->sources[s].pack_tasks)
            task -= call->sources[s++].pack_tasks;
        hk_block_pack(call, s, task, temp);
    }
}

#include "../entry.h"
