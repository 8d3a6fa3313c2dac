/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Keys are collected in blocks of 64 ordinals (numerics.md steps 5 to 7), these in chunks of 1024
 * (8), and the row is ended by 9 to 12.
 */
#include "softmax.h"

#include <math.h>

static void part_start(struct heed_ref_part *part, int64_t d)
{
    part->m = -INFINITY;
    part->keys = 0;
    for (int i = 0; i < HEED_REF_LANES; i++)
        part->l[i] = 0.0f;
    for (int64_t t = 0; t < d; t++)
        part->o[t] = 0.0f;
    for (int64_t t = 0; part->n != NULL && t < d; t++)
        part->n[t] = 0.0f;
}

void heed_ref_softmax_start(struct heed_ref_softmax *softmax, int64_t d, float *scratch)
{
    softmax->d = d;
    softmax->scales.channels = 0;
    softmax->block.number = 0;
    softmax->block.count = 0;
    softmax->chunk.o = scratch;
    softmax->total.o = d > 0 ? scratch + d : scratch; /* scratch may be NULL */
    softmax->chunk.n = d > 0 ? scratch + 2 * d : scratch;
    softmax->total.n = NULL;
    part_start(&softmax->chunk, d);
    part_start(&softmax->total, d);
}

/* The value row of a key of the block being collected. */
static struct heed_ref_line value_line(const struct heed_ref_softmax *softmax, int i)
{
    return (struct heed_ref_line){
        .data = softmax->values,
        .at = softmax->block.v_at[i],
        .stride = softmax->stride,
        .dtype = softmax->dtype,
        .scales = softmax->scales,
        .scale_at = softmax->block.scale_at[i],
    };
}

/* Step 7. n[t] is that of the block which begins with channel t. */
static void value_add(struct heed_ref_softmax *softmax, int i, float p)
{
    struct heed_ref_line v = value_line(softmax, i);
    struct heed_ref_part *chunk = &softmax->chunk;
    int64_t block = heed_ref_line_block(&v);

    for (int64_t t = 0; t < softmax->d; t++) {
        float w = p * heed_ref_line_scale(&v, t);

        chunk->o[t] = fmaf(w, heed_ref_line_stored(&v, t), chunk->o[t]);
    }
    if (heed_ref_line_minima(&v)) {
        for (int64_t t = 0; t < softmax->d; t += block)
            chunk->n[t] = fmaf(p, heed_ref_line_minimum(&v, t), chunk->n[t]);
    }
}

/* The minima join the channels of their blocks. */
static void minima_join(struct heed_ref_softmax *softmax)
{
    struct heed_ref_line v = { .dtype = softmax->dtype, .scales = softmax->scales };
    int64_t block = heed_ref_line_block(&v);

    for (int64_t t = 0; heed_ref_line_minima(&v) && t < softmax->d; t++)
        softmax->chunk.o[t] += softmax->chunk.n[t - t % block];
}

/* Steps 5 to 7. */
static void block_finish(struct heed_ref_softmax *softmax)
{
    struct heed_ref_block *block = &softmax->block;
    struct heed_ref_part *chunk = &softmax->chunk;
    float m = -INFINITY, e;

    for (int i = 0; i < block->count; i++)
        m = block->y[i] > m ? block->y[i] : m;
    e = rintf(m) + 1.0f;
    if (e > chunk->m) {
        float w = heed_ref_pow2(chunk->m - e);

        for (int i = 0; i < HEED_REF_LANES; i++)
            chunk->l[i] *= w;
        for (int64_t t = 0; t < softmax->d; t++) {
            chunk->o[t] *= w;
            chunk->n[t] *= w;
        }
        chunk->m = e;
    }
    for (int i = 0; i < block->count; i++) {
        float p = heed_ref_weight(block->y[i], chunk->m);

        chunk->l[block->lane[i]] += p;
        value_add(softmax, i, p);
    }
    chunk->keys += block->count;
    block->count = 0;
}

/* Step 8: the first chunk is copied, each next is combined. */
static void chunk_finish(struct heed_ref_softmax *softmax)
{
    struct heed_ref_part *chunk = &softmax->chunk, *total = &softmax->total;

    if (chunk->keys == 0)
        return;
    minima_join(softmax);
    if (total->keys == 0) {
        total->m = chunk->m;
        for (int i = 0; i < HEED_REF_LANES; i++)
            total->l[i] = chunk->l[i];
        for (int64_t t = 0; t < softmax->d; t++)
            total->o[t] = chunk->o[t];
    } else {
        float m = chunk->m > total->m ? chunk->m : total->m;
        float w1 = heed_ref_pow2(total->m - m);
        float w2 = heed_ref_pow2(chunk->m - m);

        for (int i = 0; i < HEED_REF_LANES; i++) {
            float kept = total->l[i] * w1;

            total->l[i] = fmaf(chunk->l[i], w2, kept);
        }
        for (int64_t t = 0; t < softmax->d; t++) {
            float kept = total->o[t] * w1;

            total->o[t] = fmaf(chunk->o[t], w2, kept);
        }
        total->m = m;
    }
    total->keys += chunk->keys;
    part_start(chunk, softmax->d);
}

void heed_ref_softmax_add(struct heed_ref_softmax *softmax, float y, int64_t ordinal, int64_t v_at,
                          int64_t scale_at)
{
    struct heed_ref_block *block = &softmax->block;

    if (y == -INFINITY)
        return;
    if (ordinal / HEED_REF_BLOCK != block->number) {
        int64_t chunk_before = block->number / (HEED_REF_CHUNK / HEED_REF_BLOCK);

        block_finish(softmax);
        if (ordinal / HEED_REF_CHUNK != chunk_before)
            chunk_finish(softmax);
        block->number = ordinal / HEED_REF_BLOCK;
    }
    block->y[block->count] = y;
    block->lane[block->count] = (int)(ordinal % HEED_REF_LANES);
    block->v_at[block->count] = v_at;
    block->scale_at[block->count] = scale_at;
    block->count++;
}

void heed_ref_softmax_join(struct heed_ref_softmax *softmax)
{
    block_finish(softmax);
    chunk_finish(softmax);
}

float heed_ref_softmax_end(struct heed_ref_softmax *softmax, float sink, bool with_sink)
{
    struct heed_ref_part *total = &softmax->total;
    float l, lse, r;

    for (int half = HEED_REF_LANES / 2; half > 0; half /= 2) {
        for (int i = 0; i < half; i++)
            total->l[i] += total->l[i + half];
    }
    l = total->l[0];
    lse = heed_ref_lse(total->m, l);
    if (sink != -INFINITY) {
        float y = sink * HEED_REF_LOG2E;
        float e = rintf(y) + 1.0f;
        float m = e > total->m ? e : total->m;
        float w = heed_ref_pow2(total->m - m);

        l = fmaf(l, w, heed_ref_weight(y, m));
        for (int64_t t = 0; t < softmax->d; t++)
            total->o[t] *= w;
        if (with_sink)
            lse = heed_ref_lse(m, l);
    }
    r = heed_ref_recip(l);
    for (int64_t t = 0; t < softmax->d; t++)
        total->o[t] *= r;
    return lse;
}
