/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * See op_work.h.
 */
#include "op_work.h"

#include "conform/engine/errors.h"
#include "support/suite.h"

#include <fenv.h>
#include <stdlib.h>
#include <string.h>

enum { DRAWN = 12, DRAWN_FIRST = 2, LINES_FIRST = 16, WORK = 1 << 20, DESC = 2048 };

struct op_work {
    const struct cf_op *op;
    char line[LINE];
    void *p, *answer;
    struct job *described; /* on no device */
    struct job *want;      /* with the outputs of the reference */
};

struct op_run {
    const struct op_work *work;
    struct target on;
    struct job *job;
    struct workspace space;
    unsigned char *moved[JOB_OPERANDS]; /* where element bytes lie instead; NULL: in the block */
};

/* Kept until the program ends: every test reads it. */
static struct {
    struct {
        struct cs cs;
        const struct cf_op *op;
    } *at;
    int n, room;
} table;

static void target_open(struct target *on)
{
    ck_assert(cf_target_open(on, "reference", 1, NULL));
}

/* A case of `op` more, not yet filled. */
static struct cs *case_add(const struct cf_op *op)
{
    if (table.n == table.room) {
        table.room = table.room ? 2 * table.room : 64;
        table.at = realloc(table.at, (size_t)table.room * sizeof(*table.at));
        ck_assert(table.at != NULL);
    }
    table.at[table.n].op = op;
    return &table.at[table.n++].cs;
}

static void line_add(const struct cf_op *op, const char *line)
{
    char why[128];

    ck_assert_msg(cf_case_parse(line, case_add(op), why), "%s: %s", line, why);
}

static void op_add(const struct cf_op *op, heed_device *reference)
{
    struct rng r = rng_of(2026);

    cf_op_use(op);
    line_add(op, op->errors->base());
    for (int i = 0; op->line(i) && (suite_all() || i < LINES_FIRST); i++)
        line_add(op, op->line(i));
    for (int i = 0; i < (suite_all() ? DRAWN : DRAWN_FIRST); i++)
        cf_case_draw(&r, reference, 35, WORK, case_add(op));
}

int op_work_count(void)
{
    struct target on;

    if (table.n > 0)
        return table.n;
    target_open(&on);
    for (int i = 0; i < cf_n_ops; i++)
        op_add(cf_ops[i], on.device);
    cf_target_close(&on);
    return table.n;
}

const char *op_work_line(const struct op_work *w)
{
    return w->line;
}

/* The outputs stay when the device has gone. */
static void want_make(struct op_work *w)
{
    heed_report why = { .size = sizeof(why) };
    struct target on;

    target_open(&on);
    w->want = cf_job_make(w->op->families, w->p, &on, 0, 7);
    ck_assert(w->want != NULL);
    ck_assert_msg(job_run(w->want, &why) >= 0, "%s: %s: %s", w->line, why.field, why.message);
    for (int i = 0; i < w->want->n; i++)
        place_finish(w->want->operand[i].place, &on);
    w->want->on = NULL;
    cf_target_close(&on);
}

struct op_work *op_work_start(int index)
{
    struct op_work *w = calloc(1, sizeof(*w));
    fenv_t caller;

    fegetenv(&caller);
    fesetenv(FE_DFL_ENV);
    ck_assert(w != NULL && index < op_work_count());
    w->op = table.at[index].op;
    cf_op_use(w->op);
    cf_case_print(&table.at[index].cs, w->line);
    w->p = w->op->families->problem(&table.at[index].cs, true);
    ck_assert_ptr_nonnull(w->p);
    if (w->op->families->answer) {
        w->answer = w->op->families->answer(w->p);
        ck_assert_ptr_nonnull(w->answer);
    }
    w->described = w->op->families->describe(w->p, 0);
    ck_assert_ptr_nonnull(w->described);
    want_make(w);
    fesetenv(&caller);
    return w;
}

void op_work_finish(struct op_work *w)
{
    job_drop(w->described);
    job_drop(w->want);
    if (w->answer)
        w->op->families->answer_free(w->answer);
    w->op->families->problem_free(w->p);
    free(w);
}

