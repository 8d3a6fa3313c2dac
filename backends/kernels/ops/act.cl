/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * heed/nn.h, act: a function of each element, times a factor, plus an addend (docs/numerics.md,
 * section 14). A task is a strip of rows of one item and head.
 */
#define HK_SCALES 0 /* numbers alone */
#define HK_BATCH 1 /* a function has many steps, each of which takes registers */
#include "batch.h"

#include "../functions.h"

struct hk_act_strip {
    HK_GLOBAL const struct hk_act *numbers;
    struct hk_rows x, factor, add, y; /* base NULL: absent */
    hk_u32 kind, reserved;
};

/* A vector of y. factor, add: of rows that are there. */
HK_INLINE hk_vec hk_act_vector(const struct hk_act_strip *act, hk_vec x, hk_vec factor, hk_vec add)
{
    const hk_vec out = hkv_activate(act->kind, x);

    if (act->factor.base && act->add.base)
        return hkv_fma(out, factor, add);
    if (act->factor.base)
        return hkv_mul(out, factor);
    return act->add.base ? hkv_add(out, add) : out;
}

HK_FN void hk_act_open(const struct hk_call *call, const struct hk_strip_task *strip,
                       struct hk_act_strip *act)
{
    act->numbers = HK_NUMBERS(call, struct hk_act);
    act->kind = act->numbers->kind;
    act->reserved = 0;
    act->x = hk_rows_given(call, HK_ACT_X, strip);
    act->factor = hk_rows_given(call, HK_ACT_FACTOR, strip);
    act->add = hk_rows_given(call, HK_ACT_ADD, strip);
    act->y = hk_rows_given(call, HK_ACT_Y, strip);
}

#if HK_THREADS == 1
#ifdef HKV_WIDE
/* Vectors of a row that is plain, as long as there are HKV_WIDE; answers where the others begin. */
HK_INLINE hk_i64 hk_act_wide(hk_u32 dtype, const struct hk_act_strip *act, hk_i64 i)
{
    const hk_i64 d = act->numbers->d;
    HK_GLOBAL const char *const x = hk_row(&act->x, i), *const factor = hk_row(&act->factor, i);
    HK_GLOBAL const char *const add = hk_row(&act->add, i);
    HK_GLOBAL char *const y = hk_row(&act->y, i);
    const hk_i64 size = hk_size(dtype);
    hk_i64 t;
    int k;

    for (t = 0; t + HKW_LANES <= d; t += HKW_LANES) {
        hk_wide out;

        hk_row_ask(x, t * size, HKW_LANES * size);
        hk_row_ask(factor, t * size, HKW_LANES * size);
        hk_row_ask(add, t * size, HKW_LANES * size);
        HK_UNROLL
        for (k = 0; k < HKV_WIDE; k++)
            out.v[k] = hk_vec_load(dtype, x, t + k * HKV_LANES);
        out = hkw_activate(act->kind, out);
        HK_UNROLL
        for (k = 0; k < HKV_WIDE; k++) {
            const hk_i64 at = t + k * HKV_LANES;

            if (factor && add)
                out.v[k] = hkv_fma(out.v[k], hk_vec_load(dtype, factor, at),
                                   hk_vec_load(dtype, add, at));
            else if (factor)
                out.v[k] = hkv_mul(out.v[k], hk_vec_load(dtype, factor, at));
            else if (add)
                out.v[k] = hkv_add(out.v[k], hk_vec_load(dtype, add, at));
        }
        HK_UNROLL
        for (k = 0; k < HKV_WIDE; k += 2)
            hk_channels_put_pair(dtype, y, t + k * HKV_LANES, out.v[k], out.v[k + 1]);
    }
    return t;
}
#endif

