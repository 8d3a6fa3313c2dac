/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * See op_work.h.
 */
#include "op_work.h"

#include "conform/fixed.h"
#include "conform/place.h"

#include <check.h>
#include <fenv.h>
#include <stdlib.h>
#include <string.h>

enum { DRAWN = 12, CASES = 256, WORK = 1 << 20 };

struct op_work {
    const struct fixed *op;
    char line[LINE];
    struct fixed_problem *p;
    struct answer answer;
    struct fixed_call want; /* described, with the outputs of the reference */
};

struct op_run {
    const struct op_work *work;
    struct target on;
    struct fixed_call call;
    struct workspace space;
    unsigned char *moved[MAX_PARTS]; /* where element bytes lie instead; NULL: in the block */
};

static struct {
    struct cs cases[CASES];
    const struct fixed *op[CASES];
    int n;
} table;

static void target_open(struct target *on)
{
    ck_assert(cf_target_open(on, "reference", 1, NULL));
}

static void line_add(const struct fixed *op, const char *line)
{
    char why[128];

    ck_assert_msg(table.n < CASES && cf_case_parse(line, &table.cases[table.n], why), "%s: %s",
                  line, why);
    table.op[table.n++] = op;
}

static void op_add(const struct fixed *op, heed_device *reference)
{
    struct rng r = rng_of(2026);

    cf_op_use(&op->op);
    line_add(op, op->base);
    for (int i = 0; i < op->n_named; i++)
        line_add(op, op->named[i]);
    for (int i = 0; i < DRAWN; i++) {
        ck_assert_int_lt(table.n, CASES);
        cf_case_draw(&r, reference, 35, WORK, &table.cases[table.n]);
        table.op[table.n++] = op;
    }
}

int op_work_count(void)
{
    struct target on;

    if (table.n > 0)
        return table.n;
    target_open(&on);
    for (int i = 0; i < cf_n_ops; i++) {
        if (fixed_of(cf_ops[i]))
            op_add(fixed_of(cf_ops[i]), on.device);
    }
    cf_target_close(&on);
    return table.n;
}

const char *op_work_line(const struct op_work *w)
{
    return w->line;
}

static void want_make(struct op_work *w)
{
    heed_report why = { .size = sizeof(why) };
    struct target on;

    target_open(&on);
    ck_assert(fixed_call_make(&w->want, &on, w->p, 0, 7));
    ck_assert_msg(fixed_call_run(&w->want, &why) >= 0, "%s: %s: %s", w->line, why.field,
                  why.message);
    for (int i = 0; i < w->op->n_arrays; i++) {
        place_finish(&w->want.place[i], &on);
        memset(&w->want.place[i], 0, sizeof(w->want.place[i]));
    }
    w->want.on = NULL;
    cf_target_close(&on);
}

struct op_work *op_work_start(int index)
{
    struct op_work *w = calloc(1, sizeof(*w));
    fenv_t caller;

    fegetenv(&caller);
    fesetenv(FE_DFL_ENV);
    ck_assert(w != NULL && index < op_work_count());
    w->op = table.op[index];
    cf_op_use(&w->op->op);
    cf_case_print(&table.cases[index], w->line);
    w->p = fixed_problem_make(&table.cases[index], true);
    ck_assert(w->p != NULL && answer_make(&w->answer, w->p));
    want_make(w);
    fesetenv(&caller);
    return w;
}

void op_work_finish(struct op_work *w)
{
    fixed_call_finish(&w->want);
    answer_finish(&w->answer);
    fixed_problem_free(w->p);
    free(w);
}

/* The descriptor as the case has it, with flags added. */
static void desc_of(const struct op_work *w, uint32_t flags, unsigned char desc[FIXED_DESC])
{
    uint32_t given;

    memcpy(desc, w->want.desc.bytes, FIXED_DESC);
    memcpy(&given, desc + 4, sizeof(given));
    given |= flags;
    memcpy(desc + 4, &given, sizeof(given));
}

heed_status op_work_check(const struct op_work *w, heed_device *device)
{
    return w->op->check(device, w->want.desc.bytes, NULL);
}

heed_status op_work_plan(const struct op_work *w, heed_device *device, uint32_t flags,
                         heed_plan **plan)
{
    union {
        unsigned char bytes[FIXED_DESC];
        max_align_t align;
    } desc;

    desc_of(w, flags, desc.bytes);
    return w->op->plan(device, desc.bytes, plan, NULL);
}

