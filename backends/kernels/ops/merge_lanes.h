/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * merge for processors: row by row, as weigh.h has them.
 */
#ifndef HEED_BACKENDS_KERNELS_OPS_MERGE_LANES_H
#define HEED_BACKENDS_KERNELS_OPS_MERGE_LANES_H

/* The LSEs of a row, part by part. */
struct hk_logits {
    HK_GLOBAL const float *lse;
    hk_i64 step;
};

/* Parts are there unless their LSE is -Inf, which is what hk_block_weigh asks of the logit. */
HK_FN hk_u64 hk_logits_get(const struct hk_logits *from, hk_i64 first, hk_i64 count, float *y)
{
    hk_i64 i;

    for (i = 0; i < count; i++)
        y[i] = hk_mul(from->lse[(first + i) * from->step], HK_LOG2_E);
    return ~(hk_u64)0 >> (64 - count);
}

#include "weigh.h"

HK_FN void hk_merge_strip_run(const struct hk_merge_strip *strip, hk_i64 first, hk_i64 count)
{
    struct hk_logits logits;
    struct hk_weigh_row row;
    float lse;
    hk_i64 i;

    logits.step = strip->lse_step;
    row.logits = &logits;
    row.n = strip->n;
    row.d = strip->d;
    row.value_step = strip->part_step;
    row.value_channel = strip->parts.channel;
    row.value_dtype = strip->parts.dtype;
    row.out.channel = strip->out.channel;
    row.out.d = strip->d;
    row.out.dtype = strip->out.dtype;
    row.out.reserved = 0;
    row.sink = strip->sink;
    row.with_sink = strip->with_sink;
    row.reserved = 0;
    for (i = first; i < first + count; i++) {
        logits.lse = hk_entry_f32(&strip->lses, i);
        row.values = hk_byte(strip->parts.base, i * strip->parts.row);
        row.out.row = hk_row(&strip->out, i);
        hk_weigh(&row, &lse);
        if (strip->out_lses.base)
            *hk_entry_f32(&strip->out_lses, i) = lse;
    }
}

HK_FN void hk_main(const struct hk_call *call, hk_i64 group)
{
    hk_i64 task;

    HK_TASKS(call, group, task)
    {
        const struct hk_strip_task at =
            hk_strip_get(&HK_NUMBERS(call, struct hk_merge)->strip, task);
        struct hk_merge_strip strip;

        hk_merge_open(call, &at, &strip);
        hk_merge_strip_run(&strip, at.first, at.count);
    }
}

#endif
