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

enum { BLOCK = 32 };

static const int8_t iq4_nl[16] = { -127, -104, -83, -65, -49, -35, -22, -10,
                                   1,    13,   25,  38,  53,  69,  89,  113 };

/* Bytes of the block from which fields lie on; 0: there is no such field. The scale is first. */
static const struct blocks {
    uint32_t dtype;
    int bytes, minimum, high, digits; /* high: bit 4 of every element */
    int width, less;                  /* bits of a digit; what z is less than the integer, */
    const int8_t *values;             /* or the table that it is in */
} types[] = {
    { HEED_Q8_0, 34, 0, 0, 2, 8, 0, NULL }, { HEED_Q4_0, 18, 0, 0, 2, 4, 8, NULL },
    { HEED_Q4_1, 20, 2, 0, 4, 4, 0, NULL }, { HEED_Q5_0, 22, 0, 2, 6, 4, 16, NULL },
    { HEED_Q5_1, 24, 2, 4, 8, 4, 0, NULL }, { HEED_IQ4_NL, 18, 0, 0, 2, 4, 0, iq4_nl },
};

/* NULL: a type without blocks. */
static const struct blocks *type_of(const struct heed_ref_line *line)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (types[i].dtype == line->dtype)
            return &types[i];
    }
    return NULL;
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

int64_t heed_ref_line_block(const struct heed_ref_line *line, int64_t d)
{
    return type_of(line) ? BLOCK : line->scaled ? d : 0;
}

bool heed_ref_line_minima(const struct heed_ref_line *line)
{
    const struct blocks *type = type_of(line);

    return type != NULL && type->minimum != 0;
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

    if (type == NULL)
        return heed_ref_load(line->dtype, line->data, line->at + t * line->stride);
    return (float)integer_at(type, block_of(line, type, t), (int)(t % BLOCK));
}

float heed_ref_line_scale(const struct heed_ref_line *line, int64_t t)
{
    const struct blocks *type = type_of(line);

    return type ? half_at(block_of(line, type, t)) : line->scale;
}

float heed_ref_line_minimum(const struct heed_ref_line *line, int64_t t)
{
    const struct blocks *type = type_of(line);

    assert(type != NULL && type->minimum != 0);
    return half_at(block_of(line, type, t) + type->minimum);
}

float heed_ref_line_get(const struct heed_ref_line *line, int64_t t)
{
    float z = heed_ref_line_stored(line, t), scale = heed_ref_line_scale(line, t);

    if (heed_ref_line_minima(line))
        return fmaf(z, scale, heed_ref_line_minimum(line, t));
    return z * scale;
}
