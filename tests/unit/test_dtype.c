/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The table of element types and loads of integers.
 */
#include "lib/core/dtype.h"
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
    ck_assert_uint_eq(heed_dtype_at(0), HEED_F32);
    ck_assert_uint_eq(heed_dtype_at(5), HEED_I64);
    ck_assert_uint_eq(heed_dtype_at(6), HEED_I8);
    ck_assert_uint_eq(heed_dtype_at(7), 0);
}

int main(void)
{
    return suite_run("dtype", 0, NULL, NULL);
}
