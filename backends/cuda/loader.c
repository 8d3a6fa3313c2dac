/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Opens the CUDA driver and NVRTC by name and fills their tables. A library that lacks a function
 * of its table, but for the optional ones, counts as not found: half a driver is of no use.
 */
#include "loader.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

struct symbol {
    const char *name;
    size_t at;      /* of the member in its table */
};

#define DRIVER_SYMBOL(member, symbol, arguments)                                                   \
    { symbol, offsetof(struct heed_cuda_driver, member) },
static const struct symbol driver_symbols[] = {
    HEED_CUDA_DRIVER(DRIVER_SYMBOL) { NULL, 0 },
};
static const struct symbol optional_symbols[] = {
    HEED_CUDA_OPTIONAL(DRIVER_SYMBOL) { NULL, 0 },
};
#undef DRIVER_SYMBOL

#define NVRTC_SYMBOL(member, symbol, arguments)                                                    \
    { symbol, offsetof(struct heed_cuda_nvrtc, member) },
static const struct symbol nvrtc_symbols[] = {
    HEED_CUDA_NVRTC(NVRTC_SYMBOL) { NULL, 0 },
};
#undef NVRTC_SYMBOL

static const char *const driver_names[] = { "libcuda.so.1", "libcuda.so", "nvcuda.dll", NULL };
static const char *const nvrtc_names[] = {
    "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so", NULL,
};

/* Set once each, by pthread_once; faked is for tests. */
static struct heed_cuda_driver driver_table;
static struct heed_cuda_nvrtc nvrtc_table;
static const char *driver_detail, *nvrtc_detail;
static pthread_once_t driver_once = PTHREAD_ONCE_INIT, nvrtc_once = PTHREAD_ONCE_INIT;
static bool faked;
static const struct heed_cuda_driver *fake_driver;
static const struct heed_cuda_nvrtc *fake_nvrtc;

static const char no_driver[] = "no CUDA driver (libcuda.so.1) found";
static const char no_nvrtc[] = "no run-time compiler (libnvrtc.so) found";

/* The first library of the list that opens. */
static void *open_first(const char *const *names)
{
    void *library = NULL;

    for (int i = 0; names[i] && library == NULL; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    return library;
}

/* Are all there? Copied as bytes, because ISO C has no cast from an object's pointer to a
 * function's. */
static bool fill(void *table, void *library, const struct symbol *symbols)
{
    bool all = true;

    for (int i = 0; symbols[i].name; i++) {
        void *address = dlsym(library, symbols[i].name);

        all = all && address != NULL;
        memcpy((char *)table + symbols[i].at, &address, sizeof(address));
    }
    return all;
}

static void load_driver(void)
{
    void *library = open_first(driver_names);

    if (library == NULL) {
        driver_detail = no_driver;
    } else if (!fill(&driver_table, library, driver_symbols)) {
        driver_detail = "the CUDA driver (libcuda.so.1) is too old: it lacks functions";
        dlclose(library);
    } else {
        (void)fill(&driver_table, library, optional_symbols);
    }
}

static void load_nvrtc(void)
{
    void *library = open_first(nvrtc_names);

    if (library == NULL) {
        nvrtc_detail = no_nvrtc;
    } else if (!fill(&nvrtc_table, library, nvrtc_symbols)) {
        nvrtc_detail = "the run-time compiler (libnvrtc.so) is too old: it lacks functions";
        dlclose(library);
    }
}

const struct heed_cuda_driver *heed_cuda_driver_get(const char **reason)
{
    if (faked) {
        *reason = fake_driver ? NULL : no_driver;
        return fake_driver;
    }
    pthread_once(&driver_once, load_driver);
    *reason = driver_detail;
    return driver_detail ? NULL : &driver_table;
}

const struct heed_cuda_nvrtc *heed_cuda_nvrtc_get(const char **reason)
{
    if (faked) {
        *reason = fake_nvrtc ? NULL : no_nvrtc;
        return fake_nvrtc;
    }
    pthread_once(&nvrtc_once, load_nvrtc);
    *reason = nvrtc_detail;
    return nvrtc_detail ? NULL : &nvrtc_table;
}

void heed_cuda_loader_fake(const struct heed_cuda_driver *driver,
                           const struct heed_cuda_nvrtc *nvrtc)
{
    faked = true;
    fake_driver = driver;
    fake_nvrtc = nvrtc;
}

void heed_cuda_loader_reset(void)
{
    faked = false;
}
