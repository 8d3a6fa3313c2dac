/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Executors with threads of heed's own.
 */
#ifndef HEED_LIB_THREADS_H
#define HEED_LIB_THREADS_H

#include <heed/heed.h>

typedef void (*heed_body)(void *arg, uint32_t worker);

enum { HEED_THREADS_MOST = 4096 };      /* workers */

/* Of 1 to HEED_THREADS_MOST workers; its threads are made by the first job that has use of them, as
 * many as the system gives. */
HEED_MUST_CHECK
heed_status heed_threads_create(uint32_t width, const heed_allocator *, heed_executor **out,
                                heed_report *);
/* Makes the threads now, before any job; how many workers there are then. */
uint32_t heed_threads_begin(heed_executor *);
/* After the last job. */
void heed_threads_destroy(heed_executor *);

/* heed_executor.parallel: the caller's thread alone. */
void heed_threads_none(void *context, uint32_t width, heed_body, void *arg);

#endif
