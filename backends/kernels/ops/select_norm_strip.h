/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * select by norms for processors: the keys of a strip, then a choice from those of each block.
 */
#ifndef HEED_BACKENDS_KERNELS_OPS_SELECT_NORM_STRIP_H
#define HEED_BACKENDS_KERNELS_OPS_SELECT_NORM_STRIP_H

#if HKV_LANES == 1
#include "select_norm_one.h"
#else
#include "select_norm_lanes.h"
#endif

HK_FN void hk_norm_choose(const struct hk_norms *norm)
{
    hk_i64 i;

    for (i = 0; i < norm->strip.count; i++)
        hk_norm_block(norm, i);
}

HK_FN void hk_main(const struct hk_call *call, hk_i64 group)
{
    hk_i64 task;

    HK_TASKS(call, group, task)
    {
        struct hk_tokens tokens;
        struct hk_norms norm;

        hk_norm_open(call, group, task, &norm);
        tokens = hk_tokens_get(call, norm.strip.b, norm.strip.head);
#define HK_KEYS(type) hk_norm_keys(type, &norm, &tokens)
        HK_BY_NUMBER(tokens.rows.dtype, HK_KEYS);
#undef HK_KEYS
        hk_norm_choose(&norm);
        hk_norm_pads(&norm);
    }
}

#endif
