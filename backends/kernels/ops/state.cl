/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * heed/attn.h, state: states of the same rows joined in order and ended (docs/numerics.md, section
 * 8). A task is a strip of rows of one item and head.
 */
#define HK_SCALES 0 /* numbers alone */
#define HK_BATCH 1
#include "sums.h"
#include "batch.h"

/* The states of a row, and what becomes of them. */
struct hk_state_row {
    HK_GLOBAL const char *from; /* state 0 */
    hk_i64 step, channel;       /* bytes from state to state; elements */
    hk_i64 n, d;
    HK_GLOBAL char *state; /* NULL: the joined state is not wanted */
    hk_i64 state_channel;
    struct hk_tile_out o; /* row NULL: not wanted */
    HK_GLOBAL float *lse; /* NULL: not wanted */
    float sink;           /* -Inf: none */
    hk_u32 sink_counts;   /* 1: in the LSE */
};

/* ---- tasks ---- */

HK_FN float hk_state_sink(const struct hk_call *call, hk_i64 head)
{
    HK_GLOBAL const struct hk_array *array = &call->arrays[HK_STATE_SINKS];

    return hk_has(call, HK_STATE_SINKS)
               ? hk_element(array->dtype, call->buffer[HK_STATE_SINKS], head * array->stride[5])
               : -HK_INFINITY;
}

/* A strip: `row` is what its rows have in common. */
struct hk_state_strip {
    struct hk_state_row row;
    struct hk_rows states, joined, o;
    struct hk_entries lses;
};

HK_FN struct hk_state_row hk_state_row_get(const struct hk_state_strip *strip, hk_i64 i)
{
    struct hk_state_row row = strip->row;

    row.from = hk_byte(strip->states.base, i * strip->states.row);
    row.state = hk_row(&strip->joined, i);
    row.o.row = hk_row(&strip->o, i);
    row.lse = hk_entry_f32(&strip->lses, i);
    return row;
}

HK_FN void hk_state_open(const struct hk_call *call, const struct hk_strip_task *task,
                         struct hk_state_strip *strip)
{
    HK_GLOBAL const struct hk_state *numbers = HK_NUMBERS(call, struct hk_state);

    strip->states = hk_rows_get(call, HK_STATE_STATES, task->b, task->head);
    strip->joined = hk_rows_get(call, HK_STATE_STATE, task->b, task->head);
    strip->o = hk_rows_get(call, HK_STATE_O, task->b, task->head);
    strip->lses = hk_entries_get(call, HK_STATE_LSE, task->b, task->head);
    strip->row.step = call->arrays[HK_STATE_STATES].stride[0] * hk_size(HK_F32);
    strip->row.channel = strip->states.channel;
    strip->row.n = numbers->parts;
    strip->row.d = numbers->d;
    strip->row.state_channel = strip->joined.channel;
    strip->row.o.channel = strip->o.channel;
    strip->row.o.d = numbers->d;
    strip->row.o.dtype = strip->o.dtype;
    strip->row.o.reserved = 0;
    strip->row.sink = hk_state_sink(call, task->head);
    strip->row.sink_counts = numbers->lse_with_sink;
}

#if HK_THREADS == 1
#include "state_lanes.h"
#else
#include "state_threads.h"
#endif

HK_FN void hk_main(const struct hk_call *call, hk_i64 group)
{
    hk_i64 task;

    HK_TASKS(call, group, task)
    {
        const struct hk_strip_task at =
            hk_strip_get(&HK_NUMBERS(call, struct hk_state)->strip, task);
        struct hk_state_strip strip;

        hk_state_open(call, &at, &strip);
        hk_state_strip_run(&strip, at.first, at.count);
    }
}

#include "../entry.h"
