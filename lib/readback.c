/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Run-time slots of an offload device in host memory, for the call that looks at their entries. A
 * slot that is used at several places is read once: the bytes from the lowest to the highest that
 * any of them touches. Masks and tables have no entries that name something: they stay where they
 * are.
 */
#include "alloc.h"
#include "context.h"
#include "dtype.h"
#include "error.h"
#include "operand.h"
#include "overlap.h"

enum { READ_ALIGN = 64 };

/* Bytes relative to element [0,...,0] of a slot, over all its uses. */
struct extent {
    int64_t low, high;
};

static heed_status visit_extent(const struct heed_pass *pass, const struct heed_operand *x)
{
    const int64_t bytes = (int64_t)heed_dtype_size(x->view.dtype);
    struct extent *extent = (struct extent *)pass->other + x->index;
    int64_t low, high;

    if (x->view.dtype != HEED_I32 && x->view.dtype != HEED_I64)
        return HEED_OK;
    if (heed_view_empty(&x->view) || !heed_view_range(&x->view, &low, &high))
        return HEED_OK;
    low *= bytes;                   /* bind has checked that these fit */
    high = high * bytes + bytes;
    if (extent->low == extent->high)
        *extent = (struct extent){ low, high };
    if (low < extent->low)
        extent->low = low;
    if (high > extent->high)
        extent->high = high;
    return HEED_OK;
}

static heed_status wait_for(const heed_queue *queue, const struct heed_bound *bound,
                            heed_report *report)
{
    heed_device *device = queue->device;
    struct heed_error_detail detail = { .native = 0 };

    for (uint32_t i = 0; i < bound->n_waits; i++) {
        const heed_status status =
            device->backend->offload->event_wait(device, bound->waits[i], &detail);

        if (status < 0)
            return heed_report_detail(report, status, "wait", &detail,
                                      "a run to wait for failed");
    }
    return HEED_OK;
}

/* Where memory is an address, the range begins at its own; else at an offset into the handle. */
static heed_status read_slot(const heed_queue *queue, struct heed_binding *b, uint32_t slot,
                             const struct extent *extent, void *to, uint64_t bytes,
                             struct heed_error_detail *detail)
{
    const uintptr_t start = (uintptr_t)b->slots[slot] + (uintptr_t)extent->low;
    heed_device *device = queue->device;

    if (b->bound.handles != NULL)
        return device->backend->offload->buf_read(device, queue->offload, to, b->slot_handles[slot],
                                                  start, bytes, detail);
    return device->backend->offload->buf_read(device, queue->offload, to, (void *)start, 0, bytes,
                                              detail);
}

static heed_status fetch(const heed_queue *queue, struct heed_binding *b, uint32_t slot,
                         const struct extent *extent, struct heed_readback *back,
                         heed_report *report)
{
    const uint64_t bytes = (uint64_t)extent->high - (uint64_t)extent->low;
    struct heed_error_detail detail = { .native = 0 };
    char field[HEED_FIELD];
    heed_status status;

    heed_operand_name(field, "slots[]", slot);
    back->at[slot] = heed_alloc(queue->device->runtime, (size_t)bytes, READ_ALIGN);
    back->bytes[slot] = bytes;
    if (back->at[slot] == NULL)
        return heed_report_fill(report, HEED_E_NOMEM, field, (int64_t)bytes, 0,
                                "no memory to read the slot back");
    status = read_slot(queue, b, slot, extent, back->at[slot], bytes, &detail);
    if (status < 0)
        return heed_report_detail(report, status, field, &detail, "the slot cannot be read back");
    b->slots[slot] = (const void *)((uintptr_t)back->at[slot] - (uintptr_t)extent->low);
    return HEED_OK;
}

heed_status heed_readback_slots(const struct heed_checked *attn, const heed_queue *queue,
                                struct heed_binding *b, struct heed_readback *back,
                                heed_report *report)
{
    struct extent extents[HEED_MAX_SLOTS] = { { 0, 0 } };
    const struct heed_pass pass = {
        .visit = visit_extent, .binding = b, .other = extents, .report = report
    };
    heed_status status = heed_operand_slots(&pass, attn);

    if (status >= 0)
        status = wait_for(queue, &b->bound, report);
    for (uint32_t i = 0; status >= 0 && i < attn->n_slots; i++) {
        if (extents[i].low < extents[i].high)
            status = fetch(queue, b, i, &extents[i], back, report);
    }
    b->bound.handles = NULL;        /* what is read from now on has addresses */
    return status;
}

void heed_readback_finish(const heed_queue *queue, struct heed_readback *back)
{
    for (uint32_t i = 0; i < HEED_MAX_SLOTS; i++)
        heed_free(queue->device->runtime, back->at[i], (size_t)back->bytes[i], READ_ALIGN);
}
