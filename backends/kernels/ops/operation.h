/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The call of a kernel of an operation with fixed arrays: its blob (arrays.h), its buffers, and
 * what a task finds in them. One text is both kernels of an operation: with HK_THREADS 1 the one
 * of processors, whose vectors have HKV_LANES lanes, and with HK_THREADS 64 the one of GPUs, whose
 * threads share the channels: with HK_ONE_LANE 1 one by one (channels.h), with HK_FOUR_LANES 1 in
 * vectors of four (batch.h). Each row of kernels.def says which.
 *
 *     HK_FN void hk_main(const struct hk_call *call, hk_i64 group)
 *     {
 *         hk_i64 task;
 *
 *         HK_TASKS(call, group, task)
 *             ... what lies in that task ...
 *     }
 *
 * HK_PASS: which of the operation's launches the kernel is, from the row; 0 by default. All threads
 * of a group walk the same tasks.
 */
#ifndef HEED_BACKENDS_KERNELS_OPS_OPERATION_H
#define HEED_BACKENDS_KERNELS_OPS_OPERATION_H

#define HK_VECTORS 1
/* GPUs index no registers: the table of buffers lies in local memory. */
#define HK_LOCAL_BUFFERS (HK_THREADS > 1)
#include "../buffers.h"
#include "arrays.h"

#ifndef HK_PASS
#define HK_PASS 0
#endif

struct hk_call {
    HK_GLOBAL const char *blob;
    HK_GLOBAL const struct hk_operation *op;
    HK_GLOBAL const struct hk_array *arrays;
#if HK_LOCAL_BUFFERS
    HK_GLOBAL char *HK_LOCAL *buffer;
#else
    HK_GLOBAL char *buffer[HK_BUFFERS];
#endif
};

HK_FN void hk_call_open(struct hk_call *call)
{
    call->op = (HK_GLOBAL const struct hk_operation *)call->blob;
    call->arrays = (HK_GLOBAL const struct hk_array *)(call->blob + call->op->arrays_at);
}

/* The operation's numbers: HK_NUMBERS(call, struct hk_copy). */
#define HK_NUMBERS(call, type)                                                                     \
    ((HK_GLOBAL const type *)((call)->blob + (call)->op->numbers_at))

/* ---- tasks ---- */

/* The tasks of a group. */
#define HK_TASKS(call, group, task)                                                                \
    for (task = group; task < (call)->op->tasks[HK_PASS]; task += (call)->op->groups[HK_PASS])

/* What is left of tasks, each in so many steps with a barrier behind each: one loop, as PoCL 3.1
 * makes wrong code of barriers in nested ones. */
struct hk_steps {
    hk_i64 task, step;
};

HK_FN struct hk_steps hk_steps_next(const struct hk_call *call, struct hk_steps at, hk_i64 steps)
{
    at.step++;
    if (at.step >= steps) {
        at.step = 0;
        at.task += call->op->groups[HK_PASS];
    }
    return at;
}

/* hk_main of tasks of two steps: a thread opens the task in `shared`, and all of them run it; both
 * are calls, of at.task and of id. */
#define HK_MAIN_OPENED(open, run)                                                                  \
    HK_FN void hk_main(const struct hk_call *call, hk_i64 group,                                   \
                       HK_LOCAL struct hk_shared *shared)                                          \
    {                                                                                              \
        struct hk_steps at;                                                                        \
        HK_THREAD_ID(id);                                                                          \
                                                                                                   \
        at.task = group;                                                                           \
        at.step = 0;                                                                               \
        while (at.task < call->op->tasks[HK_PASS]) {                                               \
            if (at.step == 0) {                                                                    \
                HK_EACH(id) {                                                                      \
                    if (id == 0)                                                                   \
                        open;                                                                      \
                }                                                                                  \
            } else {                                                                               \
                HK_EACH(id)                                                                        \
                    run;                                                                           \
            }                                                                                      \
            HK_BARRIER();                                                                          \
            at = hk_steps_next(call, at, 2);                                                       \
        }                                                                                          \
    }

/* A strip of rows of one batch item and head. */
struct hk_strip_task {
    hk_i64 b, head, first, count;
};

HK_FN struct hk_strip_task hk_strip_get(HK_GLOBAL const struct hk_strip_form *strip, hk_i64 task)
{
    struct hk_strip_task out;

    out.b = task / strip->strips / strip->heads;
    out.head = task / strip->strips % strip->heads;
    out.first = task % strip->strips * strip->run;
    out.count = hk_min(strip->run, strip->rows - out.first);
    return out;
}

