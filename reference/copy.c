/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * copy: y[b][h][to(i)] = x[b][h][from(i)] (heed/memory.h; docs/numerics.md, section 5). Indices,
 * lengths and heads are taken as they come: one that makes no sense is absent by rule.
 */
#include "array.h"
#include "operations.h"

/* |at| at most; sums with it stay far from the end of 64 bits. */
#define AT_MAX (INT64_C(1) << 60)

struct copy {
    struct heed_ref_arrays arrays;
    const struct hk_copy *numbers;
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

/* A row of y: its channel 0, and its scale, which means something where y is of i8. */
struct place {
    int64_t at, scale_at;
};

/* Row t of a plain y or of a ring. */
static bool row_find(const struct copy *copy, int64_t head, int64_t t, struct place *to)
{
    const int64_t rows = copy->numbers->y_rows;

    if (heed_ref_has(&copy->arrays, HK_COPY_HEAD)) {
        int64_t oldest = heed_ref_int(&copy->arrays, HK_COPY_HEAD, 0, 0, 0);

        if (oldest < 0 || oldest >= rows)
            return false;
        t = (oldest + t % rows) % rows;
    }
    if (t >= rows)
        return false;
    to->at = heed_ref_offset(&copy->arrays, HK_COPY_Y, head, t, 0);
    to->scale_at = heed_ref_offset(&copy->arrays, HK_COPY_Y_SCALE, 0, head, t);
    return true;
}

/* Row t of a paged y, [P][H][page][d] in axes 2 to 5, with scales [P][H][page] in axes 3 to 5: no
 * item has pages of its own. */
static bool paged_find(const struct copy *copy, int64_t head, int64_t t, struct place *to)
{
    const int64_t *stride = copy->arrays.operands[HK_COPY_Y].view.stride;
    const int64_t *scale = copy->arrays.operands[HK_COPY_Y_SCALE].view.stride;
    const struct hk_copy *numbers = copy->numbers;
    int64_t page;

    if (numbers->page == 0 || t / numbers->page >= numbers->table)
        return false;
    page = heed_ref_int(&copy->arrays, HK_COPY_TABLE, 0, 0, t / numbers->page);
    if (page < 0 || page >= numbers->n_pages)
        return false;
    to->at = page * stride[2] + head * stride[3] + t % numbers->page * stride[4];
    to->scale_at = page * scale[3] + head * scale[4] + t % numbers->page * scale[5];
    return true;
}

/* Where row i goes. false: nowhere. */
static bool destination_find(const struct copy *copy, int64_t head, int64_t i, struct place *to)
{
    int64_t t = target_of(copy, head, i);

    if (t < 0)
        return false;
    if (heed_ref_has(&copy->arrays, HK_COPY_TABLE))
        return paged_find(copy, head, t, to);
    return row_find(copy, head, t, to);
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
    struct copy copy = { heed_ref_arrays_of(plan, launch), form->numbers };
    const struct hk_strip_form *strip = &copy.numbers->strip;

    for (int64_t item = 0; item < form->n_batch; item++) {
        int64_t rows;

        heed_ref_arrays_item(&copy.arrays, form, item);
        rows = heed_ref_length(&copy.arrays, HK_COPY_LEN, strip->rows);
        for (int64_t head = 0; head < strip->heads; head++) {
            for (int64_t i = 0; i < rows; i++)
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
