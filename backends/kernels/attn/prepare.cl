/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the strips of a run share: how many entries of the GLOBAL lists are in use, bit sets of the
 * keys and rows they name, and how many chunks of keys an item shares with the next one. A group is
 * one item and source, or the counters of tasks. Entries are in use up to the first that makes no
 * sense, which each thread looks for among its own.
 */
#define HK_IN_REGISTERS (HK_THREADS > 1)
#include "call.h"
#if !HK_IN_REGISTERS
#include "alike.h"
#endif

#define HK_HAS_SHARED 1

enum { HK_LIST_KEYS, HK_LIST_ROWS, HK_LISTS_OF_SOURCE };
enum { HK_LIST_OPEN, HK_LIST_LOOK, HK_LIST_PUT, HK_LIST_STEPS };        /* with barriers between */

struct hk_shared {
    hk_i64 end[HK_LISTS_OF_SOURCE][HK_THREADS]; /* a thread's first entry that makes no sense */
#if HK_IN_REGISTERS
    HK_GLOBAL char *buffer[HK_BUFFERS];
    hk_u32 item[4];
    hk_i64 value[1];
#endif
};

/* An ascending list of numbers below `bound`, and the bit set that they go to. */
struct hk_list {
    HK_GLOBAL const char *entries;
    hk_i64 n, step, bound, words;
    HK_GLOBAL hk_u64 *bits;
};

/* n 0: there is none. */
HK_FN struct hk_list hk_list_get(const struct hk_call *call, hk_i64 b, hk_u32 s, int which)
{
    HK_GLOBAL const struct hk_plan *plan = call->plan;
    HK_GLOBAL const struct hk_source *source = call->sources + s;
    HK_GLOBAL const struct hk_aux *aux = which == HK_LIST_KEYS ? &source->keys : &source->rows;
    struct hk_list list;

    list.entries = 0;
    list.n = list.step = list.bound = list.words = 0;
    list.bits = 0;
    if (!aux->slot)
        return list;
    list.entries = hk_aux_of(call, aux, b);
    list.n = aux->shape[2];
    list.step = aux->stride[5];
    list.bound = which == HK_LIST_KEYS ? source->n_k : plan->n_q;
    list.words = which == HK_LIST_KEYS ? source->blocks : source->row_words;
    list.bits = hk_words(call, which == HK_LIST_KEYS ? source->keys_at : source->rows_at, b,
                         list.words);
    return list;
}

HK_FN hk_i64 hk_list_entry(const struct hk_list *list, hk_i64 i)
{
    return i < 0 ? -1 : hk_integer(HK_I32, list->entries, i * list->step);
}

/* The set is emptied, and the thread looks at its entries. */
HK_FN hk_i64 hk_list_look(const struct hk_list *list, hk_i32 id)
{
    hk_i64 i;

    for (i = id; i < list->words; i += HK_THREADS)
        list->bits[i] = 0;
    for (i = id; i < list->n; i += HK_THREADS) {
        const hk_i64 value = hk_list_entry(list, i);

        if (value <= hk_list_entry(list, i - 1) || value >= list->bound)
            return i;
    }
    return list->n;
}

/* The words whose first entry is the thread's, of the n that are in use. */
HK_FN void hk_list_put(const struct hk_list *list, hk_i64 n, hk_i32 id)
{
    hk_i64 i, j;

    for (i = id; i < n; i += HK_THREADS) {
        const hk_i64 at = hk_list_entry(list, i) >> 6;
        hk_u64 word = 0;

        if (i > 0 && hk_list_entry(list, i - 1) >> 6 == at)
            continue;
        for (j = i; j < n && hk_list_entry(list, j) >> 6 == at; j++)
            word |= (hk_u64)1 << (hk_list_entry(list, j) & 63);
        list->bits[at] = word;
    }
}

HK_FN void hk_lists_step(const struct hk_call *call, hk_i64 b, hk_u32 s, int step, hk_i32 id,
                         HK_LOCAL struct hk_shared *shared)
{
    HK_GLOBAL hk_i64 *counts = hk_counts(call, b, s);
    int which;

    for (which = 0; which < HK_LISTS_OF_SOURCE; which++) {
        const struct hk_list list = hk_list_get(call, b, s, which);
        hk_i64 n = list.n;
        hk_i32 i;

        if (step == HK_LIST_LOOK) {
            shared->end[which][id] = hk_list_look(&list, id);
            continue;
        }
        for (i = 0; i < HK_THREADS; i++)
            n = hk_min(n, shared->end[which][i]);
        hk_list_put(&list, n, id);
        if (id == 0)
            counts[which] = n;
    }
}

HK_FN void hk_main(const struct hk_call *call, hk_i64 group, HK_LOCAL struct hk_shared *shared)
{
    HK_GLOBAL const struct hk_plan *plan = call->plan;
    const hk_i64 b = plan->n_sources ? group / plan->n_sources : 0;
    const hk_u32 s = plan->n_sources ? (hk_u32)(group % plan->n_sources) : 0;
    HK_GLOBAL hk_i32 *counter = (HK_GLOBAL hk_i32 *)(call->work + plan->counter_at);
    const int there = s < plan->n_sources && b < plan->n_batch;
    HK_THREAD_ID(id);
    int step;

    for (step = 0; step < HK_LIST_STEPS; step++) {
        HK_EACH(id)
        {
            if (group == 0 && step == HK_LIST_OPEN && id == 0)
                counter[0] = counter[1] = 0;
#if HK_IN_REGISTERS
            if (there && step == HK_LIST_OPEN && id == 0)
                hk_item_set(plan, b, shared->item);
#endif
#if !HK_IN_REGISTERS
            if (there && step == HK_LIST_OPEN && call->sources[s].alike_at)
                hk_alike_find(call, call->sources + s, b);
#endif
            if (there && step != HK_LIST_OPEN)
                hk_lists_step(call, b, s, step, id, shared);
        }
        HK_BARRIER_ALL();
    }
}

#include "../entry.h"
