/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The table of element types and loads of single elements.
 */
#include "types.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

enum {
    NUMBER = HEED_SET_NUMBERS | HEED_SET_ROWS,
    FLOAT = HEED_SET_FLOATS | NUMBER,
    INDEX = HEED_SET_INTS
};

static const struct heed_type types[] = {
    { HEED_F32, 1, 4, "f32", FLOAT | HEED_SET_F32 | HEED_SET_SCALES, HEED_SCALE_NONE },
    { HEED_F16, 1, 2, "f16", FLOAT | HEED_SET_SCALES, HEED_SCALE_NONE },
    { HEED_BF16, 1, 2, "bf16", FLOAT, HEED_SCALE_NONE },
    { HEED_F8E4M3, 1, 1, "f8e4m3", NUMBER, HEED_SCALE_MAY },
    { HEED_F8E5M2, 1, 1, "f8e5m2", NUMBER, HEED_SCALE_MAY },
    { HEED_U8, 1, 1, "u8", HEED_SET_U8 | HEED_SET_MASKS, HEED_SCALE_NONE },
    { HEED_I32, 1, 4, "i32", INDEX | HEED_SET_I32 | HEED_SET_MASKS, HEED_SCALE_NONE },
    { HEED_I64, 1, 8, "i64", INDEX | HEED_SET_I64, HEED_SCALE_NONE },
    { HEED_I8, 1, 1, "i8", HEED_SET_ROWS, HEED_SCALE_MUST },
    { HEED_Q8_0, 32, 34, "q8_0", HEED_SET_BLOCKS | HEED_SET_QUANTISED, HEED_SCALE_WITHIN },
    { HEED_Q4_0, 32, 18, "q4_0", HEED_SET_BLOCKS | HEED_SET_QUANTISED, HEED_SCALE_WITHIN },
    { HEED_Q4_1, 32, 20, "q4_1", HEED_SET_BLOCKS, HEED_SCALE_WITHIN },
    { HEED_Q5_0, 32, 22, "q5_0", HEED_SET_BLOCKS, HEED_SCALE_WITHIN },
    { HEED_Q5_1, 32, 24, "q5_1", HEED_SET_BLOCKS, HEED_SCALE_WITHIN },
    { HEED_IQ4_NL, 32, 18, "iq4_nl", HEED_SET_BLOCKS, HEED_SCALE_WITHIN },
    { HEED_I4, 2, 1, "i4", HEED_SET_NIBBLES, HEED_SCALE_MUST },
};

const struct heed_type *heed_type_at(uint32_t i)
{
    return i < sizeof(types) / sizeof(*types) ? &types[i] : NULL;
}

const struct heed_type *heed_type_find(uint32_t dtype)
{
    const struct heed_type *type;

    for (uint32_t i = 0; (type = heed_type_at(i)) != NULL; i++) {
        if (type->dtype == dtype)
            return type;
    }
    return NULL;
}

bool heed_dtype_in(uint32_t dtype, uint32_t sets)
{
    const struct heed_type *type = heed_type_find(dtype);

    return type != NULL && (type->sets & sets) != 0;
}

bool heed_dtype_scaled(uint32_t dtype, bool with)
{
    const struct heed_type *type = heed_type_find(dtype);

    return type == NULL || type->scale == HEED_SCALE_MAY ||
           (type->scale == HEED_SCALE_MUST) == with;
}

uint32_t heed_dtype_size(uint32_t dtype)
{
    const struct heed_type *type = heed_type_find(dtype);

    return type ? type->bytes : 0;
}

uint32_t heed_dtype_elements(uint32_t dtype)
{
    const struct heed_type *type = heed_type_find(dtype);

    return type ? type->elements : 1;
}

/* The largest field of a block is its scale of 2 bytes, or is read in such pieces. */
uint32_t heed_dtype_align(uint32_t dtype)
{
    const struct heed_type *type = heed_type_find(dtype);

    return type == NULL ? 0 : type->elements == 1 || type->bytes == 1 ? type->bytes : 2;
}

const char *heed_dtype_name(uint32_t dtype)
{
    const struct heed_type *type = heed_type_find(dtype);

    return type ? type->name : "?";
}

int64_t heed_dtype_load_i64(uint32_t dtype, const void *from)
{
    int64_t wide = 0;
    int32_t narrow = 0;
    uint8_t byte = 0;

    switch (dtype) {
    case HEED_I64:
        memcpy(&wide, from, sizeof(wide));
        return wide;
    case HEED_I32:
        memcpy(&narrow, from, sizeof(narrow));
        return narrow;
    case HEED_U8:
        memcpy(&byte, from, sizeof(byte));
        return byte;
    default:
        assert(0);
        return 0;
    }
}
