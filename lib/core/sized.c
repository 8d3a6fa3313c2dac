/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Reading and filling structs that begin with their size: a shorter one is zero-extended, the
 * unknown tail of a longer one must be zero on the way in and is made zero on the way out.
 */
#include "sized.h"

#include "error.h"

#include <assert.h>
#include <string.h>

#define SAME(type, v1) \
    static_assert(sizeof(type) >= (v1), #type " is smaller than its first version")
SAME(heed_report, HEED_REPORT_V1);
SAME(heed_allocator, HEED_ALLOCATOR_V1);
SAME(heed_executor, HEED_EXECUTOR_V1);
SAME(heed_logger, HEED_LOGGER_V1);
SAME(heed_runtime_desc, HEED_RUNTIME_DESC_V1);
SAME(heed_device_props, HEED_DEVICE_PROPS_V1);
SAME(heed_plan_props, HEED_PLAN_PROPS_V1);
SAME(heed_attn_args, HEED_ATTN_ARGS_V1);
SAME(heed_kv_bufs, HEED_KV_BUFS_V1);
#undef SAME

heed_status heed_sized_element(const void *given, uint32_t size, size_t v1, void *local,
                               size_t known, const char *field, heed_report *report)
{
    const unsigned char *bytes = given;

    if (size < v1)
        return heed_report_fill(report, HEED_E_SIZE, field, (int64_t)v1, size,
                                "size is below that of the first version");
    for (size_t i = known; i < size; i++) {
        if (bytes[i] != 0)
            return heed_report_fill(report, HEED_E_NEWER, field, (int64_t)known, (int64_t)i,
                                    "byte %zu is not zero and this library knows %zu", i, known);
    }
    memset(local, 0, known);
    memcpy(local, given, size < known ? size : known);
    return HEED_OK;
}

heed_status heed_sized_in(const void *given, size_t v1, void *local, size_t known,
                          const char *field, heed_report *report)
{
    uint32_t size = 0;
    heed_status status;

    memcpy(&size, given, sizeof(size));
    status = heed_sized_element(given, size, v1, local, known, field, report);
    if (status < 0)
        return status;
    size = (uint32_t)known;
    memcpy(local, &size, sizeof(size));
    return HEED_OK;
}

heed_status heed_sized_out(void *given, size_t v1, const void *filled, size_t known)
{
    uint32_t size = 0;
    size_t copied;

    memcpy(&size, given, sizeof(size));
    if (size < v1)
        return HEED_E_SIZE;
    copied = size < known ? size : known;
    memcpy((char *)given + sizeof(size), (const char *)filled + sizeof(size),
           copied - sizeof(size));
    memset((char *)given + copied, 0, size - copied);
    return HEED_OK;
}
