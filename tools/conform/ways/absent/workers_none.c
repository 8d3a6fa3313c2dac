/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Workers of a system without threads follow each other.
 */
#include "conform/engine/workers_threads.h"

void workers_threads(uint32_t width, void (*body)(void *arg, uint32_t worker), void *arg,
                     bool stirred, uint64_t seed)
{
    (void)stirred;
    (void)seed;
    for (uint32_t i = 0; i < width; i++)
        body(arg, i);
}
