/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The memory of one attention as plain pointers, for tests that call an implementation themselves.
 */
#ifndef HEED_TESTS_SUPPORT_ARRAYS_H
#define HEED_TESTS_SUPPORT_ARRAYS_H

#include "lib/backend.h"

struct test_arrays {
    const void *q;
    void *o, *lse;                  /* lse NULL: absent */
    const void *sinks;              /* NULL: absent */
    const void *const *k, *const *v;    /* one per source */
    const void *const *slots;       /* slots[i] is slot i + 1; those of constants do not count */
};

static inline void test_arrays_slot(const struct heed_checked *attn, const struct test_arrays *from,
                                    const struct heed_aux *aux, heed_buf *at)
{
    if (aux->slot != 0)
        at[heed_attn_slot(attn, aux->slot)].handle =
            (void *)(uintptr_t)(aux->data != NULL ? aux->data : from->slots[aux->slot - 1]);
}

/* at: HEED_MAX_OPERANDS, numbered as the operands of a plan. Returns how many there are. */
static inline uint32_t test_arrays_place(const struct heed_checked *attn,
                                         const struct test_arrays *from, heed_buf *at)
{
    for (uint32_t i = 0; i < HEED_MAX_OPERANDS; i++)
        at[i] = (heed_buf){ .handle = NULL };
    at[HEED_ATTN_Q].handle = (void *)(uintptr_t)from->q;
    at[HEED_ATTN_O].handle = from->o;
    at[HEED_ATTN_LSE].handle = from->lse;
    at[HEED_ATTN_SINKS].handle = (void *)(uintptr_t)from->sinks;
    test_arrays_slot(attn, from, &attn->q_pos, at);
    test_arrays_slot(attn, from, &attn->q_begin, at);
    test_arrays_slot(attn, from, &attn->q_len, at);
    for (uint32_t s = 0; s < attn->n_sources; s++) {
        const struct heed_checked_source *source = &attn->sources[s];

        at[heed_attn_k(s)].handle = (void *)(uintptr_t)from->k[s];
        at[heed_attn_v(s)].handle = (void *)(uintptr_t)from->v[s];
        test_arrays_slot(attn, from, &source->index, at);
        test_arrays_slot(attn, from, &source->len, at);
        test_arrays_slot(attn, from, &source->mask, at);
        for (uint32_t i = 0; i < source->n_terms; i++)
            test_arrays_slot(attn, from, &source->terms[i].slot, at);
        for (uint32_t i = 0; i < source->n_biases; i++) {
            const struct heed_checked_bias *bias = &source->biases[i];

            test_arrays_slot(attn, from, &bias->t, at);
            test_arrays_slot(attn, from, &bias->map, at);
            test_arrays_slot(attn, from, &bias->q_coord, at);
            test_arrays_slot(attn, from, &bias->k_coord, at);
        }
    }
    return heed_attn_slot(attn, attn->n_slots + 1);
}

#endif
