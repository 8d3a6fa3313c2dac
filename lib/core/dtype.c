/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The table of element types and loads and stores of single elements.
 */
#include "dtype.h"

static const struct heed_dtype_row rows[] = {
    { .dtype = HEED_F32, .size = 4, .decode = HEED_DECODE_FLOAT, .name = "f32" },
    { .dtype = HEED_F16, .size = 2, .decode = HEED_DECODE_FLOAT, .name = "f16" },
    { .dtype = HEED_BF16, .size = 2, .decode = HEED_DECODE_FLOAT, .name = "bf16" },
    { .dtype = HEED_U8, .size = 1, .decode = HEED_DECODE_INT, .name = "u8" },
    { .dtype = HEED_I32, .size = 4, .decode = HEED_DECODE_INT, .name = "i32" },
    { .dtype = HEED_I64, .size = 8, .decode = HEED_DECODE_INT, .name = "i64" },
};

const struct heed_dtype_row *heed_dtype_find(uint32_t dtype)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        if (rows[i].dtype == dtype)
            return &rows[i];
    }
    return NULL;
}

uint32_t heed_dtype_size(uint32_t dtype)
{
    const struct heed_dtype_row *row = heed_dtype_find(dtype);

    return row ? row->size : 0;
}

const char *heed_dtype_name(uint32_t dtype)
{
    const struct heed_dtype_row *row = heed_dtype_find(dtype);

    return row ? row->name : "?";
}

int64_t heed_dtype_load_i64(uint32_t dtype, const void *from)
{
    int64_t wide = 0;
    int32_t narrow;
    uint8_t byte;

    switch (dtype) {
    case HEED_I64:
        memcpy(&wide, from, sizeof(wide));
        break;
    case HEED_I32:
        memcpy(&narrow, from, sizeof(narrow));
        wide = narrow;
        break;
    case HEED_U8:
        memcpy(&byte, from, sizeof(byte));
        wide = byte;
        break;
    default:
        break;
    }
    return wide;
}

float heed_dtype_load_f32(uint32_t dtype, const void *from)
{
    uint16_t half;
    float x;

    switch (dtype) {
    case HEED_F32:
        memcpy(&x, from, sizeof(x));
        return x;
    case HEED_F16:
        memcpy(&half, from, sizeof(half));
        return heed_f32_from_f16(half);
    case HEED_BF16:
        memcpy(&half, from, sizeof(half));
        return heed_f32_from_bf16(half);
    default:
        return (float)heed_dtype_load_i64(dtype, from);
    }
}

void heed_dtype_store_f32(uint32_t dtype, void *to, float value)
{
    uint32_t word = heed_f32_bits(value);
    uint16_t half;

    switch (dtype) {
    case HEED_F32:
        if ((word & 0x7fffffffu) > 0x7f800000u)
            word = 0x7fc00000u;
        if (word == 0x80000000u)
            word = 0;
        memcpy(to, &word, sizeof(word));
        break;
    case HEED_F16:
    case HEED_BF16:
        half = dtype == HEED_F16 ? heed_f16_from_f32(value) : heed_bf16_from_f32(value);
        if (half == 0x8000u)
            half = 0;
        memcpy(to, &half, sizeof(half));
        break;
    default:
        break;
    }
}
