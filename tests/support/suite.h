/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * How every Check program of the tests ends.
 */
#ifndef HEED_TESTS_SUPPORT_SUITE_H
#define HEED_TESTS_SUPPORT_SUITE_H

#include <check.h>
#include <stdlib.h>

/* Runs the tests and gives them back; the program's exit status. */
static inline int suite_run(const char *name, TCase *tests)
{
    Suite *const suite = suite_create(name);
    SRunner *runner;
    int failed;

    suite_add_tcase(suite, tests);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

#endif
