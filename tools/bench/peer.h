/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Another program that does the same work, measured in turn with heed. It is asked by a line
 * "run" on its standard input, does the work once, and answers on its standard output with a line
 * of two numbers: seconds of CPU time and of wall time. It ends when its input does.
 */
#ifndef HEED_TOOLS_BENCH_PEER_H
#define HEED_TOOLS_BENCH_PEER_H

#include "bench/timing.h"

struct peer;

/* Starts `command` with the shell. NULL: it could not be started; errno says why. */
struct peer *peer_start(const char *command);

/* Ends its input and waits for it. */
void peer_stop(struct peer *);

/* After a run that failed: why the shell could not start the command; NULL: it could. */
const char *peer_not_started(const struct peer *);

/* False: it ended, or answered something else. */
bool peer_run(struct peer *, struct timing *out);

#endif
