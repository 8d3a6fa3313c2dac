/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Element access of operations with a fixed list of arrays. Lengths are cut and flags are tested
 * here; what an index that makes no sense means is each operation's own affair.
 */
#include "array.h"

#include "blocks.h"
#include "decode.h"

#include <math.h>

struct heed_ref_arrays heed_ref_arrays_of(const struct heed_plan *plan,
                                          const struct heed_launch *launch)
{
    return (struct heed_ref_arrays){ .operands = plan->operands, .at = launch->at };
}

void heed_ref_arrays_item(struct heed_ref_arrays *arrays, const struct heed_form *form,
                          int64_t item)
{
    for (int axis = 2; axis >= 0; axis--) {
        arrays->batch[axis] = item % form->batch[axis];
        item /= form->batch[axis];
    }
}

bool heed_ref_has(const struct heed_ref_arrays *arrays, uint32_t operand)
{
    return arrays->operands[operand].view.dtype != 0;
}

int64_t heed_ref_offset(const struct heed_ref_arrays *arrays, uint32_t operand, int64_t x,
                        int64_t y, int64_t z)
{
    const int64_t *stride = arrays->operands[operand].view.stride;
    int64_t batch = 0;

    for (int axis = 0; axis < 3; axis++)
        batch += arrays->batch[axis] * stride[axis];
    return batch + x * stride[3] + y * stride[4] + z * stride[5];
}

static uint32_t dtype_of(const struct heed_ref_arrays *arrays, uint32_t operand)
{
    return arrays->operands[operand].view.dtype;
}

static void *data_of(const struct heed_ref_arrays *arrays, uint32_t operand)
{
    return heed_address(arrays->at[operand]);
}

float heed_ref_float(const struct heed_ref_arrays *arrays, uint32_t operand, int64_t offset)
{
    return heed_ref_load(dtype_of(arrays, operand), data_of(arrays, operand), offset);
}

void heed_ref_put(const struct heed_ref_arrays *arrays, uint32_t operand, int64_t offset,
                  float value)
{
    heed_ref_store(dtype_of(arrays, operand), data_of(arrays, operand), offset, value);
}

int64_t heed_ref_int(const struct heed_ref_arrays *arrays, uint32_t operand, int64_t x, int64_t y,
                     int64_t z)
{
    return heed_ref_load_int(dtype_of(arrays, operand), data_of(arrays, operand),
                             heed_ref_offset(arrays, operand, x, y, z));
}

void heed_ref_put_int(const struct heed_ref_arrays *arrays, uint32_t operand, int64_t x, int64_t y,
                      int64_t z, int64_t value)
{
    heed_ref_store_int(dtype_of(arrays, operand), data_of(arrays, operand),
                       heed_ref_offset(arrays, operand, x, y, z), value);
}

int64_t heed_ref_length(const struct heed_ref_arrays *arrays, uint32_t operand, int64_t bound)
{
    int64_t length;

    if (!heed_ref_has(arrays, operand))
        return bound;
    length = heed_ref_int(arrays, operand, 0, 0, 0);
    return length < 0 ? 0 : length > bound ? bound : length;
}

bool heed_ref_present(const struct heed_ref_arrays *arrays, uint32_t mask, int64_t head,
                      int64_t length, int64_t at)
{
    if (at < 0 || at >= length)
        return false;
    return !heed_ref_has(arrays, mask) || heed_ref_int(arrays, mask, 0, head, at) != 0;
}

static struct heed_ref_line line_of(const struct heed_ref_arrays *arrays, uint32_t operand,
                                    int64_t at)
{
    return (struct heed_ref_line){
        .data = data_of(arrays, operand),
        .at = at,
        .stride = arrays->operands[operand].view.stride[5],
        .dtype = dtype_of(arrays, operand),
    };
}

float heed_ref_channel(const struct heed_ref_arrays *arrays, uint32_t operand, int64_t row,
                       int64_t channel)
{
    const struct heed_ref_line line = line_of(arrays, operand, row);

    return heed_ref_line_get(&line, channel);
}

static bool in_blocks(const struct heed_ref_arrays *arrays, uint32_t operand)
{
    return heed_ref_blocks_bytes(dtype_of(arrays, operand)) != 0;
}

