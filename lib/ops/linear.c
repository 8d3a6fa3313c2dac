/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Linear maps of rows and of windows of rows.
 */
#include "windows.h"

#include "../types/types.h"

#include <heed/nn.h>
#include <heed/pool.h>

/* clang-format off */
static const struct heed_array_row linear_arrays[] = {
    [HK_LINEAR_X] = HEED_ARRAY_ROW(linear, x, "BHNC", IN, FLOATS, 1),
    [HK_LINEAR_W] = HEED_ARRAY_ROW(linear, w, "hOC", IN, WEIGHTS, 1),
    [HK_LINEAR_BIAS] = HEED_ARRAY_ROW(linear, bias, "O", IN, FLOATS, 0),
    [HK_LINEAR_ADD] = HEED_ARRAY_ROW(linear, add, "BHMO", IN, FLOATS, 0),
    [HK_LINEAR_Y] = HEED_ARRAY_ROW(linear, y, "BHMO", OUT, FLOATS, 1),
};
/* clang-format on */

/* Sizes of the first version: frozen. */
enum { DESC_V1 = 568, ARGS_V1 = 128 };
_Static_assert(sizeof(heed_linear_desc) == DESC_V1, "heed_linear_desc may only grow");
_Static_assert(sizeof(heed_linear_args) == ARGS_V1, "heed_linear_args may only grow");

static const struct heed_array_table arrays =
    HEED_ARRAY_TABLE(linear, DESC_V1, ARGS_V1, 0, offsetof(heed_linear_desc, reserved));

/* A task has so many rows and outputs at most, for it packs weights for its rows and rows for its
 * outputs, and what it keeps is to fit into a second level of caches. It has fewer where tasks are
 * few: at least, and for each worker or unit of the device. */
enum { ROWS_MAX = 512, ROWS_MIN = 48, ROWS_UNIT = 12, WIDTH_MAX = 256 };
enum { TASKS_FEW = 8, TASKS_EACH = 4 };
enum { TILE_ROWS = 16 }; /* of any device at most: rows that scratch has beyond those of a task */
enum { FEW_FLOATS = 1 << 17 }; /* of few rows all terms have room in scratch, so many at most */
/* Passes: processors have the first; of GPUs those with large tiles, with small ones, with few rows
 * of all taps, or with weights in blocks. */
enum { PASS_LARGE, PASS_SMALL, PASS_FEW, PASS_BLOCKS, PASSES };
enum { TILE_LARGE = 128, TILE_SMALL = 64 }; /* rows, and outputs, of a task of a group */
/* What a large tile takes and what a small one does, by time: it has a quarter of the sums. */
static const double cost_large = 4, cost_small = 1.3;
enum { FEW_MOST = 32 };       /* rows that take longer to read than to multiply */
enum { FEW_BLOCKS = 16 };     /* blocks of a sum at once, at most: lines of weights are long */
static const double tasks_max = 0x1p62;

static int64_t parts_of(int64_t n, int64_t size)
{
    return n / size + (n % size != 0);
}

static int64_t round_up(int64_t n, int64_t to)
{
    return parts_of(n, to) * to;
}

static struct heed_windows windows_of(const heed_linear_desc *d)
{
    return (struct heed_windows){ d->kernel != 0 ? d->kernel : 1, d->stride != 0 ? d->stride : 1,
                                  d->left, d->tail };
}

static heed_status numbers_check(const struct heed_arrays *a, const heed_linear_desc *d)
{
    const struct heed_windows windows = windows_of(d);
    heed_status status = heed_arrays_limit(a, "act", d->act, HEED_ACT_NONE, HEED_ACT_INVERSE,
                                           "a function HEED_ACT_* is wanted");

    if (status >= 0)
        status = heed_arrays_limit(a, "tail", d->tail, 0, HEED_TAIL_END, "no such tail");
    if (status >= 0 && d->tail == HEED_TAIL_JOIN)
        status = heed_where_fail(&a->where, HEED_E_VALUE, "tail", 0, d->tail,
                                 "the last window of JOIN has more rows than taps");
    return status < 0 ? status : heed_windows_check(a, &windows);
}

