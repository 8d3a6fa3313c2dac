/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The entry point of a kernel, included last: it gathers the buffers and calls, for its group,
 *     void hk_main(const struct hk_call *, hk_i64 group)
 * which the file has defined, as it has HK_THREADS. With HK_HAS_SHARED, a third argument is
 * HK_LOCAL struct hk_shared *, the group's own. struct hk_call and hk_call_open are those of call.h
 * or operation.h. The calling conventions are those of backends/device/device.h; dialect words
 * appear here only through HK_ENTRY_*.
 */
#ifndef HEED_BACKENDS_KERNELS_ENTRY_H
#define HEED_BACKENDS_KERNELS_ENTRY_H

#include "buffers.h"

#if defined HK_HAS_SHARED && HK_THREADS > 1 && !defined HK_MUCH_LOCAL
#ifndef HK_LOCAL_BUFFERS
#define HK_LOCAL_BUFFERS 0
#endif
/* A device of few rows need not have more local memory; CUDA gives no kernel more without asking.
 * HK_MUCH_LOCAL: it runs only where there is more. */
typedef char hk_shared_fits
    [sizeof(struct hk_shared) + HK_LOCAL_BUFFERS * HK_BUFFERS * 8 <=
             (HK_GROUP_ROWS < 64 ? 32 : 48) * 1024
         ? 1
         : -1];
#endif

#ifdef HK_HAS_SHARED
#define HK_SHARED struct hk_shared
#define HK_MAIN(call, group, shared) hk_main(call, group, shared)
#else
#define HK_SHARED hk_u32
#define HK_MAIN(call, group, shared) ((void)(shared), hk_main(call, group))
#endif

#define HK_TEN(of, tens)                                                                           \
    of(tens##0), of(tens##1), of(tens##2), of(tens##3), of(tens##4), of(tens##5), of(tens##6),     \
        of(tens##7), of(tens##8), of(tens##9)
#define HK_FIRST_TEN(of) of(0), of(1), of(2), of(3), of(4), of(5), of(6), of(7), of(8), of(9)

#if HK_LARGE
#define HK_EVERY(of)                                                                               \
    HK_FIRST_TEN(of), HK_TEN(of, 1), HK_TEN(of, 2), HK_TEN(of, 3), HK_TEN(of, 4), HK_TEN(of, 5),   \
        HK_TEN(of, 6), HK_TEN(of, 7), HK_TEN(of, 8), HK_TEN(of, 9), of(100), of(101)
#define HK_LAST(of) of(101)     /* HK_BUFFERS - 1 */
#else
#define HK_EVERY(of)                                                                               \
    HK_FIRST_TEN(of), HK_TEN(of, 1), of(20), of(21), of(22), of(23), of(24), of(25), of(26),       \
        of(27), of(28)
#endif

HK_ENTRY_POINT

#endif
