/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The family check: check says what plan will, for descriptors with extents up to 2^62, on every
 * device. The runtime refuses large blocks, so that nothing of such a size is ever taken.
 */
#include "errors.h"
#include "tap.h"

#include "common/os.h"

#include <stdlib.h>

enum { BLOCK_MOST = 64 << 20 };

/* What plan may say where check said yes: it makes something. */
bool cf_may_fail(heed_status status)
{
    return status == HEED_E_NOMEM || status == HEED_E_DEVICE_NOMEM || status == HEED_E_KERNEL_BUILD;
}

static void *small_alloc(void *context, size_t size, size_t align)
{
    (void)context;
    if (size > BLOCK_MOST)
        return NULL;
    return os_memory((size + 63) / 64 * 64 + 64, align < 64 ? 64 : align);
}

static void small_free(void *context, void *p, size_t size, size_t align)
{
    (void)context;
    (void)size;
    (void)align;
    os_memory_free(p);
}

static heed_allocator small_allocator(void)
{
    return (heed_allocator){ .size = sizeof(heed_allocator),
                             .alloc = small_alloc,
                             .free = small_free };
}

static void device_ask(struct tally *tally, const char *name, int64_t cases, uint64_t seed)
{
    const heed_allocator allocator = small_allocator();
    struct rng r = rng_of(seed);
    heed_report report = { .size = sizeof report };
    struct target on;

    if (!cf_target_open_with(&on, name, 2, &allocator, &report)) {
        cf_tap(tally, false, NULL, name, "check", "", report.message);
        return;
    }
    for (int64_t i = 0; i < cases; i++) {
        char line[LINE] = "";
        struct job *const job = cf_op->errors->vast(&r, i, cf_is_host(on.device), line);
        struct verdict v = { 0 };

        if (job)
            cf_check_and_plan(job, on.device, &v);
        else
            cf_fail(&v, "no memory");
        cf_tap(tally, !v.failed, NULL, name, "check", line, v.why);
        job_drop(job);
    }
    cf_target_close(&on);
}

void cf_family_check(const struct target *targets, int n, int64_t cases, uint64_t seed,
                     struct tally *tally)
{
    for (int i = 0; i < n; i++)
        device_ask(tally, targets[i].name, cases, seed);
}
