/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Small structured problems of every operation on guarded memory, on the reference and on the host
 * processor by every instruction set it has, by the operation's own run or by heed_plan_run().
 * Promised and asked for here: check and plan agree; the same answers and the same report
 * everywhere, the same bits in outputs and states; nothing touched outside the arrays, inputs and
 * the bytes between the elements of outputs unchanged, outputs too on an error; no allocation in
 * run, the floating-point environment as it was; memory given back, also when an allocation fails;
 * results that the conformance kit's oracle calls right, and what the operation adds (own.h).
 */
#define _POSIX_C_SOURCE 200809L

#include "fuzz.h"
#include "own.h"
#include "world.h"

#include "conform/engine/errors.h"

#include <fenv.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { CHECK, PLAN, VALIDATE, RUN, CALLS, ARGS_MOST = 1024, TAIL = 16, SHORT = 24 };

static struct {
    struct fuzz_heap *heap;
    struct fuzz_world *world;
    struct fuzz_case c;
    struct fuzz_arrays arrays;
    bool vast;                 /* it needs more than there is, and may be refused for that */
    bool ran;                  /* on the first device */
    heed_report wanted[CALLS]; /* of the first device */
} w;

/* A run as it is asked for: where arrays and workspace lie, and the operation's arguments. */
struct request {
    bool by_operands;
    heed_run run;
    heed_buf at[JOB_PLAN_OPERANDS];
    int n;
    union {
        uint32_t size;
        uint8_t bytes[ARGS_MOST];
        max_align_t align;
    } args;
    void *own; /* workspace that fits into no place */
};

/* ---- the request -------------------------------------------------------- */

static void workspace_give(struct request *r, uint64_t size, uint64_t align)
{
    const bool flush = w.c.at_end >> 63;
    uint8_t *p =
        size % align == 0 || !flush ? fuzz_place(FUZZ_WORKSPACE, (size_t)size, flush) : NULL;

    FUZZ_REQUIRE(align != 0 && (align & (align - 1)) == 0 && align <= 4096, "workspace_align %llu",
                 (unsigned long long)align);
    FUZZ_REQUIRE(size < UINT64_C(1) << 28, "a workspace of %llu bytes for little work",
                 (unsigned long long)size);
    if (!p)
        FUZZ_REQUIRE(posix_memalign(&r->own, align < 8 ? 8 : align, size ? size : 1) == 0,
                     "no memory for a workspace");
    r->run.workspace.handle = p ? p : r->own;
    memset(r->run.workspace.handle, 0xff, (size_t)size); /* NaN, if it were read */
    r->run.workspace_size = size;
}

static void array_spoil(void)
{
    const struct fuzz_array *const x = &w.arrays.at[w.c.which % (uint32_t)w.c.job->n];
    heed_buf *const buf = &x->x->place->buf;

    if (w.c.trouble == FUZZ_NO_HANDLE)
        buf->handle = NULL;
    else if (w.c.trouble == FUZZ_ODD_OFFSET)
        buf->offset = fuzz_dtype_size(x->t->dtype) > 1;
    else if (w.c.trouble == FUZZ_FAR_OFFSET)
        buf->offset = UINT64_MAX - 63;
}

/* What only arguments by name can have. */
static void args_spoil(struct request *r)
{
    if (w.c.trouble == FUZZ_SHORT_SIZE)
        r->args.size = SHORT;
    if (w.c.trouble == FUZZ_TAIL_SET)
        r->args.bytes[r->args.size + TAIL / 2] = 1;
    if (w.c.trouble == FUZZ_LONG_SIZE || w.c.trouble == FUZZ_TAIL_SET)
        r->args.size += TAIL;
}

