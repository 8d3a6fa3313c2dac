/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Structs that begin with their size. The sizes of the first version are frozen here; they are
 * the least a caller may state, whatever the struct grows to later.
 */
#ifndef HEED_LIB_SIZED_H
#define HEED_LIB_SIZED_H

#include <heed/attn.h>

enum {
    HEED_REPORT_V1 = 304,
    HEED_ALLOCATOR_V1 = 32,
    HEED_EXECUTOR_V1 = 24,
    HEED_LOGGER_V1 = 24,
    HEED_RUNTIME_DESC_V1 = 40,
    HEED_DEVICE_PROPS_V1 = 352,
    HEED_PLAN_PROPS_V1 = 120,
    HEED_OPERAND_V1 = 200,
    HEED_ATTN_ARGS_V1 = 128,
    HEED_KV_BUFS_V1 = 32
};

/* Copies a caller's struct of `size` bytes into `local` (known bytes), zero-extended. size
 * below v1: HEED_E_SIZE; a non-zero byte that this library does not know: HEED_E_NEWER.
 * field names the struct in the report. */
HEED_MUST_CHECK
heed_status heed_sized_element(const void *given, uint32_t size, size_t v1, void *local,
                               size_t known, const char *field, heed_report *report);

/* The same for a struct whose first member is its size; `local` then states the known size. */
HEED_MUST_CHECK
heed_status heed_sized_in(const void *given, size_t v1, void *local, size_t known,
                          const char *field, heed_report *report);

/* Fills a caller's struct from `filled`, at most the size the caller stated, which stays;
 * the rest is zeroed. HEED_E_SIZE and nothing written if that is below v1. */
heed_status heed_sized_out(void *given, size_t v1, const void *filled, size_t known);

#endif
