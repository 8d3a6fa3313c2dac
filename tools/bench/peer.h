/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Another program that does the same work, measured in turn with heed. It is asked by a line
 * "run" on its standard input, does the work once, and answers on its standard output with a line
 * of two numbers: seconds of CPU time and of wall time. It ends when its input does; one that does
 * not is ended two seconds later.
 */
#ifndef HEED_TOOLS_BENCH_PEER_H
#define HEED_TOOLS_BENCH_PEER_H

#include "bench/timing.h"

#include <stdint.h>

struct peer;

/* Starts `command`, which stays the caller's, with the shell; it has so many seconds for an answer.
 * NULL: there is no process for it; errno says why. */
struct peer *peer_start(const char *command, int64_t seconds);

/* Ends its input and waits for it, not for long. */
void peer_stop(struct peer *);

/* False: it ended, did not answer in time, or answered something else than two finite numbers; it
 * is ended then. */
bool peer_run(struct peer *, struct timing *out);

/* Says in one line why a run failed, and returns an exit code: EXIT_USAGE where the shell could not
 * start the command, which then has never answered. */
int peer_failure(const struct peer *);

#endif
