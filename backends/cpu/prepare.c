/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the strips of a run share: bit sets of GLOBAL keys and rows from lists, K packed into
 * panels, and which blocks of V are finite.
 */
#include "run.h"

/* Entries of an ascending list up to the first that makes no sense, into a bit set; returns how
 * many. */
static int64_t list_read(const struct run *run, const struct heed_aux *aux, int64_t b,
                         int64_t bound, uint64_t *bits, int64_t words)
{
    const char *entry = aux_item(run, aux, b);
    int64_t last = -1, i = 0;

    memset(bits, 0, (size_t)words * sizeof *bits);
    for (; i < aux->shape[5]; i++) {
        const int64_t value = heed_cpu_integer(HEED_I32, entry, i * aux->stride[5]);

        if (value <= last || value >= bound)
            break;
        bits[value >> 6] |= UINT64_C(1) << (value & 63);
        last = value;
    }
    return i;
}

static void item_prepare(struct run *run, int64_t b)
{
    for (uint32_t s = 0; s < run->attn->n_sources; s++) {
        const struct heed_lowered_source *source = &run->lowered->sources[s];
        const struct heed_cpu_prepared *p = &run->state->sources[s];
        int64_t *counts = item_counts(run, b, s);

        counts[0] = counts[1] = 0;
        if (source->keys)
            counts[0] = list_read(run, source->keys, b, run->attn->sources[s].n_k,
                                  item_words(run, p->keys, b, p->blocks), p->blocks);
        if (source->rows)
            counts[1] = list_read(run, source->rows, b, run->attn->n_q,
                                  item_words(run, p->rows, b, p->row_words), p->row_words);
    }
}

/* Keys of the longest item: what lies beyond is nobody's and is not read. */
static int64_t keys_most(const struct run *run, uint32_t s)
{
    int64_t most = 0;

    for (int64_t b = 0, begin; b < run->attn->n_batch && most < run->attn->sources[s].n_k; b++)
        most = hk_max(most, keys_cut(run, s, b, &begin));
    return most;
}

/* Tasks [0, n_batch) prepare items, then each packs a few blocks of one source, item and key head.
 */
void heed_prepare_task(struct run *run, uint32_t lane, int64_t task)
{
    const struct lane mine = lane_get(run, lane);

    if (task < run->attn->n_batch) {
        item_prepare(run, task);
        return;
    }
    task -= run->attn->n_batch;
    for (uint32_t s = 0; s < run->attn->n_sources; s++) {
        const struct heed_cpu_prepared *p = &run->state->sources[s];
        const struct heed_checked_source *source = &run->attn->sources[s];
        const int64_t pieces = (p->blocks + HEED_TUNE_PACK - 1) / HEED_TUNE_PACK;
        const int64_t n =
            p->packs ? (p->shared ? 1 : run->attn->n_batch) * source->heads * pieces : 0;

        if (task >= n) {
            task -= n;
            continue;
        }
        const int64_t piece = task % pieces, head = task / pieces % source->heads,
                      b = task / pieces / source->heads;
        const struct heed_cpu_matrix k = matrix(run, &source->k, memory(run, heed_attn_k(s)),
                       b, head, 0);
        const struct heed_cpu_matrix v = matrix(run, &source->v, memory(run, heed_attn_v(s)),
                       b, head, 0);
        const int64_t first = packed_block(run, s, b, head);
        int64_t begin, len = p->shared ? keys_most(run, s) : keys_cut(run, s, b, &begin);
        const int64_t blocks = len / HEED_CPU_BLOCK + (len % HEED_CPU_BLOCK != 0);

        for (int64_t i = piece * HEED_TUNE_PACK; i < blocks && i < (piece + 1) * HEED_TUNE_PACK;
             i++) {
            float *temp = (float *)(void *)mine.scratch;

            run->state->isa->pack(&k, run->attn->d, i * HEED_CPU_BLOCK, len,
                                  packed(run, s, first + i), temp);
            *finite(run, s, first + i) =
                run->state->isa->finite(&v, run->attn->d_v, i * HEED_CPU_BLOCK, len, temp);
        }
        return;
    }
}

int64_t heed_prepare_tasks(const struct run *run)
{
    int64_t n = run->attn->n_batch;

    for (uint32_t s = 0; s < run->attn->n_sources; s++) {
        const struct heed_cpu_prepared *p = &run->state->sources[s];

        if (p->packs)
            n += (p->shared ? 1 : run->attn->n_batch) * run->attn->sources[s].heads *
                 ((p->blocks + HEED_TUNE_PACK - 1) / HEED_TUNE_PACK);
    }
    return n;
}
