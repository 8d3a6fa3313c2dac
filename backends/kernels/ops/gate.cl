/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * heed/memory.h, gate: each element of a memory between itself and an update (docs/numerics.md,
 * section 19). A task is a strip of rows of one item and head.
 */
#define HK_SCALES 0 /* numbers alone */
#define HK_BATCH 1 /* three arrays and two functions take the registers */
#include "batch.h"

#include "../functions.h"

struct hk_gate_strip {
    HK_GLOBAL const struct hk_gate *numbers;
    struct hk_rows memory, update, gate, y;
    int keeps;
};

HK_INLINE hk_vec hk_gate_vector(const struct hk_gate_strip *strip, hk_vec m, hk_vec update,
                                hk_vec gate)
{
    const int keeps = strip->keeps;
    const hk_vec u = hkv_cap_tanh(update), g = hkv_sigmoid(gate);
    const hk_vec rest = hkv_mul(hkv_sub(hkv_set(1.0f), g), keeps ? u : m);

    return hkv_fma(g, keeps ? m : u, rest);
}

#if HK_THREADS == 1
HK_INLINE void hk_gate_row_run(hk_u32 dtype, const int plain, const struct hk_gate_strip *strip,
                               hk_i64 i)
{
    const hk_i64 d = strip->numbers->d;
    HK_GLOBAL char *const y = hk_row(&strip->y, i);
    hk_i64 t;

    for (t = 0; t < d; t += HKV_LANES)
        hk_channels_write(
            plain ? dtype : strip->y.dtype, y, plain ? 1 : strip->y.channel, t, d,
            hk_gate_vector(strip, hk_rows_read(dtype, plain, &strip->memory, i, t, d),
                           hk_rows_read(dtype, plain, &strip->update, i, t, d),
                           hk_rows_read(dtype, plain, &strip->gate, i, t, d)));
}

HK_FN void hk_gate_strip_run(const struct hk_gate_strip *strip, hk_i64 first, hk_i64 count)
{
    const hk_u32 dtype = strip->memory.dtype;
    const int plain = hk_rows_plain(&strip->memory, dtype) &&
                      hk_rows_plain(&strip->update, dtype) && hk_rows_plain(&strip->gate, dtype) &&
                      hk_rows_plain(&strip->y, dtype);
    hk_i64 i;

    for (i = first; i < first + count; i++) {
#define HK_ROW(type) hk_gate_row_run(type, 1, strip, i)
        if (plain)
            HK_BY(HK_FLOAT_TYPES, dtype, HK_ROW);
        else
            hk_gate_row_run(dtype, 0, strip, i);
#undef HK_ROW
    }
}
#else
HK_INLINE void hk_gate_ask(const struct hk_stream *memory, const struct hk_stream *update,
                           const struct hk_stream *gate, const struct hk_walk *walk,
                           struct hk_raw *raw)
{
    hk_batch_ask(memory, walk, raw);
    hk_batch_ask(update, walk, raw + 1);
    hk_batch_ask(gate, walk, raw + 2);
}

/* A batch is asked for before the one at hand is computed. */
HK_FN void hk_gate_strip_run(const struct hk_gate_strip *strip, hk_i64 first, hk_i64 count)
{
    const hk_i64 d = strip->numbers->d;
    struct hk_stream memory, update, gate, y;
    HK_THREAD_ID(id);
    hk_i64 i, t;

    if (!hk_stream_open(&strip->memory, first, count, d, &memory) ||
        !hk_stream_open(&strip->update, first, count, d, &update) ||
        !hk_stream_open(&strip->gate, first, count, d, &gate) ||
        !hk_stream_open(&strip->y, first, count, d, &y)) {
        HK_SINGLES(id, i, t, first, count, d)
            hk_single_put(&strip->y, i, t,
                          hk_gate_vector(strip, hk_single_read(&strip->memory, i, t),
                                         hk_single_read(&strip->update, i, t),
                                         hk_single_read(&strip->gate, i, t)));
        return;
    }
    HK_EACH(id)
    {
        struct hk_walk walk = hk_walk_begin(id, count, d / HKV_LANES);
        struct hk_raw next[3];
        int more = hk_walk_next(&walk);

        hk_gate_ask(&memory, &update, &gate, &walk, next);
        while (more) {
            const struct hk_raw raw[3] = { next[0], next[1], next[2] };
            const struct hk_place at = walk.at[0];

            more = hk_walk_next(&walk);
            if (more)
                hk_gate_ask(&memory, &update, &gate, &walk, next);
            hk_vector_put(&y, hk_stream_at(&y, at),
                          hk_gate_vector(strip, hk_raw_vector(&memory, raw),
                                         hk_raw_vector(&update, raw + 1),
                                         hk_raw_vector(&gate, raw + 2)));
        }
    }
}
#endif

HK_FN void hk_main(const struct hk_call *call, hk_i64 group)
{
    hk_i64 task;

    HK_TASKS(call, group, task)
    {
        HK_GLOBAL const struct hk_gate *const numbers = HK_NUMBERS(call, struct hk_gate);
        const struct hk_strip_task at = hk_strip_get(&numbers->strip, task);
        struct hk_gate_strip strip;

        if (numbers->d == 0) /* any number of rows */
            continue;
        strip.numbers = numbers;
        strip.keeps = numbers->keeps != 0;
        strip.memory = hk_rows_get(call, HK_GATE_MEMORY, at.b, at.head);
        strip.update = hk_rows_get(call, HK_GATE_UPDATE, at.b, at.head);
        strip.gate = hk_rows_get(call, HK_GATE_GATE, at.b, at.head);
        strip.y = hk_rows_get(call, HK_GATE_Y, at.b, at.head);
        hk_gate_strip_run(&strip, at.first, at.count);
    }
}

#include "../entry.h"
