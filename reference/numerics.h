/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The scalar functions of numerics.md section 4, version 1, one by one. Only binary32 add,
 * subtract, multiply, fma, correctly rounded division where a step names recip, comparison,
 * round-to-integer and bit casts are used; the caller has set round-to-nearest with subnormals
 * kept.
 */
#ifndef HEED_REFERENCE_NUMERICS_H
#define HEED_REFERENCE_NUMERICS_H

#include "../lib/plan.h"

#include <stdbool.h>

#define HEED_REF_BLOCK 64             /* ordinals a block (step 5) */
#define HEED_REF_CHUNK 1024           /* ordinals a chunk (step 8) */
#define HEED_REF_LANES 16             /* partial row sums (step 7) */
#define HEED_REF_LOG2E 0x1.715476p+0f /* L = RNE32(log2 e) */

struct heed_ref_constants { /* step 1 */
    float c;                /* without softcap: y = s * c */
    float c1, c2;           /* with softcap: y = TANH(s * c1) * c2 */
    bool capped;
};
struct heed_ref_constants heed_ref_constants_of(const struct heed_checked *);

float heed_ref_pow2(
    float x); /* W(x) for an integer-valued x <= 0: 2^x, +0 below -100 and for NaN */
float heed_ref_exp2_poly(float f);       /* 2^f for f in [-1/2, 1/2], relative error 1.7e-7 */
float heed_ref_weight(float y, float m); /* step 6: 2^(y - m) */
float heed_ref_recip(float l);           /* step 10 */
float heed_ref_tanh(float x);            /* step 3 */
float heed_ref_lse(float m, float l);    /* step 12: ln(2^m * l) */
float heed_ref_rsqrt(float x);           /* section 12: 1 / sqrt(x), relative error 1.0e-7 */
float heed_ref_activate(uint32_t kind, float x); /* section 14; kind: HEED_ACT_* */

#endif
