/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * docs/numerics.md section 14: activations and what they are made of. The coefficients are part of
 * the version. As numerics.h, once for float and, with HK_VECTORS 1, once for vectors, and for
 * several of them side by side where the vocabulary has these.
 */
#ifndef HEED_BACKENDS_KERNELS_FUNCTIONS_H
#define HEED_BACKENDS_KERNELS_FUNCTIONS_H

#include "numerics.h"

#include "forms.h"

/* log2 e - HK_LOG2_E. */
#define HK_LOG2_E_REST 0x1.4ae0cp-26f

#define HK_STEP HK_FN
#define HK_T float
#define HK_OP(name) hk_##name
#include "function_steps.h"
#undef HK_T
#undef HK_OP

#if HK_VECTORS
#define HK_T hk_vec
#define HK_OP(name) hkv_##name
#include "function_steps.h"
#undef HK_T
#undef HK_OP
#undef HK_STEP

#include "wide.h"
#ifdef HKV_WIDE
#define HK_STEP HK_INLINE /* a call would send the vectors through memory */
#define HK_T hk_wide
#define HK_OP(name) hkw_##name
#include "function_steps.h"
#undef HK_T
#undef HK_OP
#undef HK_STEP
#endif
#endif

#endif
