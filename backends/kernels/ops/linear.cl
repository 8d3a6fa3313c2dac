/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * heed/nn.h, linear: rows, or windows of rows, times weights (docs/numerics.md, section 15). A task
 * is a strip of rows of one item and head, and a part of the outputs. Passes 0 and 1 of work-groups
 * have tiles, large and small (linear_group.h), pass 2 has few rows (linear_group_few.h). The terms
 * of a sum are counted through, channels of a tap before the next tap; those of a row whose taps
 * exist are an interval of them.
 */
#define HK_SCALES (HK_THREADS == 1 || HK_PASS == 3) /* weights in blocks */
#define HK_MANY_SUMS (HK_THREADS > 1) /* in registers */
#include "channels.h"

#include "../functions.h"

#if HK_THREADS == 1
#define HK_CUT lanes
#else
#define HK_CUT groups
#endif

struct hk_linear_task {
    HK_GLOBAL const struct hk_linear *numbers;
    struct hk_strip_task strip;
    hk_i64 at, outs;                     /* the task's outputs: the first one, how many */
    hk_i64 terms;                        /* of a sum */
    struct hk_rows x, add, y;            /* base NULL: absent */
    HK_GLOBAL const char *w, *bias;      /* of the head */
    hk_i64 w_out, w_tap, w_channel;      /* elements */
    hk_i64 bias_step;
    hk_u32 w_dtype, bias_dtype;
};

/* Rows of a strip. Where they are of the first item and head, as they often are, nothing is
 * divided: a group's threads wait for one of them. */
HK_INLINE void hk_linear_rows_open(const struct hk_call *call, hk_i64 b, hk_i64 head,
                                   struct hk_linear_task *task)
{
    task->x = hk_rows_get(call, HK_LINEAR_X, b, head);
    task->y = hk_rows_get(call, HK_LINEAR_Y, b, head);
    task->add = hk_rows_get(call, HK_LINEAR_ADD, b, head);
}

HK_FN void hk_linear_strip_open(const struct hk_call *call, hk_i64 at, struct hk_linear_task *task)
{
    HK_GLOBAL const struct hk_strip_form *form = &task->numbers->HK_CUT.strip;

    if (at < form->strips) {
        task->strip.b = task->strip.head = 0;
        task->strip.first = at * form->run;
        task->strip.count = hk_min(form->run, form->rows - task->strip.first);
        hk_linear_rows_open(call, 0, 0, task);
    } else {
        task->strip = hk_strip_get(form, at);
        hk_linear_rows_open(call, task->strip.b, task->strip.head, task);
    }
}

HK_FN void hk_linear_open(const struct hk_call *call, hk_i64 at, struct hk_linear_task *task)
{
    HK_GLOBAL const struct hk_linear *numbers = HK_NUMBERS(call, struct hk_linear);
    HK_GLOBAL const struct hk_array *w = call->arrays + HK_LINEAR_W;
    const hk_i64 head_axis = numbers->tapped ? 2 : 3;
    /* Numbers of tasks have 32 bits. */
    const hk_i32 number = (hk_i32)at, parts = (hk_i32)numbers->HK_CUT.parts;
#if HK_PASS == 2                /* tasks with the same weights follow each other */
    const hk_i32 strips = (hk_i32)call->op->tasks[HK_PASS] / parts;
    const hk_i32 part = number / strips, strip = number - part * strips;
#else
    const hk_i32 strip = number / parts, part = number - strip * parts;
#endif

    task->numbers = numbers;
    hk_linear_strip_open(call, strip, task);
    task->at = part * numbers->HK_CUT.width;
    task->outs = hk_min(numbers->HK_CUT.width, numbers->out - task->at);
    task->terms = numbers->taps * numbers->in;
    if (!hk_has(call, HK_LINEAR_ADD))
        task->add.base = 0;
    task->w_dtype = w->dtype;
    task->w = hk_byte(call->buffer[HK_LINEAR_W], w->shape[head_axis] == 1 ? 0
                                                     : task->strip.head * w->stride[head_axis] *
                                                           hk_size(w->dtype));
    task->w_out = w->stride[head_axis + 1];
    task->w_tap = numbers->tapped ? w->stride[4] : 0;
    task->w_channel = w->stride[5];
    task->bias = hk_has(call, HK_LINEAR_BIAS) ? call->buffer[HK_LINEAR_BIAS] : 0;
    task->bias_dtype = call->arrays[HK_LINEAR_BIAS].dtype;
    task->bias_step = call->arrays[HK_LINEAR_BIAS].stride[5];
}

#if HK_PASS != 2                /* few rows have all of their taps */
/* The terms of row i of y that exist: first .. end - 1. */
struct hk_linear_span {
    hk_i64 first, end;
};

HK_FN struct hk_linear_span hk_linear_span_get(HK_GLOBAL const struct hk_linear *numbers, hk_i64 i)
{
    const hk_i64 row = i * numbers->stride - numbers->before; /* of tap 0 */
    const hk_i64 first = hk_min(hk_max(-row, 0), numbers->taps);
    const hk_i64 end = hk_max(hk_min(numbers->taps, numbers->n - row), first);
    struct hk_linear_span span;

    span.first = first * numbers->in;
    span.end = end * numbers->in;
    return span;
}
#endif

/* What becomes of a sum on its way out. Zeros lose their sign first: a sum of nothing is -0. */
HK_FN hk_vec hk_linear_act(const struct hk_linear_task *task, hk_vec s)
{
    return hkv_activate(task->numbers->act, hkv_add(s, hkv_set(0.0f)));
}

#if HK_THREADS == 1
#include "linear_lanes.h"
#else
#include "linear_stage.h"
#if HK_PASS == 2
#include "linear_group_few.h"
#else
#include "linear_group.h"
#endif
#endif

#include "../entry.h"
