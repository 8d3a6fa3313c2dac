/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What kernels and the library number and bound the same way: element types, positions.
 */
#ifndef HEED_BACKENDS_KERNELS_DTYPES_H
#define HEED_BACKENDS_KERNELS_DTYPES_H

enum { HK_F32 = 1, HK_F16, HK_BF16, HK_U8 = 16, HK_I32, HK_I64, HK_I8 }; /* as HEED_F32, ... */
#define HK_POSITION_MAX ((hk_i64)1 << 60)

#endif
