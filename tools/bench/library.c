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
#include <stdio.h>
#include <string.h>

#ifndef RTLD_DEEPBIND
#define RTLD_DEEPBIND 0
#endif

#define LIBRARY_CALLS(OF)                                                                          \
    OF(runtime_create) OF(runtime_destroy) OF(device_find) OF(device_info) OF(buf_create)          \
    OF(buf_destroy) OF(buf_write) OF(queue_create) OF(queue_wait) OF(queue_destroy) OF(attn_plan)  \
    OF(attn_run) OF(plan_info) OF(plan_drop)

#define OPERATION_CALLS(NAME, name) CALL(name##_plan) CALL(name##_run)
#define LATER_CALLS                                                                                \
    BENCH_OPERATIONS(OPERATION_CALLS)                                                              \
    CALL(lsg_program_plan) CALL(poolingformer_level2_plan) CALL(program_run)

const struct library library_own = {
#define CALL(name) .name = heed_##name,
    LIBRARY_CALLS(CALL) LATER_CALLS
#undef CALL
};

static const struct {
    const char *name;
    size_t at;
    bool must;
} calls[] = {
#define CALL(name) { "heed_" #name, offsetof(struct library, name), true },
    LIBRARY_CALLS(CALL)
#undef CALL
#define CALL(name) { "heed_" #name, offsetof(struct library, name), false },
        LATER_CALLS
#undef CALL
};

const char *library_open(const char *path, struct library *out)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);

    if (handle == NULL)
        return dlerror();
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        void *const call = dlsym(handle, calls[i].name);

        if (call == NULL && calls[i].must)
            return calls[i].name;
        memcpy((char *)out + calls[i].at, &call, sizeof call);
    }
    return NULL;
}

bool library_has(const struct library *lib, const char *plans, const char *runs)
{
    char plan[32], run[32];
    size_t found = 0;

    snprintf(plan, sizeof plan, "heed_%s_plan", plans);
    snprintf(run, sizeof run, "heed_%s_run", runs);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        void *call;

        memcpy(&call, (const char *)lib + calls[i].at, sizeof call);
        found += call != NULL
              && (strcmp(calls[i].name, plan) == 0 || strcmp(calls[i].name, run) == 0);
    }
    return found == 2;
}
