/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A team of OpenMP's threads, where the library is built with OpenMP. Workers are handed to threads
 * one by one by a worksharing loop, so each worker runs exactly once even if the team comes out
 * smaller than asked for (nested regions, thread limits).
 */
#include "openmp.h"

#if defined _OPENMP
#include <omp.h>

uint32_t heed_openmp_width(void)
{
    const int n = omp_get_max_threads();

    return n > 1 ? (uint32_t)n : 1;
}

bool heed_openmp_binds(void)
{
    return omp_get_proc_bind() != omp_proc_bind_false;
}

/* The team always has its width, however few workers there are: OpenMP runtimes allocate when a
 * team changes its size. */
void heed_openmp_parallel(void *context, uint32_t width, heed_body body, void *arg)
{
    const uintptr_t team = (uintptr_t)context;

    if (team == 1 || width == 1) {
        heed_threads_none(NULL, width, body, arg);
        return;
    }
#pragma omp parallel for num_threads((int)team) schedule(static, 1)
    for (uint32_t worker = 0; worker < width; worker++)
        body(arg, worker);
}
#else
uint32_t heed_openmp_width(void)
{
    return 0;
}

bool heed_openmp_binds(void)
{
    return false;
}

void heed_openmp_parallel(void *context, uint32_t width, heed_body body, void *arg)
{
    heed_threads_none(context, width, body, arg);
}
#endif
