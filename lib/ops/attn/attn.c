/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Attention as a row of the table of operations, and its public entry points.
 */
#include "attn.h"

#include "check.h"
#include "../../core/error.h"
#include "../../core/sized.h"
#include "../../launch/launch.h"
#include "../../launch/operands.h"
#include "../../spans.h"
#include "validate.h"
#include "blocks.h"
#include "visible.h"

#include <fenv.h>

static heed_status check(struct heed_plan *plan, struct heed_arena *arena, const void *desc,
                         heed_report *report)
{
    const struct heed_checked *attn = NULL;
    heed_status status = heed_check_attn(desc, arena, &attn, report);

    if (status >= 0)
        status = heed_attn_lay(plan, attn, arena, report);
    if (status < 0)
        return status;
    plan->numerics = attn->numerics;
    plan->own_workspace = (((const heed_attn_desc *)desc)->flags & HEED_PLAN_OWN_WORKSPACE) != 0;
    return HEED_OK;
}

static heed_status lower(struct heed_plan *plan, struct heed_arena *arena, heed_report *report)
{
    const struct heed_lowered *lowered = NULL;
    const heed_status status = heed_spans_build(heed_attn_of(plan), arena, &lowered, report);

    plan->params = lowered;
    return status;
}

static void work(const struct heed_plan *plan, uint64_t *flops, uint64_t *bytes)
{
    heed_spans_work(heed_attn_of(plan), heed_lowered_of(plan), flops, bytes);
}

const struct heed_op heed_op_attn = {
    .id = HEED_OP_ATTN,
    .name = "attn",
    .check = check,
    .lower = lower,
    .place = heed_attn_place,
    .work = work,
};

/* What all devices say of a descriptor, in the default environment, without any of them. */
static heed_status check_alone(const heed_attn_desc *desc, heed_report *report)
{
    struct heed_plan plan = { .op = &heed_op_attn };
    heed_status status = heed_op_require(desc, "desc", report);
    struct heed_arena arena;
    fenv_t caller;

    if (status < 0)
        return status;
    heed_arena_init(&arena, NULL); /* no device, so no runtime: malloc */
    fegetenv(&caller);
    fesetenv(FE_DFL_ENV);
    status = check(&plan, &arena, desc, report);
    if (status >= 0)
        status = lower(&plan, &arena, report);
    fesetenv(&caller);
    heed_arena_finish(&arena);
    return status < 0 ? status : heed_report_ok(report);
}

heed_status heed_attn_check(heed_device *device, const heed_attn_desc *desc, heed_report *report)
{
    return device == NULL ? check_alone(desc, report)
                          : heed_op_check(&heed_op_attn, device, desc, report);
}

heed_status heed_attn_plan_info(heed_device *device, const heed_attn_desc *desc, heed_plan **out,
                                heed_plan_props *props, heed_report *report)
{
    heed_status status = heed_op_require(props, "props", report);

    if (status >= 0 && props->size < HEED_PLAN_PROPS_V1)
        status = heed_report_fill(report, HEED_E_SIZE, "props", HEED_PLAN_PROPS_V1, props->size,
                                  "the size is below that of the first version");
    if (status >= 0)
        status = heed_attn_plan(device, desc, out, report);
    if (status >= 0 && heed_plan_info(*out, props) < 0)
        return HEED_E_INTERNAL; /* neither pointer is NULL, and the size is known to do */
    return status;
}

heed_status heed_attn_plan(heed_device *device, const heed_attn_desc *desc, heed_plan **out,
                           heed_report *report)
{
    return heed_op_plan(&heed_op_attn, device, desc, out, report);
}

heed_status heed_attn_run(const heed_plan *plan, heed_queue *queue, const heed_attn_args *args,
                          heed_event **event, heed_report *report)
{
    return heed_op_run(&heed_op_attn, plan, queue, args, event, report);
}

/* ---- validate ---- */

