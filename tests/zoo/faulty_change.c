/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the faults do to elements.
 */
#include "faulty.h"

#include <math.h>
#include <string.h>

static bool last_of(const struct view *v, const int64_t *c, int axis)
{
    return axis >= 0 && c[axis] == v->shape[axis] - 1;
}

static void swap(const struct view *v, int64_t *c, int axis)
{
    if (axis >= 0 && (c[axis] ^ 1) < v->shape[axis])
        c[axis] ^= 1;
}

/* Is the i-th element, at c, written? */
static bool written(const struct view *v, const int64_t *c, int64_t i)
{
    const int row = v->row >= 0 ? v->row : v->channel;

    switch (faulty_which) {
    case FAULT_all_unwritten:
        return false;
    case FAULT_last_row_unwritten:
        return !last_of(v, c, row);
    case FAULT_first_row_unwritten:
        return row < 0 || c[row] > 0;
    case FAULT_odd_rows_unwritten:
        return row < 0 || c[row] % 2 == 0;
    case FAULT_last_item_unwritten:
        return !last_of(v, c, v->item);
    case FAULT_last_channel_unwritten:
        return !last_of(v, c, v->channel);
    case FAULT_tail_unwritten:
        return v->channel < 0 || c[v->channel] < v->shape[v->channel] / 8 * 8;
    case FAULT_last_element_unwritten:
        return i < v->n - 1;
    }
    return true;
}

/* From where the element at c comes. */
static void moved(const struct view *v, int64_t *c)
{
    const int row = v->row >= 0 ? v->row : v->channel;

    switch (faulty_which) {
    case FAULT_row_shifted:
        if (row >= 0)
            c[row] -= c[row] > 0;
        break;
    case FAULT_rows_reversed:
        if (row >= 0)
            c[row] = v->shape[row] - 1 - c[row];
        break;
    case FAULT_row_0_everywhere:
        if (row >= 0)
            c[row] = 0;
        break;
    case FAULT_last_row_repeated:
        if (last_of(v, c, row))
            c[row]--;
        break;
    case FAULT_channels_swapped:
        swap(v, c, v->channel);
        break;
    case FAULT_channel_shifted:
        if (v->channel >= 0)
            c[v->channel] -= c[v->channel] > 0;
        break;
    case FAULT_heads_swapped:
        swap(v, c, v->head);
        break;
    case FAULT_head_0_everywhere:
        if (v->head >= 0)
            c[v->head] = 0;
        break;
    case FAULT_items_swapped:
        swap(v, c, v->item);
        break;
    case FAULT_item_0_everywhere:
        if (v->item >= 0)
            c[v->item] = 0;
        break;
    case FAULT_wrong_at_65:
        if (row >= 0 && c[row] >= 64)
            c[row] = 0;
        break;
    }
}

static void bit_flip(unsigned char *at)
{
    *at ^= 1; /* the lowest one where the lowest byte is first */
}

/* What is largest, and second to it, of the finite numbers. */
static void largest_find(const struct view *v, double *first, double *second)
{
    *first = *second = 0;
    for (int64_t i = 0; i < v->n; i++) {
        int64_t c[AXES];
        double x;

        faulty_place(v, i, c);
        x = fabs(faulty_value(v->at + faulty_offset(v, c), v->dtype));
        if (!(x < (double)INFINITY))
            continue;
        if (x > *first) {
            *second = *first;
            *first = x;
        } else if (x > *second && x < *first) {
            *second = x;
        }
    }
}

static void number_wrong(const struct view *v, unsigned char *at, const int64_t *c, int64_t i,
                         const double *largest)
{
    const int row = v->row >= 0 ? v->row : v->channel;
    const double x = faulty_value(at, v->dtype), most = v->dtype == HEED_F16 ? 65504 : 3.3895314e38;
    const double smallest = v->dtype == HEED_F16 ? 0x1p-14 : 0x1p-126;
    double y = x;

    switch (faulty_which) {
    case FAULT_sums_in_bf16:
        y = faulty_rounded(x, HEED_BF16);
        break;
    case FAULT_sums_in_f16:
        y = faulty_rounded(x, HEED_F16);
        break;
    case FAULT_smallest_zero:
        y = fabs(x) < largest[0] / 1024 ? 0 : x;
        break;
    case FAULT_subnormals_lost:
        y = fabs(x) < smallest ? 0 : x;
        break;
    case FAULT_zero_negative:
        if (x == 0)
            at[v->bytes - 1] ^= 0x80;
        return;
    case FAULT_nan_other:
        if (isnan(x))
            bit_flip(at);
        return;
    case FAULT_nan_zero:
        y = isnan(x) ? 0 : x;
        break;
    case FAULT_inf_clipped:
        y = isinf(x) ? copysign(most, x) : x;
        break;
    case FAULT_largest_clipped:
        y = fabs(x) == largest[0] ? copysign(largest[1], x) : x;
        break;
    case FAULT_sign_lost:
        y = fabs(x);
        break;
    case FAULT_scaled_by_1_per_mille:
        y = x * (1 + 0x1p-10);
        break;
    case FAULT_scaled_by_1_per_million:
        y = x * (1 + 0x1p-20);
        break;
    case FAULT_one_in_509_wrong:
        y = i % 509 == 0 ? -x : x;
        break;
    case FAULT_row_in_many_wrong:
        y = row >= 0 && c[row] % 32 == 0 ? -x : x;
        break;
    }
    if (y != x)
        faulty_put(at, v->dtype, y);
}

