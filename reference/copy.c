/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * copy: y[b][h][to(i)] = x[b][h][from(i)] (heed/memory.h; docs/numerics.md, section 5). Indices,
 * lengths and heads are taken as they come: one that makes no sense is absent by rule.
 */
#include "array.h"
#include "layout.h"
#include "operations.h"

/* |at| at most; sums with it stay far from the end of 64 bits. */
#define AT_MAX (INT64_C(1) << 60)

struct copy {
    struct heed_ref_arrays arrays;
    const struct hk_copy *numbers;
    struct heed_ref_layout y;
};

/* The row of x that row i comes from; -1: absent. */
static int64_t source_of(const struct copy *copy, int64_t head, int64_t i)
{
    int64_t from = i;

    if (heed_ref_has(&copy->arrays, HK_COPY_FROM))
        from = heed_ref_int(&copy->arrays, HK_COPY_FROM, 0, head, i);
    return from >= 0 && from < copy->numbers->x_rows ? from : -1;
}

/* t of heed/memory.h, before y says where that is. */
static int64_t target_of(const struct copy *copy, int64_t head, int64_t i)
{
    int64_t at;

    if (heed_ref_has(&copy->arrays, HK_COPY_TO))
        return heed_ref_int(&copy->arrays, HK_COPY_TO, 0, head, i);
    if (!heed_ref_has(&copy->arrays, HK_COPY_AT))
        return i;
    at = heed_ref_int(&copy->arrays, HK_COPY_AT, 0, 0, 0);
    return (at < -AT_MAX ? -AT_MAX : at > AT_MAX ? AT_MAX : at) + i;
}

/* A row of y: its channel 0, and its scale, which means something where y has scales. */
struct place {
    int64_t at, scale_at;
};

/* How the rows of y lie for the item at hand, by the array that says so. */
static struct heed_ref_layout layout_of(const struct copy *copy, int64_t rows)
{
    static const struct {
        uint32_t array, kind;
    } ways[] = { { HK_COPY_HEAD, HEED_LAYOUT_RING }, { HK_COPY_TABLE, HEED_LAYOUT_PAGED } };
    const struct heed_ref_arrays *arrays = &copy->arrays;
    const struct heed_view *y = &arrays->operands[HK_COPY_Y].view;
    struct heed_ref_layout out = { .rows = y->shape[4], .pages = y->shape[2], .length = rows };

    for (int i = 0; i < 2; i++) {
        const struct heed_view *view = &arrays->operands[ways[i].array].view;

        if (!heed_ref_has(arrays, ways[i].array))
            continue;
        out.kind = ways[i].kind;
        out.index = (struct heed_ref_index){
            .base = heed_address(arrays->at[ways[i].array]),
            .dtype = view->dtype,
            .at = heed_ref_offset(arrays, ways[i].array, 0, 0, 0),
            .stride = view->stride[5],
            .entries = view->shape[5],
        };
    }
    heed_ref_layout_start(&out, rows);
    return out;
}

/* Where row i goes; pages are no item's. false: nowhere. */
static bool destination_find(const struct copy *copy, int64_t head, int64_t i, struct place *to)
{
    const int64_t *stride = copy->arrays.operands[HK_COPY_Y].view.stride;
    int64_t t = target_of(copy, head, i);
    struct heed_ref_spot spot;

    if (t < 0)
        return false;
    spot = heed_ref_layout_spot(&copy->y, t);
    to->at = spot.paged
                 ? spot.page * stride[2] + head * stride[3] + spot.row * stride[4]
                 : heed_ref_offset(&copy->arrays, HK_COPY_Y, head, spot.row, 0);
    to->scale_at = heed_ref_offset(&copy->arrays, HK_COPY_Y_SCALE, spot.page, head, spot.row);
    return spot.there;
}

static void row_zero(const struct copy *copy, const struct place *to)
{
    heed_ref_zero_row(&copy->arrays, HK_COPY_Y, to->at, copy->numbers->d);
    if (heed_ref_has(&copy->arrays, HK_COPY_Y_SCALE))
        heed_ref_put(&copy->arrays, HK_COPY_Y_SCALE, to->scale_at, 0.0f);
}

static void row_run(const struct copy *copy, int64_t head, int64_t i)
{
    int64_t from = source_of(copy, head, i), from_at;
    struct place to;

    if ((from < 0 && !copy->numbers->zero) || !destination_find(copy, head, i, &to))
        return;
    if (from < 0) {
        row_zero(copy, &to);
        return;
    }
    from_at = heed_ref_offset(&copy->arrays, HK_COPY_X, head, from, 0);
    if (heed_ref_has(&copy->arrays, HK_COPY_Y_SCALE)) {
        const struct heed_ref_scaled scaled = { HK_COPY_Y, HK_COPY_Y_SCALE, to.at, to.scale_at };

        heed_ref_quantise_row(&copy->arrays, HK_COPY_X, from_at, &scaled, copy->numbers->d);
    } else {
        heed_ref_copy_row(&copy->arrays, HK_COPY_X, from_at, HK_COPY_Y, to.at, copy->numbers->d);
    }
}

static void compute(const struct heed_plan *plan, const struct heed_launch *launch)
{
    const struct heed_form *form = heed_form_of(plan);
    struct copy copy = { .arrays = heed_ref_arrays_of(plan, launch), .numbers = form->numbers };
    const struct hk_strip_form *strip = &copy.numbers->strip;

    for (int64_t item = 0; item < form->n_batch; item++) {
        heed_ref_arrays_item(&copy.arrays, form, item);
        copy.y = layout_of(&copy, heed_ref_length(&copy.arrays, HK_COPY_LEN, strip->rows));
        for (int64_t head = 0; head < strip->heads; head++) {
            for (int64_t i = 0; i < copy.y.length; i++)
                row_run(&copy, head, i);
        }
    }
}

static heed_status run(const struct heed_plan *plan, const struct heed_services *services,
                       const struct heed_launch *launch)
{
    (void)services;
    return heed_ref_compute(compute, plan, launch);
}

const struct heed_impl heed_ref_copy = {
    .op = HEED_OP_COPY,
    .name = "scalar",
    .prepare = heed_ref_prepare_nothing,
    .run = run,
};
