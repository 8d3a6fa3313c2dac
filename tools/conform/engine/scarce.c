/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Memory that runs out at every allocation of plan in turn.
 */
#include "scarce.h"

#include "common/os.h"

#include <stdlib.h>

bool cf_is_host(heed_device *device)
{
    heed_device_props props = { .size = sizeof props };

    return heed_device_info(device, &props) >= 0 && props.kind < HEED_DEVICE_OPENCL;
}

void cf_reach(struct reached *reached, heed_status status)
{
    if (status < 0 && status > -128)
        reached->bits[-status / 64] |= UINT64_C(1) << -status % 64;
}

struct counted {
    int64_t made, live, fail_at; /* fail_at -1: never */
};

static void *counted_alloc(void *context, size_t size, size_t align)
{
    struct counted *c = context;
    void *p;

    if (c->made++ == c->fail_at)
        return NULL;
    p = os_memory((size + 63) / 64 * 64 + 64, align < 64 ? 64 : align);
    c->live += p != NULL;
    return p;
}

static void counted_free(void *context, void *p, size_t size, size_t align)
{
    (void)size;
    (void)align;
    ((struct counted *)context)->live -= p != NULL;
    os_memory_free(p);
}

/* All of plan's allocations fail in turn: NOMEM; then it works. *kept: memory stayed. */
static heed_status failures_try(struct reached *reached, const struct target *on,
                                cf_planner *planner, void *context, struct counted *counted,
                                bool *kept)
{
    heed_status status = HEED_E_NOMEM;

    for (int64_t k = 0; status == HEED_E_NOMEM && k < 1000; k++) {
        const int64_t before = counted->live;
        heed_plan *plan = NULL;

        counted->made = 0;
        counted->fail_at = k;
        status = planner(context, on->device, &plan);
        cf_reach(reached, status);
        heed_plan_drop(plan);
        *kept = *kept || counted->live != before || (status < 0 && plan);
        if (k == 0 && status == HEED_OK)
            status = HEED_E_INTERNAL; /* plan allocates */
    }
    counted->fail_at = -1;
    return status;
}

/* Twice: what a device that is not the host's has compiled the first time, it keeps. */
void cf_errors_scarce(const char *device, cf_planner *planner, void *context, struct tally *tally,
                      struct reached *reached)
{
    struct counted counted = { .fail_at = -1 };
    const heed_allocator allocator = {
        .size = sizeof allocator, .context = &counted, .alloc = counted_alloc, .free = counted_free
    };
    struct target on = { 0 };

    if (!cf_target_open_with(&on, device, 1, &allocator, NULL)) {
        cf_tap(tally, false, NULL, device, "error", "allocation failures", "no runtime");
        return;
    }
    for (int warm = 0; warm < 2; warm++) {
        bool kept = false;
        const heed_status status = failures_try(reached, &on, planner, context, &counted, &kept);

        kept = kept && (warm || cf_is_host(on.device));
        cf_tap(tally, status == HEED_OK && !kept, NULL, device, "error",
               warm ? "each allocation of a second plan fails in turn"
                    : "each allocation of plan fails in turn",
               kept ? "memory was kept" : heed_status_name(status));
    }
    cf_target_close(&on);
    cf_tap(tally, counted.live == 0, NULL, device, "error", "the runtime gives back all memory",
           "it did not");
}
