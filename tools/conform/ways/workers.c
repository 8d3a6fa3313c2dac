/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Workers on threads. They begin when all are there: those of a small case would else follow each
 * other. Stirred ones are made to wait now and then: so a worker stops in the middle of
 * what it does, while the others go on.
 */
#define _DEFAULT_SOURCE

#include "conform/engine/workers_threads.h"

#include "common/os.h"
#include "conform/engine/random.h"
#include "conform/engine/workers.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

struct crew {
    void (*body)(void *arg, uint32_t worker);
    void *arg;
    pthread_mutex_t lock;
    pthread_cond_t opens;
    bool open;
    atomic_uint working;
};

struct worker {
    struct crew *crew;
    uint32_t number;
};

static void nap(long nanoseconds)
{
    nanosleep(&(struct timespec){ 0, nanoseconds }, NULL);
}

static void *work(void *arg)
{
    const struct worker *const w = arg;
    struct crew *const crew = w->crew;

    pthread_mutex_lock(&crew->lock);
    while (!crew->open)
        pthread_cond_wait(&crew->opens, &crew->lock);
    pthread_mutex_unlock(&crew->lock);
    crew->body(crew->arg, w->number);
    atomic_fetch_sub(&crew->working, 1);
    return NULL;
}

static void gate_open(struct crew *crew)
{
    pthread_mutex_lock(&crew->lock);
    crew->open = true;
    pthread_cond_broadcast(&crew->opens);
    pthread_mutex_unlock(&crew->lock);
}

/* ---- waits --------------------------------------------------------------------------- */

enum { PAUSE_NS = 15000 };

/* Until all have returned. Threads that have ended are not joined yet, so they may be named. */
static void stir(struct crew *crew, const pthread_t *threads, uint32_t n, uint64_t seed)
{
    struct rng r = rng_of(seed);

    if (n == 0 || !os_stir_begin())
        return;
    while (atomic_load(&crew->working) > 0) {
        os_stir(threads[rng_below(&r, n)]);
        nap(PAUSE_NS);
    }
    os_stir_end();
}

/* ---- all ------------------------------------------------------------------------------- */

/* What finds no thread runs here, when the others have their threads. */
void workers_threads(uint32_t width, void (*body)(void *arg, uint32_t worker), void *arg,
                     bool stirred, uint64_t seed)
{
    struct crew crew = { .body = body, .arg = arg,
                         .lock = PTHREAD_MUTEX_INITIALIZER, .opens = PTHREAD_COND_INITIALIZER };
    struct worker workers[WORKERS_MOST];
    pthread_t threads[WORKERS_MOST];
    uint32_t n = 0;

    while (n < width && n < WORKERS_MOST) {
        workers[n] = (struct worker){ &crew, n };
        atomic_fetch_add(&crew.working, 1);
        if (pthread_create(&threads[n], NULL, work, &workers[n])) {
            atomic_fetch_sub(&crew.working, 1);
            break;
        }
        n++;
    }
    gate_open(&crew);
    if (stirred)
        stir(&crew, threads, n, seed);
    for (uint32_t i = n; i < width; i++)
        body(arg, i);
    for (uint32_t i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
}
