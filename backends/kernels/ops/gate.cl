/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * heed/memory.h, gate: each element of a memory between itself and an update (docs/numerics.md,
 * section 19). A task is a strip of rows of one item and head.
 */
#define HK_SCALES 0 /* numbers alone */
#include "channels.h"

#include "../functions.h"

struct hk_gate_strip {
    HK_GLOBAL const struct hk_gate *numbers;
    struct hk_rows memory, update, gate, y;
};

HK_INLINE void hk_gate_row_run(hk_u32 dtype, const int plain, const struct hk_gate_strip *strip,
                               hk_i64 i)
{
    const hk_i64 d = strip->numbers->d;
    const int keeps = strip->numbers->keeps != 0;
    HK_GLOBAL char *const y = hk_row(&strip->y, i);
    HK_THREAD_ID(id);
    hk_i64 t;

    HK_CHANNELS(id, t, d)
    {
        const hk_vec m = hk_rows_read(dtype, plain, &strip->memory, i, t, d);
        const hk_vec u = hkv_cap_tanh(hk_rows_read(dtype, plain, &strip->update, i, t, d));
        const hk_vec g = hkv_sigmoid(hk_rows_read(dtype, plain, &strip->gate, i, t, d));
        const hk_vec rest = hkv_mul(hkv_sub(hkv_set(1.0f), g), keeps ? u : m);

        hk_channels_write(plain ? dtype : strip->y.dtype, y, plain ? 1 : strip->y.channel, t, d,
                          hkv_fma(g, keeps ? m : u, rest));
    }
}

HK_FN void hk_main(const struct hk_call *call, hk_i64 group)
{
    hk_i64 task, i;

    HK_TASKS(call, group, task)
    {
        HK_GLOBAL const struct hk_gate *const numbers = HK_NUMBERS(call, struct hk_gate);
        const struct hk_strip_task at = hk_strip_get(&numbers->strip, task);
        struct hk_gate_strip strip;
        hk_u32 dtype;
        int plain;

        if (numbers->d == 0) /* any number of rows */
            continue;
        strip.numbers = numbers;
        strip.memory = hk_rows_get(call, HK_GATE_MEMORY, at.b, at.head);
        strip.update = hk_rows_get(call, HK_GATE_UPDATE, at.b, at.head);
        strip.gate = hk_rows_get(call, HK_GATE_GATE, at.b, at.head);
        strip.y = hk_rows_get(call, HK_GATE_Y, at.b, at.head);
        dtype = strip.memory.dtype;
        plain = hk_rows_plain(&strip.memory, dtype) && hk_rows_plain(&strip.update, dtype) &&
                hk_rows_plain(&strip.gate, dtype) && hk_rows_plain(&strip.y, dtype);
        for (i = at.first; i < at.first + at.count; i++) {
#define HK_ROW(type) hk_gate_row_run(type, 1, &strip, i)
            if (plain)
                HK_BY(HK_FLOAT_TYPES, dtype, HK_ROW);
            else
                hk_gate_row_run(dtype, 0, &strip, i);
#undef HK_ROW
        }
    }
}

#include "../entry.h"
