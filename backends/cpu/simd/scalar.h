/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Vector vocabulary of one lane: plain C, for processors without a header of their own. fmaf and
 * rintf may be library calls.
 */
#ifndef HEED_BACKENDS_CPU_SIMD_SCALAR_H
#define HEED_BACKENDS_CPU_SIMD_SCALAR_H

#include "../../../lib/core/compiler.h"
#include "../convert.h"

#include <math.h>
#include <stdbool.h>

#define HEED_ISA scalar
#define HEED_ISA_TEXT "portable C"
#define VL 1                    /* lanes */
#define TILE_ROWS 4
#define TILE_VECS 4             /* vectors across a tile */
#define TILE_WEIGHTS 1          /* vectors of weights formed side by side */

typedef float vf;
typedef bool vm;

HEED_INLINE vf v_zero(void) { return 0.0f; }
HEED_INLINE vf v_set(float x) { return x; }
HEED_INLINE vf v_load(const float *p) { return *p; }
HEED_INLINE vf v_loadu(const float *p) { return *p; }
HEED_INLINE void v_store(float *p, vf a) { *p = a; }
HEED_INLINE void v_storeu(float *p, vf a) { *p = a; }
HEED_INLINE vf v_add(vf a, vf b) { return a + b; }
HEED_INLINE vf v_sub(vf a, vf b) { return a - b; }
HEED_INLINE vf v_mul(vf a, vf b) { return a * b; }
HEED_INLINE vf v_div(vf a, vf b) { return a / b; }
HEED_INLINE vf v_fma(vf a, vf b, vf c) { return fmaf(a, b, c); }
HEED_INLINE vf v_max(vf a, vf b) { return a > b ? a : b; }
HEED_INLINE vf v_min(vf a, vf b) { return a < b ? a : b; }
HEED_INLINE vf v_rint(vf a) { return rintf(a); }
HEED_INLINE vf v_abs(vf a) { return heed_float(heed_word(a) & 0x7fffffffu); }
HEED_INLINE vf v_sign(vf a, vf from)
{
    return heed_float(heed_word(a) | (heed_word(from) & 0x80000000u));
}
HEED_INLINE vm v_less(vf a, vf b) { return a < b; }
HEED_INLINE vm v_not_less(vf a, vf b) { return !(a < b); }
HEED_INLINE vm v_not_equal(vf a, vf b) { return a != b; }
HEED_INLINE vm v_ordered(vf a) { return a == a; }
HEED_INLINE vf v_select(vm m, vf a, vf b) { return m ? a : b; }
HEED_INLINE vf v_keep(vm m, vf a) { return m ? a : 0.0f; }
HEED_INLINE vm v_both(vm a, vm b) { return a && b; }
HEED_INLINE vm v_bits(uint32_t word) { return word & 1; }
HEED_INLINE uint32_t v_word(vm m) { return m; }
HEED_INLINE float v_max_across(vf a) { return a; }
HEED_INLINE float v_min_across(vf a) { return a; }

/* p * 2^g for integer g in [-100, 30]; anything for other g. */
HEED_INLINE vf v_scale2(vf p, vf g)
{
    const float clipped = g >= -100.0f ? g <= 100.0f ? g : 0.0f : 0.0f;

    return heed_float(heed_word(p) + ((uint32_t)(int32_t)clipped << 23));
}

HEED_INLINE vf v_from_f16(const uint16_t *p) { return heed_from_f16(*p); }
HEED_INLINE vf v_from_bf16(const uint16_t *p) { return heed_from_bf16(*p); }

/* Transposes V_PACK rows from channel t on into out[channel][row], V_PACK channels. */
#define V_PACK 1
HEED_INLINE void v_pack(const float *const *rows, int64_t t, float *out, int64_t panel)
{
    (void)panel;
    *out = rows[0][t];
}

#endif
