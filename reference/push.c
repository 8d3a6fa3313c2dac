/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * push: a memory of at most C rows, first in, first out (heed/memory.h; docs/numerics.md, section
 * 5). The sequence is the memory, oldest row first, then x; its last C rows stay.
 */
#include "array.h"
#include "layout.h"
#include "operations.h"

struct push {
    struct heed_ref_arrays arrays;
    const struct hk_push *numbers;
    int64_t oldest, length; /* of the memory, as it was */
    int64_t fresh;          /* rows of x that count */
    int64_t fallen;         /* rows that fall out */
};

static void item_start(struct push *push)
{
    const int64_t capacity = push->numbers->capacity;
    int64_t all;

    push->oldest = heed_ref_int(&push->arrays, HK_PUSH_HEAD, 0, 0, 0);
    if (push->oldest < 0 || push->oldest >= capacity)
        push->oldest = 0;
    push->length = heed_ref_length(&push->arrays, HK_PUSH_LEN, capacity);
    push->fresh = heed_ref_length(&push->arrays, HK_PUSH_X_LEN, push->numbers->strip.rows);
    all = push->length + push->fresh;
    push->fallen = all > capacity ? all - capacity : 0;
}

/* The row that the memory has, or is to have, for place g of the sequence. */
static int64_t row_of(const struct push *push, int64_t g)
{
    const struct heed_ref_layout ring = {
        .kind = HEED_LAYOUT_RING, .rows = push->numbers->capacity, .begin = push->oldest
    };

    return heed_ref_layout_spot(&ring, g).row;
}

/* Element of its channel 0. */
static int64_t memory_at(const struct push *push, int64_t head, int64_t g)
{
    return heed_ref_offset(&push->arrays, HK_PUSH_ROWS, head, row_of(push, g), 0);
}

static int64_t x_at(const struct push *push, int64_t head, int64_t g)
{
    return heed_ref_offset(&push->arrays, HK_PUSH_X, head, g - push->length, 0);
}

/* What falls out is read before anything of the memory is replaced. */
static void out_write(const struct push *push, int64_t head)
{
    const int64_t d = push->numbers->d;

    for (int64_t g = 0; g < push->numbers->strip.rows; g++) {
        int64_t to = heed_ref_offset(&push->arrays, HK_PUSH_OUT, head, g, 0);

        if (g >= push->fallen)
            heed_ref_zero_row(&push->arrays, HK_PUSH_OUT, to, d);
        else if (g < push->length)
            heed_ref_copy_row(&push->arrays, HK_PUSH_ROWS, memory_at(push, head, g), HK_PUSH_OUT,
                              to, d);
        else
            heed_ref_copy_row(&push->arrays, HK_PUSH_X, x_at(push, head, g), HK_PUSH_OUT, to, d);
    }
}

/* Row g, which is one of x, into a memory of bytes. */
static void quantise(const struct push *push, int64_t head, int64_t g)
{
    const struct heed_ref_scaled to = {
        HK_PUSH_ROWS, HK_PUSH_ROWS_SCALE, memory_at(push, head, g),
        heed_ref_offset(&push->arrays, HK_PUSH_ROWS_SCALE, 0, head, row_of(push, g))
    };

    heed_ref_quantise_row(&push->arrays, HK_PUSH_X, x_at(push, head, g), &to, push->numbers->d);
}

static void memory_write(const struct push *push, int64_t head)
{
    int64_t g = push->fallen > push->length ? push->fallen : push->length;

    for (; g < push->length + push->fresh; g++) {
        if (heed_ref_has(&push->arrays, HK_PUSH_ROWS_SCALE))
            quantise(push, head, g);
        else
            heed_ref_copy_row(&push->arrays, HK_PUSH_X, x_at(push, head, g), HK_PUSH_ROWS,
                              memory_at(push, head, g), push->numbers->d);
    }
}

static void item_finish(const struct push *push)
{
    const int64_t capacity = push->numbers->capacity;
    int64_t all = push->length + push->fresh;
    int64_t head = capacity > 0 ? (push->oldest + push->fallen) % capacity : 0;

    heed_ref_put_int(&push->arrays, HK_PUSH_HEAD, 0, 0, 0, head);
    heed_ref_put_int(&push->arrays, HK_PUSH_LEN, 0, 0, 0, all < capacity ? all : capacity);
    if (heed_ref_has(&push->arrays, HK_PUSH_OUT_LEN))
        heed_ref_put_int(&push->arrays, HK_PUSH_OUT_LEN, 0, 0, 0, push->fallen);
}

static void compute(const struct heed_plan *plan, const struct heed_launch *launch)
{
    const struct heed_form *form = heed_form_of(plan);
    struct push push = { .arrays = heed_ref_arrays_of(plan, launch), .numbers = form->numbers };

    for (int64_t item = 0; item < form->n_batch; item++) {
        heed_ref_arrays_item(&push.arrays, form, item);
        item_start(&push);
        for (int64_t head = 0; head < push.numbers->strip.heads; head++) {
            if (heed_ref_has(&push.arrays, HK_PUSH_OUT))
                out_write(&push, head);
            memory_write(&push, head);
        }
        item_finish(&push);
    }
}

static heed_status run(const struct heed_plan *plan, const struct heed_services *services,
                       const struct heed_launch *launch)
{
    (void)services;
    return heed_ref_compute(compute, plan, launch);
}

const struct heed_impl heed_ref_push = {
    .op = HEED_OP_PUSH,
    .name = "scalar",
    .prepare = heed_ref_prepare_nothing,
    .run = run,
};
