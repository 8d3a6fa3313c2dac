/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * From the rows of an operation's table of arrays to its operands.
 */
#include "arrays.h"

#include "../core/sized.h"
#include "../launch/operands.h"

#include <stdio.h>
#include <string.h>

/* Beyond this no device numbers the tasks of a launch. */
static const double tasks_max = 0x1p62;

/* ---- what stands at the head of every descriptor ---- */

struct head {
    uint32_t size, flags, numerics;
};

static heed_status head_check(struct heed_arrays *a)
{
    const uint32_t known = a->table->flags | HEED_PLAN_ALLOW_COMPOSED | HEED_PLAN_OWN_WORKSPACE;
    struct head head;
    uint32_t reserved = 0;
    heed_status status;

    memcpy(&head, a->desc, sizeof(head));
    if (a->table->reserved_at != 0)
        memcpy(&reserved, (const char *)a->desc + a->table->reserved_at, sizeof(reserved));
    if (head.flags & ~known)
        return heed_where_fail(&a->where, HEED_E_FLAG, "flags", known, head.flags,
                               "unknown flag bits 0x%x", (unsigned)(head.flags & ~known));
    status =
        heed_arrays_limit(a, "numerics", head.numerics, 0, HEED_NUMERICS_FAST, "no such profile");
    if (status >= 0)
        status = heed_arrays_limit(a, "reserved", reserved, 0, 0, "must be 0");
    if (status < 0)
        return status;
    a->plan->numerics = head.numerics;
    a->plan->own_workspace = (head.flags & HEED_PLAN_OWN_WORKSPACE) != 0;
    return HEED_OK;
}

heed_status heed_arrays_open(struct heed_arrays *to, struct heed_plan *plan,
                             struct heed_arena *arena, const void *given, void *desc,
                             heed_report *report)
{
    const struct heed_array_table *table = plan->op->arrays;
    heed_status status =
        heed_sized_in(given, table->desc_v1, desc, table->desc_size, "size", report);

    *to = (struct heed_arrays){
        .table = table, .plan = plan, .arena = arena, .desc = desc, .where.report = report
    };
    for (uint32_t i = 0; i < HEED_LETTERS; i++)
        to->extent[i] = -1;
    for (uint32_t i = 0; i < table->n; i++)
        to->axes[i] = table->rows[i].axes;
    if (status >= 0)
        status = head_check(to);
    for (uint32_t i = 0; i < table->n && status >= 0; i++) {
        if (table->rows[i].needed)
            status = heed_arrays_want(to, i, true, "the operation needs it");
    }
    if (status < 0)
        return status;
    to->form = heed_arena_take(arena, sizeof(*to->form), _Alignof(struct heed_form));
    to->numbers = heed_arena_take(arena, table->numbers, _Alignof(max_align_t));
    to->operands = heed_arena_array(arena, table->n, sizeof(*to->operands),
                                    _Alignof(struct heed_plan_operand));
    if (to->form == NULL || to->numbers == NULL || to->operands == NULL)
        return heed_report_fill(report, HEED_E_NOMEM, NULL, 0, 0,
                                "no memory for the checked descriptor");
    to->form->numbers = to->numbers;
    to->form->bytes = table->numbers;
    return HEED_OK;
}

/* ---- one array ---- */

static const heed_tensor *tensor_of(const struct heed_arrays *a, uint32_t i)
{
    return (const void *)((const char *)a->desc + a->table->rows[i].desc_at);
}

static void name_of(const struct heed_arrays *a, uint32_t i, char name[HEED_FIELD])
{
    heed_operand_name(name, a->table->rows[i].name, a->table->rows[i].index);
}

bool heed_arrays_has(const struct heed_arrays *a, uint32_t array)
{
    return tensor_of(a, array)->ndim != 0;
}

heed_status heed_arrays_want(const struct heed_arrays *a, uint32_t array, bool wanted,
                             const char *why)
{
    const uint32_t ndim = tensor_of(a, array)->ndim;
    char name[HEED_FIELD], field[HEED_FIELD + 8];

    if ((ndim != 0) == wanted)
        return HEED_OK;
    name_of(a, array, name);
    snprintf(field, sizeof(field), "%s.ndim", name);
    return heed_where_fail(&a->where, wanted ? HEED_E_NULL : HEED_E_VALUE, field, wanted, ndim,
                           "%s: %s", wanted ? "the tensor is absent" : "it must be absent", why);
}

