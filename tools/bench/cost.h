/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Closed forms of what a workload has to do and to move: a row of the kinds names one.
 */
#ifndef HEED_TOOLS_BENCH_COST_H
#define HEED_TOOLS_BENCH_COST_H

#include "bench/workload.h"

typedef struct workload_cost cost_form(const struct workload *);

#define COST_FORM(NAME, name, keys, operation, cost) cost_form cost_##cost;
WORKLOAD_KINDS(COST_FORM)
#undef COST_FORM
cost_form cost_mechanism;

#endif
