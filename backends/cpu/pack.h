/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * From rows in memory, of any storage type and stride, to what the register tiles read: f32 rows of
 * unit stride, and K transposed into panels. Included by tile.c.
 */
#ifndef HEED_BACKENDS_CPU_PACK_H
#define HEED_BACKENDS_CPU_PACK_H

#include "kernel.h"

/* Row i of a matrix as f32 with unit stride: in place or converted into temp. */
static const float *row_f32(const struct heed_cpu_matrix *m, int64_t i, int64_t n, float *temp)
{
    const char *from = m->base + i * m->row * heed_cpu_size(m->dtype);
    int64_t t = 0;

    if (m->channel == 1 && m->dtype == HEED_F32)
        return (const float *)(const void *)from;
    if (m->channel == 1) {
        const uint16_t *half = (const uint16_t *)(const void *)from;

        for (; t + VL <= n; t += VL)
            v_storeu(temp + t, m->dtype == HEED_F16 ? v_from_f16(half + t) : v_from_bf16(half + t));
    }
    for (; t < n; t++)
        temp[t] = heed_cpu_element(m->dtype, from, t * m->channel);
    return temp;
}

/* 64 keys (negative: a row of zeros) into panels [64 / PANEL][d][PANEL]. temp: V_PACK rows of d. */
static void pack_keys(const struct heed_cpu_matrix *k, const int64_t *keys, int64_t d, float *out,
                      float *temp)
{
    for (int64_t i = 0; i < BLOCK; i += V_PACK) {
        float *panel = out + i / PANEL * PANEL * d + i % PANEL;
        const float *rows[V_PACK];
        int64_t t = 0;

        for (int r = 0; r < V_PACK; r++) {
            if (keys[i + r] < 0) {
                memset(temp + r * d, 0, (size_t)d * sizeof *temp);
                rows[r] = temp + r * d;
            } else {
                rows[r] = row_f32(k, keys[i + r], d, temp + r * d);
            }
        }
        for (; t + V_PACK <= d; t += V_PACK)
            v_pack(rows, t, panel + t * PANEL, PANEL);
        for (; t < d; t++) {
            for (int r = 0; r < V_PACK; r++)
                panel[t * PANEL + r] = rows[r][t];
        }
    }
}

static void pack_run(const struct heed_cpu_matrix *k, int64_t d, int64_t first, int64_t n,
                     float *out, float *temp)
{
    int64_t keys[BLOCK];

    for (int64_t i = 0; i < BLOCK; i++)
        keys[i] = first + i < n ? first + i : -1;
    pack_keys(k, keys, d, out, temp);
}

static bool values_run(const struct heed_cpu_matrix *v, int64_t d_v, int64_t first, int64_t n,
                       float *temp)
{
    vf sum = v_zero();
    float rest = 0;

    for (int64_t i = first; i < n && i < first + BLOCK; i++) {
        const float *row = row_f32(v, i, d_v, temp);
        int64_t t = 0;

        for (; t + VL <= d_v; t += VL)
            sum = v_fma(v_loadu(row + t), v_zero(), sum);
        for (; t < d_v; t++)
            rest += row[t] * 0.0f;
    }
    return rest == rest && v_word(v_ordered(sum)) == v_word(v_ordered(v_zero()));
}

#endif
