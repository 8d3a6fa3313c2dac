/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The CPU backend: the lanes kernels as C, once per instruction set. "cpu" is the best of them,
 * "cpu:NAME" a given one.
 */
#include "isa.h"

#include <stdio.h>

/* Device 0 is the best; device i the i-th instruction set but one. */
static const struct heed_cpu_isa *device_isa(uint32_t index)
{
    return index == 0 ? heed_isa_best() : heed_isa_get(index - 1);
}

static uint32_t count(void)
{
    uint32_t n = 0;

    while (heed_isa_get(n))
        n++;
    return n + 1;
}

static void describe(uint32_t index, heed_device_props *props)
{
    const struct heed_cpu_isa *isa = device_isa(index);
    const char *reason = heed_isa_refuse(isa);

    props->kind = HEED_DEVICE_CPU;
    props->exact = 1;
    props->usable = reason ? HEED_E_UNSUPPORTED : HEED_OK;
    if (index == 0)
        snprintf(props->name, sizeof props->name, "cpu");
    else
        snprintf(props->name, sizeof props->name, "cpu:%s", isa->name);
    snprintf(props->description, sizeof props->description, "%s (%s)", isa->name, isa->description);
    snprintf(props->reason, sizeof props->reason, "%s", reason ? reason : "");
}

static void begin(uint32_t index, const struct heed_services *services, void *state)
{
    heed_host_begin(state, services,
                    (struct heed_device_traits){
                        .shape = HEED_SHAPE_LANES,
                        .workers = services->executor->width,
                        .halves = device_isa(index)->halves,
                        .large = 1,
                    },
                    device_isa(index)->kernels);
}

const struct heed_backend heed_cpu_backend = {
    .size = sizeof(struct heed_backend),
    .kind = HEED_DEVICE_CPU,
    .host = 1,
    .count = count,
    .describe = describe,
    .impls = heed_device_impls,
    .state_size = sizeof(struct heed_host_device),
    .begin = begin,
};
