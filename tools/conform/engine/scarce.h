/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Memory that runs out, and the statuses that a family of errors has seen.
 */
#ifndef HEED_TOOLS_CONFORM_ENGINE_SCARCE_H
#define HEED_TOOLS_CONFORM_ENGINE_SCARCE_H

#include "target.h"
#include "verdict.h"

bool cf_is_host(heed_device *);

/* Statuses seen by the family: bit -status of [0], -status - 64 of [1]. */
struct reached {
    uint64_t bits[2];
};
void cf_reach(struct reached *, heed_status);

/* Each allocation of a call that makes a plan fails in turn: NOMEM, nothing kept; then it works. */
typedef heed_status cf_planner(void *context, heed_device *, heed_plan **);
void cf_errors_scarce(const char *device, cf_planner *, void *context, struct tally *,
                      struct reached *);

#endif
