/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The workloads heed-bench knows, and how much useful work each is.
 */
#ifndef HEED_TOOLS_BENCH_WORKLOAD_H
#define HEED_TOOLS_BENCH_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum workload_kind { WORKLOAD_DENSE, WORKLOAD_CAUSAL, WORKLOAD_WINDOW };

/* Self-attention of b documents of n positions: h query heads over hk key heads, h a multiple of
 * hk, width d. w: reach to each side, WORKLOAD_WINDOW only, else 0. dtype: HEED_F32, ... */
struct workload {
    enum workload_kind kind;
    uint32_t dtype;
    int64_t n, h, hk, d, b, w;
    char text[112];                     /* canonical: reads back to the same workload */
};

/* Reads "NAME[:key=value,...]". False: `error` holds one line that says why not. */
bool workload_parse(const char *text, struct workload *out, char *error, size_t error_size);

const char *workload_name(const struct workload *);
const char *workload_dtype(const struct workload *);

/* Floating-point operations on the pairs that are attended: 4 d for each. */
double workload_flops(const struct workload *);

/* What is measured when nothing is asked for; NULL behind the last one. */
const char *workload_default(size_t index);

#endif