static heed_status extents_check(const struct heed_arrays *a, const heed_linear_desc *d)
{
    const struct heed_windows windows = windows_of(d);
    const int64_t rows = heed_windows_count(&windows, heed_arrays_extent(a, 'N'));
    int64_t terms;
    heed_status status = heed_arrays_axis(a, HK_LINEAR_Y, 4, rows, "rows that x's windows give");

    if (status >= 0 && d->kernel != 0)
        status = heed_arrays_axis(a, HK_LINEAR_W, 4, d->kernel, "kernel");
    if (status >= 0 && !heed_mul_i64(windows.kernel, heed_arrays_extent(a, 'C'), &terms))
        status = heed_where_fail(&a->where, HEED_E_OVERFLOW, "kernel", INT64_MAX, d->kernel,
                                 "the terms of a sum leave 63 bits");
    if (status >= 0 && heed_arrays_extent(a, 'N') > INT64_MAX - windows.kernel)
        status = heed_where_fail(&a->where, HEED_E_OVERFLOW, "kernel",
                                 INT64_MAX - heed_arrays_extent(a, 'N'), windows.kernel,
                                 "rows behind the last one leave 63 bits");
    return status;
}

/* Has every row all of its taps? */
static uint32_t rows_whole(const struct hk_linear *linear, int64_t m)
{
    const int64_t rest = linear->n - linear->taps;

    return linear->before == 0 && (m <= 0 || (rest >= 0 && m - 1 <= rest / linear->stride));
}

/* ---- rows of all items ---- */

/* Do the rows of an array follow each other from item to item? *step: from one to the next. */
static bool rows_follow(const struct heed_arrays *a, uint32_t array, int64_t rows, int64_t *step)
{
    const struct heed_view *view = &a->operands[array].view;
    bool found = rows > 1;

    *step = found ? view->stride[4] : 0;
    for (int axis = 2; axis >= 0; axis--) {
        int64_t whole;

        if (a->form->batch[axis] == 1)
            continue;
        if (!found)
            *step = view->stride[axis];
        if (found && (!heed_mul_i64(*step, rows, &whole) || whole != view->stride[axis]))
            return false;
        found = true;
        rows *= a->form->batch[axis];
    }
    return true;
}

/* Rows of all items become those of one, if each gives one and they lie so: weights are then read
 * once for all of them. */
static void items_join(struct heed_arrays *a, const heed_linear_desc *d)
{
    static const uint32_t arrays_of_rows[] = { HK_LINEAR_X, HK_LINEAR_ADD, HK_LINEAR_Y };
    enum { N_ARRAYS = sizeof(arrays_of_rows) / sizeof(*arrays_of_rows) };
    const struct heed_windows windows = windows_of(d);
    const int64_t n = heed_arrays_extent(a, 'N');
    int64_t step[N_ARRAYS], rows;

    if (windows.kernel != 1 || windows.stride != 1 || windows.left != 0 || n < 1 ||
        heed_arrays_extent(a, 'M') != n || heed_arrays_extent(a, 'H') != 1 ||
        a->form->n_batch < 2 || !heed_mul_i64(n, a->form->n_batch, &rows))
        return;
    for (int i = 0; i < N_ARRAYS; i++) {
        const uint32_t array = arrays_of_rows[i];

        if (heed_arrays_has(a, array) && !rows_follow(a, array, n, &step[i]))
            return;
    }
    for (int i = 0; i < N_ARRAYS; i++) {
        struct heed_view *view = &a->operands[arrays_of_rows[i]].view;

        if (!heed_arrays_has(a, arrays_of_rows[i]))
            continue;
        for (int axis = 0; axis < 3; axis++) {
            view->shape[axis] = 1;
            view->stride[axis] = 0;
        }
        view->shape[4] = rows;
        view->stride[4] = step[i];
    }
    for (int axis = 0; axis < 3; axis++)
        a->form->batch[axis] = 1;
    a->form->n_batch = 1;
    a->extent['N' - 'A'] = a->extent['M' - 'A'] = rows;
}

static void form_fill(struct heed_arrays *a, const heed_linear_desc *d)
{
    const struct heed_windows windows = windows_of(d);
    struct hk_linear *linear = a->numbers;

    heed_arrays_in_place(a, HK_LINEAR_Y, HK_LINEAR_ADD);
    linear->in = heed_arrays_extent(a, 'C');
    linear->out = heed_arrays_extent(a, 'O');
    linear->n = heed_arrays_extent(a, 'N');
    linear->taps = windows.kernel;
    linear->stride = windows.stride;
    linear->before = windows.left;
    if (windows.tail == HEED_TAIL_END) /* M * stride - n */
        linear->before = (windows.stride - linear->n % windows.stride) % windows.stride;
    linear->act = d->act;
    linear->tapped = d->kernel != 0;
    linear->whole = rows_whole(linear, heed_arrays_extent(a, 'M'));
}

