/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Errors of runtime, device, queue and buffer calls; longer terms; a plan that is busy.
 */
#include "errors.h"

#include <stdlib.h>
#include <string.h>

struct point {
    struct tally *tally;
    struct reached *reached;
};

static void expect(struct point *t, const char *device, const char *what, heed_status wanted,
                   heed_status got)
{
    char why[160];

    cf_reach(t->reached, got);
    snprintf(why, sizeof why, "wanted %s, got %s", heed_status_name(wanted), heed_status_name(got));
    cf_tap(t->tally, wanted == got, NULL, device, "error", what, why);
}

/* The status of finding a device whose backend is not compiled in; HEED_OK: all are. */
static heed_status find_absent(heed_runtime *runtime)
{
    static const char *const names[] = { "opencl:0", "cuda:0" };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        heed_device *device = NULL;
        const heed_status status = heed_device_find(runtime, names[i], &device, NULL);

        if (status == HEED_E_NOT_BUILT)
            return device ? HEED_E_INTERNAL : status;
    }
    return HEED_OK;
}

static void runtime_errors(struct point *t)
{
    heed_runtime_desc desc = { .size = sizeof desc };
    heed_allocator allocator = { .size = sizeof allocator };
    heed_executor executor = { .size = sizeof executor };
    struct {
        heed_runtime_desc desc;
        uint64_t tail;
    } longer = { { .size = sizeof longer }, 1 };
    heed_runtime *rt = NULL;

    expect(t, "runtime", "create without out", HEED_E_NULL, heed_runtime_create(NULL, NULL, NULL));
    desc.size = 4;
    expect(t, "runtime", "descriptor too short", HEED_E_SIZE,
           heed_runtime_create(&desc, &rt, NULL));
    desc.size = sizeof desc;
    desc.flags = 1;
    expect(t, "runtime", "unknown flag", HEED_E_FLAG, heed_runtime_create(&desc, &rt, NULL));
    desc.flags = 0;
    desc.allocator = &allocator;
    expect(t, "runtime", "allocator without functions", HEED_E_NULL,
           heed_runtime_create(&desc, &rt, NULL));
    desc.allocator = NULL;
    executor.size = 4;
    desc.executor = &executor;
    expect(t, "runtime", "executor too short", HEED_E_SIZE, heed_runtime_create(&desc, &rt, NULL));
    expect(t, "runtime", "a tail that is not zero", HEED_E_NEWER,
           heed_runtime_create(&longer.desc, &rt, NULL));
    cf_tap(t->tally, rt == NULL, NULL, "runtime", "error", "out is not written", "it was");
}

static void object_errors(struct point *t, const struct target *on)
{
    heed_device *device = NULL;
    heed_queue *queue = NULL;
    heed_buf buf = { 0 };
    heed_device_props props = { .size = 4 };
    heed_plan_props plan_props = { .size = sizeof plan_props };

    expect(t, on->name, "find without out", HEED_E_NULL,
           heed_device_find(on->runtime, "cpu", NULL, NULL));
    expect(t, on->name, "find an unknown name", HEED_E_NOT_FOUND,
           heed_device_find(on->runtime, "abacus", &device, NULL));
    if (find_absent(on->runtime) != HEED_OK)
        expect(t, on->name, "find what is not built", HEED_E_NOT_BUILT, find_absent(on->runtime));
    expect(t, on->name, "queue without device", HEED_E_NULL,
           heed_queue_create(NULL, 0, &queue, NULL));
    expect(t, on->name, "queue with a flag", HEED_E_FLAG,
           heed_queue_create(on->device, 1, &queue, NULL));
    expect(t, on->name, "buffer without out", HEED_E_NULL,
           heed_buf_create(on->device, 8, NULL, NULL));
    expect(t, on->name, "buffer too large",
           cf_is_host(on->device) ? HEED_E_NOMEM : HEED_E_DEVICE_NOMEM,
           heed_buf_create(on->device, UINT64_MAX, &buf, NULL));
    expect(t, on->name, "write from nowhere", HEED_E_NULL,
           heed_buf_write(on->queue, buf, NULL, 8, NULL));
    expect(t, on->name, "wait for no queue", HEED_E_NULL, heed_queue_wait(NULL, NULL));
    expect(t, on->name, "wait for no event", HEED_E_NULL, heed_event_wait(NULL, NULL));
    expect(t, on->name, "properties too short", HEED_E_SIZE, heed_device_info(on->device, &props));
    expect(t, on->name, "properties of no plan", HEED_E_NULL, heed_plan_info(NULL, &plan_props));
    cf_tap(t->tally, !device && !queue && !buf.handle, NULL, on->name, "error",
           "out-parameters are not written", "one was");
}

