/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Threads of heed's own, which several callers share. A caller takes workers of its job like the
 * threads, so that a job never waits for a thread that has not begun: threads that come late, or
 * that a fork has left behind in the parent, cost time and nothing else.
 */
#if !defined _GNU_SOURCE
#define _GNU_SOURCE             /* clock_gettime in strict C */
#endif
#include "threads.h"

#include "error.h"
#include "os.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

enum {
    JOBS = 8,                   /* at the same time; the caller of one more works alone */
    LINE = 64,                  /* bytes that processors take from each other */
    AWAKE = 20000,              /* ns that a thread looks for the next job before it sleeps */
    BEGINNING = -1              /* as a process */
};

/* A place for jobs, one after the other. `ticket` has the job's number in its upper half and how
 * many workers nobody has taken yet in its lower one. The rest is written while none is left: who
 * takes a worker, by an exchange that changes the ticket, has read what belongs to it. */
struct job {
    _Alignas(LINE) atomic_flag taken;
    uint32_t number;            /* its caller's */
    _Atomic(heed_body) body;
    _Atomic(void *) arg;
    atomic_uint_least32_t width;
    _Alignas(LINE) atomic_uint_least64_t ticket;
    atomic_uint_least32_t done; /* workers that have returned */
    pthread_cond_t over;
};

struct heed_threads {
    heed_executor executor;     /* what the caller has */
    heed_allocator allocator;
    size_t bytes;
    /* That has the threads; 0: none has yet, BEGINNING: some caller makes them. */
    atomic_int_least64_t process;
    uint32_t n;                 /* in `thread` */
    pthread_mutex_t lock;       /* over what follows, but jobs */
    pthread_cond_t wake;
    uint32_t asleep, stop;
    atomic_uint_least32_t served;       /* threads that have begun */
    /* Changes with each job; a thread that sees none new has nothing to look for. */
    _Alignas(LINE) atomic_uint_least32_t news;
    struct job jobs[JOBS];
    pthread_t thread[];
};
_Static_assert(offsetof(struct heed_threads, executor) == 0, "an executor is its threads");

static int64_t now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* Until *at is `value`, or is not, AWAKE long at most. Whoever else wants the processor gets
 * it. */
static bool look(const atomic_uint_least32_t *at, uint32_t value, bool wanted)
{
    const int64_t end = now() + AWAKE;

    do {
        for (int i = 0; i < 16; i++) {
            if ((atomic_load_explicit(at, memory_order_acquire) == value) == wanted)
                return true;
        }
        sched_yield();
    } while (now() < end);
    return false;
}

/* Takes workers until none is left; false: there was none. */
static bool job_work(struct heed_threads *t, struct job *job)
{
    uint64_t at = atomic_load_explicit(&job->ticket, memory_order_acquire);
    bool worked = false;

    while ((uint32_t)at != 0) {
        const heed_body body = atomic_load_explicit(&job->body, memory_order_relaxed);
        void *const arg = atomic_load_explicit(&job->arg, memory_order_relaxed);
        const uint32_t width = atomic_load_explicit(&job->width, memory_order_relaxed);

        if (!atomic_compare_exchange_weak_explicit(&job->ticket, &at, at - 1, memory_order_acq_rel,
                                                   memory_order_acquire))
            continue;
        body(arg, width - (uint32_t)at);
        worked = true;
        if (atomic_fetch_add_explicit(&job->done, 1, memory_order_acq_rel) + 1 == width) {
            pthread_mutex_lock(&t->lock);
            pthread_cond_signal(&job->over);
            pthread_mutex_unlock(&t->lock);
        }
        at = atomic_load_explicit(&job->ticket, memory_order_acquire);
    }
    return worked;
}

/* Whatever job has workers left. Threads that come at the same time begin at different ones, each
 * at its own: `first`. */
static bool any_work(struct heed_threads *t, uint32_t first)
{
    bool worked = false;

    for (uint32_t i = 0; i < JOBS; i++)
        worked |= job_work(t, &t->jobs[(first + i) % JOBS]);
    return worked;
}

static void *serve(void *given)
{
    struct heed_threads *t = given;
    const uint32_t first = atomic_fetch_add_explicit(&t->served, 1, memory_order_relaxed);
    bool stop = false;

    while (!stop) {
        const uint32_t seen = atomic_load_explicit(&t->news, memory_order_acquire);

        if (any_work(t, first) || look(&t->news, seen, false))
            continue;
        pthread_mutex_lock(&t->lock);
        t->asleep++;
        while (!t->stop && atomic_load_explicit(&t->news, memory_order_relaxed) == seen)
            pthread_cond_wait(&t->wake, &t->lock);
        t->asleep--;
        stop = t->stop != 0;
        pthread_mutex_unlock(&t->lock);
    }
    return NULL;
}

static struct job *job_place(struct heed_threads *t)
{
    for (int i = 0; i < JOBS; i++) {
        if (!atomic_flag_test_and_set_explicit(&t->jobs[i].taken, memory_order_acquire))
            return &t->jobs[i];
    }
    return NULL;
}

static void job_give(struct heed_threads *t, struct job *job, uint32_t width, heed_body body,
                     void *arg)
{
    uint32_t wanted = width - 1;

    job->number++;
    atomic_store_explicit(&job->body, body, memory_order_relaxed);
    atomic_store_explicit(&job->arg, arg, memory_order_relaxed);
    atomic_store_explicit(&job->width, width, memory_order_relaxed);
    atomic_store_explicit(&job->done, 0, memory_order_relaxed);
    atomic_store_explicit(&job->ticket, (uint64_t)job->number << 32 | width, memory_order_release);
    pthread_mutex_lock(&t->lock);
    atomic_fetch_add_explicit(&t->news, 1, memory_order_release);
    wanted = wanted < t->asleep ? wanted : t->asleep;
    pthread_mutex_unlock(&t->lock);
    for (; wanted > 0; wanted--)
        pthread_cond_signal(&t->wake);
}

