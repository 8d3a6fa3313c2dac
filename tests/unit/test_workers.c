/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kit's executor: in every order and width each worker runs once, and orders are what they say.
 */
#include "conform/engine/workers.h"

#include "suite.h"

#include <signal.h>
#include <stdatomic.h>
#include <string.h>

enum { MOST = 40 };

struct seen {
    atomic_int times[MOST], n;
    uint32_t order[MOST];
};

static void note(void *arg, uint32_t worker)
{
    struct seen *const seen = arg;

    seen->order[atomic_fetch_add(&seen->n, 1)] = worker;
    atomic_fetch_add(&seen->times[worker], 1);
}

static void run(int order, uint64_t seed, uint32_t width, struct seen *seen)
{
    struct workers workers = { order, seed };

    memset(seen, 0, sizeof *seen);
    workers_parallel(&workers, width, note, seen);
    ck_assert_int_eq(atomic_load(&seen->n), width);
    for (uint32_t i = 0; i < width; i++)
        ck_assert_int_eq(atomic_load(&seen->times[i]), 1);
}

LOOP_TEST(each_worker_runs_once, WORKERS_STIRRED + 1)
{
    static const uint32_t widths[] = { 0, 1, 2, WORKERS_MOST, WORKERS_MOST + 1, MOST };
    struct seen seen;

    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        for (uint64_t seed = 0; seed < 4; seed++)
            run(_i, seed, widths[i], &seen);
    }
}

TEST(workers_that_follow_each_other_have_an_order)
{
    struct seen seen, again;
    int descents = 0;

    run(WORKERS_FIRST_FIRST, 0, MOST, &seen);
    for (uint32_t i = 0; i < MOST; i++)
        ck_assert_uint_eq(seen.order[i], i);
    run(WORKERS_LAST_FIRST, 0, MOST, &seen);
    for (uint32_t i = 0; i < MOST; i++)
        ck_assert_uint_eq(seen.order[i], MOST - 1 - i);
    run(WORKERS_SHUFFLED, 1, MOST, &seen);
    run(WORKERS_SHUFFLED, 1, MOST, &again);
    ck_assert_mem_eq(seen.order, again.order, sizeof seen.order);
    for (uint32_t i = 1; i < MOST; i++)
        descents += seen.order[i] < seen.order[i - 1];
    ck_assert_int_gt(descents, 5);
    run(WORKERS_SHUFFLED, 2, MOST, &again);
    ck_assert_mem_ne(seen.order, again.order, sizeof seen.order);
}

static void own(int number)
{
    (void)number;
}

TEST(stirring_leaves_the_handler_of_the_process)
{
    struct sigaction mine, now;
    struct seen seen;

    memset(&mine, 0, sizeof mine);
    mine.sa_handler = own;
    ck_assert_int_eq(sigaction(SIGURG, &mine, NULL), 0);
    run(WORKERS_STIRRED, 3, WORKERS_MOST, &seen);
    ck_assert_int_eq(sigaction(SIGURG, NULL, &now), 0);
    ck_assert(now.sa_handler == own);
}

int main(void)
{
    return suite_run("workers", 60, NULL, NULL);
}