heed_status heed_arrays_scaled(const struct heed_arrays *a, uint32_t scales, uint32_t dtype)
{
    const bool with = heed_arrays_has(a, scales);
    char why[48];

    /* A type that no row of copy and push may have is refused by its name, elsewhere. */
    if (heed_dtype_in(dtype, HEED_SET_NIBBLES) || heed_dtype_scaled(dtype, with))
        return HEED_OK;
    snprintf(why, sizeof(why), "rows of %s %s scales", heed_dtype_name(dtype),
             with ? "have no" : "need their");
    return heed_arrays_want(a, scales, !with, why);
}

heed_status heed_arrays_limit(const struct heed_arrays *a, const char *name, int64_t value,
                              int64_t low, int64_t high, const char *why)
{
    if (value >= low && value <= high)
        return HEED_OK;
    return heed_where_fail(&a->where, HEED_E_VALUE, name, value < low ? low : high, value, "%s",
                           why);
}

/* The letters of an array: those before the batch, the batch, those behind it. */
struct axes {
    uint32_t leading, batch, trailing; /* how many; batch: 1 or 0 */
    const char *letters;               /* the trailing ones */
};

static struct axes axes_of(const struct heed_arrays *a, uint32_t i)
{
    const char *const b = strchr(a->axes[i], 'B');
    struct axes axes = { .batch = b != NULL, .letters = b != NULL ? b + 1 : a->axes[i] };

    axes.leading = b != NULL ? (uint32_t)(b - a->axes[i]) : 0;
    axes.trailing = (uint32_t)strlen(axes.letters);
    return axes;
}

/* A head axis may be missing where others follow or batch axes may stand before it. */
static bool head_may_miss(const struct axes *axes)
{
    return (axes->letters[0] == 'H' || axes->letters[0] == 'h' || axes->letters[0] == 'G' ||
            axes->letters[0] == 'g') &&
           axes->trailing > 1;
}

static struct heed_tensor_rule rule_of(const struct heed_arrays *a, uint32_t i, const char *name,
                                       const struct axes *axes)
{
    const uint32_t least = axes->trailing - (head_may_miss(axes) ? 1 : 0);

    return (struct heed_tensor_rule){
        .name = name,
        .min = !a->table->rows[i].needed   ? 0
               : axes->leading + least > 0 ? axes->leading + least
                                           : 1,
        .max = axes->batch ? (axes->trailing > 0 ? 3 + axes->trailing : 3) : axes->trailing,
        .trailing = axes->trailing,
        .end = 6,
        .set = a->table->rows[i].set,
    };
}

/* The axes before the batch take the places of missing batch axes from the left. */
static heed_tensor spread(const heed_tensor *t, const struct axes *axes)
{
    heed_tensor out = *t;
    const uint32_t missing = 3 + axes->trailing - t->ndim;

    if (axes->leading == 0)
        return out;
    out.ndim = 3 + axes->trailing;
    for (uint32_t i = 1; i < out.ndim; i++) {
        const bool there = i > missing;

        out.shape[i] = there ? t->shape[i - missing] : 1;
        out.stride[i] = there ? t->stride[i - missing] : 0;
    }
    return out;
}

static heed_status array_view(struct heed_arrays *a, uint32_t i)
{
    const struct heed_array_row *row = &a->table->rows[i];
    const heed_tensor *t = tensor_of(a, i);
    struct heed_view *view = &a->operands[i].view;
    char name[HEED_FIELD], field[HEED_FIELD + 8];
    const struct axes axes = axes_of(a, i);
    struct heed_tensor_rule rule;
    heed_tensor spread_out;
    heed_status status;

    name_of(a, i, name);
    rule = rule_of(a, i, name, &axes);
    a->operands[i].name = row->name;
    a->operands[i].index = row->index;
    a->operands[i].role = row->role;
    status = heed_tensor_extents(&a->where, &rule, t);
    if (status < 0 || t->ndim == 0)
        return status;
    spread_out = spread(t, &axes);
    view->dtype = t->dtype;
    status = heed_tensor_view(&a->where, &rule, &spread_out, view->shape, view->stride);
    if (status >= 0)
        status = heed_tensor_blocks(&a->where, name, t);
    if (status < 0 || row->role == HEED_ROLE_IN || heed_view_injective(view))
        return status;
    snprintf(field, sizeof(field), "%s.stride", name);
    return heed_where_fail(&a->where, HEED_E_STRIDE, field, 0, 0, "two elements have one address");
}