static void word_wrong(const struct view *v, unsigned char *at, const int64_t *c, int64_t i,
                       const double *largest)
{
    const int row = v->row >= 0 ? v->row : v->channel;

    switch (faulty_which) {
    case FAULT_first_ulp:
        if (i == 0)
            bit_flip(at);
        return;
    case FAULT_last_ulp:
        if (i == v->n - 1)
            bit_flip(at);
        return;
    case FAULT_middle_ulp:
        if (i == v->n / 2)
            bit_flip(at);
        return;
    case FAULT_one_in_61_ulp:
        if (i % 61 == 60)
            bit_flip(at);
        return;
    case FAULT_last_row_ulp:
        if (last_of(v, c, row))
            bit_flip(at);
        return;
    case FAULT_all_ulp:
        bit_flip(at);
        return;
    case FAULT_rounds_down:
        *at &= 0xfe;
        return;
    case FAULT_rounds_up:
        *at |= 1;
        return;
    case FAULT_low_8_bits_cut:
        *at &= v->bytes == 4 ? 0xf0 : v->bytes == 2 ? 0xfc : 0xfe;
        return;
    case FAULT_first_zero:
        if (i == 0)
            memset(at, 0, (size_t)v->bytes);
        return;
    case FAULT_last_zero:
        if (i == v->n - 1)
            memset(at, 0, (size_t)v->bytes);
        return;
    case FAULT_last_row_zero:
        if (last_of(v, c, row))
            memset(at, 0, (size_t)v->bytes);
        return;
    }
    if (faulty_float(v->dtype))
        number_wrong(v, at, c, i, largest);
}

void faulty_output(const struct view *v, const unsigned char *old, const unsigned char *right,
                   int64_t low)
{
    const bool words = faulty_which >= FAULT_first_ulp;
    double largest[2] = { 0 };

    if (faulty_float(v->dtype))
        largest_find(v, &largest[0], &largest[1]);
    for (int64_t i = 0; i < v->n; i++) {
        int64_t c[AXES], from[AXES];
        unsigned char *at;

        faulty_place(v, i, c);
        at = v->at + faulty_offset(v, c);
        if (words) {
            word_wrong(v, at, c, i, largest);
            continue;
        }
        memcpy(from, c, sizeof from);
        moved(v, from);
        if (written(v, c, i))
            memcpy(at, right + faulty_offset(v, from) - low, (size_t)v->bytes);
        else
            memcpy(at, old + faulty_offset(v, c) - low, (size_t)v->bytes);
    }
}

/* An element of an input as the fault has it, given the whole of it. */
static void given_element(const struct view *v, unsigned char *at, const int64_t *c, int64_t i,
                          const struct view *whole)
{
    const int row = v->row >= 0 ? v->row : v->channel;
    int64_t from[AXES];
    double x = faulty_float(v->dtype) ? faulty_value(at, v->dtype) : 0;

    memcpy(from, c, sizeof from);
    switch (faulty_which) {
    case FAULT_given_0_row_dropped:
    case FAULT_given_1_row_dropped:
        if (last_of(v, c, row))
            from[row] = 0;
        break;
    case FAULT_given_0_channel_dropped:
    case FAULT_given_1_channel_dropped:
        if (last_of(v, c, v->channel))
            memset(at, 0, (size_t)v->bytes);
        return;
    case FAULT_given_0_in_bf16:
    case FAULT_given_1_in_bf16:
        if (faulty_float(v->dtype) && !isnan(x))
            faulty_put(at, v->dtype, faulty_rounded(x, HEED_BF16));
        return;
    case FAULT_given_0_in_f16:
        if (faulty_float(v->dtype) && !isnan(x))
            faulty_put(at, v->dtype, faulty_rounded(x, HEED_F16));
        return;
    case FAULT_given_0_subnormals:
        if (faulty_float(v->dtype) && x != 0 &&
            fabs(x) < (v->dtype == HEED_F16 ? 0x1p-14 : 0x1p-126))
            faulty_put(at, v->dtype, 0);
        return;
    case FAULT_given_0_item:
    case FAULT_given_1_item:
        if (v->item >= 0)
            from[v->item] = 0;
        break;
    case FAULT_given_0_swapped:
        swap(v, from, v->head >= 0 ? v->head : row);
        break;
    case FAULT_given_1_first:
    case FAULT_given_last_first:
        memset(from, 0, sizeof from);
        break;
    case FAULT_given_last_off_by_1:
        if (i == v->n - 1 && v->channel >= 0)
            from[v->channel]--;
        break;
    case FAULT_given_last_ulp:
        if (i == v->n - 1)
            bit_flip(at);
        return;
    }
    memcpy(at, whole->at + faulty_offset(whole, from), (size_t)v->bytes);
}

void faulty_given(const struct view *copy, const struct view *whole)
{
    for (int64_t i = 0; i < copy->n; i++) {
        int64_t c[AXES];

        faulty_place(copy, i, c);
        given_element(copy, copy->at + faulty_offset(copy, c), c, i, whole);
    }
}
