/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Processes that keep processors busy while something is measured, as other programs of a machine
 * do.
 */
#ifndef HEED_TOOLS_BENCH_NEIGHBOUR_H
#define HEED_TOOLS_BENCH_NEIGHBOUR_H

#include <stdbool.h>
#include <stdint.h>

enum { NEIGHBOURS_MOST = 64 };

/* Before there are threads. false: there is no process; those that were started have ended. */
bool neighbours_start(int64_t n);
void neighbours_end(void);

#endif