heed_status heed_arrays_axis(const struct heed_arrays *a, uint32_t array, uint32_t axis,
                             int64_t wanted, const char *why)
{
    const struct axes axes = axes_of(a, array);
    struct heed_tensor_rule rule;
    char name[HEED_FIELD];

    if (a->operands[array].view.shape[axis] == wanted)
        return HEED_OK;
    name_of(a, array, name);
    if (axis < axes.leading) {
        char field[HEED_FIELD + 24];

        snprintf(field, sizeof(field), "%s.shape[%u]", name, (unsigned)axis);
        return heed_where_fail(&a->where, HEED_E_SHAPE, field, wanted,
                               a->operands[array].view.shape[axis], "wanted %lld: %s",
                               (long long)wanted, why);
    }
    rule = rule_of(a, array, name, &axes);
    return heed_tensor_axis(&a->where, &rule, tensor_of(a, array), axis, wanted, why);
}

/* ---- arrays beside each other ---- */

/* Merges the batch extents of an array into those of all. */
static heed_status batch_merge(struct heed_arrays *a, uint32_t i)
{
    const struct axes axes = axes_of(a, i);

    for (uint32_t axis = axes.leading; axes.batch && axis < 3; axis++) {
        const int64_t extent = a->operands[i].view.shape[axis];
        int64_t *common = &a->form->batch[axis];

        if (extent == 1)
            continue;
        if (*common != 1 && *common != extent)
            return heed_arrays_axis(a, i, axis, *common, "batch extents disagree");
        *common = extent;
    }
    return HEED_OK;
}

/* What all agree on: of outputs every extent, of inputs strides of 0 where they are repeated. */
static heed_status batch_spread(struct heed_arrays *a, uint32_t i)
{
    const struct axes axes = axes_of(a, i);
    struct heed_view *view = &a->operands[i].view;
    heed_status status = HEED_OK;

    for (uint32_t axis = axes.leading; axes.batch && axis < 3 && status >= 0; axis++) {
        if (a->table->rows[i].role != HEED_ROLE_IN)
            status = heed_arrays_axis(a, i, axis, a->form->batch[axis],
                                      "outputs and states have every batch extent");
        else if (view->shape[axis] != a->form->batch[axis])
            view->shape[axis] = a->form->batch[axis]; /* its stride is 0 */
    }
    return status;
}

static heed_status letter_merge(struct heed_arrays *a, uint32_t i, char letter, uint32_t axis)
{
    const int64_t extent = a->operands[i].view.shape[axis];
    const bool may_be_one = letter >= 'a' && letter <= 'z';
    int64_t *common;
    char why[48];

    if (letter >= '0' && letter <= '9')
        return heed_arrays_axis(a, i, axis, letter - '0', "so many entries each");
    common = &a->extent[may_be_one ? letter - 'a' : letter - 'A'];
    if (may_be_one && extent == 1)
        return HEED_OK;
    if (*common < 0)
        *common = extent;
    snprintf(why, sizeof(why), "as the arrays before it%s", may_be_one ? ", or 1" : "");
    return heed_arrays_axis(a, i, axis, *common, why);
}

static heed_status letters_merge(struct heed_arrays *a, uint32_t i)
{
    const struct axes axes = axes_of(a, i);
    heed_status status = HEED_OK;

    for (uint32_t k = 0; k < axes.trailing && status >= 0; k++)
        status = letter_merge(a, i, axes.letters[k], 6 - axes.trailing + k);
    for (uint32_t k = 0; k < axes.leading && status >= 0; k++)
        status = letter_merge(a, i, a->axes[i][k], k);
    return status;
}

static heed_status each(struct heed_arrays *a, heed_status (*ask)(struct heed_arrays *, uint32_t i))
{
    heed_status status = HEED_OK;

    for (uint32_t i = 0; i < a->table->n && status >= 0; i++) {
        if (ask == array_view || a->operands[i].view.dtype != 0)
            status = ask(a, i);
    }
    return status;
}

heed_status heed_arrays_lay(struct heed_arrays *a)
{
    struct heed_form *form = a->form;
    heed_status status = each(a, array_view);

    for (int axis = 0; axis < 3; axis++)
        form->batch[axis] = 1;
    if (status >= 0)
        status = each(a, batch_merge);
    if (status >= 0)
        status = each(a, batch_spread);
    if (status >= 0)
        status = each(a, letters_merge);
    if (status < 0)
        return status;
    form->n_batch = 1;
    for (int axis = 0; axis < 3; axis++) {
        if (!heed_mul_i64(form->n_batch, form->batch[axis], &form->n_batch))
            return heed_report_fill(a->where.report, HEED_E_OVERFLOW, "batch", INT64_MAX, 0,
                                    "the product of the batch extents leaves 63 bits");
    }
    a->plan->checked = form;
    a->plan->operands = a->operands;
    a->plan->n_operands = a->table->n;
    return HEED_OK;
}

void heed_arrays_in_place(struct heed_arrays *a, uint32_t out, uint32_t in)
{
    a->operands[out].same_as = 1 + in;
}

