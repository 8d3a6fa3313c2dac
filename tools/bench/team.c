/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A generation counter wakes the workers; a worker that is awake spins until all are, because
 * waking up takes long compared with a burst of work.
 */
#define _POSIX_C_SOURCE 200809L
#include "bench/team.h"

#include "bench/timing.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

struct worker {
    struct team *team;
    pthread_t thread;
    unsigned number;
};

struct team {
    pthread_mutex_t lock;
    pthread_cond_t wake, done;
    unsigned threads, started, generation, running;
    bool stop;
    void (*body)(void *arg, unsigned worker);
    void *arg;
    atomic_uint ready;
    struct worker *workers;                 /* [threads]; 0 is the caller and has no thread */
};

static void meet(struct team *team)
{
    atomic_fetch_add(&team->ready, 1);
    while (atomic_load(&team->ready) < team->threads)
        sched_yield();
}

static void *work(void *arg)
{
    struct worker *worker = arg;
    struct team *team = worker->team;
    unsigned seen = 0;

    pthread_mutex_lock(&team->lock);
    for (;;) {
        while (!team->stop && team->generation == seen)
            pthread_cond_wait(&team->wake, &team->lock);
        if (team->stop)
            break;
        seen = team->generation;
        pthread_mutex_unlock(&team->lock);
        meet(team);
        team->body(team->arg, worker->number);
        pthread_mutex_lock(&team->lock);
        if (--team->running == 0)
            pthread_cond_signal(&team->done);
    }
    pthread_mutex_unlock(&team->lock);
    return NULL;
}

struct team *team_create(unsigned threads)
{
    struct team *team = calloc(1, sizeof *team);

    if (team == NULL)
        return NULL;
    team->threads = threads;
    team->started = 1;
    atomic_init(&team->ready, 0);
    pthread_mutex_init(&team->lock, NULL);
    pthread_cond_init(&team->wake, NULL);
    pthread_cond_init(&team->done, NULL);
    team->workers = calloc(threads, sizeof *team->workers);
    while (team->workers != NULL && team->started < threads) {
        struct worker *worker = &team->workers[team->started];

        *worker = (struct worker){ .team = team, .number = team->started };
        if (pthread_create(&worker->thread, NULL, work, worker) != 0)
            break;
        team->started++;
    }
    if (team->workers == NULL || team->started < threads) {
        team_destroy(team);
        return NULL;
    }
    return team;
}

void team_destroy(struct team *team)
{
    if (team == NULL)
        return;
    pthread_mutex_lock(&team->lock);
    team->stop = true;
    pthread_cond_broadcast(&team->wake);
    pthread_mutex_unlock(&team->lock);
    for (unsigned i = 1; i < team->started; i++)
        pthread_join(team->workers[i].thread, NULL);
    pthread_cond_destroy(&team->done);
    pthread_cond_destroy(&team->wake);
    pthread_mutex_destroy(&team->lock);
    free(team->workers);
    free(team);
}

unsigned team_threads(const struct team *team)
{
    return team->threads;
}

struct timing team_run(struct team *team, void (*body)(void *arg, unsigned worker), void *arg)
{
    struct timing start;

    pthread_mutex_lock(&team->lock);
    team->body = body;
    team->arg = arg;
    team->running = team->threads - 1;
    atomic_store(&team->ready, 0);
    team->generation++;
    pthread_cond_broadcast(&team->wake);
    pthread_mutex_unlock(&team->lock);
    meet(team);
    start = timing_now(team->threads);
    body(arg, 0);
    pthread_mutex_lock(&team->lock);
    while (team->running > 0)
        pthread_cond_wait(&team->done, &team->lock);
    pthread_mutex_unlock(&team->lock);
    return timing_since(start, team->threads);
}
