/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * heed/nn.h, rope: pairs of channels turned (docs/numerics.md, section 13). A task is a strip of
 * rows of one item and head, a vector has as many pairs as it has lanes.
 */
#define HK_SCALES 0 /* numbers alone */
#define HK_BATCH 1 /* a pair is two vectors, and two of the tables */
#include "batch.h"

struct hk_rope_strip {
    HK_GLOBAL const struct hk_rope *numbers;
    struct hk_rows x, y;
    struct hk_entries pos; /* base NULL: absent */
    hk_u32 pos_dtype, reserved;
    HK_GLOBAL const char *cos, *sin;
    hk_i64 cos_row, cos_channel, sin_row, sin_channel; /* elements */
    hk_i64 positions, pos0;
};

HK_FN void hk_rope_open(const struct hk_call *call, const struct hk_strip_task *strip,
                        struct hk_rope_strip *rope)
{
    HK_GLOBAL const struct hk_array *cos = call->arrays + HK_ROPE_COS;
    HK_GLOBAL const struct hk_array *sin = call->arrays + HK_ROPE_SIN;

    rope->numbers = HK_NUMBERS(call, struct hk_rope);
    rope->positions = rope->numbers->positions;
    rope->pos0 = rope->numbers->pos0;
    rope->x = hk_rows_get(call, HK_ROPE_X, strip->b, strip->head);
    rope->y = hk_rows_get(call, HK_ROPE_Y, strip->b, strip->head);
    rope->pos = hk_entries_get(call, HK_ROPE_POS, strip->b, strip->head);
    if (!hk_has(call, HK_ROPE_POS))
        rope->pos.base = 0;
    rope->pos_dtype = call->arrays[HK_ROPE_POS].dtype;
    rope->cos = call->buffer[HK_ROPE_COS];
    rope->sin = call->buffer[HK_ROPE_SIN];
    rope->cos_row = cos->stride[4];
    rope->cos_channel = cos->stride[5];
    rope->sin_row = sin->stride[4];
    rope->sin_channel = sin->stride[5];
}

/* With one thread the heads follow each other strip by strip, as they share rows of the tables. */
HK_FN struct hk_strip_task hk_rope_task_get(HK_GLOBAL const struct hk_strip_form *strip,
                                            hk_i64 task)
{
#if HK_THREADS == 1
    const hk_i64 all = strip->strips * strip->heads, at = task % all;

    task += at % strip->heads * strip->strips + at / strip->heads - at;
#endif
    return hk_strip_get(strip, task);
}

/* ---- a row ---- */

struct hk_rope_row {
    HK_GLOBAL const char *x, *cos, *sin; /* cos NULL: the position is in no table */
    HK_GLOBAL char *y;
};

HK_FN struct hk_rope_row hk_rope_row_get(const struct hk_rope_strip *rope, hk_i64 i)
{
    struct hk_rope_row row;
    hk_i64 position = rope->pos0 + i;

    if (rope->pos.base)
        position = hk_integer(rope->pos_dtype, rope->pos.base, i * rope->pos.step);
    row.x = hk_row(&rope->x, i);
    row.y = hk_row(&rope->y, i);
    row.cos = row.sin = 0;
    if (position >= 0 && position < rope->positions) {
        row.cos = hk_byte(rope->cos, position * rope->cos_row * hk_size(HK_F32));
        row.sin = hk_byte(rope->sin, position * rope->sin_row * hk_size(HK_F32));
    }
    return row;
}

/* The pair (a, b), turned by the cosine c and the sine s. */
HK_FN void hk_rope_turn(hk_vec c, hk_vec s, hk_vec *a, hk_vec *b)
{
    const hk_vec x_a = *a, x_b = *b;

    *a = hkv_fma(x_a, c, hkv_sub(hkv_set(-0.0f), hkv_mul(x_b, s)));
    *b = hkv_fma(x_b, c, hkv_mul(x_a, s));
}

#if HK_THREADS == 1
#include "rope_lanes.h"
#else
#include "rope_threads.h"
#endif

HK_FN void hk_main(const struct hk_call *call, hk_i64 group)
{
    hk_i64 task;

    HK_TASKS(call, group, task)
    {
        const struct hk_strip_task strip =
            hk_rope_task_get(&HK_NUMBERS(call, struct hk_rope)->strip, task);
        struct hk_rope_strip rope;

        if (HK_NUMBERS(call, struct hk_rope)->d == 0) /* any number of rows */
            continue;
        hk_rope_open(call, &strip, &rope);
        hk_rope_strip_run(&rope, strip.first, strip.count);
    }
}

#include "../entry.h"