int64_t heed_arrays_extent(const struct heed_arrays *a, char letter)
{
    const int64_t extent = a->extent[letter - 'A'];

    return extent < 0 ? 1 : extent;
}

/* ---- tasks ---- */

heed_status heed_arrays_pass(struct heed_arrays *a, int64_t tasks)
{
    a->form->tasks[a->form->n_passes++] = tasks;
    return HEED_OK;
}

int64_t heed_arrays_row_bytes(int64_t d, uint32_t dtype)
{
    const int64_t most = (int64_t)1 << 40;

    return d < most / 64 ? d * heed_dtype_size(dtype) / heed_dtype_elements(dtype) : most;
}

heed_status heed_arrays_strips(struct heed_arrays *a, int64_t heads, int64_t rows,
                               int64_t row_bytes, int64_t bytes)
{
    struct hk_strip_form *strip = a->numbers;
    const int64_t all = rows > 0 ? rows : 1; /* without bytes they are no work */
    const int64_t run = row_bytes == 0 ? all : row_bytes < bytes ? bytes / row_bytes : 1;

    *strip = (struct hk_strip_form){
        .heads = heads, .rows = rows, .run = run, .strips = rows / run + (rows % run != 0)
    };
    if ((double)a->form->n_batch * (double)heads * (double)strip->strips > tasks_max)
        return heed_report_fill(a->where.report, HEED_E_UNSUPPORTED, a->table->rows[0].name, 0, 0,
                                "its rows are more than can be numbered");
    if (strip->strips == 0 || heads == 0) /* two of the others may be any */
        return heed_arrays_pass(a, 0);
    return heed_arrays_pass(a, a->form->n_batch * heads * strip->strips);
}

heed_status heed_arrays_row_strips(struct heed_arrays *a, int64_t d, uint32_t dtype)
{
    enum { STRIP_BYTES = 32768 };

    return heed_arrays_strips(a, d > 0 ? heed_arrays_extent(a, 'H') : 0,
                              heed_arrays_extent(a, 'N'), heed_arrays_row_bytes(d, dtype),
                              STRIP_BYTES);
}

/* ---- plan and run ---- */

heed_status heed_arrays_lower(struct heed_plan *plan, struct heed_arena *arena, heed_report *report)
{
    (void)arena;
    (void)report;
    plan->params = plan->checked;
    return HEED_OK;
}

/* Enough for the arguments of any operation. */
enum { HEED_ARGS_MAX = 512 };

/* What every arguments struct of this sort begins with. */
struct args_head {
    uint32_t size, reserved;
    heed_run run;
};

heed_status heed_arrays_place(const struct heed_plan *plan, const void *given,
                              struct heed_places *to, heed_report *report)
{
    const struct heed_array_table *table = plan->op->arrays;
    _Alignas(max_align_t) char args[HEED_ARGS_MAX];
    struct args_head head;
    heed_status status =
        heed_sized_in(given, table->args_v1, args, table->args_size, "args", report);

    if (status < 0)
        return status;
    memcpy(&head, args, sizeof(head));
    if (head.reserved != 0 || head.run.reserved != 0)
        return heed_report_fill(
            report, HEED_E_VALUE, head.reserved != 0 ? "reserved" : "run.reserved", 0,
            head.reserved != 0 ? head.reserved : head.run.reserved, "must be 0");
    for (uint32_t i = 0; i < table->n; i++)
        memcpy(&to->at[i], args + table->rows[i].args_at, sizeof(to->at[i]));
    to->run = head.run;
    return HEED_OK;
}

/* ---- work ---- */

double heed_arrays_elements(const struct heed_plan *plan, uint32_t array)
{
    const struct heed_view *view = &plan->operands[array].view;
    double n = 1;

    for (int i = 0; i < 6; i++)
        n *= view->stride[i] != 0 || view->shape[i] <= 1 ? (double)view->shape[i] : 1;
    return view->dtype != 0 ? n : 0;
}

double heed_arrays_bytes(const struct heed_plan *plan, uint32_t array, double elements)
{
    const uint32_t dtype = plan->operands[array].view.dtype;

    return elements * heed_dtype_size(dtype) / heed_dtype_elements(dtype);
}

uint64_t heed_arrays_whole(double work)
{
    return work < 0x1p63 ? (uint64_t)work : (uint64_t)1 << 63;
}

uint64_t heed_arrays_once(const struct heed_plan *plan)
{
    double bytes = 0;

    for (uint32_t i = 0; i < plan->n_operands; i++)
        bytes += heed_arrays_bytes(plan, i, heed_arrays_elements(plan, i));
    return heed_arrays_whole(bytes);
}
