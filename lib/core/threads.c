/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Executors with threads of their own. The caller of a job takes workers' numbers like the threads,
 * so that a job never waits for a thread that has not begun: threads that come late, or that a fork
 * has left behind in the parent, cost time and nothing else.
 */
#if !defined _GNU_SOURCE
#define _GNU_SOURCE             /* clock_gettime in strict C */
#endif
#include "context.h"
#include "error.h"
#include "os.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

enum {
    MOST = 4096,                /* workers */
    AWAKE = 20000               /* ns that a thread looks for the next job before it sleeps */
};

struct job {
    void (*body)(void *arg, uint32_t worker);
    void *arg;
    uint32_t width, number;
};

struct threads {
    heed_executor executor;     /* what the caller has */
    heed_allocator allocator;
    size_t bytes;
    int64_t process;            /* that has the threads */
    uint32_t n;                 /* in `thread` */
    atomic_flag busy;           /* a job is at work */
    /* The job's number in the upper half, the next worker's in the lower one: a thread that is late
     * takes no worker of a later job. */
    atomic_uint_least64_t ticket;
    atomic_uint_least32_t done; /* workers that have returned */
    pthread_mutex_t lock;       /* over what follows */
    pthread_cond_t wake, over;
    struct job job;
    uint32_t asleep, stop;
    pthread_t thread[];
};
_Static_assert(offsetof(struct threads, executor) == 0, "heed_executor_destroy goes back");

static int64_t now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* Until condition(t, what), AWAKE long at most. Whoever else wants the processor gets it. */
static void look(struct threads *t, bool (*condition)(struct threads *, uint32_t), uint32_t what)
{
    const int64_t end = now() + AWAKE;

    do {
        for (int i = 0; i < 16; i++) {
            if (condition(t, what))
                return;
        }
        sched_yield();
    } while (now() < end);
}

static bool has_other_job(struct threads *t, uint32_t number)
{
    return (uint32_t)(atomic_load_explicit(&t->ticket, memory_order_acquire) >> 32) != number;
}

static bool is_over(struct threads *t, uint32_t width)
{
    return atomic_load_explicit(&t->done, memory_order_acquire) == width;
}

/* Takes workers until none is left. */
static void job_work(struct threads *t, const struct job *job)
{
    uint64_t at = atomic_load_explicit(&t->ticket, memory_order_acquire);

    while ((uint32_t)(at >> 32) == job->number && (uint32_t)at < job->width) {
        if (!atomic_compare_exchange_weak_explicit(&t->ticket, &at, at + 1, memory_order_acq_rel,
                                                   memory_order_acquire))
            continue;
        job->body(job->arg, (uint32_t)at);
        if (atomic_fetch_add_explicit(&t->done, 1, memory_order_acq_rel) + 1 == job->width) {
            pthread_mutex_lock(&t->lock);
            pthread_cond_signal(&t->over);
            pthread_mutex_unlock(&t->lock);
        }
        at = atomic_load_explicit(&t->ticket, memory_order_acquire);
    }
}

static void *serve(void *given)
{
    struct threads *t = given;
    struct job job = { .number = 0 };
    bool stop;

    do {
        look(t, has_other_job, job.number);
        pthread_mutex_lock(&t->lock);
        t->asleep++;
        while (!t->stop && t->job.number == job.number)
            pthread_cond_wait(&t->wake, &t->lock);
        t->asleep--;
        job = t->job;
        stop = t->stop != 0;
        pthread_mutex_unlock(&t->lock);
        if (!stop)
            job_work(t, &job);
    } while (!stop);
    return NULL;
}

static void job_give(struct threads *t, struct job *job)
{
    uint32_t wanted = job->width - 1;

    pthread_mutex_lock(&t->lock);
    job->number = t->job.number + 1;
    t->job = *job;
    atomic_store_explicit(&t->done, 0, memory_order_relaxed);
    atomic_store_explicit(&t->ticket, (uint64_t)job->number << 32, memory_order_release);
    for (wanted = wanted < t->asleep ? wanted : t->asleep; wanted > 0; wanted--)
        pthread_cond_signal(&t->wake);
    pthread_mutex_unlock(&t->lock);
}

static void job_wait(struct threads *t, uint32_t width)
{
    look(t, is_over, width);
    if (is_over(t, width))
        return;
    pthread_mutex_lock(&t->lock);
    while (!is_over(t, width))
        pthread_cond_wait(&t->over, &t->lock);
    pthread_mutex_unlock(&t->lock);
}

