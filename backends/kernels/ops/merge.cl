/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * heed/attn.h, merge: partial attentions of the same queries joined (docs/numerics.md, step 13). A
 * part is an entry whose logit is its LSE and whose value is its row of o. A task is a strip of
 * rows of one item and head.
 */
#define HK_SCALES 0 /* numbers alone */
#define HK_BATCH 1
#include "sums.h"
#include "batch.h"

HK_FN float hk_merge_sink(const struct hk_call *call, hk_i64 head)
{
    HK_GLOBAL const struct hk_array *sinks = &call->arrays[HK_MERGE_SINKS];

    return hk_has(call, HK_MERGE_SINKS)
               ? hk_element(sinks->dtype, call->buffer[HK_MERGE_SINKS], head * sinks->stride[5])
               : -HK_INFINITY;
}

/* What the rows of a strip have in common. */
struct hk_merge_strip {
    struct hk_rows parts, out;       /* parts: of part 0 */
    struct hk_entries lses, out_lses; /* lses: of part 0; base NULL: absent */
    hk_i64 part_step, lse_step;      /* from part to part: bytes; elements */
    hk_i64 n, d;                     /* n: parts */
    float sink;                      /* -Inf: none */
    hk_u32 with_sink;
};

HK_FN void hk_merge_open(const struct hk_call *call, const struct hk_strip_task *task,
                         struct hk_merge_strip *strip)
{
    HK_GLOBAL const struct hk_merge *numbers = HK_NUMBERS(call, struct hk_merge);

    strip->parts = hk_rows_get(call, HK_MERGE_PARTS, task->b, task->head);
    strip->out = hk_rows_get(call, HK_MERGE_O, task->b, task->head);
    strip->lses = hk_entries_get(call, HK_MERGE_PARTS_LSE, task->b, task->head);
    strip->out_lses = hk_entries_get(call, HK_MERGE_LSE, task->b, task->head);
    strip->part_step = call->arrays[HK_MERGE_PARTS].stride[0] * hk_size(strip->parts.dtype);
    strip->lse_step = call->arrays[HK_MERGE_PARTS_LSE].stride[0];
    strip->n = numbers->parts;
    strip->d = numbers->d;
    strip->sink = hk_merge_sink(call, task->head);
    strip->with_sink = numbers->lse_with_sink;
}

#if HK_THREADS == 1
#include "merge_lanes.h"
#else
#include "merge_threads.h"
#endif

#include "../entry.h"
