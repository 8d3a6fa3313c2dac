/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The part of a drawn attention that the calling rank holds, and whether its words are those of the
 * whole.
 */
#include "world.h"

#include <stdlib.h>
#include <string.h>

enum { LEAVES = 3 }; /* channels between rows of k, where these have gaps */

/* Rows [first, first + n) of each head of [groups][all][bytes], every row `step` bytes apart. */
static char *slice(const char *from, int64_t groups, int64_t all, int64_t first, int64_t n,
                   int64_t bytes, int64_t step)
{
    char *to = room(groups * n * step);

    for (int64_t g = 0; g < groups; g++) {
        for (int64_t i = 0; i < n; i++)
            memcpy(to + (g * n + i) * step, from + (g * all + first + i) * bytes, (size_t)bytes);
    }
    return to;
}

static void keys_make(struct part *p, const struct attention *a, uint32_t s)
{
    const struct drawn *d = &a->drawn[s];
    const int64_t first = d->everywhere ? 0 : d->cut[world.rank];
    const int64_t count = d->everywhere ? d->n_k : d->cut[world.rank + 1] - first;
    const int64_t row = a->d * a->size, groups = d->items * a->key_heads;
    const int64_t gap = d->n_k % 3 == 0 ? LEAVES : 0;

    p->keys[s] = (heed_mpi_keys){ .first = first, .count = count };
    p->k[s] = slice(d->k, groups, d->n_k, first, count, row, row + gap * a->size);
    p->v[s] = slice(d->v, groups, d->n_k, first, count, row, row);
    p->kv[s] = (heed_kv_bufs){ { p->k[s], 0 }, { p->v[s], 0 } };
    if (gap) {
        p->keys[s].k = heed_array4(a->sources[s].k.dtype, NULL, d->items, a->key_heads, count,
                                   a->d + LEAVES)
                           .t;
        p->keys[s].k.shape[3] = a->d;
    }
}

void part_make(struct part *p, const struct attention *a)
{
    const int64_t first = a->row_cut[world.rank], n = a->row_cut[world.rank + 1] - first;
    const int64_t row = a->d * a->size, groups = a->q_items * 4;

    *p = (struct part){
        .parts = { .size = sizeof p->parts,
                   .first_row = first,
                   .n_rows = n,
                   .keys = p->keys,
                   .n_keys = a->desc.n_sources,
                   .keys_size = sizeof *p->keys,
                   .message_bytes = a->drawn[0].n_k % 2 ? 0 : 20000 },
        .q = slice(a->q, groups, a->n_q, first, n, row, row),
        .o = room(groups * n * row),
        .lse = room(groups * n * 4),
    };
    for (uint32_t s = 0; s < a->desc.n_sources; s++)
        keys_make(p, a, s);
    p->args = (heed_attn_args){
        .size = sizeof p->args,
        .kv_size = sizeof *p->kv,
        .q = { p->q, 0 },
        .o = { p->o, 0 },
        .lse = { p->lse, 0 },
        .sinks = { (void *)(uintptr_t)a->sinks_data, 0 },
        .kv = p->kv,
        .slots = a->bufs,
        .n_slots = a->desc.n_slots,
    };
}

void part_free(struct part *p)
{
    free(p->q);
    free(p->o);
    free(p->lse);
    for (int s = 0; s < MOST_SOURCES; s++) {
        free(p->k[s]);
        free(p->v[s]);
    }
}

bool part_equal(const struct part *p, const struct attention *a)
{
    const int64_t first = p->parts.first_row, n = p->parts.n_rows, row = a->d * a->size;

    for (int64_t g = 0; g < a->q_items * 4; g++) {
        if (memcmp(p->o + g * n * row, a->o + (g * a->n_q + first) * row, (size_t)(n * row)) != 0 ||
            memcmp(p->lse + g * n, a->lse + g * a->n_q + first, (size_t)n * 4) != 0)
            return false;
    }
    return true;
}
