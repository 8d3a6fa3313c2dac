/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * See operands.h. Where memory is an opaque handle, nothing is known of it but that two handles are
 * two memories: offsets then take the place of addresses.
 */
#include "operands.h"

#include "../core/alloc.h"
#include "../types/types.h"
#include "../core/error.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void heed_operand_name(char field[HEED_FIELD], const char *name, uint32_t index)
{
    const char *mark = strstr(name, "[]");

    if (mark == NULL)
        snprintf(field, HEED_FIELD, "%s", name);
    else
        snprintf(field, HEED_FIELD, "%.*s[%" PRIu32 "]%s", (int)(mark - name), name, index,
                 mark + 2);
}

static heed_status fail(heed_report *report, heed_status status, const struct heed_plan_operand *x,
                        int64_t wanted, int64_t got, const char *message)
{
    char field[HEED_FIELD];

    heed_operand_name(field, x->name, x->index);
    return heed_report_fill(report, status, field, wanted, got, "%s", message);
}

/* Where a buffer begins; false: outside the address space. */
static bool address_of(heed_buf buf, bool opaque, uint64_t *address)
{
    if (opaque) {
        *address = buf.offset;
        return buf.offset <= INT64_MAX;         /* no memory is so large */
    }
    *address = (uint64_t)(uintptr_t)buf.handle + buf.offset;
    return buf.offset <= UINTPTR_MAX - (uintptr_t)buf.handle;
}

/* false: outside int64. */
static bool view_bytes(const struct heed_view *view, int64_t *low, int64_t *high)
{
    const int64_t bytes = (int64_t)heed_dtype_size(view->dtype);

    return heed_view_range(view, low, high) && heed_mul_i64(*low, bytes, low) &&
           heed_mul_i64(*high, bytes, high) && heed_add_i64(*high, bytes, high);
}

static void measure(struct heed_plan_operand *x)
{
    bool fits = true;

    x->low = x->high = 0;
    if (x->view.dtype != 0 && !heed_view_empty(&x->view))
        fits = view_bytes(&x->view, &x->low, &x->high);
    assert(fits); /* check has refused other spans */
    if (!fits) {  /* and no run would find an address for one */
        x->low = INT64_MIN;
        x->high = INT64_MAX;
    }
}

void heed_operands_measure(struct heed_plan *plan)
{
    for (uint32_t i = 0; i < plan->n_operands; i++) /* they are the plan's own, from its arena */
        measure((struct heed_plan_operand *)(uintptr_t)&plan->operands[i]);
}

/* false: some element lies outside the address space. */
static bool fits(const struct heed_plan_operand *x, uint64_t address)
{
    return address >= 0 - (uint64_t)x->low && (uint64_t)x->high <= (uint64_t)UINTPTR_MAX - address;
}

static heed_status require_one(const struct heed_plan_operand *x, heed_buf buf, bool opaque,
                               heed_report *report)
{
    const uint32_t bytes = x->align != 0 ? x->align : heed_dtype_align(x->view.dtype);
    uint64_t address;

    if (buf.handle == NULL)
        return fail(report, HEED_E_NULL, x, 0, 0,
                    "no memory was given for an array with elements");
    if (!address_of(buf, opaque, &address))
        return fail(report, HEED_E_OVERFLOW, x, 0, 0, "handle and offset leave the address space");
    if (!fits(x, address))
        return fail(report, HEED_E_OVERFLOW, x, 0, 0, "the array leaves the address space");
    if (address % bytes != 0)
        return fail(report, HEED_E_ALIGN, x, bytes, (int64_t)(address % bytes),
                    "the address is not a multiple of the element size, or of 2 bytes");
    return HEED_OK;
}

heed_status heed_operands_require(const struct heed_plan_operand *operands, uint32_t n, bool opaque,
                                  bool host, heed_buf *at, heed_report *report)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct heed_plan_operand *x = &operands[i];
        heed_status status;

        if (x->constant != NULL || !heed_operand_has_elements(x)) {
            at[i] = (heed_buf){ .handle = host ? (void *)(uintptr_t)x->constant : NULL };
            continue;
        }
        status = require_one(x, at[i], opaque, report);
        if (status < 0)
            return status;
    }
    return HEED_OK;
}

/* ---- shared bytes ---- */

