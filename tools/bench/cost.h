/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Closed forms of what a workload has to do and to move: a row of the kinds names one.
 */
#ifndef HEED_TOOLS_BENCH_COST_H
#define HEED_TOOLS_BENCH_COST_H

#include "bench/workload.h"

typedef struct workload_cost cost_form(const struct workload *);

cost_form cost_attention, cost_copy, cost_pool_window, cost_pool_bucket, cost_norm, cost_topk;
cost_form cost_hash, cost_push, cost_merge, cost_decode, cost_prefill_chunk, cost_mechanism;
cost_form cost_program, cost_ragged;

#endif
