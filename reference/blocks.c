/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Types in blocks by the places of their fields (heed/heed.h). All fields are little-endian and are
 * read byte by byte.
 */
#include "blocks.h"

#include "decode.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { BLOCK = 32, FIRST = HEED_Q8_0, LAST = HEED_IQ4_NL };

static const int8_t iq4_nl[16] = { -127, -104, -83, -65, -49, -35, -22, -10,
                                   1,    13,   25,  38,  53,  69,  89,  113 };

/* Bytes of the block from which fields lie on; 0: there is no such field. The scale is first. */
static const struct blocks {
    int bytes, minimum, high, digits; /* high: bit 4 of every element */
    int width, less;                  /* bits of a digit; what z is less than the integer, */
    const int8_t *values;             /* or the table that it is in */
} types[LAST - FIRST + 1] = {
    [HEED_Q8_0 - FIRST] = { 34, 0, 0, 2, 8, 0, NULL },
    [HEED_Q4_0 - FIRST] = { 18, 0, 0, 2, 4, 8, NULL },
    [HEED_Q4_1 - FIRST] = { 20, 2, 0, 4, 4, 0, NULL },
    [HEED_Q5_0 - FIRST] = { 22, 0, 2, 6, 4, 16, NULL },
    [HEED_Q5_1 - FIRST] = { 24, 2, 4, 8, 4, 0, NULL },
    [HEED_IQ4_NL - FIRST] = { 18, 0, 0, 2, 4, 0, iq4_nl },
};

/* NULL: a type without blocks. */
static const struct blocks *type_find(uint32_t dtype)
{
    return dtype >= FIRST && dtype <= LAST ? &types[dtype - FIRST] : NULL;
}

static const struct blocks *type_of(const struct heed_ref_line *line)
{
    return type_find(line->dtype);
}

/* The block of channel t. */
static const uint8_t *block_of(const struct heed_ref_line *line, const struct blocks *type,
                               int64_t t)
{
    assert(line->stride == 1);
    return (const uint8_t *)line->data + (line->at + t / BLOCK) * type->bytes;
}

static float half_at(const uint8_t *at)
{
    return heed_ref_f16_decode((uint16_t)(at[0] | at[1] << 8));
}

int64_t heed_ref_line_block(const struct heed_ref_line *line)
{
    return type_of(line) ? BLOCK : line->scales.channels;
}

bool heed_ref_line_minima(const struct heed_ref_line *line)
{
    const struct blocks *type = type_of(line);

    return type != NULL ? type->minimum != 0 : line->scales.channels > 0 && line->scales.minima;
}

/* Entry `which` of the group of channel t, in the array of scales. */
static float apart_at(const struct heed_ref_line *line, int64_t t, int which)
{
    const struct heed_ref_scales *scales = &line->scales;
    int64_t entry = t / scales->channels * (scales->minima ? 2 : 1) + which;

    return heed_ref_load(scales->dtype, scales->data, line->scale_at + entry * scales->step);
}

/* Of a byte of two numbers. */
static int nibble_at(const struct heed_ref_line *line, int64_t t)
{
    int byte = ((const uint8_t *)line->data)[line->at + t / 2];
    int digit = t % 2 == 0 ? byte % 16 : byte / 16;

    return digit < 8 ? digit : digit - 16;
}

static int integer_at(const struct blocks *type, const uint8_t *block, int j)
{
    int digit = block[type->digits + (type->width == 8 ? j : j % 16)];

    if (type->width == 8)
        return digit < 128 ? digit : digit - 256;
    digit = j < 16 ? digit % 16 : digit / 16;
    if (type->high != 0)
        digit += (block[type->high + j / 8] >> j % 8 & 1) * 16;
    return type->values ? type->values[digit] : digit - type->less;
}

float heed_ref_line_stored(const struct heed_ref_line *line, int64_t t)
{
    const struct blocks *type = type_of(line);

    if (line->dtype == HEED_I4)
        return (float)nibble_at(line, t);
    if (type == NULL)
        return heed_ref_load(line->dtype, line->data, line->at + t * line->stride);
    return (float)integer_at(type, block_of(line, type, t), (int)(t % BLOCK));
}

float heed_ref_line_scale(const struct heed_ref_line *line, int64_t t)
{
    const struct blocks *type = type_of(line);

    if (type != NULL)
        return half_at(block_of(line, type, t));
    return line->scales.channels > 0 ? apart_at(line, t, 0) : 1.0f;
}

float heed_ref_line_minimum(const struct heed_ref_line *line, int64_t t)
{
    const struct blocks *type = type_of(line);

    assert(heed_ref_line_minima(line));
    if (type == NULL)
        return apart_at(line, t, 1);
    return half_at(block_of(line, type, t) + type->minimum);
}

