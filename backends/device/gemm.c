/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * heed_linear of FAST by a library of the vendor's: which product of matrices a plan is, and who
 * computes it. Where there is no such library, or it does not take the product, or fails while the
 * plan is prepared, the plan gets the kernels of EXACT.
 */
#include "gemm.h"

#include "../../lib/form.h"
#include "../../lib/types/types.h"
#include "frame.h"
#include "impls.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { LOG_INFORMATION = 3 };
enum { END_ELEMENTS = 8192, END_ROWS = 64 }; /* of a task of linear_end.cl, about, and at most */

static const struct heed_gemm_provider *provider_of(const struct heed_device_state *state)
{
    return state->driver->gemm;
}

/* ---- what follows the product ---- */

/* Sums go through linear_end.cl where something is left to be done with them, and where no library
 * has y's type; to a place of their own where y cannot hold them, or may be what is added. */
static bool has_end(const struct heed_plan *plan)
{
    const struct hk_linear *linear = heed_form_of(plan)->numbers;

    return plan->operands[HK_LINEAR_BIAS].view.dtype != 0 ||
           plan->operands[HK_LINEAR_ADD].view.dtype != 0 || linear->act != 0 ||
           (plan->operands[HK_LINEAR_X].view.dtype == HEED_F32 &&
            plan->operands[HK_LINEAR_Y].view.dtype != HEED_F32);
}

static bool has_sums(const struct heed_plan *plan)
{
    return has_end(plan) && (plan->operands[HK_LINEAR_ADD].view.dtype != 0 ||
                             plan->operands[HK_LINEAR_Y].view.dtype != HEED_F32);
}

/* Rows of a task of linear_end.cl. */
static int64_t end_run(const struct hk_linear *linear)
{
    const int64_t run = END_ELEMENTS / (linear->out > 0 ? linear->out : 1);

    return run < 1 ? 1 : run > END_ROWS ? END_ROWS : run;
}

static double end_tasks(const struct heed_plan *plan)
{
    const struct heed_view *y = &plan->operands[HK_LINEAR_Y].view;
    const int64_t run = end_run(heed_form_of(plan)->numbers);

    return (double)heed_form_of(plan)->n_batch * (double)y->shape[3] *
           (double)(y->shape[4] / run + (y->shape[4] % run != 0));
}

/* Bytes of the sums. */
static double sums_bytes(const struct heed_plan *plan)
{
    const struct heed_view *y = &plan->operands[HK_LINEAR_Y].view;

    return (double)sizeof(float) * (double)heed_form_of(plan)->n_batch * (double)y->shape[3] *
           (double)y->shape[4] * (double)y->shape[5];
}

/* ---- which product ---- */

/* Two axes of an operand: row i and term l of a matrix begin at i * row + l * term. */
struct axes {
    uint32_t operand;
    int64_t rows, terms, row, term;
};

/* The axis whose elements lie side by side, if one does, has the lines; a line ends before the next
 * one begins. */
static bool matrix_find(const struct axes *axes, struct heed_gemm_matrix *to)
{
    const bool turned = axes->term != 1 && axes->terms > 1;
    const int64_t lines = turned ? axes->terms : axes->rows;
    const int64_t width = turned ? axes->rows : axes->terms;
    const int64_t side = turned ? axes->row : axes->term;

    *to = (struct heed_gemm_matrix){ .operand = axes->operand, .turned = turned };
    to->line = turned ? axes->term : axes->row;
    if (lines == 1)
        to->line = width;
    to->span = (lines - 1) * to->line + width;
    return (side == 1 || width == 1) && to->line >= width;
}

/* Taps of which each row has all and which follow each other are channels of one tap. */
static bool axes_find(const struct heed_plan *plan, struct axes *x, struct axes *w, struct axes *y)
{
    const struct hk_linear *linear = heed_form_of(plan)->numbers;
    const struct heed_view *vx = &plan->operands[HK_LINEAR_X].view;
    const struct heed_view *vw = &plan->operands[HK_LINEAR_W].view;
    const struct heed_view *vy = &plan->operands[HK_LINEAR_Y].view;
    const int64_t terms = linear->taps * linear->in;
    const int out = linear->tapped ? 3 : 4;

    *x = (struct axes){ HK_LINEAR_X, vy->shape[4], terms, 0, vx->stride[5] };
    *w = (struct axes){ HK_LINEAR_W, linear->out, terms, vw->stride[out], vw->stride[5] };
    *y = (struct axes){ HK_LINEAR_Y, vy->shape[4], linear->out, vy->stride[4], vy->stride[5] };
    if (!linear->whole || linear->before != 0)
        return false;
    x->row = x->rows > 1 ? linear->stride * vx->stride[4] : 0;
    return linear->taps == 1 || (vx->stride[5] == 1 && vx->stride[4] == linear->in &&
                                 vw->stride[5] == 1 && vw->stride[4] == linear->in);
}

