/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The built-in executor: an OpenMP team where the library is built with OpenMP, else the
 * caller's thread. Workers are handed to threads one by one by a worksharing loop, so each worker
 * runs exactly once even if the team comes out smaller than asked for (nested regions, thread
 * limits).
 */
#include "executor.h"

#include "error.h"
#include "sized.h"

#if defined _OPENMP
#include <omp.h>
#endif

#if defined _OPENMP
static uint32_t width_default(void)
{
    const int n = omp_get_max_threads();

    return n > 1 ? (uint32_t)n : 1;
}

/* A request, of the caller's or of OMP_NUM_THREADS, is not followed beyond this: OpenMP runtimes
 * end the process when a thread cannot be made. */
static uint32_t width_limit(void)
{
    enum { LEAST = 64 };
    const int n = omp_get_num_procs();

    return n > LEAST ? (uint32_t)n : LEAST;
}

/* The context is the executor's width. The team always has it, however few workers there are:
 * OpenMP runtimes allocate when a team changes its size. */
static void parallel(void *context, uint32_t width, void (*body)(void *arg, uint32_t worker),
                     void *arg)
{
    const uintptr_t team = (uintptr_t)context;

    if (team == 1 || width == 1) {
        for (uint32_t worker = 0; worker < width; worker++)
            body(arg, worker);
        return;
    }
#pragma omp parallel for num_threads((int)team) schedule(static, 1)
    for (uint32_t worker = 0; worker < width; worker++)
        body(arg, worker);
}
#else
static uint32_t width_default(void)
{
    return 1;
}

static uint32_t width_limit(void)
{
    return 1;
}

static void parallel(void *context, uint32_t width, void (*body)(void *arg, uint32_t worker),
                     void *arg)
{
    (void)context;
    for (uint32_t worker = 0; worker < width; worker++)
        body(arg, worker);
}
#endif

heed_status heed_executor_take(heed_executor *to, const heed_executor *given, heed_report *report)
{
    heed_executor own = { .size = sizeof(own) };
    heed_status status;

    if (given != NULL) {
        status = heed_sized_in(given, HEED_EXECUTOR_V1, &own, sizeof(own), "executor", report);
        if (status < 0)
            return status;
    }
    if (own.parallel != NULL && own.width == 0)
        return heed_report_fill(report, HEED_E_VALUE, "executor.width", 1, 0,
                                "an executor has at least one worker");
    if (own.parallel == NULL) {
        /* Asked once: clang moves the question to where a function begins if there are two, and
         * OpenMP would be awake whatever executor was given. */
        const uint32_t limit = width_limit();

        own.parallel = parallel;
        if (own.width == 0)
            own.width = width_default();
        if (own.width > limit)
            own.width = limit;
        own.context = (void *)(uintptr_t)own.width;
    }
    *to = own;
    return HEED_OK;
}
