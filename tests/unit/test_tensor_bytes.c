/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Tensors from strides in bytes: what is made, and what is refused with a report and nothing else.
 */
#include "support/suite.h"

#include <heed/heed.h>

#include <string.h>

static heed_report why = { .size = sizeof(heed_report) };

TEST(strides_become_elements)
{
    const int64_t shape[] = { 2, 3, 1, 4 }, bytes[] = { -96, 32, 7, 2 };
    const heed_tensor want = {
        .dtype = HEED_F16, .ndim = 4, .shape = { 2, 3, 1, 4 }, .stride = { -48, 16, 0, 1 }
    };
    heed_tensor t;

    memset(&t, 0xff, sizeof(t));
    ck_assert_int_eq(heed_tensor_bytes(HEED_F16, 4, shape, bytes, &t, &why), HEED_OK);
    ck_assert_mem_eq(&t, &want, sizeof(t));
    ck_assert_int_eq(heed_tensor_bytes(HEED_F16, 4, shape, bytes, &t, NULL), HEED_OK);
}

TEST(every_type_has_its_bytes)
{
    static const struct {
        uint32_t dtype;
        int64_t bytes;
    } rows[] = { { HEED_F32, 4 }, { HEED_F16, 2 }, { HEED_BF16, 2 }, { HEED_I8, 1 },
                 { HEED_U8, 1 },  { HEED_I32, 4 }, { HEED_I64, 8 },  { HEED_F8E4M3, 1 } };
    const int64_t shape[] = { 5 };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const int64_t bytes[] = { 3 * rows[i].bytes }, odd[] = { 3 * rows[i].bytes + 1 };
        heed_tensor t;

        ck_assert_int_eq(heed_tensor_bytes(rows[i].dtype, 1, shape, bytes, &t, &why), HEED_OK);
        ck_assert_int_eq(t.stride[0], 3);
        ck_assert_int_eq(heed_tensor_bytes(rows[i].dtype, 1, shape, odd, &t, &why),
                         rows[i].bytes == 1 ? HEED_OK : HEED_E_STRIDE);
    }
}

TEST(absent_tensors_need_no_arrays)
{
    heed_tensor t = { .ndim = 3 };

    ck_assert_int_eq(heed_tensor_bytes(HEED_F32, 0, NULL, NULL, &t, &why), HEED_OK);
    ck_assert_uint_eq(t.ndim, 0);
}

TEST(what_is_wrong_is_named_and_nothing_written)
{
    const int64_t shape[] = { 2, 3, 4, 1, 1, 1, 1 }, less[] = { 2, -3 },
                  bytes[] = { 48, 18, 4, 4, 4, 4, 4 };
    const struct {
        uint32_t dtype, ndim;
        const int64_t *shape, *bytes;
        heed_status status;
        const char *field;
        int64_t wanted, got;
    } rows[] = {
        { HEED_F32, 3, NULL, bytes, HEED_E_NULL, "shape", 0, 0 },
        { HEED_F32, 3, shape, NULL, HEED_E_NULL, "byte_strides", 0, 0 },
        { 99, 3, shape, bytes, HEED_E_DTYPE, "dtype", HEED_F32, 99 },
        { HEED_F32, 7, shape, bytes, HEED_E_VALUE, "ndim", 6, 7 },
        { HEED_F32, 2, less, bytes, HEED_E_VALUE, "shape[1]", 0, -3 },
        { HEED_F32, 3, shape, bytes, HEED_E_STRIDE, "byte_strides[1]", 4, 18 },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        heed_tensor t, before;

        memset(&before, 0xa5, sizeof(before));
        t = before;
        ck_assert_int_eq(
            heed_tensor_bytes(rows[i].dtype, rows[i].ndim, rows[i].shape, rows[i].bytes, &t, &why),
            rows[i].status);
        ck_assert_int_eq(why.status, rows[i].status);
        ck_assert_str_eq(why.field, rows[i].field);
        ck_assert_int_eq(why.wanted, rows[i].wanted);
        ck_assert_int_eq(why.got, rows[i].got);
        ck_assert_mem_eq(&t, &before, sizeof(t));
    }
    ck_assert_int_eq(heed_tensor_bytes(HEED_F32, 3, shape, bytes, NULL, &why), HEED_E_NULL);
    ck_assert_str_eq(why.field, "tensor");
}

int main(void)
{
    return suite_run("tensor_bytes", 0, NULL, NULL);
}
