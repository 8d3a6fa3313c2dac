/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What heed/nn.h, linear, does with a sum that a library has made (device/gemm.h): bias, add, the
 * function, y's type (docs/numerics.md, section 15, step 3). A task is a strip of rows of one item
 * and head. Sums are f32 and lie in y, or apart from it in the workspace.
 */
#define HK_SCALES 0 /* numbers alone */
#define HK_BATCH 1 /* a function has many steps, each of which takes registers */
#include "batch.h"

#include "../functions.h"

struct hk_linear_end {
    struct hk_rows sums, bias, add, y; /* base NULL: absent */
    hk_u32 act, reserved;
};

/* All rows have the same bias. */
HK_FN void hk_linear_end_open(const struct hk_call *call, const struct hk_strip_task *strip,
                              struct hk_linear_end *end)
{
    HK_GLOBAL const struct hk_linear *numbers = HK_NUMBERS(call, struct hk_linear);

    end->act = numbers->act;
    end->reserved = 0;
    end->y = end->sums = hk_rows_given(call, HK_LINEAR_Y, strip);
    end->add = hk_rows_given(call, HK_LINEAR_ADD, strip);
    end->bias = end->y;
    end->bias.base = hk_has(call, HK_LINEAR_BIAS) ? call->buffer[HK_LINEAR_BIAS] : 0;
    end->bias.dtype = call->arrays[HK_LINEAR_BIAS].dtype;
    end->bias.row = 0;
    end->bias.channel = call->arrays[HK_LINEAR_BIAS].stride[5];
    if (numbers->apart) {
        end->sums.dtype = HK_F32;
        end->sums.channel = 1;
        end->sums.row = numbers->out * hk_size(HK_F32);
        end->sums.base = hk_common(call) +
                         (strip->b * numbers->groups.strip.heads + strip->head) *
                             numbers->groups.strip.rows * end->sums.row;
    }
}

/* A vector of y. Zeros lose their sign before the function. */
HK_INLINE hk_vec hk_linear_end_vector(const struct hk_linear_end *end, hk_vec s, hk_vec bias,
                                      hk_vec add)
{
    if (end->bias.base)
        s = hkv_add(s, bias);
    if (end->add.base)
        s = hkv_add(s, add);
    return hkv_activate(end->act, hkv_add(s, hkv_set(0.0f)));
}

HK_INLINE void hk_linear_end_ask(const struct hk_stream *sums, const struct hk_stream *bias,
                                 const struct hk_stream *add, const struct hk_walk *walk,
                                 struct hk_raw *raw)
{
    hk_batch_ask(sums, walk, raw);
    hk_batch_ask(bias, walk, raw + 1);
    hk_batch_ask(add, walk, raw + 2);
}

/* A batch is asked for before the one at hand is computed. */
HK_FN void hk_linear_end_run(const struct hk_linear_end *end, hk_i64 first, hk_i64 count, hk_i64 d)
{
    struct hk_stream sums, bias, add, y;
    HK_THREAD_ID(id);
    hk_i64 i, t;

    if (!hk_stream_open(&end->sums, first, count, d, &sums) ||
        !hk_stream_open(&end->bias, first, count, d, &bias) ||
        !hk_stream_open(&end->add, first, count, d, &add) ||
        !hk_stream_open(&end->y, first, count, d, &y)) {
        HK_SINGLES(id, i, t, first, count, d)
            hk_single_put(&end->y, i, t,
                          hk_linear_end_vector(end, hk_single_read(&end->sums, i, t),
                                               hk_single_read(&end->bias, i, t),
                                               hk_single_read(&end->add, i, t)));
        return;
    }
    HK_EACH(id)
    {
        struct hk_walk walk = hk_walk_begin(id, count, d / HKV_LANES);
        struct hk_raw next[3];
        int more = hk_walk_next(&walk);

        hk_linear_end_ask(&sums, &bias, &add, &walk, next);
        while (more) {
            const struct hk_raw raw[3] = { next[0], next[1], next[2] };
            const struct hk_place at = walk.at[0];

            more = hk_walk_next(&walk);
            if (more)
                hk_linear_end_ask(&sums, &bias, &add, &walk, next);
            hk_vector_put(&y, hk_stream_at(&y, at),
                          hk_linear_end_vector(end, hk_raw_vector(&sums, raw),
                                               hk_raw_vector(&bias, raw + 1),
                                               hk_raw_vector(&add, raw + 2)));
        }
    }
}

HK_FN void hk_main(const struct hk_call *call, hk_i64 group)
{
    hk_i64 task;

    HK_TASKS(call, group, task)
    {
        const struct hk_strip_task strip =
            hk_strip_get(&HK_NUMBERS(call, struct hk_linear)->groups.strip, task);
        struct hk_linear_end end;

        hk_linear_end_open(call, &strip, &end);
        hk_linear_end_run(&end, strip.first, strip.count,
                          HK_NUMBERS(call, struct hk_linear)->out);
    }
}

#include "../entry.h"