/* Terms with bytes behind them, which must be zero. */
static void newer_errors(struct point *t, const struct target *on, const struct problem *p)
{
    struct {
        heed_term term;
        uint64_t tail;
    } terms[MAX_TERMS];
    struct call *call = calloc(1, sizeof *call);

    memset(terms, 0, sizeof terms);
    if (call && cf_call_describe(call, p, 0)) {
        for (int i = 0; i < MAX_TERMS; i++)
            terms[i].term = call->term[0][i];
        call->source[0].terms = &terms[0].term;
        call->source[0].term_size = sizeof terms[0];
        expect(t, on->name, "longer terms, zero", HEED_OK,
               heed_attn_check(on->device, &call->desc, NULL));
        terms[1].tail = UINT64_C(1) << 63;
        expect(t, on->name, "longer terms, not zero", HEED_E_NEWER,
               heed_attn_check(on->device, &call->desc, NULL));
    }
    job_drop(call ? &call->job : NULL);
}

/* ---- a busy plan -------------------------------------------------------------- */

/* The executor runs the same plan again before it starts the first run's work. */
struct nested {
    heed_plan *plan;
    heed_queue *queue;
    const heed_attn_args *args;
    heed_status status;
    bool inside, asked;
};

static void nested_parallel(void *context, uint32_t width, void (*body)(void *arg, uint32_t worker),
                            void *arg)
{
    struct nested *n = context;

    if (n->plan && !n->inside) {
        n->inside = true;
        n->asked = true;
        n->status = heed_attn_run(n->plan, n->queue, n->args, NULL, NULL);
        n->inside = false;
    }
    for (uint32_t worker = 0; worker < width; worker++)
        body(arg, worker);
}

static void busy_error(struct point *t, const char *device, const struct problem *p)
{
    struct nested nested = { .status = HEED_OK };
    const heed_executor executor = {
        .size = sizeof executor, .width = 2, .context = &nested, .parallel = nested_parallel
    };
    const heed_runtime_desc desc = { .size = sizeof desc, .executor = &executor };
    struct target on = { 0 };
    struct job *job = NULL;
    heed_queue *second = NULL;
    heed_plan *plan = NULL;
    heed_status status = HEED_E_INTERNAL;

    snprintf(on.name, sizeof on.name, "%s", device);
    if (heed_runtime_create(&desc, &on.runtime, NULL) >= 0 &&
        heed_device_find(on.runtime, device, &on.device, NULL) >= 0 &&
        heed_queue_create(on.device, 0, &on.queue, NULL) >= 0 &&
        heed_queue_create(on.device, 0, &second, NULL) >= 0)
        job = cf_job_make(&cf_attn_families, p, &on, 0, 4);
    if (job) {
        struct call *const call = cf_call_of(job);

        call->desc.flags |= HEED_PLAN_OWN_WORKSPACE;
        if (heed_attn_plan(on.device, &call->desc, &plan, NULL) >= 0) {
            nested.plan = plan;
            nested.queue = second;
            nested.args = &call->args;
            status = heed_attn_run(plan, on.queue, &call->args, NULL, NULL);
        }
    }
    if (nested.asked)
        expect(t, device, "run within a run of a plan that owns its workspace", HEED_E_BUSY,
               nested.status);
    cf_tap(t->tally, status == HEED_OK, NULL, device, "error", "the outer run is not disturbed",
           heed_status_name(status));
    heed_plan_drop(plan);
    job_drop(job);
    heed_queue_destroy(second);
    cf_target_close(&on);
}

void cf_errors_api(const void *base, const struct target *targets, int n, struct tally *tally,
                   struct reached *reached)
{
    struct point t = { tally, reached };

    runtime_errors(&t);
    for (int i = 0; i < n; i++) {
        object_errors(&t, &targets[i]);
        newer_errors(&t, &targets[i], base);
        busy_error(&t, targets[i].name, base);
    }
}
