/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * heed/nn.h, act: a function of each element, times a factor, plus an addend (docs/numerics.md,
 * section 14). A task is a strip of rows of one item and head.
 */
#define HK_SCALES 0 /* numbers alone */
#include "channels.h"

#include "../functions.h"

struct hk_act_strip {
    HK_GLOBAL const struct hk_act *numbers;
    struct hk_rows x, factor, add, y; /* base NULL: absent */
};

HK_INLINE void hk_act_row_run(hk_u32 dtype, const int plain, const struct hk_act_strip *act,
                              hk_i64 i)
{
    const hk_u32 kind = act->numbers->kind;
    const hk_i64 d = act->numbers->d;
    HK_GLOBAL char *const y = hk_row(&act->y, i);
    HK_THREAD_ID(id);
    hk_i64 t;

    HK_CHANNELS(id, t, d)
    {
        hk_vec out = hkv_activate(kind, hk_rows_read(dtype, plain, &act->x, i, t, d));

        if (act->factor.base && act->add.base)
            out = hkv_fma(out, hk_rows_read(dtype, plain, &act->factor, i, t, d),
                          hk_rows_read(dtype, plain, &act->add, i, t, d));
        else if (act->factor.base)
            out = hkv_mul(out, hk_rows_read(dtype, plain, &act->factor, i, t, d));
        else if (act->add.base)
            out = hkv_add(out, hk_rows_read(dtype, plain, &act->add, i, t, d));
        hk_channels_write(plain ? dtype : act->y.dtype, y, plain ? 1 : act->y.channel, t, d, out);
    }
}

HK_FN void hk_act_open(const struct hk_call *call, const struct hk_strip_task *strip,
                       struct hk_act_strip *act)
{
    act->numbers = HK_NUMBERS(call, struct hk_act);
    act->x = hk_rows_given(call, HK_ACT_X, strip);
    act->factor = hk_rows_given(call, HK_ACT_FACTOR, strip);
    act->add = hk_rows_given(call, HK_ACT_ADD, strip);
    act->y = hk_rows_given(call, HK_ACT_Y, strip);
}

HK_FN void hk_main(const struct hk_call *call, hk_i64 group)
{
    hk_i64 task, i;

    HK_TASKS(call, group, task)
    {
        const struct hk_strip_task strip =
            hk_strip_get(&HK_NUMBERS(call, struct hk_act)->strip, task);
        struct hk_act_strip act;
        hk_u32 dtype;
        int plain;

        if (HK_NUMBERS(call, struct hk_act)->d == 0) /* any number of rows */
            continue;
        hk_act_open(call, &strip, &act);
        dtype = act.x.dtype;
        plain = hk_rows_plain(&act.x, dtype) && hk_rows_plain(&act.factor, dtype) &&
                hk_rows_plain(&act.add, dtype) && hk_rows_plain(&act.y, dtype);
        for (i = strip.first; i < strip.first + strip.count; i++) {
#define HK_ROW(type) hk_act_row_run(type, 1, &act, i)
            if (plain)
                HK_BY(HK_FLOAT_TYPES, dtype, HK_ROW);
            else
                hk_act_row_run(dtype, 0, &act, i);
#undef HK_ROW
        }
    }
}

#include "../entry.h"
