/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What tests of libheed-model share: where given.py has put checkpoints, and what an error is.
 */
#ifndef TESTS_MODEL_ASKING_H
#define TESTS_MODEL_ASKING_H

#include <heed/model.h>

#include "suite.h"

#include <stdio.h>

/* A checkpoint of HEED_TEST_MODELS. */
static inline const char *folder_of(const char *name)
{
    static char path[4096];
    const char *const all = getenv("HEED_TEST_MODELS");

    ck_assert_msg(all, "HEED_TEST_MODELS names no folder");
    snprintf(path, sizeof path, "%s/%s", all, name);
    return path;
}

/* The status, a report of it, and the field if one is named. */
static inline void refused(const char *what, heed_status wanted, heed_status got,
                           const heed_report *why, const char *field)
{
    ck_assert_msg(got == wanted, "%s: %s, wanted %s: %s: %s", what, heed_status_name(got),
                  heed_status_name(wanted), why->field, why->message);
    ck_assert_msg(why->status == wanted, "%s: the report has another status", what);
    ck_assert_msg(*why->message && !strchr(why->message, '\n'), "%s: no line", what);
    ck_assert_msg(!field || strcmp(why->field, field) == 0, "%s: field %s, wanted %s", what,
                  why->field, field);
}

static inline heed_report asking(void)
{
    return (heed_report){ .size = sizeof(heed_report), .status = 99 };
}

#endif
