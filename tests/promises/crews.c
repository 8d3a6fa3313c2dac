/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * See crews.h.
 */
#include "crews.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

typedef void body_function(void *arg, uint32_t worker);

static void reverse(void *context, uint32_t width, body_function *body, void *arg)
{
    (void)context;
    while (width-- > 0)
        body(arg, width);
}

struct job {
    body_function *body;
    void *arg;
    uint32_t worker, width, step;
    pthread_barrier_t *barrier;
};

static void *job_run(void *argument)
{
    const struct job *job = argument;

    if (job->barrier != NULL)
        pthread_barrier_wait(job->barrier);
    for (uint32_t worker = job->worker; worker < job->width; worker += job->step)
        job->body(job->arg, worker);
    return NULL;
}

static void start(pthread_t *thread, struct job *job)
{
    if (pthread_create(thread, NULL, job_run, job) != 0)
        abort();
}

static void threads(void *context, uint32_t width, body_function *body, void *arg)
{
    static atomic_uint calls;
    const uint32_t first = atomic_fetch_add(&calls, 1) % width;
    pthread_barrier_t barrier;
    pthread_t thread[CREW_LANES];
    struct job jobs[CREW_LANES];

    (void)context;
    if (width > CREW_LANES || pthread_barrier_init(&barrier, NULL, width) != 0)
        abort();
    for (uint32_t i = 0; i < width; i++) {
        const uint32_t worker = (first + i) % width;

        jobs[i] = (struct job){ body, arg, worker, worker + 1, 1, &barrier };
        start(&thread[i], &jobs[i]);
    }
    for (uint32_t i = 0; i < width; i++)
        pthread_join(thread[i], NULL);
    pthread_barrier_destroy(&barrier);
}

static void pair(void *context, uint32_t width, body_function *body, void *arg)
{
    struct job odd = { body, arg, 1, width, 2, NULL }, even = { body, arg, 0, width, 2, NULL };
    pthread_t thread;

    (void)context;
    start(&thread, &odd);
    job_run(&even);
    pthread_join(thread, NULL);
}

heed_executor crew_reverse(uint32_t width)
{
    const heed_executor e = { .size = sizeof(e), .width = width, .parallel = reverse };

    return e;
}

heed_executor crew_threads(uint32_t width)
{
    const heed_executor e = { .size = sizeof(e), .width = width, .parallel = threads };

    return e;
}

static heed_executor *teams[CREW_LANES + 1];

static void teams_end(void)
{
    for (int i = 0; i <= CREW_LANES; i++)
        heed_executor_destroy(teams[i]);
}

heed_executor crew_openmp(uint32_t width)
{
    static bool ends;
    heed_status status = HEED_OK;

    if (!ends && atexit(teams_end) != 0)
        abort();
    ends = true;
    if (width > CREW_LANES)
        abort();
    if (teams[width] == NULL)
        status = heed_executor_create(width, HEED_EXECUTOR_OPENMP, NULL, &teams[width], NULL);
    if (status == HEED_E_NOT_BUILT)
        status = heed_executor_create(width, 0, NULL, &teams[width], NULL);
    if (status < 0)
        abort();
    return *teams[width];
}

heed_executor crew_pair(uint32_t width)
{
    const heed_executor e = { .size = sizeof(e), .width = width, .parallel = pair };

    return e;
}
