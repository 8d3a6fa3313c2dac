/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Tensors from strides in bytes.
 */
#include "../core/error.h"
#include "../types/types.h"

#include <stdio.h>

static heed_status axis_fail(heed_report *report, heed_status status, const char *array,
                             uint32_t axis, int64_t wanted, int64_t got, const char *why)
{
    char field[32];

    snprintf(field, sizeof(field), "%s[%u]", array, (unsigned)axis);
    return heed_report_fill(report, status, field, wanted, got, "%s: %s", field, why);
}

static heed_status axes_set(const struct heed_type *type, const int64_t *shape,
                            const int64_t *byte_strides, heed_tensor *to, heed_report *report)
{
    for (uint32_t i = 0; i < to->ndim; i++) {
        if (shape[i] < 0)
            return axis_fail(report, HEED_E_VALUE, "shape", i, 0, shape[i], "a negative extent");
        to->shape[i] = shape[i];
        if (shape[i] <= 1)
            continue;
        if (byte_strides[i] % (int64_t)type->bytes != 0)
            return axis_fail(report, HEED_E_STRIDE, "byte_strides", i, type->bytes, byte_strides[i],
                             "no multiple of an element's or block's bytes");
        to->stride[i] = byte_strides[i] / (int64_t)type->bytes;
    }
    return HEED_OK;
}

heed_status heed_tensor_bytes(uint32_t dtype, uint32_t ndim, const int64_t *shape,
                              const int64_t *byte_strides, heed_tensor *tensor, heed_report *report)
{
    const struct heed_type *type = heed_type_find(dtype);
    heed_tensor made = { .dtype = dtype, .ndim = ndim };
    heed_status status;

    if (tensor == NULL || (ndim != 0 && (shape == NULL || byte_strides == NULL)))
        return heed_report_fill(report, HEED_E_NULL,
                                tensor == NULL  ? "tensor"
                                : shape == NULL ? "shape"
                                                : "byte_strides",
                                0, 0, "a required pointer is NULL");
    if (type == NULL)
        return heed_report_fill(report, HEED_E_DTYPE, "dtype", HEED_F32, dtype,
                                "there is no such type");
    if (ndim > 6)
        return heed_report_fill(report, HEED_E_VALUE, "ndim", 6, ndim, "at most 6 axes");
    status = axes_set(type, shape, byte_strides, &made, report);
    if (status < 0)
        return status;
    *tensor = made;
    return heed_report_ok(report);
}