static heed_status validate_on_offload(const heed_plan *plan, const heed_queue *queue,
                                       const struct heed_launching *l, heed_report *report)
{
    const void *slots[HEED_MAX_SLOTS] = { NULL };
    struct heed_readback back = { .block = { NULL } };
    heed_status status = heed_readback_integers(plan, queue, l, &back, report);

    heed_attn_slots(plan, back.at, slots);
    if (status >= 0)
        status = heed_validate_slots(heed_attn_of(plan), slots, report);
    heed_readback_finish(queue, &back);
    return status;
}

heed_status heed_attn_validate(const heed_plan *plan, heed_queue *queue, const heed_attn_args *args,
                               heed_report *report)
{
    const void *slots[HEED_MAX_SLOTS] = { NULL };
    struct heed_launching l;
    heed_status status = heed_op_require_run(&heed_op_attn, plan, queue, args, report);

    if (status >= 0)
        status = heed_launch_place(plan, queue, args, &l, report);
    if (status < 0)
        return status;
    heed_attn_slots(plan, l.places.at, slots);
    if (plan->backend->offload != NULL)
        status = validate_on_offload(plan, queue, &l, report);
    else
        status = heed_validate_slots(heed_attn_of(plan), slots, report);
    return status < 0 ? status : heed_report_ok(report);
}

/* ---- visible ---- */

static heed_status require_index(int64_t value, int64_t bound, const char *field,
                                 heed_report *report)
{
    if (value >= 0 && value < bound)
        return HEED_OK;
    return heed_report_fill(report, HEED_E_VALUE, field, bound, value, "there are %lld of them",
                            (long long)bound);
}

/* Host addresses of the slots, without a device. */
static heed_status find_slots(struct heed_plan *plan, const heed_attn_args *args,
                              const void *slots[HEED_MAX_SLOTS], heed_report *report)
{
    const uint32_t first = heed_attn_slot(heed_attn_of(plan), 1);
    struct heed_places places = { .run.n_wait = 0 };
    heed_status status = heed_attn_place_slots(plan, args, &places, report);

    if (status >= 0)
        status = heed_operands_require(plan->operands + first, plan->n_operands - first, false,
                                       true, places.at + first, report);
    if (status >= 0)
        heed_attn_slots(plan, places.at, slots);
    return status;
}

/* A plan without a device, from malloc's memory, which the caller ends in any case. */
static heed_status look_begin(struct heed_plan *plan, struct heed_arena *arena,
                              const heed_attn_desc *desc, uint32_t source, const void *result,
                              const char *field, heed_report *report)
{
    heed_status status = heed_op_require(desc, "desc", report);

    heed_arena_init(arena, NULL);
    if (status >= 0)
        status = heed_op_require(result, field, report);
    if (status >= 0)
        status = check(plan, arena, desc, report);
    if (status >= 0)
        heed_operands_measure(plan);
    if (status >= 0)
        status = require_index(source, heed_attn_of(plan)->n_sources, "source", report);
    return status;
}

heed_status heed_attn_visible(const heed_attn_desc *desc, const heed_attn_args *args, int64_t batch,
                              int64_t head, int64_t row, uint32_t source, uint8_t *seen,
                              heed_report *report)
{
    const void *slots[HEED_MAX_SLOTS] = { NULL };
    struct heed_plan plan = { .op = &heed_op_attn };
    struct heed_arena arena;
    heed_status status = look_begin(&plan, &arena, desc, source, seen, "seen", report);

    if (status >= 0)
        status = require_index(batch, heed_attn_of(&plan)->n_batch, "batch", report);
    if (status >= 0)
        status = require_index(head, heed_attn_of(&plan)->heads, "head", report);
    if (status >= 0)
        status = require_index(row, heed_attn_of(&plan)->n_q, "row", report);
    if (status >= 0)
        status = find_slots(&plan, args, slots, report);
    if (status >= 0)
        status = heed_visible_row(heed_attn_of(&plan), slots, batch, head, row, source, seen,
                                  report);
    heed_arena_finish(&arena);
    return status < 0 ? status : heed_report_ok(report);
}

