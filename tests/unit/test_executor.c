/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Executors of heed_executor_create(), the width of a queue, and work of the caller's own. The
 * checks of jobs count in the bodies and are looked at by the test's own thread.
 */
#include "support/ledger.h"
#include "support/suite.h"

#include <heed/attn.h>

#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if defined __has_feature
#define HAS(feature) __has_feature(feature)
#else
#define HAS(feature) 0
#endif
#if defined __SANITIZE_THREAD__ || HAS(thread_sanitizer)
#define OF_THREADS 1            /* its children may not make threads, nor wait for a lock */
#else
#define OF_THREADS 0
#endif
#if defined __SANITIZE_ADDRESS__ || HAS(address_sanitizer) || OF_THREADS
#define SANITIZED 1             /* the address space is the sanitizer's */
#else
#define SANITIZED 0
#endif

enum { WIDEST = 9, ROUNDS = 240, CALLERS = 10 }; /* callers: more than have threads */

static heed_report why;

static void set_up(void)
{
    memset(&why, 0, sizeof(why));
    why.size = sizeof(why);
}

static heed_executor *make_flagged(uint32_t width, uint32_t flags)
{
    heed_executor *executor = NULL;

    ck_assert_int_eq(heed_executor_create(width, flags, NULL, &executor, &why), HEED_OK);
    ck_assert_uint_eq(executor->width, width);
    return executor;
}

static heed_executor *make(uint32_t width)
{
    return make_flagged(width, 0);
}

struct count {
    atomic_uint worker[WIDEST];
    uint32_t slow;              /* every so many workers sleeps on; 0: none */
};

static void count_one(void *given, uint32_t worker)
{
    const struct timespec nap = { .tv_nsec = 60000 };
    struct count *count = given;

    if (count->slow != 0 && worker % count->slow == 0)
        nanosleep(&nap, NULL);
    atomic_fetch_add(&count->worker[worker], 1);
}

/* Jobs in which some worker had not one turn each. Of eight jobs one has workers that last longer
 * than a thread stays awake, and one whose caller comes last. */
static uint32_t wrong_jobs(const heed_executor *executor, uint32_t width, uint32_t jobs)
{
    uint32_t wrong = 0;

    for (uint32_t n = 0; n < jobs; n++) {
        struct count count = { .slow = n % 8 == 0 ? 1 : n % 8 == 1 ? 3 : 0 };
        uint32_t right = 0;

        executor->parallel(executor->context, width, count_one, &count);
        for (uint32_t i = 0; i < WIDEST; i++)
            right += atomic_load(&count.worker[i]) == (i < width);
        wrong += right != WIDEST;
    }
    return wrong;
}

static void turns_try(uint32_t width, uint32_t flags)
{
    heed_executor *executor = make_flagged(width, flags);

    for (uint32_t some = 0; some <= width; some++)
        ck_assert_uint_eq(wrong_jobs(executor, some, ROUNDS), 0);
    heed_executor_destroy(executor);
}

LOOP_TEST(each_worker_has_one_turn, WIDEST)
{
    turns_try((uint32_t)_i + 1, 0);
}

/* More than 64 are cut to it, or to the number of processors. */
TEST(a_team_of_openmp)
{
    heed_executor *executor = NULL;

#if defined _OPENMP
    turns_try(3, HEED_EXECUTOR_OPENMP);
    ck_assert_int_eq(heed_executor_create(4096, HEED_EXECUTOR_OPENMP, NULL, &executor, &why),
                     HEED_OK);
    ck_assert_uint_ge(executor->width, 64);
    ck_assert_uint_lt(executor->width, 4096);
    heed_executor_destroy(executor);
#else
    ck_assert_int_eq(heed_executor_create(2, HEED_EXECUTOR_OPENMP, NULL, &executor, &why),
                     HEED_E_NOT_BUILT);
    ck_assert_str_eq(why.field, "flags");
    ck_assert_ptr_null(executor);
#endif
}

struct caller {
    const heed_executor *executor;
    uint32_t width, wrong;
};

static void *call(void *given)
{
    struct caller *caller = given;

    caller->wrong = wrong_jobs(caller->executor, caller->width, ROUNDS);
    return NULL;
}

