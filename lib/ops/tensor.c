/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Tensors of a descriptor, for every operation.
 */
#include "tensor.h"

#include "../core/alloc.h"
#include "../types/types.h"

#include <stdio.h>
#include <string.h>

heed_status heed_where_fail_list(const struct heed_where *at, heed_status status, const char *name,
                                 int64_t wanted, int64_t got, const char *format, va_list list)
{
    char field[HEED_CHECK_PREFIX + HEED_CHECK_NAME], text[192];

    vsnprintf(text, sizeof(text), format, list);
    snprintf(field, sizeof(field), "%s%s", at->prefix, name);
    return heed_report_fill(at->report, status, field, wanted, got, "%s: %s", field, text);
}

heed_status heed_where_fail(const struct heed_where *at, heed_status status, const char *name,
                            int64_t wanted, int64_t got, const char *format, ...)
{
    va_list list;

    va_start(list, format);
    status = heed_where_fail_list(at, status, name, wanted, got, format, list);
    va_end(list);
    return status;
}

heed_status heed_tensor_extents(const struct heed_where *at, const struct heed_tensor_rule *rule,
                               const heed_tensor *t)
{
    char name[HEED_CHECK_NAME];

    snprintf(name, sizeof(name), "%s.ndim", rule->name);
    if (t->ndim == 0)
        return rule->min == 0 ? HEED_OK
                              : heed_where_fail(at, HEED_E_NULL, name, rule->min, 0,
                                                "the tensor is absent");
    if (t->ndim < rule->min || t->ndim > rule->max)
        return heed_where_fail(at, HEED_E_VALUE, name, t->ndim < rule->min ? rule->min : rule->max,
                               t->ndim, "it has %u axes, from %u to %u are wanted",
                               (unsigned)t->ndim, (unsigned)(rule->min ? rule->min : 1),
                               (unsigned)rule->max);
    for (uint32_t i = 0; i < t->ndim; i++) {
        if (t->shape[i] >= 0)
            continue;
        snprintf(name, sizeof(name), "%s.shape[%u]", rule->name, (unsigned)i);
        return heed_where_fail(at, HEED_E_VALUE, name, 0, t->shape[i], "a negative extent");
    }
    return HEED_OK;
}

static heed_status dtype_in(const struct heed_where *at, const struct heed_tensor_rule *rule,
                            uint32_t dtype)
{
    const struct heed_type *row;
    uint32_t wanted = 0;
    char names[128] = "", name[HEED_CHECK_NAME];

    if (heed_dtype_in(dtype, rule->set))
        return HEED_OK;
    for (uint32_t i = 0; (row = heed_type_at(i)) != NULL; i++) {
        const size_t used = strlen(names);

        if (!heed_dtype_in(row->dtype, rule->set))
            continue;
        if (wanted == 0)
            wanted = row->dtype;
        snprintf(names + used, sizeof(names) - used, "%s%s", used ? " or " : "", row->name);
    }
    snprintf(name, sizeof(name), "%s.dtype", rule->name);
    return heed_where_fail(at, HEED_E_DTYPE, name, wanted, dtype, "%s (%u), wanted %s",
                           heed_dtype_name(dtype), (unsigned)dtype, names);
}

/* Extents of 0 count as 1, so that the product of any of them fits. */
static bool product_fits(const int64_t shape[6])
{
    int64_t product = 1;

    for (int i = 0; i < 6; i++) {
        if (shape[i] > 1 && !heed_mul_i64(product, shape[i], &product))
            return false;
    }
    return true;
}

/* Of the far ends of all axes, in bytes; backends may add them in any order. */
static bool span_fits(const int64_t shape[6], const int64_t stride[6], uint32_t dtype)
{
    const int64_t size = (int64_t)heed_dtype_size(dtype);
    int64_t sum = size;

    for (int i = 0; i < 6; i++) {
        const int64_t n = i == 5 ? shape[i] / (int64_t)heed_dtype_elements(dtype) : shape[i];
        int64_t far;

        if (stride[i] == 0 || n == 0)
            continue;
        if (stride[i] == INT64_MIN ||
            !heed_mul_i64(stride[i] < 0 ? -stride[i] : stride[i], n - 1, &far) ||
            !heed_mul_i64(far, size, &far) || !heed_add_i64(sum, far, &sum))
            return false;
    }
    return true;
}

