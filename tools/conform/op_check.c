/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The check family of operations with fixed arrays: check says what plan will, for descriptors with
 * extents up to 2^62, on every device. The runtime refuses large blocks, so that nothing of such a
 * size is ever taken.
 */
#include "fixed.h"

#include <stdlib.h>
#include <string.h>

void fixed_check_and_plan(const struct fixed *op, heed_device *device, const void *desc,
                          struct verdict *v)
{
    heed_report said = { .size = sizeof said }, did = { .size = sizeof did };
    heed_plan *plan = NULL;
    const heed_status check = op->check(device, desc, &said),
                      status = op->plan(device, desc, &plan, &did);

    heed_plan_drop(plan);
    if ((status < 0) != (plan == NULL))
        cf_fail(v, "plan answers %s and makes %s plan", heed_status_name(status),
                plan ? "a" : "no");
    if (check >= 0 && cf_may_fail(status))
        return;
    if (check != status || strcmp(said.field, did.field) != 0)
        cf_fail(v, "check says %s (%s: %s), plan %s (%s: %s)", heed_status_name(check), said.field,
                said.message, heed_status_name(status), did.field, did.message);
}

static const int64_t vast_counts[] = {
    33, 1 << 12, 1 << 20, INT64_C(1) << 31, (INT64_C(1) << 31) + 1, INT64_C(1) << 33,
    INT64_C(1) << 40, INT64_C(1) << 60, INT64_C(1) << 62, INT64_MAX, 0, 1,
};

/* Any levels, legal or not; of the fields that may be vast one or two are. */
static void vast_draw(struct rng *r, const struct fixed *op, struct cs *c)
{
    const int64_t n = (int64_t)(sizeof vast_counts / sizeof *vast_counts);

    cf_case_default(c);
    for (int i = 0; i < cf_n_fields; i++) {
        if (rng_below(r, 3) == 0)
            c->v[i] = cf_fields[i].level[rng_below(r, cf_fields[i].n_levels)];
    }
    for (int i = 0; i < op->n_specs; i++) {
        if (op->vast >> i & 1 && rng_below(r, 3) == 0)
            c->v[F_OWN + i] = vast_counts[rng_below(r, n)];
    }
    cf_case_normalize(c);
    c->seed = rng_next(r) >> 24;
}

static void device_ask(const struct fixed *op, struct tally *tally, const char *name, int64_t cases,
                       uint64_t seed)
{
    const heed_allocator allocator = cf_small_allocator();
    struct fixed_call *call = calloc(1, sizeof *call);
    struct rng r = rng_of(seed);
    heed_report report = { .size = sizeof report };
    heed_device_props props = { .size = sizeof props };
    struct target on;

    if (!call || !cf_target_open_with(&on, name, 2, &allocator, &report) ||
        heed_device_info(on.device, &props) < 0) {
        cf_tap(tally, false, NULL, name, "check", "", report.message);
        free(call);
        return;
    }
    for (int64_t i = 0; i < cases; i++) {
        struct verdict v = { 0 };
        struct fixed_problem *p;
        struct cs c;
        char line[LINE];

        vast_draw(&r, op, &c);
        if (props.kind >= HEED_DEVICE_OPENCL)
            c.v[F_WS] = 0; /* only what the runtime's allocator gives may be the plan's own */
        cf_case_print(&c, line);
        p = fixed_problem_make(&c, false);
        if (p) {
            fixed_call_vast(call, p, &r);
            fixed_check_and_plan(op, on.device, call->desc.bytes, &v);
        } else {
            cf_fail(&v, "no memory");
        }
        cf_tap(tally, !v.failed, NULL, name, "check", line, v.why);
        fixed_problem_free(p);
    }
    free(call);
    cf_target_close(&on);
}

void fixed_family_check(const struct fixed *op, const struct target *targets, int n, int64_t cases,
                        uint64_t seed, struct tally *tally)
{
    for (int i = 0; i < n; i++)
        device_ask(op, tally, targets[i].name, cases, seed);
}
