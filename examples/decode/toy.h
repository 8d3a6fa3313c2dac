/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What decode.c needs beside caches: a model without weights, and memory of a device.
 */
#ifndef HEED_EXAMPLES_DECODE_TOY_H
#define HEED_EXAMPLES_DECODE_TOY_H

#include <heed/attn.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { SEQUENCES = 3, HEADS = 8, KEY_HEADS = 2, D = 32, VOCABULARY = 64, OTHERS = 16 };

/* ---- the model ---- */

enum { QUERY, KEY, VALUE, MEANING };

static inline float noise(uint32_t kind, uint32_t token, uint32_t head, uint32_t channel)
{
    uint64_t x = (((uint64_t)kind * 97 + token) * 131 + head) * 257 + channel + 1;

    x *= UINT64_C(0x9e3779b97f4a7c15);
    x ^= x >> 29;
    x *= UINT64_C(0xbf58476d1ce4e5b9);
    x ^= x >> 32;
    return (float)(x & 0xffff) / 32768.0f - 1.0f;
}

/* [heads][D] */
static inline void noise_row(uint32_t kind, int token, int heads, float *row)
{
    for (int i = 0; i < heads * D; i++)
        row[i] = noise(kind, (uint32_t)token, (uint32_t)(i / D), (uint32_t)(i % D));
}

/* o: [HEADS][D]; none of the OTHERS tokens before `last`. */
static inline int next_token(const float *o, const int *last)
{
    double best = -1e30;
    int token = 0;

    for (int t = 0; t < VOCABULARY; t++) {
        float meaning[HEADS * D];
        double fit = 0;

        noise_row(MEANING, t, HEADS, meaning);
        for (int i = 0; i < HEADS * D; i++)
            fit += (double)meaning[i] * (double)o[i];
        for (int i = 1; i <= OTHERS; i++)
            fit = last[-i] == t ? -1e30 : fit;
        if (fit > best) {
            best = fit;
            token = t;
        }
    }
    return token;
}

/* ---- a device ---- */

enum { MAX_BUFS = 48 };

struct world {
    heed_device *device;
    heed_queue *queue;
    heed_report why;
    bool failed;
    heed_buf bufs[MAX_BUFS];
    int n_bufs;
};

static inline void must(struct world *w, heed_status status)
{
    if (status >= 0 || w->failed)
        return;
    w->failed = true;
    fprintf(stderr, "%s: %s: %s: %s\n", heed_device_name(w->device), heed_status_name(status),
            w->why.field, w->why.message);
}

/* Memory of the device that holds `from`, or zeros. */
static inline heed_buf place(struct world *w, const void *from, size_t bytes)
{
    heed_buf buf = { 0 };
    void *zeros = calloc(1, bytes);

    if (!zeros || w->n_bufs == MAX_BUFS)
        w->failed = true;
    if (!w->failed)
        must(w, heed_buf_create(w->device, bytes, &buf, &w->why));
    if (!w->failed) {
        w->bufs[w->n_bufs++] = buf;
        must(w, heed_buf_write(w->queue, buf, from ? from : zeros, bytes, &w->why));
    }
    free(zeros);
    return buf;
}

static inline void put(struct world *w, heed_buf to, const void *from, size_t bytes)
{
    if (!w->failed)
        must(w, heed_buf_write(w->queue, to, from, bytes, &w->why));
}

static inline heed_tensor rows_of(int64_t b, int64_t h, int64_t n)
{
    return heed_array4(HEED_F32, NULL, b, h, n, D).t;
}

/* [SEQUENCES] or [SEQUENCES][n] */
static inline heed_tensor integers(uint32_t dtype, int64_t n)
{
    const int64_t shape[2] = { SEQUENCES, n };

    return heed_array_dense(dtype, NULL, n > 0 ? 2 : 1, shape).t;
}

#endif
