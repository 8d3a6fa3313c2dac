/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * ALL: every key of the source, or with a step every step-th. Head-wise strides are those of Huang
 * et al. 2021 (Hepos).
 */
#include "terms.h"

static void lower(const struct heed_checked_term *term, const struct heed_checked_source *source,
                  struct heed_term_form *out)
{
    (void)term;
    (void)source;
    *out =
        (struct heed_term_form){ .has_range = true, .range = { .block = 1, .kind = HK_RANGE_ALL } };
}

static bool sees(const struct heed_look *look, const struct heed_checked_term *term, int64_t key)
{
    (void)look;
    (void)term;
    (void)key;
    return true;
}

const struct heed_checked_term heed_term_default = { .kind = HEED_TERM_ALL, .step = 1, .block = 1 };

const struct heed_term_kind heed_term_all = {
    .kind = HEED_TERM_ALL,
    .name = "ALL",
    .fields = HEED_FIELD_STEP | HEED_FIELD_PHASE,
    .flags = HEED_TERM_PHASE_HEAD | HEED_TERM_PHASE_QUERY,
    .whole = true,
    .lower = lower,
    .sees = sees,
};