HK_INLINE void hk_act_row_run(hk_u32 dtype, const int plain, const struct hk_act_strip *act,
                              hk_i64 i)
{
    const hk_i64 d = act->numbers->d;
    HK_GLOBAL char *const y = hk_row(&act->y, i);
    hk_vec factor = hkv_set(1.0f), add = hkv_set(0.0f);
    hk_i64 t = 0;

#ifdef HKV_WIDE
    if (plain)
        t = hk_act_wide(dtype, act, i);
#endif
    for (; t < d; t += HKV_LANES) {
        const hk_vec x = hk_rows_read(dtype, plain, &act->x, i, t, d);

        if (act->factor.base)
            factor = hk_rows_read(dtype, plain, &act->factor, i, t, d);
        if (act->add.base)
            add = hk_rows_read(dtype, plain, &act->add, i, t, d);
        hk_channels_write(plain ? dtype : act->y.dtype, y, plain ? 1 : act->y.channel, t, d,
                          hk_act_vector(act, x, factor, add));
    }
}

HK_FN void hk_act_strip_run(const struct hk_act_strip *act, hk_i64 first, hk_i64 count)
{
    const hk_u32 dtype = act->x.dtype;
    const int plain = hk_rows_plain(&act->x, dtype) && hk_rows_plain(&act->factor, dtype) &&
                      hk_rows_plain(&act->add, dtype) && hk_rows_plain(&act->y, dtype);
    hk_i64 i;

    for (i = first; i < first + count; i++) {
#define HK_ROW(type) hk_act_row_run(type, 1, act, i)
        if (plain)
            HK_BY(HK_FLOAT_TYPES, dtype, HK_ROW);
        else
            hk_act_row_run(dtype, 0, act, i);
#undef HK_ROW
    }
}
#else
HK_INLINE void hk_act_ask(const struct hk_stream *x, const struct hk_stream *factor,
                          const struct hk_stream *add, const struct hk_walk *walk,
                          struct hk_raw *raw)
{
    hk_batch_ask(x, walk, raw);
    hk_batch_ask(factor, walk, raw + 1);
    hk_batch_ask(add, walk, raw + 2);
}

/* A batch is asked for before the one at hand is computed. */
HK_FN void hk_act_strip_run(const struct hk_act_strip *act, hk_i64 first, hk_i64 count)
{
    const hk_i64 d = act->numbers->d;
    struct hk_stream x, factor, add, y;
    HK_THREAD_ID(id);
    hk_i64 i, t;

    if (!hk_stream_open(&act->x, first, count, d, &x) ||
        !hk_stream_open(&act->factor, first, count, d, &factor) ||
        !hk_stream_open(&act->add, first, count, d, &add) ||
        !hk_stream_open(&act->y, first, count, d, &y)) {
        HK_SINGLES(id, i, t, first, count, d)
            hk_single_put(&act->y, i, t,
                          hk_act_vector(act, hk_single_read(&act->x, i, t),
                                        hk_single_read(&act->factor, i, t),
                                        hk_single_read(&act->add, i, t)));
        return;
    }
    HK_EACH(id)
    {
        struct hk_walk walk = hk_walk_begin(id, count, d / HKV_LANES);
        struct hk_raw next[3];
        int more = hk_walk_next(&walk);

        hk_act_ask(&x, &factor, &add, &walk, next);
        while (more) {
            const struct hk_raw raw[3] = { next[0], next[1], next[2] };
            const struct hk_place at = walk.at[0];

            more = hk_walk_next(&walk);
            if (more)
                hk_act_ask(&x, &factor, &add, &walk, next);
            hk_vector_put(&y, hk_stream_at(&y, at),
                          hk_act_vector(act, hk_raw_vector(&x, raw),
                                        hk_raw_vector(&factor, raw + 1),
                                        hk_raw_vector(&add, raw + 2)));
        }
    }
}
#endif

HK_FN void hk_main(const struct hk_call *call, hk_i64 group)
{
    hk_i64 task;

    HK_TASKS(call, group, task)
    {
        const struct hk_strip_task strip =
            hk_strip_get(&HK_NUMBERS(call, struct hk_act)->strip, task);
        struct hk_act_strip act;

        if (HK_NUMBERS(call, struct hk_act)->d == 0) /* any number of rows */
            continue;
        hk_act_open(call, &strip, &act);
        hk_act_strip_run(&act, strip.first, strip.count);
    }
}

#include "../entry.h"