static void request_make(struct request *r, const heed_plan *plan, uint32_t device)
{
    const struct cf_errors *const e = cf_op->errors;
    int order[JOB_PLAN_OPERANDS];
    uint32_t size;

    fuzz_arrays_bind(&w.arrays);
    array_spoil();
    w.c.job->placed(w.c.job);
    e->workspace(w.c.job, r->run.workspace, r->run.workspace_size);
    if (w.c.trouble == FUZZ_OWN)
        w.c.own->confuse(w.c.job, w.c.which);
    memcpy(&size, e->args(w.c.job), sizeof(size));
    FUZZ_REQUIRE(size + TAIL <= ARGS_MOST, "arguments of %u bytes", size);
    memset(r->args.bytes, 0, sizeof(r->args.bytes));
    memcpy(r->args.bytes, e->args(w.c.job), size);
    args_spoil(r);
    r->n = job_order(w.c.job, plan, order);
    FUZZ_REQUIRE(r->n >= 0, "op=%s: a plan has an operand that its descriptor has not",
                 cf_op->name);
    for (int i = 0; i < r->n; i++)
        r->at[i] = order[i] >= 0 ? w.c.job->operand[order[i]].place->buf : (heed_buf){ 0 };
    r->run.n_wait = w.c.trouble == FUZZ_NO_EVENTS;
    r->by_operands = w.c.trouble == FUZZ_NO_EVENTS ||
                     (w.c.by_operands >> device % 8 & 1 && w.c.trouble < FUZZ_BY_NAME);
}

/* ---- a run -------------------------------------------------------------- */

static const int roundings[] = { FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO };

static heed_status run_guarded(const heed_plan *plan, uint32_t device, const struct request *r,
                               heed_report *report)
{
    const uint64_t calls = w.heap->calls;
    const int rounding = roundings[w.c.rounding];
    heed_queue *const queue = w.world->queues[device];
    heed_status status;
    int found;

    fuzz_places_close(FUZZ_PLACES_USED, true);
    fesetround(rounding);
    status = r->by_operands
                 ? heed_plan_run(plan, queue, r->at, (uint32_t)r->n, &r->run, NULL, report)
                 : w.c.job->run(plan, queue, r->args.bytes, NULL, report);
    found = fegetround();
    fesetround(FE_TONEAREST);
    fuzz_places_close(FUZZ_PLACES_USED, false);
    FUZZ_REQUIRE(found == rounding, "run left another rounding");
    FUZZ_REQUIRE(w.heap->calls == calls, "run allocated");
    FUZZ_REQUIRE(report->status == status, "run answers %d, the report %d", status, report->status);
    fuzz_arrays_compare(&w.arrays, status >= 0, "run");
    return status;
}

static bool is_any_loose(void)
{
    for (int i = 0; i < w.c.job->n; i++) {
        if (w.arrays.at[i].loose)
            return true;
    }
    return false;
}

static void outputs_judge(uint32_t device)
{
    if (device == 0)
        fuzz_arrays_keep(&w.arrays);
    else
        fuzz_arrays_judge(&w.arrays, device);
    if (device == 0 || is_any_loose())
        w.c.own->judge(&w.arrays, device == 0);
    w.ran = w.ran || device == 0;
}

/* May a device refuse what the reference answers otherwise? Extents of an array without elements
 * may be more than it can number, and it then says so. */
static bool may_refuse(const heed_report *report)
{
    if (report->status == HEED_E_NOMEM)
        return w.vast;
    return report->status == HEED_E_UNSUPPORTED &&
           (w.vast || (w.c.strange && strstr(report->message, "more than the device can number")));
}

static void report_compare(uint32_t device, int call, const heed_report *report)
{
    const heed_report *const wanted = &w.wanted[call];

    if (device == 0)
        w.wanted[call] = *report;
    FUZZ_REQUIRE(memcmp(report, wanted, sizeof(*report)) == 0 || may_refuse(report),
                 "op=%s: call %d on device %u: %s (%s), wanted %s (%s)", cf_op->name, call, device,
                 heed_status_name(report->status), report->message,
                 heed_status_name(wanted->status), wanted->message);
}

