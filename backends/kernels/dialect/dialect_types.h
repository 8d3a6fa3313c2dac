/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The integers of dialect.h in C17, for those who read data of the kernels without their words.
 */
#ifndef HEED_BACKENDS_KERNELS_DIALECT_DIALECT_TYPES_H
#define HEED_BACKENDS_KERNELS_DIALECT_DIALECT_TYPES_H

#include <stdint.h>

typedef int32_t hk_i32;
typedef uint32_t hk_u32;
typedef int64_t hk_i64;
typedef uint64_t hk_u64;
typedef int8_t hk_i8;
typedef uint8_t hk_u8;
typedef uint16_t hk_u16;

#endif