TEST(callers_beside_each_other)
{
    heed_executor *executor = make(4);
    struct caller callers[CALLERS];
    pthread_t threads[CALLERS];

    for (uint32_t i = 0; i < CALLERS; i++) {
        callers[i] = (struct caller){ .executor = executor, .width = i % 4 + 1 };
        ck_assert_int_eq(pthread_create(&threads[i], NULL, call, &callers[i]), 0);
    }
    for (uint32_t i = 0; i < CALLERS; i++) {
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
        ck_assert_uint_eq(callers[i].wrong, 0);
    }
    heed_executor_destroy(executor);
}

struct meeting {
    atomic_uint here, missed;
    uint32_t wanted;
};

static void meet(void *given, uint32_t worker)
{
    const struct timespec nap = { .tv_nsec = 100000 };
    struct meeting *meeting = given;
    int naps = 0;

    (void)worker;
    atomic_fetch_add(&meeting->here, 1);
    while (atomic_load(&meeting->here) < meeting->wanted && naps++ < 100000)
        nanosleep(&nap, NULL);
    if (atomic_load(&meeting->here) < meeting->wanted)
        atomic_fetch_add(&meeting->missed, 1);
}

struct guest {
    const heed_executor *executor;
    struct meeting *meeting;
};

static void *guest(void *given)
{
    const struct guest *guest = given;

    guest->executor->parallel(guest->executor->context, 2, meet, guest->meeting);
    return NULL;
}

/* Four workers of two jobs are at work at the same time: each caller, and a thread for each. */
TEST(callers_share_the_threads)
{
    struct meeting meeting = { .wanted = 4 };
    heed_executor *executor = make(3);
    const struct guest other = { executor, &meeting };
    pthread_t thread;

    ck_assert_int_eq(pthread_create(&thread, NULL, guest, (void *)&other), 0);
    guest((void *)&other);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_uint_eq(atomic_load(&meeting.missed), 0);
    heed_executor_destroy(executor);
}

/* Threads do not take part in a fork: the child works alone, and ends what it has no threads of. */
TEST(a_forked_child_works_alone)
{
    heed_executor *executor;
    int status = 0;
    pid_t child;

    if (OF_THREADS)
        return;
    executor = make(4);
    ck_assert_uint_eq(wrong_jobs(executor, 4, 100), 0);
    child = fork();
    if (child == 0) {
        const uint32_t wrong = wrong_jobs(executor, 4, 100);

        alarm(20);
        heed_executor_destroy(executor);
        _exit(wrong == 0 ? 0 : 1);
    }
    ck_assert_int_gt(child, 0);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ck_assert_uint_eq(wrong_jobs(executor, 4, 100), 0);
    heed_executor_destroy(executor);
}

TEST(memory_is_the_allocators)
{
    heed_executor *executor = NULL;
    struct ledger ledger = { .requests = 0 };
    const heed_allocator allocator = ledger_allocator(&ledger);

    for (uint32_t width = 1; width < 5; width++) {
        ck_assert_int_eq(heed_executor_create(width, 0, &allocator, &executor, &why), HEED_OK);
        ck_assert_uint_eq(wrong_jobs(executor, width, 10), 0);
        ck_assert_int_eq(atomic_load(&ledger.requests), width);
        heed_executor_destroy(executor);
        ck_assert_int_eq(atomic_load(&ledger.blocks), 0);
        ck_assert_int_eq(atomic_load(&ledger.mistakes), 0);
    }
    heed_executor_destroy(NULL);
}

TEST(what_cannot_be_made)
{
    heed_executor *executor = NULL;
    heed_allocator allocator = { .size = 8 };

    ck_assert_int_eq(heed_executor_create(2, 0, NULL, NULL, &why), HEED_E_NULL);
    ck_assert_str_eq(why.field, "executor");
    ck_assert_int_eq(heed_executor_create(2, 2, NULL, &executor, &why), HEED_E_FLAG);
    ck_assert_int_eq(heed_executor_create(0, 0, NULL, &executor, &why), HEED_E_VALUE);
    ck_assert_str_eq(why.field, "width");
    ck_assert_int_eq(heed_executor_create(4097, 0, NULL, &executor, &why), HEED_E_VALUE);
    ck_assert_int_eq(why.wanted, 4096);
    ck_assert_int_eq(heed_executor_create(UINT32_MAX, 0, NULL, &executor, NULL), HEED_E_VALUE);
    ck_assert_int_eq(heed_executor_create(2, 0, &allocator, &executor, &why), HEED_E_SIZE);
    allocator.size = sizeof(allocator);
    ck_assert_int_eq(heed_executor_create(2, 0, &allocator, &executor, &why), HEED_E_NULL);
    ck_assert_ptr_null(executor);
}

