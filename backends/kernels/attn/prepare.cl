/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the strips of a run share: how many entries of the GLOBAL lists are in use, and bit sets of
 * the keys and rows they name. A group is one item and source, or the counters of tasks.
 */
#define HK_THREADS 1
#include "call.h"

/* Entries of an ascending list up to the first that makes no sense, into a bit set; how many. */
HK_FN hk_i64 hk_list_read(const struct hk_call *call, HK_GLOBAL const struct hk_aux *aux, hk_i64 b,
                          hk_i64 bound, HK_GLOBAL hk_u64 *bits, hk_i64 words)
{
    HK_GLOBAL const char *entry = hk_aux_of(call, aux, b);
    hk_i64 last = -1, i;

    for (i = 0; i < words; i++)
        bits[i] = 0;
    for (i = 0; i < aux->shape[2]; i++) {
        const hk_i64 value = hk_integer(HK_I32, entry, i * aux->stride[5]);

        if (value <= last || value >= bound)
            break;
        bits[value >> 6] |= (hk_u64)1 << (value & 63);
        last = value;
    }
    return i;
}

HK_FN void hk_main(const struct hk_call *call, hk_i64 group)
{
    HK_GLOBAL const struct hk_plan *plan = call->plan;
    const hk_i64 b = plan->n_sources ? group / plan->n_sources : 0;
    const hk_u32 s = plan->n_sources ? (hk_u32)(group % plan->n_sources) : 0;
    HK_GLOBAL const struct hk_source *source = call->sources + s;
    HK_GLOBAL hk_i32 *counter = (HK_GLOBAL hk_i32 *)(call->work + plan->counter_at);
    HK_GLOBAL hk_i64 *counts;

    if (group == 0)
        counter[0] = counter[1] = 0;
    if (s >= plan->n_sources || b >= plan->n_batch)
        return;
    counts = hk_counts(call, b, s);
    counts[0] = counts[1] = 0;
    if (source->keys.slot)
        counts[0] = hk_list_read(call, &source->keys, b, source->n_k,
                                 hk_words(call, source->keys_at, b, source->blocks),
                                 source->blocks);
    if (source->rows.slot)
        counts[1] = hk_list_read(call, &source->rows, b, plan->n_q,
                                 hk_words(call, source->rows_at, b, source->row_words),
                                 source->row_words);
}

#include "../entry.h"