/* A job beside another one, and one of a forked child, which has no threads, is its caller's. */
static void parallel(void *context, uint32_t width, void (*body)(void *arg, uint32_t worker),
                     void *arg)
{
    struct threads *t = context;
    struct job job = { .body = body, .arg = arg, .width = width };

    if (width <= 1 || t->n == 0 || heed_os_process() != t->process ||
        atomic_flag_test_and_set_explicit(&t->busy, memory_order_acquire)) {
        for (uint32_t worker = 0; worker < width; worker++)
            body(arg, worker);
        return;
    }
    job_give(t, &job);
    job_work(t, &job);
    job_wait(t, width);
    atomic_flag_clear_explicit(&t->busy, memory_order_release);
}

/* ---- from nothing to threads, and back ---- */

static void stop(struct threads *t)
{
    pthread_mutex_lock(&t->lock);
    t->stop = 1;
    pthread_cond_broadcast(&t->wake);
    pthread_mutex_unlock(&t->lock);
    for (uint32_t i = 0; i < t->n; i++)
        pthread_join(t->thread[i], NULL);
}

/* The locks of a forked child are held for ever by threads that are not there. */
static void give_back(struct threads *t)
{
    const heed_allocator allocator = t->allocator;

    if (heed_os_process() == t->process) {
        pthread_cond_destroy(&t->over);
        pthread_cond_destroy(&t->wake);
        pthread_mutex_destroy(&t->lock);
    }
    allocator.free(allocator.context, t, t->bytes, _Alignof(struct threads));
}

static bool start(struct threads *t)
{
    bool ok = true;

    while (ok && t->n + 1 < t->executor.width) {
        ok = heed_os_thread_create(&t->thread[t->n], serve, t);
        t->n += ok;
    }
    return ok;
}

static bool begin(struct threads *t, const heed_allocator *allocator, size_t bytes, uint32_t width)
{
    memset(t, 0, bytes);
    t->executor = (heed_executor){ .size = sizeof(t->executor), .width = width, .context = t,
                                   .parallel = parallel };
    t->allocator = *allocator;
    t->bytes = bytes;
    t->process = heed_os_process();
    atomic_flag_clear(&t->busy);
    atomic_init(&t->ticket, 0);
    atomic_init(&t->done, 0);
    if (pthread_mutex_init(&t->lock, NULL) != 0)
        return false;
    if (pthread_cond_init(&t->wake, NULL) == 0) {
        if (pthread_cond_init(&t->over, NULL) == 0)
            return true;
        pthread_cond_destroy(&t->wake);
    }
    pthread_mutex_destroy(&t->lock);
    return false;
}

heed_status heed_executor_create(uint32_t width, uint32_t flags, const heed_allocator *allocator,
                                 heed_executor **out, heed_report *report)
{
    heed_allocator own;
    struct threads *t;
    heed_status status;
    size_t bytes;

    if (out == NULL)
        return heed_report_fill(report, HEED_E_NULL, "executor", 0, 0, "no place for the result");
    if (flags != 0)
        return heed_report_fill(report, HEED_E_FLAG, "flags", 0, flags, "no flag is known here");
    if (width == 0 || width > MOST)
        return heed_report_fill(report, HEED_E_VALUE, "width", width == 0 ? 1 : MOST, width,
                                "an executor has 1 to %d workers", MOST);
    status = heed_allocator_take(&own, allocator, report);
    if (status < 0)
        return status;
    bytes = sizeof(*t) + (width - 1) * sizeof(t->thread[0]);
    t = own.alloc(own.context, bytes, _Alignof(struct threads));
    if (t == NULL)
        return heed_report_fill(report, HEED_E_NOMEM, NULL, (int64_t)bytes, 0,
                                "no memory for the threads");
    if (!begin(t, &own, bytes, width)) {
        own.free(own.context, t, bytes, _Alignof(struct threads));
        return heed_report_fill(report, HEED_E_NOMEM, NULL, 0, 0, "the system has no more locks");
    }
    if (!start(t)) {
        const uint32_t made = t->n + 1;

        stop(t);
        give_back(t);
        return heed_report_fill(report, HEED_E_NOMEM, "width", width, made,
                                "the system makes no more threads");
    }
    *out = &t->executor;
    return heed_report_ok(report);
}

void heed_executor_destroy(heed_executor *executor)
{
    struct threads *t = (struct threads *)executor;

    if (t == NULL)
        return;
    if (heed_os_process() == t->process)
        stop(t);
    give_back(t);
}
