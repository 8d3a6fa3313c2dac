/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Where the CUDA driver and NVRTC are looked for, and their functions.
 */
#include "../device/library.h"
#include "api.h"

#define NAME(member, symbol, arguments) symbol,
#define COUNT(member, symbol, arguments) +1

static const char *const driver_files[] = { "libcuda.so.1", "libcuda.so", "nvcuda.dll", NULL };
static const char *const driver_names[] = { HEED_CUDA_DRIVER(NAME) HEED_CUDA_OPTIONAL(NAME) };
static const char *const nvrtc_files[] = {
    "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so",
    "nvrtc64_130_0.dll", "nvrtc64_120_0.dll", "nvrtc64_112_0.dll", NULL,
};
static const char *const nvrtc_names[] = { HEED_CUDA_NVRTC(NAME) };

/* Without a driver any will do, and nothing will come of it. */
static uint32_t nvrtc_suits(const void *table)
{
    const struct heed_cuda_nvrtc *found = table;
    const struct heed_cuda_api *api = heed_cuda_api_get(NULL);
    int major = 0, minor = 0, version = 0;

    return api == NULL || api->driver_version(&version) != 0 ||
           found->version(&major, &minor) != 0 || heed_cuda_nvrtc_suits(version, major);
}

/* Written under their own locks. */
static struct heed_cuda_api driver_table;
static struct heed_cuda_nvrtc nvrtc_table;
static struct heed_library driver = {
    .files = driver_files,
    .names = driver_names,
    .n_names = sizeof(driver_names) / sizeof(driver_names[0]),
    .n_optional = 0 HEED_CUDA_OPTIONAL(COUNT),
    .table = &driver_table,
    .absent = "no CUDA driver (libcuda.so.1) found",
    .too_old = "the CUDA driver (libcuda.so.1) is too old: it lacks functions",
    .lock = PTHREAD_MUTEX_INITIALIZER,
};
static struct heed_library nvrtc = {
    .files = nvrtc_files,
    .names = nvrtc_names,
    .n_names = sizeof(nvrtc_names) / sizeof(nvrtc_names[0]),
    .table = &nvrtc_table,
    .absent = "no run-time compiler (libnvrtc.so) found",
    .too_old = "the run-time compiler (libnvrtc.so) is too old: it lacks functions",
    .suits = nvrtc_suits,
    .lock = PTHREAD_MUTEX_INITIALIZER,
};
#undef NAME
#undef COUNT

const struct heed_cuda_api *heed_cuda_api_get(const char **reason)
{
    _Static_assert(sizeof(driver_table) == sizeof(driver_names), "a function a name");
    return heed_library_get(&driver, reason);
}

const struct heed_cuda_nvrtc *heed_cuda_nvrtc_get(const char **reason)
{
    _Static_assert(sizeof(nvrtc_table) == sizeof(nvrtc_names), "a function a name");
    return heed_library_get(&nvrtc, reason);
}

void heed_cuda_api_set(const struct heed_cuda_api *api, const char *reason)
{
    heed_library_set(&driver, api, reason);
}

void heed_cuda_nvrtc_set(const struct heed_cuda_nvrtc *api, const char *reason)
{
    heed_library_set(&nvrtc, api, reason);
}