/* Rows and outputs of a task. */
static void shape_find(const struct heed_arrays *a, struct hk_linear *linear, int64_t *run)
{
    const heed_device *device = a->plan->device;
    const int64_t units = device ? device->props.width : 0;
    const double few = units > TASKS_FEW / TASKS_EACH ? TASKS_EACH * (double)units : TASKS_FEW;
    const int64_t m = heed_arrays_extent(a, 'M');
    const double others = (double)a->form->n_batch * (double)heed_arrays_extent(a, 'H');
    int64_t rows = m > 0 ? round_up(parts_of(m, parts_of(m, ROWS_MAX)), ROWS_UNIT) : ROWS_UNIT;
    int64_t width = linear->out < WIDTH_MAX ? round_up(linear->out, HK_LINEAR_WIDTH) : WIDTH_MAX;

    width = width > 0 ? width : HK_LINEAR_WIDTH;
    while (width > HK_LINEAR_WIDTH &&
           others * (double)parts_of(m, rows) * (double)parts_of(linear->out, width) < few)
        width = round_up(width / 2, HK_LINEAR_WIDTH);
    while (rows > ROWS_MIN &&
           others * (double)parts_of(m, rows) * (double)parts_of(linear->out, width) < few)
        rows = round_up(rows / 2, ROWS_UNIT);
    *run = rows;
    linear->lanes.width = width;
    linear->lanes.parts = parts_of(linear->out, width);
}

/* ---- groups ---- */

/* So many blocks of a sum as there are, or as there is room for. */
static int64_t few_width(const struct hk_linear *linear, int64_t run)
{
    int64_t rows = 1, blocks = 1;

    while (rows < run)
        rows *= 2;
    while (blocks < FEW_BLOCKS && blocks * HK_LINEAR_BLOCK < linear->in &&
           2 * blocks * rows <= HK_LINEAR_SLABS)
        blocks *= 2;
    return HK_LINEAR_CHAINS / blocks;
}

/* The time that tiles take on a device of `units`. */
static double tiles_time(const struct hk_linear *linear, double others, int64_t m, int64_t tile,
                         double cost, double units)
{
    const double all =
        others * (double)parts_of(m, tile) * (double)parts_of(linear->out, tile) / units;

    return cost * (all < 0x1p50 ? (double)(int64_t)(all + 1 - 0x1p-20) : all);
}

/* Rows and outputs of a task of a group, and in which pass. */
static int groups_shape(const struct heed_arrays *a, struct hk_linear *linear, int64_t m)
{
    const heed_device *device = a->plan->device;
    const double units = device && device->props.width > 0 ? device->props.width : 1;
    const double others = (double)a->form->n_batch * (double)heed_arrays_extent(a, 'H');
    const bool blocks = heed_dtype_elements(a->operands[HK_LINEAR_W].view.dtype) > 1;
    struct hk_linear_cut *const cut = &linear->groups;

    if (blocks) {
        cut->strip.run = cut->width = TILE_SMALL;
        return PASS_BLOCKS;
    }
    if (m <= FEW_MOST && linear->taps == 1 && linear->whole) {
        cut->strip.run = m > 0 ? parts_of(m, parts_of(m, HK_LINEAR_ROWS)) : 1;
        cut->width = few_width(linear, cut->strip.run);
        return PASS_FEW;
    }
    if (tiles_time(linear, others, m, TILE_LARGE, cost_large, units) <=
        tiles_time(linear, others, m, TILE_SMALL, cost_small, units)) {
        cut->strip.run = cut->width = TILE_LARGE;
        return PASS_LARGE;
    }
    cut->strip.run = cut->width = TILE_SMALL;
    return PASS_SMALL;
}

static bool groups_find(struct heed_arrays *a, struct hk_linear *linear)
{
    const int64_t m = heed_arrays_extent(a, 'M'), heads = heed_arrays_extent(a, 'H');
    const int pass = groups_shape(a, linear, m);
    struct hk_linear_cut *const cut = &linear->groups;
    double tasks;

    cut->strip.heads = heads;
    cut->strip.rows = m;
    cut->strip.strips = parts_of(m, cut->strip.run);
    cut->parts = parts_of(linear->out, cut->width);
    tasks = (double)a->form->n_batch * (double)heads * (double)cut->strip.strips *
            (double)cut->parts;
    if (tasks > tasks_max)
        return false;
    a->form->groups_apart = true;
    a->form->group_tasks[pass] =
        tasks > 0 ? a->form->n_batch * heads * cut->strip.strips * cut->parts : 0;
    return true;
}

