/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Results as an aligned table or as JSON.
 */
#ifndef HEED_TOOLS_BENCH_OUTPUT_H
#define HEED_TOOLS_BENCH_OUTPUT_H

#include "bench/measure.h"
#include "bench/options.h"

/* From now on what a kernel in this process prints goes where errors go, and rows alone to standard
 * output. */
void output_share(void);

/* Each leaves at once. False: standard output did not take it. */
bool output_head(const struct options *, const char *device);
/* A workload that a plug-in does not take. */
bool output_refused(const struct options *, const struct workload *, const heed_report *);
bool output_row(const struct options *, const struct measure_input *,
                const struct measure_result *);
/* kernel: the name of a plug-in; NULL: there is none. */
bool output_foot(const char *kernel, bool cpu_time);

#endif
