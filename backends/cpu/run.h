/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A run in progress, and where its parts lie in memory: slots of an item, packed K, the arrays of a
 * lane. Shared by prepare.c and execute.c.
 */
#ifndef HEED_BACKENDS_CPU_RUN_H
#define HEED_BACKENDS_CPU_RUN_H

#include "convert.h"
#include "state.h"
#include "tune.h"

#include <stdatomic.h>

struct run {
    const struct heed_checked *attn;
    const struct heed_lowered *lowered;
    const struct heed_cpu_state *state;
    const struct heed_launch *launch;
    char *workspace;
    int64_t tasks, row_tasks, groups;   /* groups: of `stack` query heads */
    int64_t row_parts[HEED_MAX_SOURCES]; /* strips of each source's row list, per item and group */
    void (*task)(struct run *, uint32_t lane, int64_t task);
    atomic_int_least64_t next;
};

/* The arrays of one lane. */
struct lane {
    char *scratch;
    struct heed_cpu_row *rows;
    int64_t *indices;
    struct heed_cpu_source *sources;
    struct hk_item *items;
    struct heed_cpu_bias *biases;
};

HEED_INLINE char *place(char **at, int64_t count, size_t size)
{
    char *out = *at;

    *at += ((size_t)count * size + HEED_CPU_ALIGN - 1) / HEED_CPU_ALIGN * HEED_CPU_ALIGN;
    return out;
}

/* As backend.c counted. */
HEED_INLINE struct lane lane_get(const struct run *run, uint32_t lane)
{
    const struct heed_cpu_state *state = run->state;
    char *at = run->workspace + lane * state->lane_bytes;
    struct lane out = { .scratch = at };

    at += state->scratch_bytes;
    out.rows =
        (struct heed_cpu_row *)(void *)place(&at, state->rows * state->stack, sizeof *out.rows);
    out.indices = (int64_t *)(void *)place(&at, state->rows, sizeof *out.indices);
    out.sources =
        (struct heed_cpu_source *)(void *)place(&at, run->attn->n_sources + 1, sizeof *out.sources);
    out.items = (struct hk_item *)(void *)place(&at, run->lowered->n_subs + 1, sizeof *out.items);
    out.biases = (struct heed_cpu_bias *)(void *)at;
    return out;
}

HEED_INLINE void *memory(const struct run *run, uint32_t operand)
{
    return heed_address(run->launch->at[operand]);
}

HEED_INLINE const char *aux_base(const struct run *run, const struct heed_aux *aux)
{
    return memory(run, heed_attn_slot(run->attn, aux->slot));
}

HEED_INLINE int64_t batch_offset(const struct run *run, const int64_t *stride, int64_t b)
{
    const int64_t *batch = run->attn->batch;

    return b / (batch[1] * batch[2]) * stride[0] + b / batch[2] % batch[1] * stride[1] +
           b % batch[2] * stride[2];
}

HEED_INLINE const char *aux_item(const struct run *run, const struct heed_aux *aux, int64_t b)
{
    return aux_base(run, aux) + batch_offset(run, aux->stride, b) * heed_cpu_size(aux->dtype);
}

HEED_INLINE int64_t aux_value(const struct run *run, const struct heed_aux *aux, int64_t b)
{
    return heed_cpu_integer(aux->dtype, aux_item(run, aux, b), 0);
}

/* Begin and length of an item: lengths are cut to [0, bound], a begin outside the packed rows
 * empties it. */
HEED_INLINE int64_t item_cut(const struct run *run, const struct heed_aux *begin_aux,
                             const struct heed_aux *len_aux, int64_t b, int64_t bound,
                             int64_t total, int64_t *begin)
{
    int64_t len = bound;

    *begin = 0;
    if (len_aux->slot) {
        len = aux_value(run, len_aux, b);
        len = len < 0 ? 0 : len > bound ? bound : len;
    }
    if (begin_aux) {
        *begin = aux_value(run, begin_aux, b);
        if (*begin < 0 || *begin > total) {
            *begin = 0;
            return 0;
        }
        len = len > total - *begin ? total - *begin : len;
    }
    return len;
}