/* Elements from item to item along the axes of the batch and that of heads. */
static void steps_find(const struct heed_plan *plan, struct heed_gemm_matrix *matrix)
{
    const struct hk_linear *linear = heed_form_of(plan)->numbers;
    const struct heed_view *view = &plan->operands[matrix->operand].view;
    const bool weights = matrix->operand == HK_LINEAR_W;
    const int head = weights && linear->tapped ? 2 : 3;

    matrix->dtype = view->dtype;
    for (int axis = 0; axis < 3; axis++)
        matrix->step[axis] = weights || view->shape[axis] == 1 ? 0 : view->stride[axis];
    matrix->step[3] = view->shape[head] == 1 ? 0 : view->stride[head];
}

static void sums_steps_find(struct heed_gemm *gemm)
{
    int64_t step = gemm->c.span;

    gemm->c.dtype = HEED_F32;
    for (int axis = HEED_GEMM_AXES - 1; axis >= 0; axis--) {
        gemm->c.step[axis] = gemm->items[axis] == 1 ? 0 : step;
        step *= gemm->items[axis];
    }
}

static void axis_move(struct heed_gemm *gemm, int from, int to)
{
    struct heed_gemm_matrix *const all[] = { &gemm->a, &gemm->b, &gemm->c };

    gemm->items[to] = gemm->items[from];
    gemm->items[from] = 1;
    for (int i = 0; i < 3; i++) {
        all[i]->step[to] = all[i]->step[from];
        all[i]->step[from] = 0;
    }
}

/* Is axis `outer` the axis `inner` gone on, in all matrices? */
static bool axes_follow(const struct heed_gemm *gemm, int outer, int inner)
{
    const struct heed_gemm_matrix *const all[] = { &gemm->a, &gemm->b, &gemm->c };

    for (int i = 0; i < 3; i++) {
        const int64_t step = all[i]->step[inner];

        if (all[i]->step[outer] != step * gemm->items[inner])
            return false;
    }
    return true;
}

/* Axes of one item go; those that follow each other become one; what is left moves to the end. */
static void items_merge(struct heed_gemm *gemm)
{
    int last = HEED_GEMM_AXES - 1;

    for (int axis = HEED_GEMM_AXES - 1; axis >= 0; axis--) {
        if (gemm->items[axis] == 1)
            continue;
        if (last < HEED_GEMM_AXES - 1 && axes_follow(gemm, axis, last + 1)) {
            gemm->items[last + 1] *= gemm->items[axis];
            gemm->items[axis] = 1;
            continue;
        }
        if (axis != last)
            axis_move(gemm, axis, last);
        last--;
    }
}

static bool steps_good(const struct heed_gemm_matrix *matrix)
{
    for (int axis = 0; axis < HEED_GEMM_AXES; axis++) {
        if (matrix->step[axis] < 0)
            return false;
    }
    return true;
}

/* y as lines of outputs; else the product is turned: y's columns are lines of x's rows. */
static bool product_find(const struct heed_plan *plan, struct heed_gemm *gemm, const char **reason)
{
    const struct heed_form *form = heed_form_of(plan);
    struct axes x, w, y;

    *gemm = (struct heed_gemm){ .items = { form->batch[0], form->batch[1], form->batch[2],
                                           plan->operands[HK_LINEAR_Y].view.shape[3] } };
    *reason = "its taps are no channels of one tap";
    if (!axes_find(plan, &x, &w, &y))
        return false;
    *reason = "the product is empty";
    if (y.rows < 1 || y.terms < 1 || x.terms < 1 || form->n_batch < 1 || gemm->items[3] < 1)
        return false;
    if (has_sums(plan))
        y = (struct axes){ HEED_GEMM_SUMS, y.rows, y.terms, y.terms, 1 };
    if (y.term != 1 && y.terms > 1) {
        const struct axes other = x;

        x = w;
        w = other;
        y = (struct axes){ y.operand, y.terms, y.rows, y.term, y.row };
    }
    *reason = "its elements do not lie in lines";
    if (!matrix_find(&x, &gemm->a) || !matrix_find(&w, &gemm->b) || !matrix_find(&y, &gemm->c) ||
        gemm->c.turned)
        return false;
    gemm->m = y.rows;
    gemm->n = y.terms;
    gemm->k = x.terms;
    steps_find(plan, &gemm->a);
    steps_find(plan, &gemm->b);
    if (gemm->c.operand == HEED_GEMM_SUMS)
        sums_steps_find(gemm);
    else
        steps_find(plan, &gemm->c);
    if (!steps_good(&gemm->a) || !steps_good(&gemm->b) || !steps_good(&gemm->c))
        return false;
    items_merge(gemm);
    return true;
}