/* Both have elements, which lie in the address space. */
static bool overlap(const struct heed_plan_operand *a, heed_buf pa,
                    const struct heed_plan_operand *b, heed_buf pb, bool opaque)
{
    uint64_t of_a, of_b;

    if (opaque && pa.handle != pb.handle)
        return false;
    if (!address_of(pa, opaque, &of_a) || !address_of(pb, opaque, &of_b))
        return true;
    if (of_a + (uint64_t)a->high <= of_b + (uint64_t)b->low ||
        of_b + (uint64_t)b->high <= of_a + (uint64_t)a->low)
        return false;
    return heed_overlap(&a->view, of_a, heed_dtype_size(a->view.dtype), &b->view, of_b,
                        heed_dtype_size(b->view.dtype));
}

/* Is operand i the one that it may be? Then every element of both is the same. */
static bool is_same(const struct heed_plan_operand *operands, uint32_t i, uint32_t j, bool opaque,
                    const heed_buf *at)
{
    const struct heed_view *a = &operands[i].view, *b = &operands[j].view;
    uint64_t of_a, of_b;

    return (operands[i].same_as == j + 1 || operands[j].same_as == i + 1) &&
           (!opaque || at[i].handle == at[j].handle) && address_of(at[i], opaque, &of_a) &&
           address_of(at[j], opaque, &of_b) && of_a == of_b && a->dtype == b->dtype &&
           memcmp(a->shape, b->shape, sizeof(a->shape)) == 0 &&
           memcmp(a->stride, b->stride, sizeof(a->stride)) == 0;
}

/* Output `out` against every operand; of two outputs the later one is tested. */
static heed_status require_output_apart(const struct heed_plan_operand *operands, uint32_t n,
                                        uint32_t out, bool opaque, const heed_buf *at,
                                        heed_report *report)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct heed_plan_operand *x = &operands[i];
        char name[HEED_FIELD], other[HEED_FIELD];

        if (i == out || x->constant != NULL || !heed_operand_has_elements(x) ||
            (x->role != HEED_ROLE_IN && i < out) || is_same(operands, out, i, opaque, at) ||
            !overlap(&operands[out], at[out], x, at[i], opaque))
            continue;
        heed_operand_name(name, operands[out].name, operands[out].index);
        heed_operand_name(other, x->name, x->index);
        return heed_report_fill(report, HEED_E_ALIAS, name, 0, 0, "shares bytes with %s", other);
    }
    return HEED_OK;
}

heed_status heed_operands_require_apart(const struct heed_plan_operand *operands, uint32_t n,
                                        bool opaque, const heed_buf *at, heed_report *report)
{
    for (uint32_t i = 0; i < n; i++) {
        heed_status status = HEED_OK;

        if (operands[i].role != HEED_ROLE_IN && heed_operand_has_elements(&operands[i]))
            status = require_output_apart(operands, n, i, opaque, at, report);
        if (status < 0)
            return status;
    }
    return HEED_OK;
}

heed_status heed_operands_require_workspace(const struct heed_plan *plan,
                                            const heed_run *run, bool opaque,
                                            const heed_buf *at, heed_report *report)
{
    const heed_buf given = run->workspace;
    struct heed_plan_operand w = { .name = "workspace", .view = { .dtype = HEED_U8 } };
    uint64_t address;

    if (run->workspace_size < plan->workspace_size || given.handle == NULL)
        return heed_report_fill(report, HEED_E_WORKSPACE, "workspace",
                                (int64_t)plan->workspace_size,
                                given.handle == NULL ? 0 : (int64_t)run->workspace_size,
                                "the workspace is absent or too small");
    for (int i = 0; i < 6; i++)
        w.view.shape[i] = 1;
    w.view.shape[5] = (int64_t)plan->workspace_size;
    w.view.stride[5] = 1;
    measure(&w);
    if (!address_of(given, opaque, &address) || !fits(&w, address))
        return fail(report, HEED_E_OVERFLOW, &w, 0, 0, "the workspace leaves the address space");
    if (address % plan->workspace_align != 0)
        return fail(report, HEED_E_ALIGN, &w, (int64_t)plan->workspace_align,
                    (int64_t)(address % plan->workspace_align),
                    "the workspace is not aligned as heed_plan_info() says");
    for (uint32_t i = 0; i < plan->n_operands; i++) {
        const struct heed_plan_operand *x = &plan->operands[i];
        char other[HEED_FIELD];

        if (x->constant != NULL || !heed_operand_has_elements(x) ||
            !overlap(&w, given, x, at[i], opaque))
            continue;
        heed_operand_name(other, x->name, x->index);
        return heed_report_fill(report, HEED_E_ALIAS, w.name, 0, 0, "shares bytes with %s", other);
    }
    return HEED_OK;
}
