/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A program of tests: each one enters itself, so none is written and not run.
 *
 *   TEST(name) { ... }             once
 *   LOOP_TEST(name, times) { ... } with _i from 0 on
 *   int main(void) { return suite_run("program", seconds, before, after); }
 *
 * With HEED_TESTS=all in the environment, as in the suite "rest", suite_all() is true and a test
 * takes all of its cases; else those that a person waits for: fewer of every kind.
 */
#ifndef HEED_TESTS_SUPPORT_SUITE_H
#define HEED_TESTS_SUPPORT_SUITE_H

#include <check.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { SUITE_MOST = 64, SUITE_LINES = 1 << 12 };

/* Check writes the place of every assertion that holds to a file, so that a test which dies can say
 * where it was. For each place once in a test is enough of that: a loop over elements would write
 * for longer than it computes. */
static atomic_uchar suite_marked[SUITE_LINES];

static inline void suite_mark(const char *file, int line)
{
    atomic_uchar *const marked = &suite_marked[line % SUITE_LINES];

    if (atomic_load_explicit(marked, memory_order_relaxed))
        return;
    atomic_store_explicit(marked, 1, memory_order_relaxed);
    (_mark_point)(file, line);
}

static inline void suite_mark_again(void)
{
    for (int i = 0; i < SUITE_LINES; i++)
        atomic_store_explicit(&suite_marked[i], 0, memory_order_relaxed);
}

#define _mark_point(file, line) suite_mark(file, line)

static inline bool suite_all(void)
{
    const char *const tests = getenv("HEED_TESTS");

    return tests != NULL && strcmp(tests, "all") == 0;
}

/* Is it the turn of this one, of each so many? Always, where all cases run. */
static inline bool suite_turn(size_t which, size_t of)
{
    return which % of == 0 || suite_all();
}

static struct {
    void (*add[SUITE_MOST])(TCase *tests);
    size_t n;
} suite_entered;

static inline void suite_enter(void (*add)(TCase *tests))
{
    if (suite_entered.n == SUITE_MOST)
        abort();
    suite_entered.add[suite_entered.n++] = add;
}

/* `times` is asked for when the tests are run, not when the program starts. */
#define LOOP_TEST(name, times)                                                                     \
    static void name##_body(int _i);                                                               \
    START_TEST(name)                                                                               \
    {                                                                                              \
        suite_mark_again();                                                                        \
        name##_body(_i);                                                                           \
    }                                                                                              \
    END_TEST                                                                                       \
    static void name##_add(TCase *tests)                                                           \
    {                                                                                              \
        tcase_add_loop_test(tests, name, 0, (int)(times));                                         \
    }                                                                                              \
    __attribute__((constructor)) static void name##_enter(void)                                    \
    {                                                                                              \
        suite_enter(name##_add);                                                                   \
    }                                                                                              \
    static void name##_body(int _i CK_ATTRIBUTE_UNUSED)
#define TEST(name) LOOP_TEST(name, 1)

/* Runs what has entered, and what else is among the tests; the program's exit status. */
static inline int suite_run_case(const char *name, TCase *tests)
{
    Suite *const suite = suite_create(name);
    SRunner *runner;
    int failed;

    for (size_t i = 0; i < suite_entered.n; i++)
        suite_entered.add[i](tests);
    suite_add_tcase(suite, tests);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* seconds: what a test may take, 0: a minute, as machines under load take long over little; before
 * and after each may be NULL. */
static inline int suite_run(const char *name, int seconds, void (*before)(void),
                            void (*after)(void))
{
    TCase *const tests = tcase_create(name);

    tcase_set_timeout(tests, seconds > 0 ? seconds : 60);
    tcase_add_checked_fixture(tests, before, after);
    return suite_run_case(name, tests);
}

#endif