/* Address space for some stacks, not for all. */
TEST(threads_that_the_system_refuses)
{
    const struct rlimit limit = { .rlim_cur = 1 << 28, .rlim_max = RLIM_INFINITY };
    heed_executor *executor = NULL;
    struct ledger ledger = { .requests = 0 };
    const heed_allocator allocator = ledger_allocator(&ledger);

    if (SANITIZED)
        return;
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
    ck_assert_int_eq(heed_executor_create(1000, 0, &allocator, &executor, &why), HEED_E_NOMEM);
    ck_assert_str_eq(why.field, "width");
    ck_assert_int_eq(why.wanted, 1000);
    ck_assert_int_lt(why.got, 1000);
    ck_assert_int_gt(why.got, 1);
    ck_assert_ptr_null(executor);
    ck_assert_int_eq(atomic_load(&ledger.blocks), 0);
}

/* ---- queues ---- */

enum { HEADS = 2, ROWS = 300, DIM = 8, NUMBERS = HEADS * ROWS * DIM, SHARES = 5000 };

struct world {
    heed_executor *executor;
    heed_runtime *runtime;
    heed_device *device;
    heed_queue *queue;
};

static void world_open(struct world *w, uint32_t width)
{
    heed_runtime_desc desc = { .size = sizeof(desc) };

    desc.executor = w->executor = make(width);
    ck_assert_int_eq(heed_runtime_create(&desc, &w->runtime, &why), HEED_OK);
    ck_assert_int_eq(heed_device_find(w->runtime, "cpu", &w->device, &why), HEED_OK);
    ck_assert_int_eq(heed_queue_create(w->device, 0, &w->queue, &why), HEED_OK);
}

static void world_close(struct world *w)
{
    heed_queue_destroy(w->queue);
    heed_runtime_destroy(w->runtime);
    heed_executor_destroy(w->executor);
}

TEST(a_queue_of_any_width_gives_the_same_bits)
{
    static float x[3][NUMBERS], o[5][NUMBERS];
    const heed_term near = { .kind = HEED_TERM_WINDOW, .left = 40, .right = 40 };
    struct world w;

    for (int i = 0; i < 3 * NUMBERS; i++)
        x[i / NUMBERS][i % NUMBERS] = (float)((i * 7919) % 1009) / 500.0f - 1.0f;
    world_open(&w, 4);
    for (uint32_t width = 0; width < 5; width++) {
        heed_array a[4];

        for (int i = 0; i < 4; i++)
            a[i] = heed_array4(HEED_F32, i < 3 ? x[i] : o[width], 1, HEADS, ROWS, DIM);
        ck_assert_int_eq(heed_queue_width(w.queue, width, &why), HEED_OK);
        ck_assert_int_eq(heed_attn_simple(w.queue, &a[0], &a[1], &a[2], &a[3], &near, 1, 0, &why),
                         HEED_OK);
        ck_assert_mem_eq(o[width], o[0], sizeof(o[0]));
    }
    ck_assert_int_eq(heed_queue_width(w.queue, 5, &why), HEED_E_VALUE);
    ck_assert_str_eq(why.field, "width");
    ck_assert_int_eq(why.wanted, 4);
    ck_assert_int_eq(heed_queue_width(NULL, 1, &why), HEED_E_NULL);
    world_close(&w);
}

struct shares {
    atomic_uint turns[SHARES];
    atomic_uint threads;        /* a bit each */
    pthread_t first;
};

static void share(void *given, int64_t i)
{
    struct shares *shares = given;

    atomic_fetch_add(&shares->turns[i], 1);
    atomic_fetch_or(&shares->threads, pthread_equal(shares->first, pthread_self()) ? 1 : 2);
}

LOOP_TEST(each_share_has_one_turn, 5)
{
    static const int64_t sizes[] = { 0, 1, 2, 3, SHARES };
    static struct shares shares;
    struct world w;

    world_open(&w, 4);
    for (int n = 0; n < 5; n++) {
        memset(&shares, 0, sizeof(shares));
        shares.first = pthread_self();
        ck_assert_int_eq(heed_queue_width(w.queue, (uint32_t)_i, &why), HEED_OK);
        ck_assert_int_eq(heed_parallel(w.queue, sizes[n], share, &shares, &why), HEED_OK);
        for (int64_t i = 0; i < SHARES; i++)
            ck_assert_uint_eq(atomic_load(&shares.turns[i]), i < sizes[n]);
        if (_i == 1)
            ck_assert_uint_le(atomic_load(&shares.threads), 1);
    }
    world_close(&w);
}

