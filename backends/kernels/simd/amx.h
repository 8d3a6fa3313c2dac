/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The words of halves.h for processors with AMX-BF16: those of AVX512-BF16, but products are made
 * by tiles: 16 rows of 32 halves times 16 rows of 16 pairs are added to 16 rows of 16 floats.
 */
#ifndef HEED_BACKENDS_KERNELS_SIMD_AMX_H
#define HEED_BACKENDS_KERNELS_SIMD_AMX_H

#define HKV_HALVES_TILES 1
#include "avx512bf16.h"

/* Some compilers' words for tiles do not say what memory they read: what was written is there. */
#define HKV_HALVES_WRITTEN() __asm__ volatile("" ::: "memory")

/* What a thread's tiles are: all of them whole. They are its own from open to close. */
HK_INLINE void hkv_halves_open(void)
{
    struct {
        hk_u8 palette, start, none[14];
        hk_u16 bytes[16]; /* of a row */
        hk_u8 rows[16];
    } shape;
    int i;

    memset(&shape, 0, sizeof shape);
    shape.palette = 1;
    for (i = 0; i < 8; i++) {
        shape.bytes[i] = 64;
        shape.rows[i] = 16;
    }
    __asm__ volatile("" ::"r"(&shape) : "memory");
    _tile_loadconfig(&shape);
}

HK_INLINE void hkv_halves_close(void)
{
    _tile_release();
}

/* A step of 32 terms: rows of `x`, which lie so many bytes apart, with two times 16 columns. Tiles
 * i and j have the sums. */
#define HKV_HALVES_STEP(i, j, x, bytes, b, next)                                                   \
    do {                                                                                           \
        _tile_loadd(4, (x), (size_t)(bytes));                                                      \
        _tile_loadd(5, (b), 64);                                                                   \
        _tile_dpbf16ps(i, 4, 5);                                                                   \
        _tile_loadd(6, (b) + (next), 64);                                                          \
        _tile_dpbf16ps(j, 4, 6);                                                                   \
    } while (0)

/* Tiles are written while others are summed: two and two. */
HK_INLINE void hkv_halves_scores(const hk_u16 *q, hk_i64 pitch, const hk_u32 *k, float *s)
{
    const hk_i64 next = pitch * 8;
    hk_i64 t;

    HKV_HALVES_WRITTEN();
    _tile_zero(0);
    _tile_zero(1);
    for (t = 0; t < pitch; t += 32)
        HKV_HALVES_STEP(0, 1, q + t, pitch * 2, k + t * 8, next);
    _tile_zero(2);
    _tile_zero(3);
    _tile_stored(0, s, 256);
    _tile_stored(1, s + 16, 256);
    for (t = 0; t < pitch; t += 32)
        HKV_HALVES_STEP(2, 3, q + t, pitch * 2, k + 2 * next + t * 8, next);
    _tile_stored(2, s + 32, 256);
    _tile_stored(3, s + 48, 256);
}

HK_INLINE void hkv_halves_values(const hk_u16 *p, const hk_u32 *v, float *o)
{
    const hk_i64 next = HKV_HALVES_COLUMNS;

    HKV_HALVES_WRITTEN();
    _tile_loadd(0, o, 256);
    _tile_loadd(1, o + 16, 256);
    HKV_HALVES_STEP(0, 1, p, 128, v, next);
    HKV_HALVES_STEP(0, 1, p + 32, 128, v + 256, next);
    _tile_loadd(2, o + 32, 256);
    _tile_loadd(3, o + 48, 256);
    _tile_stored(0, o, 256);
    _tile_stored(1, o + 16, 256);
    HKV_HALVES_STEP(2, 3, p, 128, v + 2 * next, next);
    HKV_HALVES_STEP(2, 3, p + 32, 128, v + 2 * next + 256, next);
    _tile_stored(2, o + 32, 256);
    _tile_stored(3, o + 48, 256);
}

#endif
