/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The words in which device code is written: the one place that knows whether a file under kernels/
 * is being compiled as OpenCL C, as CUDA or as plain C17. Prefix hk_ (heed kernel).
 */
#ifndef HEED_BACKENDS_KERNELS_DIALECT_H
#define HEED_BACKENDS_KERNELS_DIALECT_H

#if defined __OPENCL_VERSION__ || defined __OPENCL_C_VERSION__
#pragma OPENCL FP_CONTRACT OFF
typedef int hk_i32;
typedef uint hk_u32;
typedef long hk_i64;
typedef ulong hk_u64;
typedef uchar hk_u8;
#define HK_GLOBAL __global
#define HK_FN static inline
#else
#include <stdint.h>
typedef int32_t hk_i32;
typedef uint32_t hk_u32;
typedef int64_t hk_i64;
typedef uint64_t hk_u64;
typedef uint8_t hk_u8;
#define HK_GLOBAL
#if defined __CUDACC__ || defined __CUDACC_RTC__
#define HK_FN static __device__ inline
#else
#define HK_FN static inline
#endif
#endif

#endif
