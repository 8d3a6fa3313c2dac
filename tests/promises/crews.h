/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Executors that behave oddly but by the contract.
 */
#ifndef HEED_TESTS_PROMISES_CREWS_H
#define HEED_TESTS_PROMISES_CREWS_H

#include <heed/heed.h>

enum { CREW_LANES = 16 };

/* One worker after the other on the caller's thread, the last one first. */
heed_executor crew_reverse(uint32_t width);
/* A thread per worker, started in an order that changes from call to call; all meet first. */
heed_executor crew_threads(uint32_t width);
/* Two threads, the caller's and another, that share the workers out: even ones and odd ones. */
heed_executor crew_pair(uint32_t width);
/* A team of OpenMP's; own threads where there is none. One of each width in a process. */
heed_executor crew_openmp(uint32_t width);

#endif