static void job_wait(struct heed_threads *t, struct job *job, uint32_t width)
{
    if (look(&job->done, width, true))
        return;
    pthread_mutex_lock(&t->lock);
    while (atomic_load_explicit(&job->done, memory_order_acquire) != width)
        pthread_cond_wait(&job->over, &t->lock);
    pthread_mutex_unlock(&t->lock);
}

/* ---- from nothing to threads, and back ---- */

static void begin(struct heed_threads *t)
{
    bool ok = true;

    while (ok && t->n + 1 < t->executor.width) {
        ok = heed_os_thread_create(&t->thread[t->n], serve, t);
        t->n += ok;
    }
    atomic_store_explicit(&t->process, heed_os_process(), memory_order_release);
}

/* Whether this process has the threads; the first caller makes them. Not those of a forked child:
 * locks were copied as they were. */
static bool here(struct heed_threads *t)
{
    int64_t process = atomic_load_explicit(&t->process, memory_order_acquire);

    if (process == 0 &&
        atomic_compare_exchange_strong_explicit(&t->process, &process, BEGINNING,
                                                memory_order_acq_rel, memory_order_acquire)) {
        begin(t);
        return true;
    }
    return process > 0 && process == heed_os_process();
}

void heed_threads_none(void *context, uint32_t width, heed_body body, void *arg)
{
    (void)context;
    for (uint32_t worker = 0; worker < width; worker++)
        body(arg, worker);
}

static void parallel(void *context, uint32_t width, heed_body body, void *arg)
{
    struct heed_threads *t = context;
    struct job *job = width > 1 && here(t) ? job_place(t) : NULL;

    if (job == NULL) {
        heed_threads_none(context, width, body, arg);
        return;
    }
    job_give(t, job, width, body, arg);
    job_work(t, job);
    job_wait(t, job, width);
    atomic_flag_clear_explicit(&job->taken, memory_order_release);
}

/* Places whose conditions could be made. */
static int jobs_start(struct heed_threads *t)
{
    int n = 0;

    while (n < JOBS && pthread_cond_init(&t->jobs[n].over, NULL) == 0) {
        atomic_flag_clear(&t->jobs[n].taken);
        atomic_init(&t->jobs[n].ticket, 0);
        n++;
    }
    return n;
}

static void jobs_finish(struct heed_threads *t, int n)
{
    while (n > 0)
        pthread_cond_destroy(&t->jobs[--n].over);
}

static bool locks_start(struct heed_threads *t)
{
    int n;

    if (pthread_mutex_init(&t->lock, NULL) != 0)
        return false;
    if (pthread_cond_init(&t->wake, NULL) == 0) {
        n = jobs_start(t);
        if (n == JOBS)
            return true;
        jobs_finish(t, n);
        pthread_cond_destroy(&t->wake);
    }
    pthread_mutex_destroy(&t->lock);
    return false;
}

static void stop(struct heed_threads *t)
{
    pthread_mutex_lock(&t->lock);
    t->stop = 1;
    atomic_fetch_add_explicit(&t->news, 1, memory_order_release);
    pthread_cond_broadcast(&t->wake);
    pthread_mutex_unlock(&t->lock);
    for (uint32_t i = 0; i < t->n; i++)
        pthread_join(t->thread[i], NULL);
}

heed_status heed_threads_create(uint32_t width, const heed_allocator *allocator,
                                heed_executor **out, heed_report *report)
{
    const size_t bytes = sizeof(struct heed_threads) + (width - 1) * sizeof(pthread_t);
    struct heed_threads *t;

    t = allocator->alloc(allocator->context, bytes, _Alignof(struct heed_threads));
    if (t == NULL)
        return heed_report_fill(report, HEED_E_NOMEM, NULL, (int64_t)bytes, 0,
                                "no memory for the threads");
    memset(t, 0, bytes);
    t->executor = (heed_executor){ .size = sizeof(t->executor), .width = width, .context = t,
                                   .parallel = parallel };
    t->allocator = *allocator;
    t->bytes = bytes;
    atomic_init(&t->process, 0);
    atomic_init(&t->served, 0);
    atomic_init(&t->news, 0);
    if (!locks_start(t)) {
        allocator->free(allocator->context, t, bytes, _Alignof(struct heed_threads));
        return heed_report_fill(report, HEED_E_NOMEM, NULL, 0, 0, "the system has no more locks");
    }
    *out = &t->executor;
    return HEED_OK;
}

uint32_t heed_threads_begin(heed_executor *executor)
{
    struct heed_threads *t = (struct heed_threads *)executor;

    begin(t);
    return t->n + 1;
}

/* The locks of a forked child are held for ever by threads that are not there. */
void heed_threads_destroy(heed_executor *executor)
{
    struct heed_threads *t = (struct heed_threads *)executor;
    const heed_allocator allocator = t->allocator;
    const int64_t process = atomic_load_explicit(&t->process, memory_order_acquire);

    if (process == 0 || process == heed_os_process()) {
        stop(t);
        jobs_finish(t, JOBS);
        pthread_cond_destroy(&t->wake);
        pthread_mutex_destroy(&t->lock);
    }
    allocator.free(allocator.context, t, t->bytes, _Alignof(struct heed_threads));
}
