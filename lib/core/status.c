/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Names of the status values, and the library's version.
 */
#include <heed/heed.h>

#define NAME(status) { status, #status }
static const struct {
    heed_status status;
    const char *name;
} names[] = {
    NAME(HEED_OK),
    NAME(HEED_R_COMPOSED),
    NAME(HEED_E_NULL),
    NAME(HEED_E_SIZE),
    NAME(HEED_E_NEWER),
    NAME(HEED_E_FLAG),
    NAME(HEED_E_VALUE),
    NAME(HEED_E_SHAPE),
    NAME(HEED_E_STRIDE),
    NAME(HEED_E_DTYPE),
    NAME(HEED_E_ALIGN),
    NAME(HEED_E_ALIAS),
    NAME(HEED_E_OVERFLOW),
    NAME(HEED_E_AMBIGUOUS),
    NAME(HEED_E_INDEX),
    NAME(HEED_E_WORKSPACE),
    NAME(HEED_E_MISMATCH),
    NAME(HEED_E_UNSUPPORTED),
    NAME(HEED_E_NOT_BUILT),
    NAME(HEED_E_NOT_FOUND),
    NAME(HEED_E_NOMEM),
    NAME(HEED_E_DEVICE_NOMEM),
    NAME(HEED_E_BUSY),
    NAME(HEED_E_DEVICE_LOST),
    NAME(HEED_E_KERNEL_BUILD),
    NAME(HEED_E_DEVICE),
    NAME(HEED_E_INTERNAL),
};
#undef NAME

const char *heed_status_name(heed_status status)
{
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (names[i].status == status)
            return names[i].name;
    }
    return "unknown status";
}

uint32_t heed_version(void)
{
    return (uint32_t)HEED_VERSION_MAJOR << 16 | (uint32_t)HEED_VERSION_MINOR << 8 |
           (uint32_t)HEED_VERSION_PATCH;
}
