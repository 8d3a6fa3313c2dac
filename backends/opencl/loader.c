/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Where the ICD loader is looked for, and its functions.
 */
#include "../device/library.h"
#include "api.h"

static const char *const files[] = {
    "libOpenCL.so.1", "libOpenCL.so", "/System/Library/Frameworks/OpenCL.framework/OpenCL",
    "OpenCL.dll", NULL,
};

#define NAME(result, name, parameters) "cl" #name,
static const char *const names[] = { HEED_OPENCL_FUNCTIONS(NAME) };
#undef NAME

/* Written under its own lock. */
static struct heed_opencl_api table;
static struct heed_library loader = {
    .files = files,
    .names = names,
    .n_names = sizeof(names) / sizeof(names[0]),
    .table = &table,
    .absent = "no OpenCL loader (libOpenCL.so.1) found",
    .too_old = "the OpenCL loader lacks functions of OpenCL 1.2",
    .lock = PTHREAD_MUTEX_INITIALIZER,
};

const struct heed_opencl_api *heed_opencl_api_get(const char **reason)
{
    _Static_assert(sizeof(table) == sizeof(names), "a function a name");
    return heed_library_get(&loader, reason);
}

void heed_opencl_api_set(const struct heed_opencl_api *api, const char *reason)
{
    heed_library_set(&loader, api, reason);
}

uint32_t heed_opencl_api_generation(void)
{
    return heed_library_generation(&loader);
}
