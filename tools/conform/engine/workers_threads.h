/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Workers on threads: ways/workers.c.
 */
#ifndef HEED_TOOLS_CONFORM_ENGINE_WORKERS_THREADS_H
#define HEED_TOOLS_CONFORM_ENGINE_WORKERS_THREADS_H

#include <stdbool.h>
#include <stdint.h>

/* stirred: each is made to wait now and then, wherever it is. */
void workers_threads(uint32_t width, void (*body)(void *arg, uint32_t worker), void *arg,
                     bool stirred, uint64_t seed);

#endif
