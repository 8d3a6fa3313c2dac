/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The self-test of processors that multiply pairs of bf16, by the words that attention uses
 * (simd/halves.h): a group takes one set of those that matrix units are tested with. Its products
 * are added to sums, are taken for scores, and are made with the sums as weights. The blob is an
 * empty plan, then the inputs; buffer 1 takes the outputs, of which `top` has the scores.
 */
#define HK_THREADS 1
#define HK_VECTORS 1
#define HK_SUB_SPACE HK_GLOBAL
#include "../attn/halves.h"
#include "selftest_matrix.h"

/* Operands where a block has them: 16 rows of 64 terms, 64 columns. */
struct hk_operands {
    _Alignas(64) hk_u16 rows[HK_R * HK_BLOCK];
    _Alignas(64) hk_u16 keys[HK_BLOCK * 32];    /* [column][term] */
    _Alignas(64) hk_u32 k[HK_BLOCK * 16];
    _Alignas(64) hk_u32 v[HK_PANEL / 16 * HKV_HALVES_COLUMNS];
    _Alignas(64) float sums[HK_R * HK_PANEL];
};

HK_FN hk_u16 hk_half_of(const hk_u32 *words, hk_i64 line, hk_i64 term)
{
    return (hk_u16)(words[line * HK_UNIT_SIDE / 2 + term / 2] >> term % 2 * 16);
}

HK_FN void hk_bytes_clear(void *at, hk_i64 bytes)
{
    hk_i64 i;

    for (i = 0; i < bytes; i++)
        ((char *)at)[i] = 0;
}

/* Columns as rows of K and as channels of V. */
HK_FN void hk_columns_lay(const struct hk_unit_input *in, struct hk_operands *to)
{
    const float *rows[HK_BLOCK];
    hk_u16 term[HK_UNIT_SIDE][HK_PANEL];
    hk_i64 i, t;

    hk_bytes_clear(to, (hk_i64)sizeof *to);
    hk_bytes_clear(term, (hk_i64)sizeof term);
    for (i = 0; i < HK_UNIT_SIDE; i++) {
        for (t = 0; t < HK_UNIT_SIDE; t++)
            term[t][i] = to->keys[i * 32 + t] = hk_half_of(in->b, i, t);
    }
    for (i = 0; i < HK_BLOCK; i++)
        rows[i] = (const float *)(const void *)(to->keys + i * 32);
    for (i = 0; i < HK_BLOCK; i += HKV_PACK) {
        for (t = 0; t < 16; t += HKV_PACK)
            hkv_pack(rows + i, t, (float *)(void *)to->k + i / 16 * 256 + i % 16 + t * 16, 16);
    }
    for (t = 0; t < HK_BLOCK; t += 2) {
        for (i = 0; i < HK_PANEL; i += 32)
            hkv_halves_pair(t < HK_UNIT_SIDE ? term[t] + i : 0,
                            t + 1 < HK_UNIT_SIDE ? term[t + 1] + i : 0, 32,
                            to->v + i / 16 * HKV_HALVES_COLUMNS + t / 2 * 16);
    }
}

HK_FN void hk_sums_take(const struct hk_operands *from, float *to)
{
    hk_i64 i;

    for (i = 0; i < HK_UNIT_SUMS; i++)
        to[i] = from->sums[i / HK_UNIT_SIDE * HK_PANEL + i % HK_UNIT_SIDE];
}

HK_FN void hk_main(const struct hk_call *call, hk_i64 group)
{
    const struct hk_unit_input *in =
        (const struct hk_unit_input *)(const void *)(call->blob + sizeof(struct hk_plan)) + group;
    struct hk_unit_output *out =
        (struct hk_unit_output *)(void *)call->buffer[1] + group;
    struct hk_operands of;
    float weights[HK_BLOCK] = { 0.0f };
    hk_i64 i;

    hkv_halves_open();
    hk_columns_lay(in, &of);
    for (i = 0; i < HK_UNIT_SUMS; i++) {
        of.rows[i / HK_UNIT_SIDE * 32 + i % HK_UNIT_SIDE] =
            hk_half_of(in->a, i / HK_UNIT_SIDE, i % HK_UNIT_SIDE);
    }
    hkv_halves_scores(of.rows, 32, of.k, of.sums);
    hk_sums_take(&of, out->top);
    hk_bytes_clear(of.rows, (hk_i64)sizeof of.rows);
    for (i = 0; i < HK_UNIT_SUMS; i++) {
        const hk_i64 row = i / HK_UNIT_SIDE, at = i % HK_UNIT_SIDE;

        of.rows[row * HK_BLOCK + at] = hk_half_of(in->a, row, at);
        of.sums[row * HK_PANEL + at] = in->c[i];
    }
    hkv_halves_values(of.rows, of.v, of.sums);
    hk_sums_take(&of, out->sum);
    hk_bytes_clear(of.sums, (hk_i64)sizeof of.sums);
    for (i = 0; i < HK_R; i++) {
        hk_move((char *)weights, (const char *)(in->c + i * HK_UNIT_SIDE),
                HK_UNIT_SIDE * (hk_i64)sizeof *weights);
        hkv_halves_weigh(weights, of.rows + i * HK_BLOCK);
    }
    hkv_halves_values(of.rows, of.v, of.sums);
    hk_sums_take(&of, out->weighed);
    hkv_halves_close();
}

#include "../entry.h"
