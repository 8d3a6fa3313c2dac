/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Errors that no single field of a descriptor makes: runtime, device, queue and buffer calls;
 * aliasing, workspace, devices that do not match; memory that runs out at every allocation in turn;
 * a plan that is busy.
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

static bool is_host(heed_device *device)
{
    heed_device_props props = { .size = sizeof props };

    return heed_device_info(device, &props) >= 0 && props.kind < HEED_DEVICE_OPENCL;
}

static struct problem *base_make(const char *line)
{
    struct cs c;
    char why[128];

    return cf_case_parse(line, &c, why) ? cf_problem_make(&c, NULL, 0, true) : NULL;
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
           is_host(on->device) ? HEED_E_NOMEM : HEED_E_DEVICE_NOMEM,
           heed_buf_create(on->device, UINT64_MAX, &buf, NULL));
    expect(t, on->name, "write from nowhere", HEED_E_NULL,
           heed_buf_write(on->queue, buf, NULL, 8, NULL));
    expect(t, on->name, "wait for no queue", HEED_E_NULL, heed_queue_wait(NULL, NULL));
    expect(t, on->name, "wait for no event", HEED_E_NULL, heed_event_wait(NULL, NULL));
    expect(t, on->name, "properties too short", HEED_E_SIZE, heed_device_info(on->device, &props));
    expect(t, on->name, "properties of no plan", HEED_E_NULL, heed_plan_info(NULL, &plan_props));
    expect(t, on->name, "check without descriptor", HEED_E_NULL,
           heed_attn_check(on->device, NULL, NULL));
    cf_tap(t->tally, !device && !queue && !buf.handle, NULL, on->name, "error",
           "out-parameters are not written", "one was");
}

