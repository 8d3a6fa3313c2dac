/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The elements of logical arrays, and sums and products that do not overflow.
 */
#include "array.h"

#include "common/types.h"

#include <heed/heed.h>

#include <stdlib.h>
#include <string.h>

int64_t cf_plus(int64_t a, int64_t b)
{
    return b > 0 && a > INT64_MAX - b ? INT64_MAX : a + b;
}

int64_t cf_times(int64_t a, int64_t b)
{
    return b > 0 && a > INT64_MAX / b ? INT64_MAX : a * b;
}

int64_t cf_array_count(const struct array *a)
{
    return a->shape[0] * a->shape[1] * a->shape[2] * a->shape[3];
}

bool cf_array_alloc(struct array *a)
{
    a->data = calloc(cf_array_bytes(a) + 8, 1);
    return a->data != NULL;
}

int64_t cf_array_along(const struct array *a)
{
    return type_pieces(a->dtype, a->shape[3]);
}

int64_t cf_array_pieces(const struct array *a)
{
    return a->shape[0] * a->shape[1] * a->shape[2] * cf_array_along(a);
}

size_t cf_array_bytes(const struct array *a)
{
    return (size_t)cf_array_pieces(a) * cf_dtype_size(a->dtype);
}

void *cf_array_piece(const struct array *a, int64_t index)
{
    const int64_t elements = type_elements(a->dtype);

    if (elements > 1)
        index = index / a->shape[3] * cf_array_along(a) + index % a->shape[3] / elements;
    return (char *)a->data + (size_t)index * cf_dtype_size(a->dtype);
}

int64_t cf_array_at(const struct array *a, int64_t b, int64_t x, int64_t y, int64_t z)
{
    b = a->shape[0] > 0 ? b % a->shape[0] : b; /* the last batch axis, where that is the only one */
    x = a->shape[1] == 1 ? 0 : x;
    y = a->shape[2] == 1 ? 0 : y;
    z = a->shape[3] == 1 ? 0 : z;
    return ((b * a->shape[1] + x) * a->shape[2] + y) * a->shape[3] + z;
}

bool cf_array_keep(struct array *a, int axis, int64_t from, int64_t n)
{
    const size_t size = cf_dtype_size(a->dtype);
    const int64_t have = a->shape[axis];
    size_t inner = axis < 3 ? (size_t)cf_array_along(a) * size : size;
    int64_t outer = 1;
    char *data;

    if (have == 1 && n != 1)
        return true;
    n = n < have - from ? n : have - from;
    for (int i = 0; i < axis; i++)
        outer *= a->shape[i];
    for (int i = axis + 1; i < 3; i++)
        inner *= (size_t)a->shape[i];
    data = malloc((size_t)(outer * n) * inner + 8);
    if (!data)
        return false;
    for (int64_t i = 0; i < outer; i++)
        memcpy(data + (size_t)(i * n) * inner, (char *)a->data + (size_t)(i * have + from) * inner,
               (size_t)n * inner);
    free(a->data);
    a->data = data;
    a->shape[axis] = n;
    return true;
}

/* Which element of its block. */
static uint32_t place_in(const struct array *a, int64_t index)
{
    return (uint32_t)(index % a->shape[3] % type_elements(a->dtype));
}

static uint32_t block_bits(const struct array *a, int64_t index)
{
    const unsigned char *const block = cf_array_piece(a, index);
    const uint32_t j = place_in(a, index), code = type_code(a->dtype, block, j);

    return j < type_block_head(a->dtype) ? code | (uint32_t)block[j] << 8 : code;
}

static void block_set(struct array *a, int64_t index, uint32_t bits)
{
    unsigned char *const block = cf_array_piece(a, index);
    const uint32_t j = place_in(a, index);

    type_code_put(a->dtype, block, j, bits);
    if (j < type_block_head(a->dtype))
        block[j] = (unsigned char)(bits >> 8);
}

/* Products of numbers and scales are exact in double, and so are their sums with minima. */
float cf_array_value(const struct array *a, int64_t index)
{
    const void *block;
    double x;

    if (type_elements(a->dtype) == 1)
        return type_decode(a->dtype, cf_array_bits(a, index));
    block = cf_array_piece(a, index);
    x = (double)type_number(a->dtype, type_code(a->dtype, block, place_in(a, index))) *
        (double)type_block_scale(a->dtype, block);
    return (float)(type_find(a->dtype)->block.minimum
                       ? x + (double)type_block_minimum(a->dtype, block)
                       : x);
}

uint32_t cf_array_bits(const struct array *a, int64_t index)
{
    const size_t size = cf_dtype_size(a->dtype);
    uint32_t word = 0;
    uint16_t half = 0;

    if (type_elements(a->dtype) > 1)
        return block_bits(a, index);
    if (size == 2) {
        memcpy(&half, (const char *)a->data + (size_t)index * size, size);
        return half;
    }
    if (size == 1)
        return ((const unsigned char *)a->data)[index];
    memcpy(&word, (const char *)a->data + (size_t)index * size, sizeof word);
    return word;
}

void cf_array_set(struct array *a, int64_t index, uint32_t bits)
{
    const size_t size = cf_dtype_size(a->dtype);
    const uint16_t half = (uint16_t)bits;

    if (type_elements(a->dtype) > 1)
        block_set(a, index, bits);
    else if (size == 2)
        memcpy((char *)a->data + (size_t)index * size, &half, size);
    else if (size == 1)
        ((unsigned char *)a->data)[index] = (unsigned char)bits;
    else
        memcpy((char *)a->data + (size_t)index * size, &bits, size);
}

int64_t cf_array_int(const struct array *a, int64_t index)
{
    int64_t wide = 0;
    int32_t word = 0;

    if (a->dtype == HEED_I64) {
        memcpy(&wide, (const char *)a->data + (size_t)index * 8, 8);
        return wide;
    }
    memcpy(&word, (const char *)a->data + (size_t)index * 4, 4);
    return word;
}

void cf_array_set_int(struct array *a, int64_t index, int64_t value)
{
    const int32_t word = (int32_t)(value > INT32_MAX   ? INT32_MAX
                                   : value < INT32_MIN ? INT32_MIN
                                                       : value);

    if (a->dtype == HEED_I64)
        memcpy((char *)a->data + (size_t)index * 8, &value, 8);
    else
        memcpy((char *)a->data + (size_t)index * 4, &word, 4);
}
