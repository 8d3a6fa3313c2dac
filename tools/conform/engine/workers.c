/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Workers one after another.
 */
#include "workers.h"

#include "random.h"
#include "workers_threads.h"

/* The order is one of a few thousand workers at most; beyond them they run as they come. */
static void shuffled(uint32_t width, void (*body)(void *arg, uint32_t worker), void *arg,
                     uint64_t seed)
{
    enum { MOST = 4096 };
    uint32_t order[MOST];
    const uint32_t n = width < MOST ? width : MOST;
    struct rng r = rng_of(seed);

    for (uint32_t i = 0; i < n; i++) {
        const uint32_t j = (uint32_t)rng_below(&r, (int64_t)i + 1);

        order[i] = order[j];
        order[j] = i;
    }
    for (uint32_t i = 0; i < width; i++)
        body(arg, i < n ? order[i] : i);
}

void workers_parallel(void *context, uint32_t width, void (*body)(void *arg, uint32_t worker),
                      void *arg)
{
    const struct workers *const w = context;

    if (w->order == WORKERS_SHUFFLED) {
        shuffled(width, body, arg, w->seed);
    } else if (w->order >= WORKERS_TOGETHER) {
        workers_threads(width, body, arg, w->order == WORKERS_STIRRED, w->seed);
    } else {
        for (uint32_t i = 0; i < width; i++)
            body(arg, w->order == WORKERS_LAST_FIRST ? width - 1 - i : i);
    }
}
