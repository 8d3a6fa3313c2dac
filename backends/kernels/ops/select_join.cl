/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * heed/pool.h, select by scores: the choice of each row of a strip from what each part of tokens
 * gave.
 */
#define HK_SCALES 0 /* numbers alone */
#include "select_topk.h"

HK_FN void hk_main(const struct hk_call *call, hk_i64 group)
{
    hk_i64 task;

    HK_TASKS(call, group, task)
    {
        struct hk_topk topk;
        HK_THREAD_ID(id);
        hk_i64 i, n;

        hk_topk_open(call, group, task, &topk);
        n = topk.select->parts * topk.select->count;
        HK_EACH(id)
            for (i = id; i < topk.n; i += HK_THREADS)
                hk_topk_write(&topk, i, topk.chosen + i * n, n);
    }
}

#include "../entry.h"