/* Memory of the group's own, heed_form.scratch bytes aligned to 64, if the form asks for it. */
HK_FN HK_GLOBAL char *hk_scratch(const struct hk_call *call, hk_i64 group)
{
    HK_GLOBAL char *const base = call->buffer[HK_BUF_WORK];

    return base ? base + call->op->scratch_at + group * call->op->scratch : base;
}

/* heed_form.common bytes that all groups share, aligned to 64. */
HK_FN HK_GLOBAL char *hk_common(const struct hk_call *call)
{
    HK_GLOBAL char *const base = call->buffer[HK_BUF_WORK];

    return base ? base + call->op->common_at : base;
}

/* ---- arrays, by their numbers in forms.h ---- */

HK_FN int hk_has(const struct hk_call *call, hk_u32 array)
{
    return call->arrays[array].dtype != 0;
}

/* Where element [0, 0, 0] of axes 3 to 5 of a batch item lies. */
HK_FN HK_GLOBAL char *hk_item(const struct hk_call *call, hk_u32 array, hk_i64 b)
{
    HK_GLOBAL const struct hk_array *a = call->arrays + array;
    HK_GLOBAL char *const base = call->buffer[array];
    const hk_i64 at = hk_item_offset(call->op->batch, a->stride, b);

    return base ? base + at * hk_size(a->dtype) : base;
}

/* Where index i of an axis begins in what `base` points to. */
HK_FN HK_GLOBAL char *hk_along(const struct hk_call *call, hk_u32 array, hk_u32 axis,
                               HK_GLOBAL char *base, hk_i64 i)
{
    HK_GLOBAL const struct hk_array *a = call->arrays + array;

    return base ? base + i * a->stride[axis] * hk_size(a->dtype) : base;
}

/* Bytes that all tasks write: so many leave the caches alone (struct hk_rows: past). */
#define HK_FAR (1u << 25)

/* Rows [head][row][channel] of a batch item: row i begins `row` bytes after row i - 1, its channels
 * are `channel` elements apart. */
struct hk_rows {
    HK_GLOBAL char *base;               /* of row 0 */
    hk_i64 row, channel;
    hk_u32 dtype;
    hk_u32 past;                        /* 1: more is written here than caches hold */
};

HK_FN struct hk_rows hk_rows_get(const struct hk_call *call, hk_u32 array, hk_i64 b, hk_i64 head)
{
    HK_GLOBAL const struct hk_array *a = call->arrays + array;
    struct hk_rows out;

    out.base = hk_along(call, array, 3, hk_item(call, array, b), head);
    out.row = a->stride[4] * hk_size(a->dtype);
    out.channel = a->stride[5];
    out.dtype = a->dtype;
    out.past = 0;
    return out;
}

HK_FN HK_GLOBAL char *hk_row(const struct hk_rows *rows, hk_i64 i)
{
    return rows->base ? rows->base + i * rows->row : rows->base;
}

/* Entries [head][n] of a batch item (axes 4 and 5), `step` elements apart. */
struct hk_entries {
    HK_GLOBAL char *base;               /* NULL: the array is absent, or has no elements */
    hk_i64 step;
};

HK_FN struct hk_entries hk_entries_get(const struct hk_call *call, hk_u32 array, hk_i64 b,
                                       hk_i64 head)
{
    struct hk_entries out;

    out.base = hk_along(call, array, 4, hk_item(call, array, b), head);
    out.step = call->arrays[array].stride[5];
    return out;
}

HK_FN hk_i64 hk_entry_i32(const struct hk_entries *entries, hk_i64 i)
{
    return ((HK_GLOBAL const hk_i32 *)entries->base)[i * entries->step];
}

HK_FN HK_GLOBAL float *hk_entry_f32(const struct hk_entries *entries, hk_i64 i)
{
    HK_GLOBAL float *const base = (HK_GLOBAL float *)entries->base;

    return base ? base + i * entries->step : base;
}

/* A byte of a mask. */
HK_FN hk_u32 hk_entry_u8(const struct hk_entries *entries, hk_i64 i)
{
    return ((HK_GLOBAL const hk_u8 *)entries->base)[i * entries->step];
}

/* The entry of an integer array [B], which is there. */
HK_FN hk_i64 hk_value(const struct hk_call *call, hk_u32 array, hk_i64 b)
{
    return hk_integer(call->arrays[array].dtype, hk_item(call, array, b), 0);
}

/* The length of an item, cut to [0, bound]; without the array the bound. */
HK_FN hk_i64 hk_length(const struct hk_call *call, hk_u32 array, hk_i64 b, hk_i64 bound)
{
    return hk_has(call, array) ? hk_max(hk_min(hk_value(call, array, b), bound), 0) : bound;
}

#endif
