/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * How the query rows of an item are cut into strips. Rows of a strip share the residue of every
 * PHASE_QUERY term, so they lie row_step apart; with LISTED sources they share a list, so they stay
 * within one group of rows, unless the kernel takes the lists of a strip one after the other (group
 * 0; lists.h). And how many chunks of keys there are to cut a strip of few rows by.
 */
#ifndef HEED_BACKENDS_KERNELS_ATTN_STRIPS_H
#define HEED_BACKENDS_KERNELS_ATTN_STRIPS_H

#include "blob.h"
#include "../numerics.h"

HK_FN hk_i64 hk_parts(hk_i64 n, hk_i64 size)        /* n >= 0 */
{
    return n == 0 ? 0 : hk_quotient(n - 1, size) + 1;
}

/* Chunks of a sub-source (docs/numerics.md step 8) of an item of len keys, at most. entries: of its
 * list. */
HK_FN hk_i64 hk_chunks_of(HK_SUB_SPACE const struct hk_sub *sub, hk_i64 entries, hk_i64 len)
{
    hk_i64 ordinals = len;

    switch (sub->kind) {
    case HK_SUB_STRIDED:
        ordinals = hk_quotient(len, sub->step) + 1;
        break;
    case HK_SUB_LIST:
        ordinals = entries;
        break;
    case HK_SUB_GATHER:
        ordinals = entries * sub->run;
        break;
    case HK_SUB_FIRST_N:
        ordinals = hk_min(sub->first_n, len);
        break;
    case HK_SUB_KEYS:
        break;
    }
    return hk_parts(ordinals, HK_BLOCK * HK_CHUNK);
}

/* The first row of a strip of an item of n rows, and how many it has: rows first + step * i. */
struct hk_strip_rows {
    hk_i64 first, step, count;
};

HK_FN hk_i64 hk_strips_step(hk_i64 group, hk_i64 row_step, hk_i64 n)
{
    if (group > 0)
        return 1;
    return row_step < n ? row_step : n;
}

/* Strips of an item of n rows. */
HK_FN hk_i64 hk_strips_count(hk_i64 rows, hk_i64 row_step, hk_i64 group, hk_i64 n)
{
    const hk_i64 step = hk_strips_step(group, row_step, n);
    const hk_i64 within = group > 0 && group < n ? group : n;

    if (n <= 0)
        return 0;
    return hk_parts(n, within) * step * hk_parts(hk_parts(within, step), rows);
}

HK_FN void hk_strips_rows(hk_i64 rows, hk_i64 row_step, hk_i64 group, hk_i64 n, hk_i64 strip,
                          struct hk_strip_rows *out)
{
    const hk_i64 step = hk_strips_step(group, row_step, n);
    const hk_i64 within = group > 0 && group < n ? group : n;
    const hk_i64 per_residue = hk_parts(hk_parts(within, step), rows);
    const hk_i64 per_group = step * per_residue, before = hk_quotient(strip, per_group);
    const hk_i64 base = before * within, end = hk_min(base + within, n);
    const hk_i64 at = strip - before * per_group, residue = hk_quotient(at, per_residue);

    out->first = base + residue + step * ((at - residue * per_residue) * rows);
    out->step = step;
    out->count = out->first < end ? hk_min(hk_parts(end - out->first, step), rows) : 0;
}

#endif
