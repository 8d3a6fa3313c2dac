/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Who runs the workers of a plan: the caller's executor or the built-in one.
 */
#ifndef HEED_LIB_EXECUTOR_H
#define HEED_LIB_EXECUTOR_H

#include <heed/heed.h>

/* given NULL: the built-in executor, as wide as it likes. given->parallel NULL: the built-in
 * one with at most given->width workers (0: as wide as it likes). The result always has width
 * >= 1 and parallel set. *own: what is to be destroyed when the result is no longer used, or
 * NULL. */
HEED_MUST_CHECK
heed_status heed_executor_take(heed_executor *to, heed_executor **own, const heed_executor *given,
                               const heed_allocator *, heed_report *report);

#endif