/* Rows of a block of terms that scratch has room for. */
static int64_t rows_room(const struct hk_linear *linear, int64_t m, int64_t run)
{
    const int64_t rows = m < TILE_ROWS ? m + TILE_ROWS / 4 : TILE_ROWS;
    const int64_t most = run + TILE_ROWS, terms = linear->taps * linear->in;
    int64_t few = 0;

    if (m <= TILE_ROWS && terms < FEW_FLOATS / rows)
        few = parts_of(rows * (terms + TILE_ROWS), HK_LINEAR_BLOCK) + 1;
    return few > most ? few : most;
}

static heed_status tasks_find(struct heed_arrays *a, struct hk_linear *linear)
{
    const int64_t width = linear->lanes.width, parts = linear->lanes.parts, run = linear->room;
    const struct hk_linear numbers = *linear;
    heed_status status = heed_arrays_strips(a, linear->out > 0 ? heed_arrays_extent(a, 'H') : 0,
                                            heed_arrays_extent(a, 'M'), 1, run);
    struct hk_strip_form strip = linear->lanes.strip;

    if (status < 0)
        return status;
    *linear = numbers;
    linear->lanes.strip = strip;
    if ((double)a->form->tasks[0] * (double)parts > tasks_max || !groups_find(a, linear))
        return heed_report_fill(a->where.report, HEED_E_UNSUPPORTED, "y", 0, 0,
                                "its tasks are more than can be numbered");
    linear->room = rows_room(linear, heed_arrays_extent(a, 'M'), run);
    a->form->tasks[0] *= parts;
    a->form->n_passes = PASSES;
    a->form->lanes_alone = true; /* work-groups keep nothing in scratch */
    a->form->scratch = (linear->room * (HK_LINEAR_BLOCK + width) +
                        HK_LINEAR_WIDTH * (HK_LINEAR_BLOCK + TILE_ROWS) + width) *
                       (int64_t)sizeof(float);
    return HEED_OK;
}

static heed_status check(struct heed_plan *plan, struct heed_arena *arena, const void *given,
                         heed_report *report)
{
    heed_linear_desc desc;
    struct heed_arrays a;
    struct hk_linear *linear;
    heed_status status = heed_arrays_open(&a, plan, arena, given, &desc, report);

    if (status >= 0)
        status = numbers_check(&a, &desc);
    if (status < 0)
        return status;
    if (desc.kernel != 0)
        a.axes[HK_LINEAR_W] = "hOTC";
    status = heed_arrays_lay(&a);
    if (status >= 0)
        status = extents_check(&a, &desc);
    if (status < 0)
        return status;
    linear = a.numbers;
    items_join(&a, &desc);
    form_fill(&a, &desc);
    shape_find(&a, linear, &linear->room);
    return tasks_find(&a, linear);
}

static void work(const struct heed_plan *plan, uint64_t *flops, uint64_t *bytes)
{
    const struct hk_linear *linear = heed_form_of(plan)->numbers;

    *flops = heed_arrays_whole(2 * heed_arrays_elements(plan, HK_LINEAR_Y) *
                               (double)linear->taps * (double)linear->in);
    *bytes = heed_arrays_once(plan);
}

const struct heed_op heed_op_linear = {
    .id = HEED_OP_LINEAR,
    .name = "linear",
    .arrays = &arrays,
    .check = check,
    .lower = heed_arrays_lower,
    .place = heed_arrays_place,
    .work = work,
};

heed_status heed_linear_check(heed_device *device, const heed_linear_desc *desc,
                              heed_report *report)
{
    return heed_op_check(&heed_op_linear, device, desc, report);
}

heed_status heed_linear_plan(heed_device *device, const heed_linear_desc *desc, heed_plan **out,
                             heed_report *report)
{
    return heed_op_plan(&heed_op_linear, device, desc, out, report);
}

heed_status heed_linear_run(const heed_plan *plan, heed_queue *queue, const heed_linear_args *args,
                            heed_event **event, heed_report *report)
{
    return heed_op_run(&heed_op_linear, plan, queue, args, event, report);
}
