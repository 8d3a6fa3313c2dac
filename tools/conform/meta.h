/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the files of the family meta share.
 */
#ifndef HEED_TOOLS_CONFORM_META_H
#define HEED_TOOLS_CONFORM_META_H

#include "conform.h"

/* Runs `other` and compares item by item; order NULL: the same order. A plan that cannot be is no
 * failure here when `may_refuse` is what it answers. */
void cf_compare_run(const struct bench *, const struct problem *, const struct call *got,
                    const struct problem *other, const int64_t *order, heed_status may_refuse,
                    const char *what, struct verdict *);

/* meta_copies.c: a list of the case's keys against their gathered copy; */
void cf_meta_listed(const struct bench *, const struct problem *, struct verdict *);
/* pages and rings against theirs, where the entries of slots do not share memory; */
void cf_meta_cached(const struct bench *, const struct problem *, const struct call *got,
                    struct verdict *);
/* bytes and scales against the f32 that they stand for. */
void cf_meta_quantised(const struct bench *, const struct problem *, const struct call *got,
                       struct verdict *);

#endif
