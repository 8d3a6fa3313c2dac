/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which threads a runtime has: its own, OpenMP's or the caller's.
 */
#include "executor.h"

#include "context.h"
#include "error.h"
#include "openmp.h"
#include "os.h"
#include "sized.h"
#include "threads.h"

/* The built-in executor and teams of OpenMP's have no more workers than this, whatever the caller
 * or OMP_NUM_THREADS asks for: workspaces grow with the width, and an OpenMP runtime ends the
 * process when a thread cannot be made. */
static uint32_t width_cut(uint32_t width)
{
    enum { LEAST = 64 };
    const uint32_t n = heed_os_processors();
    const uint32_t limit = n > LEAST ? n : LEAST;

    return width < limit ? width : limit;
}

static void openmp_take(heed_executor *to)
{
    to->width = width_cut(to->width);
    to->context = (void *)(uintptr_t)to->width;
    to->parallel = heed_openmp_parallel;
}

static heed_status built_in(heed_executor *to, heed_executor **own, uint32_t width,
                            const heed_allocator *allocator, heed_report *report)
{
    heed_status status;

    if (width == 0)
        width = heed_openmp_width();
    if (width == 0)
        width = heed_os_processors();
    to->width = width_cut(width);
    to->context = NULL;
    to->parallel = heed_threads_none;
    if (to->width == 1)
        return HEED_OK;
    if (heed_openmp_binds()) {
        openmp_take(to);
        return HEED_OK;
    }
    status = heed_threads_create(to->width, allocator, own, report);
    if (status >= 0)
        *to = **own;
    return status;
}

heed_status heed_executor_take(heed_executor *to, heed_executor **own, const heed_executor *given,
                               const heed_allocator *allocator, heed_report *report)
{
    heed_executor taken = { .size = sizeof(taken) };
    heed_status status;

    *own = NULL;
    if (given != NULL) {
        status = heed_sized_in(given, HEED_EXECUTOR_V1, &taken, sizeof(taken), "executor", report);
        if (status < 0)
            return status;
    }
    if (taken.parallel != NULL && taken.width == 0)
        return heed_report_fill(report, HEED_E_VALUE, "executor.width", 1, 0,
                                "an executor has at least one worker");
    if (taken.parallel == NULL) {
        status = built_in(&taken, own, taken.width, allocator, report);
        if (status < 0)
            return status;
    }
    *to = taken;
    return HEED_OK;
}

/* ---- of the caller's own ---- */

static heed_status request_check(uint32_t width, uint32_t flags, heed_report *report)
{
    if ((flags & ~(uint32_t)HEED_EXECUTOR_OPENMP) != 0)
        return heed_report_fill(report, HEED_E_FLAG, "flags", HEED_EXECUTOR_OPENMP, flags,
                                "unknown flag");
    if (width == 0 || width > HEED_THREADS_MOST)
        return heed_report_fill(report, HEED_E_VALUE, "width", width == 0 ? 1 : HEED_THREADS_MOST,
                                width, "an executor has 1 to %d workers", HEED_THREADS_MOST);
    if ((flags & HEED_EXECUTOR_OPENMP) != 0 && heed_openmp_width() == 0)
        return heed_report_fill(report, HEED_E_NOT_BUILT, "flags", 0, flags,
                                "heed is built without OpenMP");
    return HEED_OK;
}

heed_status heed_executor_create(uint32_t width, uint32_t flags, const heed_allocator *allocator,
                                 heed_executor **out, heed_report *report)
{
    heed_executor *executor;
    heed_allocator memory;
    heed_status status;
    uint32_t made;

    if (out == NULL)
        return heed_report_fill(report, HEED_E_NULL, "executor", 0, 0, "no place for the result");
    status = request_check(width, flags, report);
    if (status < 0)
        return status;
    status = heed_allocator_take(&memory, allocator, report);
    if (status < 0)
        return status;
    status = heed_threads_create(width, &memory, &executor, report);
    if (status < 0)
        return status;
    made = (flags & HEED_EXECUTOR_OPENMP) != 0 ? width : heed_threads_begin(executor);
    if (made < width) {
        heed_threads_destroy(executor);
        return heed_report_fill(report, HEED_E_NOMEM, "width", width, made,
                                "the system makes no more threads");
    }
    if ((flags & HEED_EXECUTOR_OPENMP) != 0)
        openmp_take(executor);
    *out = executor;
    return heed_report_ok(report);
}

void heed_executor_destroy(heed_executor *executor)
{
    if (executor != NULL)
        heed_threads_destroy(executor);
}