TEST(shares_that_are_refused)
{
    struct world w;

    world_open(&w, 2);
    ck_assert_int_eq(heed_parallel(NULL, 1, share, NULL, &why), HEED_E_NULL);
    ck_assert_str_eq(why.field, "queue");
    ck_assert_int_eq(heed_parallel(w.queue, 1, NULL, NULL, &why), HEED_E_NULL);
    ck_assert_str_eq(why.field, "body");
    ck_assert_int_eq(heed_parallel(w.queue, -1, share, NULL, &why), HEED_E_VALUE);
    ck_assert_int_eq(heed_parallel(w.queue, INT64_MAX, share, NULL, &why), HEED_E_VALUE);
    ck_assert_str_eq(why.field, "n");
    world_close(&w);
}

/* ---- threads of a runtime ---- */

static int threads_now(void)
{
    DIR *folder = opendir("/proc/self/task");
    int n = -2;                 /* itself and the folder above */

    if (folder == NULL)
        return -1;
    while (readdir(folder) != NULL)
        n++;
    closedir(folder);
    return n;
}

static void built_in_open(struct world *w, uint32_t width)
{
    const heed_executor built_in = { .size = sizeof(built_in), .width = width };
    const heed_runtime_desc desc = { .size = sizeof(desc), .executor = &built_in };

    w->executor = NULL;
    ck_assert_int_eq(heed_runtime_create(&desc, &w->runtime, &why), HEED_OK);
    ck_assert_int_eq(heed_device_find(w->runtime, "cpu", &w->device, &why), HEED_OK);
    ck_assert_int_eq(heed_queue_create(w->device, 0, &w->queue, &why), HEED_OK);
}

static uint32_t wrong_shares(const struct world *w)
{
    static struct shares shares;
    uint32_t wrong = 0;

    memset(&shares, 0, sizeof(shares));
    shares.first = pthread_self();
    if (heed_parallel(w->queue, SHARES, share, &shares, &why) != HEED_OK)
        return SHARES;
    for (int64_t i = 0; i < SHARES; i++)
        wrong += atomic_load(&shares.turns[i]) != 1;
    return wrong;
}

/* A thread that was waited for may still be on its way out of the folder. */
static bool threads_become(int n)
{
    for (int naps = 0; threads_now() != n && naps < 10000; naps++)
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    return threads_now() == n;
}

/* A run makes them, the runtime's end ends them. ThreadSanitizer has threads of its own. */
TEST(threads_live_from_the_first_run_on)
{
    const int before = threads_now();
    struct world w;

    if (before < 0 || OF_THREADS)
        return;
    built_in_open(&w, 4);
    ck_assert_int_eq(threads_now(), before);
    ck_assert_uint_eq(wrong_shares(&w), 0);
    ck_assert(threads_become(before + 3));
    world_close(&w);
    ck_assert(threads_become(before));
}

/* 0: before the first run, the child makes threads of its own; 1: after it, the child has none. */
LOOP_TEST(a_forked_child_runs, 2)
{
    struct world w;
    int status = 0;
    pid_t child;

    if (OF_THREADS)
        return;
    built_in_open(&w, 4);
    if (_i == 1)
        ck_assert_uint_eq(wrong_shares(&w), 0);
    child = fork();
    if (child == 0) {
        const uint32_t wrong = (alarm(20), wrong_shares(&w));
        const int threads = threads_now();

        world_close(&w);
        _exit(wrong != 0 ? 1 : threads > 0 && threads != (_i == 0 ? 4 : 1) ? 2 : 0);
    }
    ck_assert_int_gt(child, 0);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ck_assert_uint_eq(wrong_shares(&w), 0);
    world_close(&w);
}

/* Address space for some stacks, not for all: a run has those that there are. */
TEST(a_run_with_fewer_threads)
{
    const struct rlimit limit = { .rlim_cur = 1 << 28, .rlim_max = RLIM_INFINITY };
    struct world w;

    if (SANITIZED)
        return;
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
    built_in_open(&w, 64);
    for (int again = 0; again < 3; again++)
        ck_assert_uint_eq(wrong_shares(&w), 0);
    ck_assert_int_lt(threads_now(), 64);
    world_close(&w);
}

int main(void)
{
    return suite_run("executor", 60, set_up, NULL);
}