struct op_run *op_run_start(const struct op_work *w, heed_device *device, heed_queue *queue,
                            const heed_plan *plan)
{
    struct op_run *run = calloc(1, sizeof(*run));

    ck_assert_ptr_nonnull(run);
    run->work = w;
    run->on = (struct target){ .device = device, .queue = queue };
    ck_assert(fixed_call_make(&run->call, &run->on, w->p, 0, 99));
    ck_assert_int_ge(cf_workspace_make(&run->space, &run->on, plan, 0x6b), 0);
    fixed_run(&run->call)->workspace = run->space.at;
    fixed_run(&run->call)->workspace_size = run->space.size;
    return run;
}

/* First byte of an array's elements in its block, and their number. */
static size_t span_of(const struct place *place, size_t *bytes)
{
    int64_t low, high;

    place_span(place, &low, &high);
    *bytes = (size_t)(high - low);
    return (size_t)((int64_t)place->buf.offset + low);
}

static void array_move(struct op_run *run, int i, op_mover *move, void *context)
{
    struct place *place = &run->call.place[i];
    heed_buf *buf = fixed_buf(&run->call, i);
    size_t bytes, from;

    if (!part_is(&run->work->p->part[i]) || !place->buf.handle)
        return;
    from = span_of(place, &bytes);
    *buf = move(context, place->snapshot + from, bytes, cf_dtype_size(place->t.dtype));
    run->moved[i] = (unsigned char *)buf->handle + buf->offset;
    buf->offset += place->buf.offset - from;
}

void op_run_move(struct op_run *run, op_mover *move, void *context)
{
    heed_run *head = fixed_run(&run->call);

    for (int i = 0; i < run->work->op->n_arrays; i++)
        array_move(run, i, move, context);
    if (run->space.size % 64 == 0 && run->space.size) /* else it cannot end where a page does */
        head->workspace = move(context, (char *)run->space.at.handle + run->space.at.offset,
                               (size_t)run->space.size, 64);
}

heed_status op_run_go(struct op_run *run, const heed_plan *plan, heed_event **event)
{
    return run->work->op->run(plan, run->on.queue, run->call.args.bytes, event, NULL);
}

/* What was moved is put back where the block has it. */
static int array_load(struct op_run *run, int i)
{
    struct place *place = &run->call.place[i];
    size_t bytes, from = span_of(place, &bytes);

    if (!place_download(place, &run->on))
        return 0;
    if (run->moved[i])
        memcpy(place->after + from, run->moved[i], bytes);
    place_load(place, place->after, &run->call.out[i]);
    return 1;
}

static int64_t bits_at(const struct array *a, int64_t i)
{
    return a->dtype == HEED_I64 ? cf_array_int(a, i) : (int64_t)cf_array_bits(a, i);
}

int op_run_right(struct op_run *run)
{
    const struct op_work *w = run->work;
    char why[128];

    for (int i = 0; i < w->op->n_arrays; i++) {
        if (!fixed_writes(w->p, i))
            continue;
        if (!array_load(run, i))
            return 0;
        for (int64_t e = 0; e < cf_array_count(&w->want.out[i]); e++) {
            if (w->answer.said[i][e].kind != SAID_ANY &&
                bits_at(&w->want.out[i], e) != bits_at(&run->call.out[i], e))
                return 0;
        }
    }
    return fixed_call_memory_same(&run->call, why);
}

void op_run_finish(struct op_run *run)
{
    cf_workspace_finish(&run->space, &run->on);
    fixed_call_finish(&run->call);
    free(run);
}

void op_work_try(const struct op_work *w, heed_device *device, heed_queue *queue, uint32_t flags,
                 const char *how)
{
    heed_plan *plan = NULL;
    struct op_run *run;

    ck_assert_msg(op_work_plan(w, device, flags, &plan) >= 0, "%s: no plan", w->line);
    run = op_run_start(w, device, queue, plan);
    ck_assert_msg(op_run_go(run, plan, NULL) >= 0, "%s: %s: no run", w->line, how);
    ck_assert_msg(op_run_right(run), "%s on %s, %s: not the reference's result", w->line,
                  heed_device_name(device), how);
    op_run_finish(run);
    heed_plan_drop(plan);
}