/* ---- keys of a stretch of rows ---- */

/* A stretch of rows that looks at a source. */
struct stretch {
    struct heed_stretch of;
    const void *slots[HEED_MAX_SLOTS];
    struct heed_plan plan;
    struct heed_arena arena;
};

static heed_status require_stretch(const struct heed_checked *attn, const struct heed_stretch *of,
                                   heed_report *report)
{
    const int64_t rows = heed_look_rows(attn);

    if (of->first < 0 || of->first > rows)
        return heed_report_fill(report, HEED_E_VALUE, "first", rows, of->first,
                                "there are %lld rows", (long long)rows);
    if (of->count < 0 || of->count > rows - of->first)
        return heed_report_fill(report, HEED_E_VALUE, "count", rows - of->first, of->count,
                                "there are %lld rows from the first on",
                                (long long)(rows - of->first));
    return HEED_OK;
}

static heed_status stretch_begin(struct stretch *s, const heed_attn_desc *desc,
                                 const heed_attn_args *args, const void *result, const char *field,
                                 heed_report *report)
{
    heed_status status = look_begin(&s->plan, &s->arena, desc, s->of.source, result, field, report);

    if (status >= 0)
        status = require_stretch(heed_attn_of(&s->plan), &s->of, report);
    if (status >= 0)
        status = lower(&s->plan, &s->arena, report);
    if (status >= 0)
        status = find_slots(&s->plan, args, s->slots, report);
    return status;
}

heed_status heed_attn_blocks(const heed_attn_desc *desc, const heed_attn_args *args, int64_t first,
                             int64_t count, uint32_t source, int64_t block, uint8_t *seen,
                             heed_report *report)
{
    struct stretch s = { .of = { first, count, source, 0 }, .plan.op = &heed_op_attn };
    heed_status status = stretch_begin(&s, desc, args, seen, "seen", report);

    if (status >= 0 && block < 1)
        status =
            heed_report_fill(report, HEED_E_VALUE, "block", 1, block, "a block has a key at least");
    if (status >= 0)
        status = heed_blocks_find(heed_attn_of(&s.plan), heed_lowered_of(&s.plan), s.slots, &s.of,
                                  block, seen, &s.arena, report);
    heed_arena_finish(&s.arena);
    return status < 0 ? status : heed_report_ok(report);
}

struct run_list {
    heed_key_run *runs;
    int64_t capacity, n;
};

static void run_keep(void *self, int64_t low, int64_t high, int64_t step)
{
    struct run_list *list = self;

    if (list->n < list->capacity)
        list->runs[list->n] = (heed_key_run){ low, high, step };
    list->n++;
}

heed_status heed_attn_key_runs(const heed_attn_desc *desc, const heed_attn_args *args,
                               int64_t first, int64_t count, uint32_t source, heed_key_run *runs,
                               int64_t capacity, int64_t *n_runs, heed_report *report)
{
    struct stretch s = { .of = { first, count, source, 0 }, .plan.op = &heed_op_attn };
    struct run_list list = { runs, capacity, 0 };
    const struct heed_runs_to to = { run_keep, &list };
    heed_status status = stretch_begin(&s, desc, args, n_runs, "n_runs", report);

    if (status >= 0 && capacity < 0)
        status = heed_report_fill(report, HEED_E_VALUE, "capacity", 0, capacity,
                                  "0 runs or more are wanted");
    if (status >= 0 && capacity > 0)
        status = heed_op_require(runs, "runs", report);
    if (status >= 0)
        status = heed_runs_find(heed_attn_of(&s.plan), heed_lowered_of(&s.plan), s.slots, &s.of,
                                &to, &s.arena, report);
    heed_arena_finish(&s.arena);
    if (status < 0)
        return status;
    *n_runs = list.n;
    return heed_report_ok(report);
}