static double calls_of(const struct heed_gemm *gemm, const struct heed_gemm_provider *provider)
{
    double calls = 1;

    for (int axis = 0; axis < HEED_GEMM_AXES - provider->batches; axis++)
        calls *= (double)gemm->items[axis];
    return calls;
}

/* ---- whose it is ---- */

/* Does the library take the plan? Only where other bits than those of EXACT are asked for, and not
 * on processors, whose kernels are faster than any library's there. BEST is no such wish as long as
 * no library was measured on a GPU. */
static bool is_taken(const struct heed_plan *plan, struct heed_gemm *gemm, const char **reason)
{
    const struct heed_device_state *const state = plan->device->state;
    const struct heed_gemm_provider *const provider = provider_of(state);

    *reason = "no library is asked for";
    if (provider == NULL || plan->numerics != HEED_NUMERICS_FAST ||
        state->traits.shape != HEED_SHAPE_WORKGROUP)
        return false;
    if (!product_find(plan, gemm, reason))
        return false;
    *reason = "its rows or its sums are more than the device can number";
    if (!heed_operation_numbers(end_tasks(plan)) || sums_bytes(plan) > 0x1p60)
        return false;
    *reason = "there is no library";
    if (!provider->describe(NULL) || !provider->takes(state, gemm, reason))
        return false;
    *reason = "its items are more than a run has calls for";
    return calls_of(gemm, provider) <= HEED_GEMM_CALLS;
}

static bool accepts(const struct heed_plan *plan, const struct heed_services *services,
                    struct heed_refusal *why)
{
    struct heed_gemm gemm;

    (void)services;
    return is_taken(plan, &gemm, &why->reason);
}

/* ---- a plan ---- */

/* The launch that ends the sums. */
static heed_status end_fill(struct heed_plan *plan, const struct heed_services *services,
                            struct heed_device_plan *state, struct heed_blob *blob)
{
    struct hk_linear numbers = *(const struct hk_linear *)heed_form_of(plan)->numbers;
    struct hk_strip_form *const strip = &numbers.groups.strip;
    const struct heed_operation_extra extra = {
        .kernel = HEED_KERNEL_linear_end_workgroup,
        .tasks = (int64_t)end_tasks(plan),
        .numbers = &numbers,
        .common_at = (int64_t)state->gemm->sums_at,
    };

    strip->run = end_run(&numbers);
    strip->strips = strip->rows / strip->run + (strip->rows % strip->run != 0);
    numbers.apart = has_sums(plan);
    return heed_operation_fill(plan, services, state, blob, &extra);
}

static uint64_t round_up(uint64_t bytes, uint64_t to)
{
    return (bytes + to - 1) / to * to;
}

/* The workspace: what the driver wants for itself, what the library asked for when it prepared the
 * product (first, as CLBlast takes memory from its beginning on), sums. */
static heed_status room_find(struct heed_plan *plan, const struct heed_device_state *device,
                             struct heed_gemm_plan *gemm)
{
    const bool offsets = device->driver->handles && device->traits.large && has_end(plan);
    struct heed_room room = { .at = offsets ? HEED_WORK_OFFSETS : 0, .ok = true };

    plan->workspace_align =
        gemm->workspace_align > HEED_WORK_ALIGN ? gemm->workspace_align : HEED_WORK_ALIGN;
    room.at = gemm->workspace_at = round_up(room.at, plan->workspace_align);
    (void)heed_room_place(&room, 1, gemm->workspace_size);
    if (has_sums(plan))
        gemm->sums_at = (uint64_t)heed_room_place(&room, sums_bytes(plan), 1);
    plan->workspace_size = room.at;
    return room.ok ? HEED_OK : HEED_E_UNSUPPORTED;
}

static heed_status require_right(struct heed_plan *plan, const struct heed_gemm_plan *gemm,
                                 struct heed_error_detail *detail)
{
    const struct heed_device_state *const state = plan->device->state;
    const char *reason = "";
    heed_status status = state->driver->gemm_test(plan->device, &gemm->form, &reason, detail);

    if (status < 0 || reason[0] == '\0')
        return status;
    snprintf(detail->text, sizeof detail->text, "%.150s", reason);
    return HEED_E_DEVICE;
}

/* What fails here leaves the product for heed_frame_release. */
static heed_status fill(struct heed_plan *plan, const struct heed_services *services,
                        struct heed_device_plan *state, struct heed_blob *blob,
                        struct heed_error_detail *detail)
{
    struct heed_gemm_plan *const gemm =
        services->alloc(services->runtime, sizeof *gemm, _Alignof(struct heed_gemm_plan));
    const char *reason;
    heed_status status;
    bool ok;

