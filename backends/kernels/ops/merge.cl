/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * heed/attn.h, merge: partial attentions of the same queries joined (docs/numerics.md, step 13). A
 * part is an entry whose logit is its LSE and whose value is its row of o. A task is a strip of
 * rows of one item and head.
 */
#define HK_SCALES 0 /* numbers alone */
#include "operation.h"

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

HK_FN float hk_merge_sink(const struct hk_call *call, hk_i64 head)
{
    HK_GLOBAL const struct hk_array *sinks = &call->arrays[HK_MERGE_SINKS];

    return hk_has(call, HK_MERGE_SINKS)
               ? hk_element(sinks->dtype, call->buffer[HK_MERGE_SINKS], head * sinks->stride[5])
               : -HK_INFINITY;
}

HK_FN void hk_merge_row(const struct hk_weigh_row *row, HK_GLOBAL float *out_lse)
{
    HK_THREAD_ID(id);
    float lse;

    hk_weigh(row, &lse);
    if (!out_lse)
        return;
    HK_EACH(id) {
        if (id == 0)
            *out_lse = lse;
    }
}

HK_FN void hk_merge_task(const struct hk_call *call, hk_i64 task)
{
    HK_GLOBAL const struct hk_merge *numbers = HK_NUMBERS(call, struct hk_merge);
    const struct hk_strip_task strip = hk_strip_get(&numbers->strip, task);
    const struct hk_rows parts = hk_rows_get(call, HK_MERGE_PARTS, strip.b, strip.head);
    const struct hk_rows out = hk_rows_get(call, HK_MERGE_O, strip.b, strip.head);
    const struct hk_entries lses = hk_entries_get(call, HK_MERGE_PARTS_LSE, strip.b, strip.head);
    const struct hk_entries out_lses = hk_entries_get(call, HK_MERGE_LSE, strip.b, strip.head);
    struct hk_logits logits;
    struct hk_weigh_row row;
    hk_i64 i;

    logits.step = call->arrays[HK_MERGE_PARTS_LSE].stride[0];
    row.logits = &logits;
    row.n = numbers->parts;
    row.d = numbers->d;
    row.value_step = call->arrays[HK_MERGE_PARTS].stride[0] * hk_size(parts.dtype);
    row.value_channel = parts.channel;
    row.value_dtype = parts.dtype;
    row.out.channel = out.channel;
    row.out.d = numbers->d;
    row.out.dtype = out.dtype;
    row.out.reserved = 0;
    row.sink = hk_merge_sink(call, strip.head);
    row.with_sink = numbers->lse_with_sink;
    row.reserved = 0;
    for (i = strip.first; i < strip.first + strip.count; i++) {
        logits.lse = lses.base ? hk_entry_f32(&lses, i) : 0;
        row.values = hk_byte(parts.base, i * parts.row);
        row.out.row = out.base ? hk_row(&out, i) : 0;
        hk_merge_row(&row, out_lses.base ? hk_entry_f32(&out_lses, i) : 0);
    }
}

HK_FN void hk_main(const struct hk_call *call, hk_i64 group)
{
    hk_i64 task;

    HK_TASKS(call, group, task)
        hk_merge_task(call, task);
}

#include "../entry.h"
