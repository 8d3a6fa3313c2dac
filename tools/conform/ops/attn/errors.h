/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The error family's own parts: a legal call that uses most fields, and the table of what is wrong
 * with a copy of it.
 */
#ifndef HEED_TOOLS_CONFORM_OPS_ATTN_ERRORS_H
#define HEED_TOOLS_CONFORM_OPS_ATTN_ERRORS_H

#include "attn.h"
#include "conform/engine/errors.h"

/* What a fault changes. The first ones are found when the plan is made, those from W_ARGS on by
 * run. */
enum {
    W_DESC = FAULT_PLACES,
    W_SOURCE0,
    W_SOURCE1,
    W_SOURCE2,
    W_WINDOW,
    W_GLOBAL,
    W_SEGMENT,
    W_DENSE,
    W_TABLE,
    W_ALIBI,
    W_SLOT_LEN,
    W_SLOT_MASK,
    W_SLOT_KEYS,
    W_SLOT_PAIRS,
    W_SLOT_RUNS,
    W_SLOT_DENSE,
    W_SLOT_TABLE,
    W_SLOT_MAP,
    W_SLOT_COORD,
    W_SLOT_QPOS,
    W_SLOT_QLEN,
    W_SLOT_PAGES,
    W_SLOT_SCALES,
    W_DATA_LEN,
    W_DATA_KEYS,
    W_DATA_PAIRS,
    W_DATA_RUNS,
    W_DATA_PAGES,
    W_ARGS,
    W_KV0
};
extern const struct fault cf_faults[];
extern const int cf_n_faults;
extern const char cf_fault_base[]; /* the legal case */

/* Runtime, devices, queues, buffers; longer terms; a busy plan. */
void cf_errors_api(const void *base, const struct target *targets, int n, struct tally *,
                   struct reached *);

#endif