/* The descriptor with bytes behind it, which must be zero. */
static void newer_errors(struct point *t, const struct target *on, const struct problem *p)
{
    struct {
        heed_attn_desc desc;
        uint64_t tail;
    } longer = { .tail = 0 };
    struct {
        heed_term term;
        uint64_t tail;
    } terms[MAX_TERMS];
    struct call *call = calloc(1, sizeof *call);

    memset(terms, 0, sizeof terms);
    if (call && cf_call_make(call, on, p, 0, 1)) {
        longer.desc = call->desc;
        longer.desc.size = sizeof longer;
        expect(t, on->name, "a longer descriptor, zero", HEED_OK,
               heed_attn_check(on->device, &longer.desc, NULL));
        longer.tail = 1;
        expect(t, on->name, "a longer descriptor, not zero", HEED_E_NEWER,
               heed_attn_check(on->device, &longer.desc, NULL));
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
    if (call)
        cf_call_finish(call);
    free(call);
}

/* A run with changed arguments: the status, and that the outputs are as before. */
static void expect_run(struct point *t, struct call *call, const heed_plan *plan,
                       const heed_queue *queue, const heed_attn_args *args, const char *what,
                       heed_status wanted)
{
    heed_report report = { .size = sizeof report };
    char why[128] = "";

    expect(t, call->on->name, what, wanted,
           heed_attn_run(plan, (heed_queue *)queue, args, NULL, &report));
    cf_tap(t->tally, cf_call_outputs_same(call, why), NULL, call->on->name, "error, outputs", what,
           why);
}

static void alias_errors(struct point *t, struct call *call, const heed_plan *plan)
{
    heed_attn_args args = call->args;
    heed_kv_bufs kv[MAX_SOURCES];

    args.o = args.q;
    expect_run(t, call, plan, call->on->queue, &args, "o is q", HEED_E_ALIAS);
    args = call->args;
    args.lse = args.o;
    expect_run(t, call, plan, call->on->queue, &args, "lse is o", HEED_E_ALIAS);
    args = call->args;
    memcpy(kv, call->kv, sizeof kv);
    kv[0].v = args.o;
    kv[0].v.offset += 4;
    args.kv = kv;
    expect_run(t, call, plan, call->on->queue, &args, "v overlaps o by all but one element",
               HEED_E_ALIAS);
    args = call->args;
    if (args.workspace_size) {
        args.workspace_size--;
        expect_run(t, call, plan, call->on->queue, &args, "workspace one byte short",
                   HEED_E_WORKSPACE);
        args.workspace_size = 0;
        args.workspace = (heed_buf){ 0 };
        expect_run(t, call, plan, call->on->queue, &args, "no workspace", HEED_E_WORKSPACE);
        args = call->args;
        args.workspace.offset++;
        args.workspace_size++;
        expect_run(t, call, plan, call->on->queue, &args, "workspace at an odd address",
                   HEED_E_ALIGN);
    }
}

static void run_errors(struct point *t, const struct target *on, const struct target *other,
                       const struct problem *p)
{
    heed_plan_props props = { .size = sizeof props };
    heed_plan *plan = NULL;
    heed_buf work = { 0 };
    struct call *call = calloc(1, sizeof *call);

    if (call && cf_call_make(call, on, p, 0, 3) && cf_call_plan(call, &plan, NULL) >= 0 &&
        heed_plan_info(plan, &props) >= 0 &&
        heed_buf_create(on->device, props.workspace_size + 64, &work, NULL) >= 0) {
        call->args.workspace = work;
        call->args.workspace_size = props.workspace_size;
        alias_errors(t, call, plan);
        expect_run(t, call, NULL, on->queue, &call->args, "run without plan", HEED_E_NULL);
        expect_run(t, call, plan, NULL, &call->args, "run without queue", HEED_E_NULL);
        expect_run(t, call, plan, on->queue, NULL, "run without arguments", HEED_E_NULL);
        expect_run(t, call, plan, other->queue, &call->args, "a queue of another device",
                   HEED_E_MISMATCH);
    } else {
        cf_tap(t->tally, false, NULL, on->name, "error", "run arguments", "the legal case failed");
    }
    heed_buf_destroy(on->device, work);
    heed_plan_drop(plan);
    if (call)
        cf_call_finish(call);
    free(call);
}

/* ---- memory that runs out ---------------------------------------------------- */

struct counted {
    int64_t made, live, fail_at; /* fail_at -1: never */
};

static void *counted_alloc(void *context, size_t size, size_t align)
{
    struct counted *c = context;
    void *p;

    if (c->made++ == c->fail_at)
        return NULL;
    p = aligned_alloc(align < 64 ? 64 : align, (size + 63) / 64 * 64 + 64);
    c->live += p != NULL;
    return p;
}

static void counted_free(void *context, void *p, size_t size, size_t align)
{
    (void)size;
    (void)align;
    ((struct counted *)context)->live -= p != NULL;
    free(p);
}

/* All of plan's allocations fail in turn: NOMEM; then it works. *kept: memory stayed. */
static heed_status failures_try(struct point *t, const struct target *on, cf_planner *planner,
                                void *context, struct counted *counted, bool *kept)
{
    heed_status status = HEED_E_NOMEM;

    for (int64_t k = 0; status == HEED_E_NOMEM && k < 1000; k++) {
        const int64_t before = counted->live;
        heed_plan *plan = NULL;

        counted->made = 0;
        counted->fail_at = k;
        status = planner(context, on->device, &plan);
        cf_reach(t->reached, status);
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
    struct point t = { tally, reached };
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
        const heed_status status = failures_try(&t, &on, planner, context, &counted, &kept);

        kept = kept && (warm || is_host(on.device));
        cf_tap(tally, status == HEED_OK && !kept, NULL, device, "error",
               warm ? "each allocation of a second plan fails in turn"
                    : "each allocation of plan fails in turn",
               kept ? "memory was kept" : heed_status_name(status));
    }
    cf_target_close(&on);
    cf_tap(tally, counted.live == 0, NULL, device, "error", "the runtime gives back all memory",
           "it did not");
}

static heed_status attn_planner(void *context, heed_device *device, heed_plan **plan)
{
    return heed_attn_plan(device, context, plan, NULL);
}

static void memory_errors(struct point *t, const char *device, const struct problem *p)
{
    struct call *call = calloc(1, sizeof *call);

    if (call && cf_call_describe(call, p, 0))
        cf_errors_scarce(device, attn_planner, &call->desc, t->tally, t->reached);
    else
        cf_tap(t->tally, false, NULL, device, "error", "allocation failures", "no memory");
    if (call)
        cf_call_finish(call);
    free(call);
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
    struct call *call = calloc(1, sizeof *call);
    heed_queue *second = NULL;
    heed_plan *plan = NULL;
    heed_status status = HEED_E_INTERNAL;

    snprintf(on.name, sizeof on.name, "%s", device);
    if (call && heed_runtime_create(&desc, &on.runtime, NULL) >= 0 &&
        heed_device_find(on.runtime, device, &on.device, NULL) >= 0 &&
        heed_queue_create(on.device, 0, &on.queue, NULL) >= 0 &&
        heed_queue_create(on.device, 0, &second, NULL) >= 0 && cf_call_make(call, &on, p, 0, 4)) {
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
    if (call)
        cf_call_finish(call);
    free(call);
    heed_queue_destroy(second);
    cf_target_close(&on);
}

void cf_errors_api(const struct target *targets, int n, struct tally *tally,
                   struct reached *reached)
{
    struct point t = { tally, reached };
    struct problem *p = base_make(cf_fault_base);

    runtime_errors(&t);
    if (!p) {
        cf_tap(tally, false, NULL, "all", "error", "base", "no memory");
        return;
    }
    for (int i = 0; i < n; i++) {
        object_errors(&t, &targets[i]);
        newer_errors(&t, &targets[i], p);
        run_errors(&t, &targets[i], &targets[(i + 1) % n], p);
        memory_errors(&t, targets[i].name, p);
        busy_error(&t, targets[i].name, p);
    }
    cf_problem_free(p);
}
