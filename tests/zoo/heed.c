/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * heed itself as a plug-in: the device that the environment variable ZOO_DEVICE names; or with
 * HEED_ZOO_OPENCL and HEED_ZOO_CUDA the kit's own device, with arrays in its memory. What the kit
 * says of it in processes of its own must be what it says of the device.
 */
#include "conform/ops/operations.h"

#include <heed/plugin.h>
#if defined HEED_ZOO_OPENCL
#include <heed/opencl.h>
#elif defined HEED_ZOO_CUDA
#include <heed/cuda.h>
#endif

#include <stdlib.h>
#include <string.h>

static struct {
    heed_runtime *runtime;
    heed_device *device;
    heed_queue *queue;
} own;

#if defined HEED_ZOO_OPENCL
enum { MEMORY = HEED_DEVICE_OPENCL };

static heed_status adopt(const heed_host_device *d)
{
    const heed_status status =
        heed_opencl_device(own.runtime, d->context, d->device, &own.device, NULL);

    return status < 0 ? status : heed_opencl_queue(own.device, d->queue, &own.queue, NULL);
}
#elif defined HEED_ZOO_CUDA
enum { MEMORY = HEED_DEVICE_CUDA };

static heed_status adopt(const heed_host_device *d)
{
    const heed_status status =
        heed_cuda_device(own.runtime, d->context, (CUdevice)d->ordinal, &own.device, NULL);

    return status < 0 ? status : heed_cuda_queue(own.device, d->queue, &own.queue, NULL);
}
#else
enum { MEMORY = 0 };

static heed_status adopt(const heed_host_device *d)
{
    const char *const name = getenv("ZOO_DEVICE");
    const heed_status status =
        heed_device_find(own.runtime, name ? name : "cpu", &own.device, NULL);

    (void)d;
    return status < 0 ? status : heed_queue_create(own.device, 0, &own.queue, NULL);
}
#endif

static const heed_host_device *host_device;

/* Not in the entry where the device is the kit's, which has opened none then. */
static bool ready(void)
{
    return own.queue || adopt(host_device) >= 0;
}

/* The kit's words for programs are shorter than the names of their calls. */
#define heed_lsg_check heed_lsg_program_check
#define heed_lsg_plan heed_lsg_program_plan
#define heed_poolingformer2_check heed_poolingformer_level2_check
#define heed_poolingformer2_plan heed_poolingformer_level2_plan

#define CHECK(op)                                                                                  \
    if (strcmp(name, #op) == 0)                                                                    \
        return heed_##op##_check(own.device, desc, report);
#define PLAN(op)                                                                                   \
    if (strcmp(name, #op) == 0)                                                                    \
        return heed_##op##_plan(own.device, desc, plan, NULL);

static heed_status check(const char *name, const void *desc, heed_report *report)
{
    CHECK(attn)
    FIXED_OPERATIONS(CHECK)
    return HEED_E_UNSUPPORTED;
}

static heed_status make(const char *name, const void *desc, heed_plan **plan)
{
    PLAN(attn)
    FIXED_OPERATIONS(PLAN)
    return HEED_E_UNSUPPORTED;
}

/* With ZOO_MASKS_OF_RUNS in the environment attention takes no mask but those that a run brings. */
static bool has_constant_mask(const heed_attn_desc *desc)
{
    bool has = false;

    for (uint32_t s = 0; s < desc->n_sources; s++) {
        const uint32_t slot = desc->sources[s].mask_slot;

        has = has || (slot > 0 && desc->slots[slot - 1].data);
    }
    return has;
}

static heed_status query(void *self, const char *op, const void *desc, heed_report *report)
{
    (void)self;
    if (getenv("ZOO_MASKS_OF_RUNS") && strcmp(op, "attn") == 0 && has_constant_mask(desc)) {
        strcpy(report->field, "sources.mask_slot");
        return HEED_E_UNSUPPORTED;
    }
    return !ready() || check(op, desc, report) < 0 ? HEED_E_UNSUPPORTED : HEED_OK;
}

static heed_status prepare(void *self, const char *op, const void *desc, void **state,
                           heed_plan_props *props)
{
    heed_plan *plan = NULL;
    heed_status status;

    (void)self;
    status = make(op, desc, &plan);
    if (status >= 0)
        status = heed_plan_info(plan, props);
    *state = plan;
    return status;
}

static heed_status run(void *state, const heed_buf *at, uint32_t n, const heed_run *how)
{
    return heed_plan_run(state, own.queue, at, n, how, NULL, NULL);
}

static void release(void *state)
{
    heed_plan_drop(state);
}

heed_status heed_kernel_entry(uint32_t host_major, const heed_host_api *host, heed_kernel_api *out)
{
    const heed_runtime_desc desc = { .size = sizeof desc,
                                     .allocator = host->allocator,
                                     .executor = host->executor,
                                     .cache_dir = getenv("HEED_CACHE_DIR") };

    if (host_major != HEED_PLUGIN_MAJOR)
        return HEED_E_NEWER;
    host_device = host->device;
    if (heed_runtime_create(&desc, &own.runtime, NULL) < 0 || (!MEMORY && !ready()))
        return HEED_E_UNSUPPORTED;
    *out = (heed_kernel_api){
        .size = sizeof *out,
        .major = HEED_PLUGIN_MAJOR,
        .minor = HEED_PLUGIN_MINOR,
        .numerics = HEED_NUMERICS_EXACT,
        .name = own.device ? heed_device_name(own.device) : "heed",
        .memory = MEMORY,
        .query = query,
        .prepare = prepare,
        .run = run,
        .release = release,
    };
    return HEED_OK;
}
