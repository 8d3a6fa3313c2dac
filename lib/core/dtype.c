/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The table of element types and loads of single elements.
 */
#include "dtype.h"

#include <stddef.h>
#include <string.h>

static const struct row {
    uint32_t dtype, size;
    const char *name;
} rows[] = {
    { HEED_F32, 4, "f32" }, { HEED_F16, 2, "f16" }, { HEED_BF16, 2, "bf16" },
    { HEED_U8, 1, "u8" },   { HEED_I32, 4, "i32" }, { HEED_I64, 8, "i64" },
    { HEED_I8, 1, "i8" },
};
enum { ROWS = sizeof(rows) / sizeof(*rows) };

static const struct row *find(uint32_t dtype)
{
    for (size_t i = 0; i < ROWS; i++) {
        if (rows[i].dtype == dtype)
            return &rows[i];
    }
    return NULL;
}

uint32_t heed_dtype_size(uint32_t dtype)
{
    const struct row *row = find(dtype);

    return row ? row->size : 0;
}

const char *heed_dtype_name(uint32_t dtype)
{
    const struct row *row = find(dtype);

    return row ? row->name : "?";
}

uint32_t heed_dtype_at(uint32_t i)
{
    return i < ROWS ? rows[i].dtype : 0;
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