float heed_ref_line_get(const struct heed_ref_line *line, int64_t t)
{
    float z = heed_ref_line_stored(line, t), scale = heed_ref_line_scale(line, t);

    if (heed_ref_line_minima(line))
        return fmaf(z, scale, heed_ref_line_minimum(line, t));
    return z * scale;
}

/* ---- writing -------------------------------------------------------------------------- */

int64_t heed_ref_blocks_bytes(uint32_t dtype)
{
    const struct blocks *type = type_find(dtype);

    return type ? type->bytes : 0;
}

void heed_ref_blocks_copy(uint32_t dtype, const void *from, int64_t from_at, void *to,
                          int64_t to_at, int64_t d)
{
    int64_t bytes = heed_ref_blocks_bytes(dtype);

    for (int64_t i = 0; i < d / BLOCK * bytes; i++)
        ((uint8_t *)to)[to_at * bytes + i] = ((const uint8_t *)from)[from_at * bytes + i];
}

static void code_put(const struct blocks *type, uint8_t *block, int j, int code)
{
    uint8_t *digit = &block[type->digits + (type->width == 8 ? j : j % 16)];

    if (type->width == 8)
        *digit = (uint8_t)code;
    else if (j < 16)
        *digit = (uint8_t)(*digit / 16 * 16 + code % 16);
    else
        *digit = (uint8_t)(*digit % 16 + code % 16 * 16);
    if (type->high != 0 && code >= 16)
        block[type->high + j / 8] = (uint8_t)(block[type->high + j / 8] | 1 << j % 8);
}

/* The code of 0, or of the number next to it. */
static int code_of_zero(const struct blocks *type)
{
    int code = type->less;

    while (type->values != NULL && type->values[code] < 0)
        code++;
    return code;
}

static void block_start(const struct blocks *type, uint8_t *block)
{
    memset(block, 0, (size_t)type->bytes);
    for (int j = 0; j < BLOCK; j++)
        code_put(type, block, j, code_of_zero(type));
}

void heed_ref_blocks_zero(uint32_t dtype, void *to, int64_t at, int64_t d)
{
    const struct blocks *type = type_find(dtype);

    assert(type != NULL);
    for (int64_t b = 0; b < d / BLOCK; b++)
        block_start(type, (uint8_t *)to + (at + b) * type->bytes);
}

/* The element of the largest magnitude, the first of several; NaN where one is not finite. */
static float extreme_of(const float x[BLOCK])
{
    float most = 0.0f;

    for (int j = 0; j < BLOCK; j++) {
        if (!isfinite(x[j]))
            return NAN;
        if (fabsf(x[j]) > fabsf(most))
            most = x[j];
    }
    return most;
}

/* What one is in units: of bytes by the largest magnitude, of digits by the extreme itself. */
static uint16_t scale_bits(const struct blocks *type, float extreme)
{
    float share = 1.0f / 127.0f;
    float scale = type->width == 8 ? fabsf(extreme) * share : extreme * -0.125f;
    uint16_t bits = heed_ref_f16_encode(scale);

    if (!isfinite(heed_ref_f16_decode(bits)))
        return 0x7e00u;
    return bits == 0x8000u ? 0 : bits;
}

static void block_quantise(const struct blocks *type, uint8_t *block, const float x[BLOCK])
{
    uint16_t bits = scale_bits(type, extreme_of(x));
    float scale = heed_ref_f16_decode(bits), least = type->width == 8 ? -127.0f : -8.0f;
    float most = type->width == 8 ? 127.0f : 7.0f, factor;

    block_start(type, block);
    block[0] = (uint8_t)(bits & 0xffu);
    block[1] = (uint8_t)(bits >> 8);
    if (isnan(scale) || scale == 0.0f)
        return;
    factor = 1.0f / scale;
    for (int j = 0; j < BLOCK; j++) {
        float z = rintf(x[j] * factor);

        z = z > most ? most : z < least ? least : z;
        code_put(type, block, j, ((int)z + type->less) & 0xff);
    }
}

void heed_ref_blocks_quantise(const struct heed_ref_line *x, uint32_t dtype, void *to, int64_t at,
                              int64_t d)
{
    const struct blocks *type = type_find(dtype);

    assert(dtype == HEED_Q8_0 || dtype == HEED_Q4_0);
    for (int64_t t = 0; t < d; t += BLOCK) {
        float block[BLOCK];

        for (int j = 0; j < BLOCK; j++)
            block[j] = heed_ref_line_get(x, t + j);
        block_quantise(type, (uint8_t *)to + (at + t / BLOCK) * type->bytes, block);
    }
}