    if (gemm == NULL)
        return HEED_E_NOMEM;
    *gemm = (struct heed_gemm_plan){ .provider = provider_of(state->device) };
    state->gemm = gemm;
    ok = is_taken(plan, &gemm->form, &reason);
    assert(ok); /* accepts has asked */
    status = ok ? require_right(plan, gemm, detail) : HEED_E_INTERNAL;
    if (status >= 0)
        status = gemm->provider->prepare(state->device, gemm, detail);
    if (status >= 0)
        status = room_find(plan, state->device, gemm);
    return status >= 0 && has_end(plan) ? end_fill(plan, services, state, blob) : status;
}

void heed_gemm_finish(struct heed_device_plan *state, const struct heed_services *services)
{
    struct heed_gemm_plan *const gemm = state->gemm;

    if (gemm == NULL)
        return;
    if (gemm->prepared != NULL)
        gemm->provider->release(state->device, gemm);
    services->free(services->runtime, gemm, sizeof *gemm, _Alignof(struct heed_gemm_plan));
    state->gemm = NULL;
}

static heed_status library_prepare(struct heed_plan *plan, const struct heed_services *services,
                                   struct heed_error_detail *detail)
{
    const heed_status status = heed_frame_prepare(plan, services, fill, detail);

    if (status < 0)
        return status;
    plan->state_bytes += sizeof(struct heed_gemm_plan);
    plan->loose = 1;
    plan->kernel = provider_of(plan->device->state)->name;
    return status;
}

/* To the log: what has failed, and what is delivered in its place. */
static void say_fallback(const struct heed_plan *plan, const struct heed_services *services,
                         const struct heed_error_detail *detail)
{
    const struct heed_device_state *const state = plan->device->state;
    char line[280];

    snprintf(line, sizeof line, "%.60s: %.20s is not used, but the kernels of EXACT: %.120s",
             plan->device->props.name, provider_of(state)->name,
             detail->text[0] != '\0' ? detail->text : "it cannot prepare the product");
    services->log(services->runtime, LOG_INFORMATION, line);
}

/* Whatever the library answers, but for a device that is lost or a host without memory, the kernels
 * can do its work. */
static heed_status prepare(struct heed_plan *plan, const struct heed_services *services,
                           struct heed_error_detail *detail)
{
    const struct heed_impl *const kernels = &heed_operation_impls[HEED_OPERATION_LINEAR];
    struct heed_refusal why = { .reason = NULL };
    heed_status status = library_prepare(plan, services, detail);

    if (status >= 0 || status == HEED_E_NOMEM || status == HEED_E_DEVICE_LOST)
        return status;
    say_fallback(plan, services, detail);
    plan->workspace_align = plan->workspace_size = 0;
    *detail = (struct heed_error_detail){ .native = 0 };
    if (!kernels->accepts(plan, services, &why)) {
        snprintf(detail->text, sizeof detail->text, "%.150s", why.reason);
        return HEED_E_UNSUPPORTED;
    }
    plan->impl = kernels;
    return kernels->prepare(plan, services, detail);
}

const struct heed_impl heed_gemm_impl = {
    .op = HEED_OP_LINEAR,
    .name = "linear-gemm",
    .accepts = accepts,
    .prepare = prepare,
    .run = heed_frame_run,
    .release = heed_frame_release,
};

/* ---- a run ---- */

int64_t heed_gemm_calls(const struct heed_gemm_plan *gemm)
{
    return (int64_t)calls_of(&gemm->form, gemm->provider);
}

static heed_buf place_of(const struct heed_gemm_plan *gemm, const struct heed_gemm_matrix *matrix,
                         const struct heed_work *work, const int64_t at[HEED_GEMM_AXES])
{
    const bool sums = matrix->operand == HEED_GEMM_SUMS;
    heed_buf buf = work->buffers[sums ? work->n_buffers - 1 : matrix->operand];
    int64_t elements = 0;

    for (int axis = 0; axis < HEED_GEMM_AXES; axis++)
        elements += at[axis] * matrix->step[axis];
    buf.offset += (uint64_t)elements * heed_dtype_size(matrix->dtype) + (sums ? gemm->sums_at : 0);
    return buf;
}

struct heed_gemm_place heed_gemm_at(const struct heed_gemm_plan *gemm, const struct heed_work *work,
                                    int64_t call)
{
    const struct heed_gemm *const form = &gemm->form;
    heed_buf workspace = work->buffers[work->n_buffers - 1];
    int64_t at[HEED_GEMM_AXES] = { 0 };

    for (int axis = HEED_GEMM_AXES - 1 - gemm->provider->batches; axis >= 0; axis--) {
        at[axis] = call % form->items[axis];
        call /= form->items[axis];
    }
    workspace.offset += gemm->workspace_at;
    return (struct heed_gemm_place){
        .a = place_of(gemm, &form->a, work, at),
        .b = place_of(gemm, &form->b, work, at),
        .c = place_of(gemm, &form->c, work, at),
        .workspace = workspace,
    };
}