void heed_tensor_place(const struct heed_tensor_rule *rule, const heed_tensor *t, int64_t shape[6],
                      int64_t stride[6])
{
    bool empty = false;

    for (int i = 0; i < 6; i++) {
        shape[i] = 1;
        stride[i] = 0;
    }
    for (uint32_t j = 0; j < t->ndim; j++) {    /* j-th axis from the last */
        const uint32_t from = t->ndim - 1 - j;
        const uint32_t to = j < rule->trailing ? rule->end - 1 - j : 2 - (j - rule->trailing);

        shape[to] = t->shape[from];
        stride[to] = shape[to] == 1 ? 0 : t->stride[from];
        empty |= shape[to] == 0;
    }
    for (int i = 0; i < 6 && empty; i++)
        stride[i] = 0;
}

heed_status heed_tensor_view(const struct heed_where *at, const struct heed_tensor_rule *rule,
                            const heed_tensor *t, int64_t shape[6], int64_t stride[6])
{
    const heed_status status = dtype_in(at, rule, t->dtype);
    char name[HEED_CHECK_NAME];

    if (status < 0)
        return status;
    heed_tensor_place(rule, t, shape, stride);
    snprintf(name, sizeof(name), "%s.shape", rule->name);
    if (!product_fits(shape))
        return heed_where_fail(at, HEED_E_OVERFLOW, name, INT64_MAX, 0,
                               "the product of the extents leaves 63 bits");
    snprintf(name, sizeof(name), "%s.stride", rule->name);
    if (!span_fits(shape, stride, t->dtype))
        return heed_where_fail(at, HEED_E_OVERFLOW, name, INT64_MAX, 0,
                               "the bytes it spans leave 63 bits");
    return HEED_OK;
}

heed_status heed_tensor_blocks(const struct heed_where *at, const char *tensor,
                               const heed_tensor *t)
{
    const uint32_t last = t->ndim - 1, elements = heed_dtype_elements(t->dtype);
    char name[HEED_CHECK_NAME];

    if (elements == 1)
        return HEED_OK;
    snprintf(name, sizeof(name), "%s.shape[%u]", tensor, (unsigned)last);
    if (t->shape[last] % elements != 0)
        return heed_where_fail(at, HEED_E_SHAPE, name, elements, t->shape[last],
                               "channels of %s come in blocks of %u", heed_dtype_name(t->dtype),
                               (unsigned)elements);
    snprintf(name, sizeof(name), "%s.stride[%u]", tensor, (unsigned)last);
    if (t->stride[last] != 1)
        return heed_where_fail(at, HEED_E_STRIDE, name, 1, t->stride[last],
                               "channels of %s lie beside each other", heed_dtype_name(t->dtype));
    return HEED_OK;
}

heed_status heed_tensor_check(const struct heed_where *at, const struct heed_tensor_rule *rule,
                              const heed_tensor *t, struct heed_view *v)
{
    heed_status status = heed_tensor_extents(at, rule, t);

    if (status < 0 || t->ndim == 0)
        return status;
    v->dtype = t->dtype;
    status = heed_tensor_view(at, rule, t, v->shape, v->stride);
    return status < 0 ? status : heed_tensor_blocks(at, rule->name, t);
}

heed_status heed_tensor_axis(const struct heed_where *at, const struct heed_tensor_rule *rule,
                            const heed_tensor *t, uint32_t axis, int64_t wanted, const char *why)
{
    /* Four trailing axes leave no third one to the batch. */
    const bool inner = axis >= rule->end - rule->trailing || axis >= 3;
    const uint32_t j = inner ? rule->end - 1 - axis : rule->trailing + 2 - axis;
    const int64_t got = j < t->ndim ? t->shape[t->ndim - 1 - j] : 1;
    char name[HEED_CHECK_NAME];

    if (got == wanted)
        return HEED_OK;
    if (j < t->ndim)
        snprintf(name, sizeof(name), "%s.shape[%u]", rule->name, (unsigned)(t->ndim - 1 - j));
    else
        snprintf(name, sizeof(name), "%s.ndim", rule->name);
    return heed_where_fail(at, HEED_E_SHAPE, name, wanted, got, "extent %lld, wanted %lld: %s",
                           (long long)got, (long long)wanted, why);
}