/* One of the arrays, or both, are in blocks. */
static void blocks_row(const struct heed_ref_arrays *arrays, uint32_t from, int64_t from_at,
                       uint32_t to, int64_t to_at, int64_t d)
{
    struct heed_ref_line line = line_of(arrays, from, from_at);
    const int64_t to_step = arrays->operands[to].view.stride[5];

    if (line.dtype == dtype_of(arrays, to))
        heed_ref_blocks_copy(line.dtype, line.data, from_at, data_of(arrays, to), to_at, d);
    else if (in_blocks(arrays, to))
        heed_ref_blocks_quantise(&line, dtype_of(arrays, to), data_of(arrays, to), to_at, d);
    else
        for (int64_t t = 0; t < d; t++)
            heed_ref_put(arrays, to, to_at + t * to_step, heed_ref_line_get(&line, t));
}

void heed_ref_copy_row(const struct heed_ref_arrays *arrays, uint32_t from, int64_t from_at,
                       uint32_t to, int64_t to_at, int64_t d)
{
    const int64_t from_step = arrays->operands[from].view.stride[5];
    const int64_t to_step = arrays->operands[to].view.stride[5];
    const uint32_t dtype = dtype_of(arrays, from);

    if (in_blocks(arrays, from) || in_blocks(arrays, to)) {
        blocks_row(arrays, from, from_at, to, to_at, d);
        return;
    }
    for (int64_t t = 0; t < d; t++) {
        if (dtype == dtype_of(arrays, to))
            heed_ref_copy_bits(dtype, data_of(arrays, from), from_at + t * from_step,
                               data_of(arrays, to), to_at + t * to_step);
        else
            heed_ref_put(arrays, to, to_at + t * to_step,
                         heed_ref_float(arrays, from, from_at + t * from_step));
    }
}

/* The scale of a row as it is stored; NaN where there is none. */
static float scale_of(const struct heed_ref_arrays *arrays, uint32_t from, int64_t from_at,
                      const struct heed_ref_scaled *to, int64_t d)
{
    const int64_t step = arrays->operands[from].view.stride[5];
    /* The share is a variable: a machine that computes floats in doubles (s390x) rounds it here. */
    const float share = 1.0f / heed_ref_largest(dtype_of(arrays, to->rows));
    float largest = 0.0f, scale;

    for (int64_t t = 0; t < d; t++) {
        float size = fabsf(heed_ref_float(arrays, from, from_at + t * step));

        if (!isfinite(size))
            return NAN;
        if (size > largest)
            largest = size;
    }
    scale = largest * share;
    if (dtype_of(arrays, to->scale) == HEED_F16)
        scale = heed_ref_f16_decode(heed_ref_f16_encode(scale));
    return isfinite(scale) ? scale : NAN;
}

void heed_ref_quantise_row(const struct heed_ref_arrays *arrays, uint32_t from, int64_t from_at,
                           const struct heed_ref_scaled *to, int64_t d)
{
    const int64_t from_step = arrays->operands[from].view.stride[5];
    const int64_t to_step = arrays->operands[to->rows].view.stride[5];
    float scale = scale_of(arrays, from, from_at, to, d);
    float unit = scale < 0x1p-64f ? 0x1p64f : 1.0f, factor = 0.0f;

    heed_ref_put(arrays, to->scale, to->scale_at, scale);
    if (scale > 0) {
        factor = scale * unit;
        factor = 1.0f / factor;
    }
    for (int64_t t = 0; t < d; t++) {
        float quotient = 0.0f;

        if (scale > 0) {
            quotient = heed_ref_float(arrays, from, from_at + t * from_step) * unit;
            quotient *= factor;
        }
        heed_ref_store_quotient(dtype_of(arrays, to->rows), data_of(arrays, to->rows),
                                to->at + t * to_step, quotient);
    }
}

void heed_ref_zero_row(const struct heed_ref_arrays *arrays, uint32_t operand, int64_t at,
                       int64_t d)
{
    const int64_t step = arrays->operands[operand].view.stride[5];

    if (in_blocks(arrays, operand)) {
        heed_ref_blocks_zero(dtype_of(arrays, operand), data_of(arrays, operand), at, d);
        return;
    }
    for (int64_t t = 0; t < d; t++)
        heed_ref_store_quotient(dtype_of(arrays, operand), data_of(arrays, operand), at + t * step,
                                0.0f);
}
