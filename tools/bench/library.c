/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Two builds of one library in one process: both have the same names, so the second one is opened
 * with its own names first.
 */
#define _GNU_SOURCE
#include "bench/library.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#ifndef RTLD_DEEPBIND
#define RTLD_DEEPBIND 0
#endif

#define LIBRARY_CALLS(OF)                                                                          \
    OF(runtime_create) OF(runtime_destroy) OF(device_find) OF(device_info) OF(buf_create)          \
    OF(buf_destroy) OF(buf_write) OF(queue_create) OF(queue_wait) OF(queue_destroy) OF(attn_plan)  \
    OF(attn_run) OF(plan_info) OF(plan_drop)

const struct library library_own = {
#define CALL(name) .name = heed_##name,
    LIBRARY_CALLS(CALL)
#undef CALL
};

static const struct {
    const char *name;
    size_t at;
} calls[] = {
#define CALL(name) { "heed_" #name, offsetof(struct library, name) },
    LIBRARY_CALLS(CALL)
#undef CALL
};

const char *library_open(const char *path, struct library *out)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);

    if (handle == NULL)
        return dlerror();
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        void *const call = dlsym(handle, calls[i].name);

        if (call == NULL)
            return calls[i].name;
        memcpy((char *)out + calls[i].at, &call, sizeof call);
    }
    return NULL;
}
