/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * run allocates nothing: not through the runtime's allocator, ever, and after one run to warm up
 * (threads are started then) not from the C library either. This program takes the place of the
 * C library's malloc, so it is one of its own; glibc only.
 */
#include "op_work.h"
#include "work.h"
#include "support/suite.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define SANITIZED 1
#elif defined __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define SANITIZED 1
#endif
#endif

#if defined __GLIBC__ && !defined SANITIZED
#define COUNTS 1

static atomic_int counting;
static atomic_llong asked;

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t align, size_t size);
void *memalign(size_t align, size_t size);

static void count(void)
{
    if (atomic_load_explicit(&counting, memory_order_relaxed))
        atomic_fetch_add(&asked, 1);
}

void *malloc(size_t size)
{
    count();
    return __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    count();
    return __libc_calloc(n, size);
}

void *realloc(void *p, size_t size)
{
    count();
    return __libc_realloc(p, size);
}

void *memalign(size_t align, size_t size)
{
    count();
    return __libc_memalign(align, size);
}

void *aligned_alloc(size_t align, size_t size)
{
    count();
    return __libc_memalign(align, size);
}

int posix_memalign(void **out, size_t align, size_t size)
{
    void *p;

    count();
    p = __libc_memalign(align, size);
    if (p == NULL)
        return ENOMEM;
    *out = p;
    return 0;
}

static long long asked_by(const struct work *w, const struct place *p, const heed_plan *plan,
                          const heed_attn_args *args, int runs)
{
    heed_event *event = NULL;
    int wrong = 0;

    atomic_store(&asked, 0);
    atomic_store(&counting, 1);
    for (int i = 0; i < runs; i++) {
        wrong += heed_attn_run(plan, p->queue, args, &event, NULL) != HEED_OK;
        heed_event_destroy(event);
    }
    atomic_store(&counting, 0);
    ck_assert_msg(wrong == 0, "%s", w->name);
    return atomic_load(&asked);
}

/* Runs beside the first, which may start threads. */
enum { AGAIN = 3 };

static void case_try(size_t index, const struct place *p, const char *device, uint32_t width)
{
    struct work w;
    struct space space = { 0 };
    heed_plan *plan;
    heed_attn_args args;
    long long n;

    work_start(&w, index);
    plan = work_plan(&w, p, index % 2 ? HEED_PLAN_OWN_WORKSPACE : 0);
    space_start(&space, plan);
    args = w.g.args;
    space_into(&space, &args);
    work_poison(&w);
    ledger_restart((struct ledger *)&p->ledger);
    asked_by(&w, p, plan, &args, 1);
    ck_assert_int_eq(atomic_load(&p->ledger.requests), 0);
    n = asked_by(&w, p, plan, &args, AGAIN);
    ck_assert_msg(n == 0, "%s on %s, %u workers: asked malloc %lld times", w.name, device,
                  (unsigned)width, n);
    ck_assert_int_eq(atomic_load(&p->ledger.requests), 0);
    work_judge(&w, device, "runs without malloc");
    space_finish(&space);
    heed_plan_drop(plan);
    work_finish(&w);
}

/* The reference has one worker. */
static const uint32_t widths[] = { 1, 2, 5 };

LOOP_TEST(run_allocates_nothing, place_count())
{
    for (size_t i = 0; i < (_i == 0 ? 1 : 3); i++) {
        const heed_executor e = width_of(widths[i]);
        struct place p;

        if (!place_open(&p, place_name(_i), &e))
            continue;
        for (size_t c = 0; c < work_count; c++) {
            if (suite_turn(c + i + (size_t)_i, 5))
                case_try(c, &p, place_name(_i), widths[i]);
        }
        place_close(&p);
    }
}

static long long asked_by_operation(struct op_run *run, const heed_plan *plan, int runs)
{
    heed_event *event = NULL;
    int wrong = 0;

    atomic_store(&asked, 0);
    atomic_store(&counting, 1);
    for (int i = 0; i < runs; i++) {
        wrong += op_run_go(run, plan, &event) != HEED_OK;
        heed_event_destroy(event);
    }
    atomic_store(&counting, 0);
    ck_assert_int_eq(wrong, 0);
    return atomic_load(&asked);
}

/* Runs of some operations go on from what the one before left: they are judged after the first. */
static void operation_try(int index, const struct place *p, uint32_t width)
{
    struct op_work *w = op_work_start(index);
    heed_plan *plan = NULL;
    struct op_run *run;
    long long n;

    ck_assert_int_ge(op_work_plan(w, p->device, index % 2 ? HEED_PLAN_OWN_WORKSPACE : 0, &plan), 0);
    run = op_run_start(w, p->device, p->queue, plan);
    ledger_restart((struct ledger *)&p->ledger);
    asked_by_operation(run, plan, 1);
    ck_assert_msg(op_run_right(run), "%s", op_work_line(w));
    n = asked_by_operation(run, plan, AGAIN);
    ck_assert_msg(n == 0, "%s, %u workers: asked malloc %lld times", op_work_line(w),
                  (unsigned)width, n);
    ck_assert_int_eq(atomic_load(&p->ledger.requests), 0);
    op_run_finish(run);
    heed_plan_drop(plan);
    op_work_finish(w);
}

LOOP_TEST(run_of_an_operation_allocates_nothing, place_count())
{
    for (size_t i = 0; i < (_i == 0 ? 1 : 3); i++) {
        const heed_executor e = width_of(widths[i]);
        struct place p;

        if (!place_open(&p, place_name(_i), &e))
            continue;
        for (int c = 0; c < op_work_count(); c++) {
            if (suite_turn((size_t)c + i + (size_t)_i, 9))
                operation_try(c, &p, widths[i]);
        }
        place_close(&p);
    }
}

/* The counter sees what it has to see. */
TEST(counting_counts)
{
    void *volatile p;
    void *q = NULL;

    atomic_store(&asked, 0);
    atomic_store(&counting, 1);
    p = malloc(1);
    p = realloc(p, 100);
    free(p);
    p = calloc(1, 1);
    free(p);
    p = aligned_alloc(64, 64);
    free(p);
    if (posix_memalign(&q, 64, 64) == 0)
        free(q);
    atomic_store(&counting, 0);
    ck_assert_int_eq(atomic_load(&asked), 5);
}
#endif

int main(void)
{
#if defined COUNTS
    return suite_run("allocation", 240, NULL, NULL);
#else
    puts("skipped: malloc can be counted with glibc and without sanitizers only");
    return 77;
#endif
}
