/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What is asked of OpenMP, in a file of its own: an OpenMP runtime is awake from the first question
 * on, and clang moves questions to where a function begins.
 */
#ifndef HEED_LIB_OPENMP_H
#define HEED_LIB_OPENMP_H

#include "threads.h"

#include <stdbool.h>

/* As many threads as OpenMP would have (OMP_NUM_THREADS); 0: heed is built without it. */
uint32_t heed_openmp_width(void);
/* Whether OpenMP ties its threads to processors (OMP_PROC_BIND), the first of which is then the
 * caller's alone: threads that the caller makes would have no other. */
bool heed_openmp_binds(void);
/* heed_executor.parallel. The context is the executor's width. */
void heed_openmp_parallel(void *context, uint32_t width, heed_body, void *arg);

#endif
