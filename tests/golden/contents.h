/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Arrays of the golden cases of operations.c and what is in them: drawn from the case's own state,
 * so that the order of the calls is part of the case.
 */
#ifndef HEED_TESTS_GOLDEN_CONTENTS_H
#define HEED_TESTS_GOLDEN_CONTENTS_H

#include "operations.h"

#include "build.h"

#include <stdlib.h>

/* ---- arrays ---- */

#define FIELD(op, field) &c->desc.op.field, &c->args.op.field
#define DIMS(...) ((const int64_t[]){ __VA_ARGS__, -1 })

static int64_t tensor_set(heed_tensor *t, uint32_t dtype, const int64_t *dims)
{
    int64_t count = 1;
    uint32_t ndim = 0;

    while (dims[ndim] >= 0)
        count *= dims[ndim++];
    *t = golden_tensor(dtype, ndim, dims);
    return count;
}

static void *input(struct golden_call *c, heed_tensor *t, heed_buf *buf, uint32_t dtype,
                   const int64_t *dims)
{
    const int64_t count = tensor_set(t, dtype, dims);

    return buf->handle = golden_array(&c->g, dtype, count);
}

static void output_add(struct golden_call *c, void *data, uint32_t dtype, int64_t count, bool own)
{
    if (data == NULL || c->n_outputs == GOLDEN_OUTPUTS)
        abort();
    c->own[c->n_outputs] = own;
    c->outputs[c->n_outputs++] = (struct golden_array){ data, dtype, count };
}

static void output(struct golden_call *c, heed_tensor *t, heed_buf *buf, uint32_t dtype,
                   const int64_t *dims)
{
    const int64_t count = tensor_set(t, dtype, dims);

    buf->handle = calloc((size_t)count + 1, golden_size_of(dtype));
    output_add(c, buf->handle, dtype, count, true);
}

static void *state(struct golden_call *c, heed_tensor *t, heed_buf *buf, uint32_t dtype,
                   const int64_t *dims)
{
    void *data = input(c, t, buf, dtype, dims);

    output_add(c, data, dtype, c->g.inputs[c->g.n_inputs - 1].count, false);
    return data;
}

/* ---- what is in them ---- */

/* The array that was made last. */
static const struct golden_array *last(const struct golden_call *c)
{
    return &c->g.inputs[c->g.n_inputs - 1];
}

static int64_t below(struct golden_call *c, int64_t n)
{
    return (int64_t)(golden_next(&c->g) >> 33) % n;
}

/* Any bits, every ninth a NaN or an infinity. */
static void fill_bits(struct golden_call *c)
{
    const struct golden_array *a = last(c);

    for (int64_t i = 0; i < a->count; i++) {
        const uint64_t bits = golden_next(&c->g);

        if (a->dtype == HEED_F32)
            ((uint32_t *)a->data)[i] = (uint32_t)bits | (i % 9 ? 0 : 0x7f800000u);
        else if (golden_size_of(a->dtype) == 1)
            ((uint8_t *)a->data)[i] = (uint8_t)(bits >> 40);
        else
            ((uint16_t *)a->data)[i] =
                (uint16_t)(bits | (i % 9 ? 0 : a->dtype == HEED_F16 ? 0x7c00 : 0x7f80));
    }
}

static void fill_floats(struct golden_call *c, int exponent)
{
    const struct golden_array *a = last(c);

    for (int64_t i = 0; i < a->count; i++)
        golden_put(a->dtype, a->data, i, (int64_t)(golden_next(&c->g) >> 39) - (1 << 24),
                   exponent - 24);
}

/* f32: one in `every` is special. */
static void fill_specials(struct golden_call *c, int64_t every, const uint32_t *values, int64_t n)
{
    const struct golden_array *a = last(c);

    if (a->dtype != HEED_F32)
        abort();
    for (int64_t i = 0; i < a->count; i++) {
        if (below(c, every) == 0)
            golden_put_bits(a->data, i, values[below(c, n)]);
    }
}

/* Integers of any type from `low` to `high`. */
static void fill_ints(struct golden_call *c, int64_t low, int64_t high)
{
    const struct golden_array *a = last(c);

    for (int64_t i = 0; i < a->count; i++) {
        const int64_t value = low + below(c, high - low + 1);

        if (a->dtype == HEED_U8)
            ((uint8_t *)a->data)[i] = (uint8_t)value;
        else if (a->dtype == HEED_I32)
            ((int32_t *)a->data)[i] = (int32_t)value;
        else
            ((int64_t *)a->data)[i] = value;
    }
}

static const uint32_t specials[] = { 0x7fc00000u, 0xff812345u, 0x7f800000u, 0xff800000u,
                                     0x80000000u, 0x00000001u, 0x7f7fffffu, 0xff7fffffu };
enum { SPECIALS = 8 };

/* Rows to be quantised: most have numbers only. */
static void fill_rows(struct golden_call *c, int exponent)
{
    fill_floats(c, exponent);
    if (last(c)->dtype == HEED_F32)
        fill_specials(c, 90, specials, SPECIALS);
}

#endif