HEED_INLINE int64_t keys_cut(const struct run *run, uint32_t s, int64_t b, int64_t *begin)
{
    const struct heed_checked_source *source = &run->attn->sources[s];
    const bool ragged = source->layout == HEED_LAYOUT_RAGGED;

    return item_cut(run, ragged ? &source->index : NULL, &source->len, b, source->n_k,
                    source->k.shape[4], begin);
}

HEED_INLINE int64_t rows_cut(const struct run *run, int64_t b, int64_t *begin)
{
    const struct heed_checked *attn = run->attn;
    const bool ragged = attn->q_layout == HEED_LAYOUT_RAGGED;

    return item_cut(run, ragged ? &attn->q_begin : NULL, &attn->q_len, b, attn->n_q,
                    attn->q.shape[4], begin);
}

HEED_INLINE int64_t clamp(int64_t x)
{
    return x < -HEED_POSITION_MAX  ? -HEED_POSITION_MAX
           : x > HEED_POSITION_MAX ? HEED_POSITION_MAX
                                   : x;
}

/* Position of query row 0. */
HEED_INLINE int64_t row_origin(const struct run *run, int64_t b, int64_t len)
{
    const struct heed_checked *attn = run->attn;
    int64_t q = attn->q_pos0, begin;

    if (attn->q_pos.slot)
        q += clamp(aux_value(run, &attn->q_pos, b));
    if (attn->flags & HEED_ATTN_ALIGN_END && attn->n_sources > 0) {
        const uint32_t s = attn->n_sources - 1;
        const struct heed_checked_source *last = &attn->sources[s];
        const int64_t keys = keys_cut(run, s, b, &begin);
        const int64_t origin =
            last->flags & HEED_SOURCE_END ? last->pos0 - keys * last->pos_step : last->pos0;

        q += origin + (keys - 1) * last->pos_step + last->pos_span - 1 -
             (len - 1) * attn->q_pos_step;
    }
    return q;
}

HEED_INLINE uint64_t *item_words(const struct run *run, uint64_t offset, int64_t b, int64_t words)
{
    return (uint64_t *)(void *)(run->workspace + offset) + b * words;
}

HEED_INLINE int64_t *item_counts(const struct run *run, int64_t b, uint32_t s)
{
    return (int64_t *)(void *)(run->workspace + run->state->counts) +
           (b * run->attn->n_sources + s) * 2;
}

HEED_INLINE struct heed_cpu_matrix matrix(const struct run *run, const struct heed_view *view,
                                          const void *base, int64_t b, int64_t head, int64_t begin)
{
    const int64_t at =
        batch_offset(run, view->stride, b) + head * view->stride[3] + begin * view->stride[4];

    return (struct heed_cpu_matrix) {
        .base = (const char *)base + at * heed_cpu_size(view->dtype),
        .row = view->stride[4],
        .channel = view->shape[5] > 1 ? view->stride[5] : 1,
        .dtype = view->dtype,
    };
}

/* First of the packed blocks of one item and key head. */
HEED_INLINE int64_t packed_block(const struct run *run, uint32_t s, int64_t b, int64_t head)
{
    const struct heed_cpu_prepared *p = &run->state->sources[s];

    return ((p->shared ? 0 : b) * run->attn->sources[s].heads + head) * p->blocks;
}

HEED_INLINE float *packed(const struct run *run, uint32_t s, int64_t block)
{
    return (float *)(void *)(run->workspace + run->state->sources[s].packed) +
           block * HEED_CPU_BLOCK * run->attn->d;
}

HEED_INLINE uint8_t *finite(const struct run *run, uint32_t s, int64_t block)
{
    return (uint8_t *)(run->workspace + run->state->sources[s].finite) + block;
}

/* prepare.c: tasks of the first phase. */
int64_t heed_prepare_tasks(const struct run *);
void heed_prepare_task(struct run *, uint32_t lane, int64_t task);

#endif
