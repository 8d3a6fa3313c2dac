/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Opens the ICD loader. It stays open: drivers have threads of their own that do not survive being
 * unloaded.
 */
#include "loader.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

/* Tried in this order. */
static const char *const libraries[] = {
    "libOpenCL.so.1",
    "libOpenCL.so",
    "/System/Library/Frameworks/OpenCL.framework/OpenCL",
    "OpenCL.dll",
};
static const char *const no_library = "no OpenCL loader (libOpenCL.so.1) found";
static const char *const too_old = "the OpenCL loader lacks functions of OpenCL 1.2";

#define HEED_OPENCL_NAME(result, name, parameters) "cl" #name,
static const char *const names[] = { HEED_OPENCL_FUNCTIONS(HEED_OPENCL_NAME) };
#undef HEED_OPENCL_NAME
enum { N_NAMES = sizeof(names) / sizeof(names[0]) };

/* Written once, but by tests. */
static struct {
    pthread_mutex_t lock;
    bool looked;
    uint32_t generation;
    struct heed_opencl_api loaded;
    const struct heed_opencl_api *api;
    const char *reason;
} found = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Functions are copied as bytes: C has no conversion from void *. The table holds nothing else. */
static bool fill(struct heed_opencl_api *api, void *library)
{
    _Static_assert(sizeof(struct heed_opencl_api) == N_NAMES * sizeof(void *), "only functions");
    char *to = (char *)api;

    for (size_t i = 0; i < N_NAMES; i++) {
        void *const function = dlsym(library, names[i]);

        if (function == NULL)
            return false;
        memcpy(to + i * sizeof(function), &function, sizeof(function));
    }
    return true;
}

static void look(void)
{
    found.reason = no_library;
    for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++) {
        void *const library = dlopen(libraries[i], RTLD_NOW | RTLD_LOCAL);

        if (library == NULL)
            continue;
        if (fill(&found.loaded, library)) {
            found.api = &found.loaded;
            found.reason = NULL;
            return;
        }
        dlclose(library);
        found.reason = too_old;
    }
}

const struct heed_opencl_api *heed_opencl_api_get(const char **reason)
{
    const struct heed_opencl_api *api;

    pthread_mutex_lock(&found.lock);
    if (!found.looked)
        look();
    found.looked = true;
    api = found.api;
    if (reason != NULL)
        *reason = found.reason;
    pthread_mutex_unlock(&found.lock);
    return api;
}

void heed_opencl_api_set(const struct heed_opencl_api *api, const char *reason)
{
    pthread_mutex_lock(&found.lock);
    found.api = api;
    found.reason = reason;
    found.looked = api != NULL || reason != NULL;
    found.generation++;
    pthread_mutex_unlock(&found.lock);
}

uint32_t heed_opencl_api_generation(void)
{
    uint32_t generation;

    pthread_mutex_lock(&found.lock);
    generation = found.generation;
    pthread_mutex_unlock(&found.lock);
    return generation;
}
