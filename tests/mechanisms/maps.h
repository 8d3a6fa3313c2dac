/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Calls of act and linear with what is given of their arrays; NULL: absent.
 */
#ifndef HEED_TESTS_MECHANISMS_MAPS_H
#define HEED_TESTS_MECHANISMS_MAPS_H

#include "chain.h"

#include <heed/nn.h>

WORLD_OPERATION(act)
WORLD_OPERATION(linear)

static inline void fill(const heed_array *a, float value)
{
    for (int64_t i = 0; i < world_count(a); i++)
        world_f32(a)[i] = value;
}

static inline void activate(uint32_t kind, const heed_array *x, const heed_array *factor,
                            const heed_array *add, const heed_array *y)
{
    struct act_call call = act_call();

    call.desc.kind = kind;
    GIVE(&call, x, *x);
    if (factor)
        GIVE(&call, factor, *factor);
    if (add)
        GIVE(&call, add, *add);
    GIVE(&call, y, *y);
    act_run(&call);
}

static inline void project(const heed_array *x, const heed_array *w, const heed_array *add,
                           uint32_t kind, const heed_array *y)
{
    struct linear_call call = linear_call();

    call.desc.act = kind;
    GIVE(&call, x, *x);
    GIVE(&call, w, *w);
    if (add)
        GIVE(&call, add, *add);
    GIVE(&call, y, *y);
    linear_run(&call);
}

#endif