heed_status op_work_check(const struct op_work *w, heed_device *device)
{
    return w->described->check(device, w->described->desc, NULL);
}

/* Of the descriptor as the case has it, with flags added. */
heed_status op_work_plan(const struct op_work *w, heed_device *device, uint32_t flags,
                         heed_plan **plan)
{
    union {
        uint32_t words[2]; /* every descriptor begins with its size and its flags */
        unsigned char bytes[DESC];
        max_align_t align;
    } desc;

    memcpy(desc.words, w->described->desc, sizeof(desc.words));
    ck_assert_uint_le(desc.words[0], DESC);
    memcpy(desc.bytes, w->described->desc, desc.words[0]);
    desc.words[1] |= flags;
    return w->described->plan(device, desc.bytes, plan, NULL);
}

struct op_run *op_run_start(const struct op_work *w, heed_device *device, heed_queue *queue,
                            const heed_plan *plan)
{
    struct op_run *run = calloc(1, sizeof(*run));

    ck_assert_ptr_nonnull(run);
    run->work = w;
    run->on = (struct target){ .device = device, .queue = queue };
    run->job = cf_job_make(w->op->families, w->p, &run->on, 0, 99);
    ck_assert_ptr_nonnull(run->job);
    ck_assert_int_ge(cf_workspace_make(&run->space, &run->on, plan, 0x6b), 0);
    run->job->numerics = run->space.numerics;
    w->op->errors->workspace(run->job, run->space.at, run->space.size);
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

static heed_buf array_move(struct op_run *run, int i, op_mover *move, void *context)
{
    const struct operand *const x = &run->job->operand[i];
    const struct place *const place = x->place;
    heed_buf buf = place->buf;
    size_t bytes, from;

    if (x->constant || !place->buf.handle)
        return buf;
    from = span_of(place, &bytes);
    buf = move(context, place->snapshot + from, bytes, cf_dtype_size(place->t.dtype));
    run->moved[i] = (unsigned char *)buf.handle + buf.offset;
    buf.offset += place->buf.offset - from;
    return buf;
}

void op_run_move(struct op_run *run, op_mover *move, void *context)
{
    struct job *const job = run->job;
    heed_buf own[JOB_OPERANDS], work = run->space.at;

    for (int i = 0; i < job->n; i++) {
        own[i] = job->operand[i].place->buf;
        job->operand[i].place->buf = array_move(run, i, move, context);
    }
    job->placed(job);
    for (int i = 0; i < job->n; i++)
        job->operand[i].place->buf = own[i];
    if (run->space.size % 64 == 0 && run->space.size) /* else it cannot end where a page does */
        work = move(context, (char *)work.handle + work.offset, (size_t)run->space.size, 64);
    run->work->op->errors->workspace(job, work, run->space.size);
}

heed_status op_run_go(struct op_run *run, const heed_plan *plan, heed_event **event)
{
    return run->job->run(plan, run->on.queue, run->work->op->errors->args(run->job), event, NULL);
}

/* What was moved is put back where the block has it. */
static int array_load(struct op_run *run, int i)
{
    const struct operand *const x = &run->job->operand[i];
    size_t bytes, from = span_of(x->place, &bytes);

    if (!place_download(x->place, &run->on))
        return 0;
    if (run->moved[i])
        memcpy(x->place->after + from, run->moved[i], bytes);
    place_load(x->place, x->place->after, x->out);
    return 1;
}

int op_run_right(struct op_run *run)
{
    const struct op_work *const w = run->work;
    struct verdict v = { .failed = false };
    const struct subject s = { .op = w->op, .problem = w->p, .answer = w->answer, .got = w->want,
                               .v = &v };
    char why[128];

    for (int i = 0; i < run->job->n; i++) {
        if (run->job->operand[i].out && !array_load(run, i))
            return 0;
    }
    w->op->families->same(&s, w->p, run->job, &(struct relation){ .what = w->line });
    return !v.failed && job_memory_same(run->job, why);
}

void op_run_finish(struct op_run *run)
{
    cf_workspace_finish(&run->space, &run->on);
    job_drop(run->job);
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
