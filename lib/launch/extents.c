/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which bytes of the caller's memory a run may touch, operand by operand.
 */
#include "../core/dtype.h"
#include "../core/error.h"
#include "../core/sized.h"
#include "operands.h"

#include <string.h>

_Static_assert(sizeof(heed_extent) == HEED_EXTENT_V1, "the first version of heed_extent");

/* Does run take memory for it? */
static bool is_brought(const struct heed_operand *x)
{
    return x->view.dtype != 0 && x->constant == NULL;
}

static heed_status extent_find(const struct heed_operand *x, heed_extent *out)
{
    static const uint32_t flags[] = {
        [HEED_ROLE_IN] = HEED_EXTENT_READ,
        [HEED_ROLE_OUT] = HEED_EXTENT_WRITTEN,
        [HEED_ROLE_STATE] = HEED_EXTENT_READ | HEED_EXTENT_WRITTEN,
    };
    const int64_t bytes = (int64_t)heed_dtype_size(x->view.dtype);

    memset(out, 0, sizeof(*out));
    heed_operand_name(out->field, x->name, x->index);
    out->dtype = x->view.dtype;
    out->flags = flags[x->role];
    if (heed_view_empty(&x->view))
        return HEED_OK;
    if (!heed_view_range(&x->view, &out->first, &out->end) ||
        !heed_mul_i64(out->first, bytes, &out->first) ||
        !heed_mul_i64(out->end, bytes, &out->end) || !heed_add_i64(out->end, bytes, &out->end))
        return HEED_E_OVERFLOW;
    return HEED_OK;
}

heed_status heed_plan_extents(const heed_plan *plan, heed_extent *extents, uint32_t n_extents,
                              uint32_t extent_size, uint32_t *count)
{
    const size_t copied = extent_size < sizeof(heed_extent) ? extent_size : sizeof(heed_extent);
    heed_extent extent;
    uint32_t n = 0;

    if (plan == NULL || (extents == NULL && n_extents > 0))
        return HEED_E_NULL;
    if (extent_size < HEED_EXTENT_V1)
        return HEED_E_SIZE;
    for (uint32_t i = 0; i < plan->n_operands; i++) {
        if (is_brought(&plan->operands[i]) && extent_find(&plan->operands[i], &extent) < 0)
            return HEED_E_OVERFLOW;
    }
    for (uint32_t i = 0; i < plan->n_operands; i++) {
        char *to;

        if (!is_brought(&plan->operands[i]) || n++ >= n_extents)
            continue;
        (void)extent_find(&plan->operands[i], &extent);
        to = (char *)extents + (size_t)(n - 1) * extent_size;
        memset(to, 0, extent_size);
        memcpy(to, &extent, copied);
    }
    if (count != NULL)
        *count = n;
    return HEED_OK;
}

heed_status heed_plan_fits(const heed_plan *plan, const char *field, uint64_t before,
                           uint64_t bytes, heed_report *report)
{
    heed_extent extent;

    if (plan == NULL || field == NULL)
        return heed_report_fill(report, HEED_E_NULL, plan == NULL ? "plan" : "field", 0, 0,
                                "a required pointer is NULL");
    for (uint32_t i = 0; i < plan->n_operands; i++) {
        const heed_status status = is_brought(&plan->operands[i])
                                       ? extent_find(&plan->operands[i], &extent)
                                       : HEED_E_NOT_FOUND;

        if (status == HEED_E_NOT_FOUND || strcmp(field, extent.field) != 0)
            continue;
        if (status < 0)
            return heed_report_fill(report, status, extent.field, 0, 0,
                                    "the array reaches over more than 2^63 bytes");
        if (before < 0 - (uint64_t)extent.first)
            return heed_report_fill(report, HEED_E_VALUE, extent.field,
                                    (int64_t)(0 - (uint64_t)extent.first), (int64_t)before,
                                    "too few bytes before element [0,...,0]");
        if (bytes < (uint64_t)extent.end)
            return heed_report_fill(report, HEED_E_VALUE, extent.field, extent.end, (int64_t)bytes,
                                    "too few bytes from element [0,...,0] on");
        heed_report_ok(report);
        return HEED_OK;
    }
    return heed_report_fill(report, HEED_E_NOT_FOUND, "field", 0, 0,
                            "no run of this plan takes an array of that name");
}
