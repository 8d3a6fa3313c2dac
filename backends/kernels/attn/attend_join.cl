/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Attention for processors, the second half where strips are cut by keys (attend_lanes.cl): joins
 * what came of the chunks of a strip in the order that docs/numerics.md step 8 wants, and ends its
 * rows. A group is a worker, which takes strips until none is left.
 */
#define HK_THREADS 1
#define HK_VECTORS 1
#define HK_SUB_SPACE HK_GLOBAL
#include "ends.h"

HK_FN int hk_chunk_exists(const struct hk_strip *st)
{
    hk_i64 i;

    for (i = 0; i < st->n_rows; i++) {
        if (!st->state[i].empty)
            return 1;
    }
    return 0;
}

/* All chunks of one source. */
HK_FN void hk_source_join(struct hk_strip *st, HK_GLOBAL const struct hk_source *source)
{
    const hk_i64 len = hk_chunks_length(st->call, source, st->b);
    hk_i64 chunk;
    hk_u32 i;

    for (i = 0; i < source->n_subs; i++) {
        const struct hk_chunks chunks = hk_chunks_get(st->call, source, i, len);

        for (chunk = 0; chunk < chunks.count; chunk++) {
            hk_chunk_open(st, chunks.first + chunk);
            if (hk_chunk_exists(st))
                hk_chunk_end(st);
        }
    }
}

HK_FN void hk_strip_join(struct hk_strip *st, const struct hk_task *task)
{
    HK_GLOBAL const struct hk_plan *plan = st->call->plan;
    hk_u32 s;

    st->b = task->b;
    st->n_rows = hk_strip_fill(st, task);
    st->tiles = (st->n_rows + HK_R - 1) / HK_R;
    hk_rows_begin(st, task);
    for (s = 0; s < plan->n_sources; s++)
        hk_source_join(st, st->call->sources + s);
    hk_rows_finish(st, task);
}

HK_FN void hk_main(const struct hk_call *call, hk_i64 group)
{
    HK_GLOBAL const struct hk_plan *plan = call->plan;
    HK_GLOBAL hk_i32 *counter = (HK_GLOBAL hk_i32 *)(call->work + plan->counter_at) + 1;
    struct hk_strip open;
    hk_i64 number;

    hk_strip_open(&open, call, call->work + plan->workers_at + group * plan->worker_bytes);
    while ((number = hk_take(counter)) < plan->tasks) {
        struct hk_strip st = open;      /* the first chunk's sums change places with the worker's */
        struct hk_task task;

        hk_task_get(call, number, &task);
        st.chunks = hk_strip_chunks(call, number);
        if (task.count > 0)
            hk_strip_join(&st, &task);
    }
}

#include "../entry.h"
