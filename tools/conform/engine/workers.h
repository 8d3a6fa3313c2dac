/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * An executor whose workers follow each other in an order that is chosen: no kernel may need one.
 * The threads are in ways/workers.c, where the system has them.
 */
#ifndef HEED_TOOLS_CONFORM_ENGINE_WORKERS_H
#define HEED_TOOLS_CONFORM_ENGINE_WORKERS_H

#include <stdint.h>

enum { WORKERS_MOST = 8 }; /* threads of one call; what is beyond them runs on the caller's */

enum {
    WORKERS_FIRST_FIRST, /* one after another */
    WORKERS_LAST_FIRST,
    WORKERS_SHUFFLED, /* one after another, in an order drawn from the seed */
    WORKERS_TOGETHER, /* on threads, which begin when all are there */
    WORKERS_STIRRED   /* so, and each is made to wait now and then, wherever it is */
};

/* The context of the executor; it may be written between calls. */
struct workers {
    int order;
    uint64_t seed;
};

/* heed_executor.parallel. */
void workers_parallel(void *workers, uint32_t width, void (*body)(void *arg, uint32_t worker),
                      void *arg);

#endif
