/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The error family's own parts: a legal call that uses most fields, and the table of what is wrong
 * with a copy of it.
 */
#ifndef HEED_TOOLS_CONFORM_ERRORS_H
#define HEED_TOOLS_CONFORM_ERRORS_H

#include "conform.h"

/* What a fault changes. The first ones are found when the plan is made, those from W_ARGS on by
 * run. */
enum {
    W_DESC,
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
enum { U32, I32, I64, U64, F64, PTR };

struct fault {
    const char *field; /* a part of what the report must name; NULL: nothing wanted */
    int where;
    size_t offset;
    int type;
    int64_t value;
    heed_status status;
};

extern const struct fault cf_faults[];
extern const int cf_n_faults;
extern const char cf_fault_base[]; /* the legal case */

/* Statuses seen by the family: bit -status of [0], -status - 64 of [1]. */
struct reached {
    uint64_t bits[2];
};
void cf_reach(struct reached *, heed_status);

/* Each allocation of a call that makes a plan fails in turn: NOMEM, nothing kept; then it works. */
typedef heed_status cf_planner(void *context, heed_device *, heed_plan **);
void cf_errors_scarce(const char *device, cf_planner *, void *context, struct tally *,
                      struct reached *);
/* Runtime, devices, queues, buffers, allocation failures, a busy plan. */
void cf_errors_api(const struct target *targets, int n, struct tally *, struct reached *);

#endif