static void plan_run(const heed_plan *plan, uint32_t device)
{
    heed_plan_props props = { .size = sizeof(props) };
    heed_report before = { .size = sizeof(before) }, report = { .size = sizeof(report) };
    struct request r = { .n = 0 };

    FUZZ_REQUIRE(heed_plan_info(plan, &props) == HEED_OK, "no properties of a plan");
    FUZZ_REQUIRE(props.host_bytes <= w.heap->live, "a plan holds more than there is");
    if (props.workspace_size > 0)
        workspace_give(&r, props.workspace_size, props.workspace_align);
    if (props.workspace_size > 0 && w.c.trouble == FUZZ_SHORT_WORKSPACE) {
        r.run.workspace_size--;
        request_make(&r, plan, device);
        FUZZ_REQUIRE(run_guarded(plan, device, &r, &report) < 0, "a short workspace will do");
        r.run.workspace_size++;
    }
    request_make(&r, plan, device);
    if (w.c.own->validate) {
        (void)w.c.own->validate(plan, w.world->queues[device], r.args.bytes, &before);
        fuzz_arrays_compare(&w.arrays, false, "validate");
        report_compare(device, VALIDATE, &before);
    }
    if (run_guarded(plan, device, &r, &report) >= 0)
        outputs_judge(device);
    report_compare(device, RUN, &report);
    free(r.own);
}

/* ---- one device --------------------------------------------------------- */

/* An allocation of plan fails: NOMEM, or it was not reached. */
static void plan_fail(uint32_t device, heed_status wanted)
{
    const uint64_t live = w.heap->live;
    heed_plan *plan = NULL;
    heed_status status;

    w.heap->fail_at = w.c.fail_at;
    status = w.c.job->plan(w.world->devices[device], w.c.job->desc, &plan, NULL);
    w.heap->fail_at = 0;
    heed_plan_drop(plan);
    FUZZ_REQUIRE(status == wanted || status == HEED_E_NOMEM, "plan with a failing allocation: %s",
                 heed_status_name(status));
    FUZZ_REQUIRE(w.heap->live == live, "a failed plan left memory");
}

static void device_run(uint32_t device)
{
    const uint64_t live = w.heap->live;
    heed_report said = { .size = sizeof(said) }, did = { .size = sizeof(did) };
    heed_plan *plan = NULL;
    const heed_status check = w.c.job->check(w.world->devices[device], w.c.job->desc, &said);
    heed_status status;

    FUZZ_REQUIRE(w.heap->live == live, "check kept memory");
    report_compare(device, CHECK, &said);
    if (w.c.fail_at)
        plan_fail(device, check);
    status = w.c.job->plan(w.world->devices[device], w.c.job->desc, &plan, &did);
    FUZZ_REQUIRE((status < 0) == (plan == NULL), "plan answered %d", status);
    FUZZ_REQUIRE((status == check && strcmp(said.field, did.field) == 0) ||
                     (w.vast && status == HEED_E_NOMEM),
                 "check says %s (%s), plan %s (%s): %s", heed_status_name(check), said.field,
                 heed_status_name(status), did.field, did.message);
    report_compare(device, PLAN, &did);
    fuzz_arrays_compare(&w.arrays, false, "plan");
    if (plan && !w.vast)
        plan_run(plan, device);
    heed_plan_drop(plan);
    FUZZ_REQUIRE(w.heap->live == live, "a dropped plan left memory");
    fuzz_arrays_restore(&w.arrays);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > FUZZ_INPUT_MOST)
        return 0;
    w.heap = fuzz_world_heap();
    fuzz_case_make(&w.c, fuzz_world(1)->devices[0], data, size);
    w.world = fuzz_world(w.c.workers);
    fuzz_arrays_make(&w.arrays, &w.c);
    w.vast = !w.arrays.placed || w.c.own->heavy(&w.arrays);
    w.ran = false;
    for (uint32_t i = 0; i < w.world->n; i++)
        device_run(i);
    fuzz_arrays_finish(&w.arrays);
    fuzz_case_finish(&w.c);
    return 0;
}

/* Random bytes, every operation in turn; those of every fourth number may fail, the others must
 * compute something. */
size_t fuzz_seed(uint32_t number, uint8_t data[FUZZ_INPUT_MOST])
{
    struct rng numbers = rng_of(number);
    const size_t size = 60 + number % 7 * 60;

    for (size_t i = 0; i < size; i++)
        data[i] = fuzz_byte(&numbers);
    data[0] = (uint8_t)number;
    (void)LLVMFuzzerTestOneInput(data, size);
    return w.ran || number % 4 == 3 ? size : 0;
}
