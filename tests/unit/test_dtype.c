/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The table of element types and loads of integers.
 */
#include "lib/types/types.h"
#include "support/suite.h"

#include <stdlib.h>

TEST(loads_and_table)
{
    const int64_t wide = -5000000000;
    const int32_t narrow = -7;
    const uint8_t byte = 200;

    ck_assert_int_eq(heed_dtype_load_i64(HEED_I64, &wide), wide);
    ck_assert_int_eq(heed_dtype_load_i64(HEED_I32, &narrow), -7);
    ck_assert_int_eq(heed_dtype_load_i64(HEED_U8, &byte), 200);
    ck_assert_uint_eq(heed_dtype_size(HEED_BF16), 2);
    ck_assert_uint_eq(heed_dtype_size(HEED_I64), 8);
    ck_assert_uint_eq(heed_dtype_size(HEED_I8), 1);
    ck_assert_uint_eq(heed_dtype_size(0), 0);
    ck_assert_str_eq(heed_dtype_name(HEED_F16), "f16");
    ck_assert_str_eq(heed_dtype_name(99), "?");
}

/* A type is found by its number alone, and rows of it are allowed to have what its row says. */
TEST(rows_of_the_table)
{
    const struct heed_type *type;

    for (uint32_t i = 0; (type = heed_type_at(i)) != NULL; i++) {
        ck_assert_ptr_eq(heed_type_find(type->dtype), type);
        ck_assert(heed_dtype_in(type->dtype, type->sets));
        ck_assert(!heed_dtype_in(type->dtype, ~type->sets));
        ck_assert_int_eq(heed_dtype_scaled(type->dtype, true),
                         type->scale == HEED_SCALE_MUST || type->scale == HEED_SCALE_MAY);
        ck_assert_int_eq(heed_dtype_scaled(type->dtype, false), type->scale != HEED_SCALE_MUST);
    }
    ck_assert(heed_dtype_in(HEED_I8, HEED_SET_ROWS) && !heed_dtype_in(HEED_I8, HEED_SET_FLOATS));
    ck_assert(!heed_dtype_in(99, HEED_SET_ROWS));
}

int main(void)
{
    return suite_run("dtype", 0, NULL, NULL);
}
