/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Integer inputs of an offload device in host memory, for the call that looks at their entries:
 * the bytes from the lowest to the highest that an operand touches. Masks and tables have no
 * entries that name something: they stay where they are.
 */
#include "launch.h"

#include "../core/alloc.h"
#include "../core/context.h"
#include "../core/error.h"
#include "operands.h"

enum { READ_ALIGN = 64 };

static heed_status wait_for(const heed_queue *queue, const struct heed_launch *launch,
                            heed_report *report)
{
    heed_device *device = queue->device;
    struct heed_error_detail detail = { .native = 0 };

    for (uint32_t i = 0; i < launch->n_waits; i++) {
        const heed_status status =
            device->backend->offload->event_wait(device, launch->waits[i], &detail);

        if (status < 0)
            return heed_report_detail(report, status, "wait", &detail, "a run to wait for failed");
    }
    return HEED_OK;
}

static bool has_integers(const struct heed_plan_operand *x)
{
    return (x->view.dtype == HEED_I32 || x->view.dtype == HEED_I64) && x->role == HEED_ROLE_IN &&
           x->constant == NULL && heed_operand_has_elements(x);
}

static heed_status fetch(const heed_plan *plan, const heed_queue *queue, uint32_t i, heed_buf from,
                         struct heed_readback *back, heed_report *report)
{
    heed_device *device = queue->device;
    struct heed_error_detail detail = { .native = 0 };
    char field[HEED_FIELD];
    const struct heed_plan_operand *x = &plan->operands[i];
    heed_status status;

    if (!has_integers(x))
        return HEED_OK;
    heed_operand_name(field, x->name, x->index);
    back->bytes[i] = (uint64_t)x->high - (uint64_t)x->low;
    back->block[i] = heed_alloc(device->runtime, (size_t)back->bytes[i], READ_ALIGN);
    if (back->block[i] == NULL)
        return heed_report_fill(report, HEED_E_NOMEM, field, (int64_t)back->bytes[i], 0,
                                "no memory to read the array back");
    if (heed_launch_opaque(plan->backend))
        from.offset += (uint64_t)x->low;
    else
        from = (heed_buf){ .handle = (void *)((uintptr_t)heed_address(from) + (uintptr_t)x->low) };
    status = device->backend->offload->buf_read(device, queue->offload, back->block[i],
                                                from.handle, from.offset, back->bytes[i], &detail);
    if (status < 0)
        return heed_report_detail(report, status, field, &detail, "the array cannot be read back");
    back->at[i] = (heed_buf){ .handle = back->block[i], .offset = (uint64_t)-x->low };
    return HEED_OK;
}

heed_status heed_readback_integers(const heed_plan *plan, const heed_queue *queue,
                                   const struct heed_launching *l, struct heed_readback *back,
                                   heed_report *report)
{
    heed_status status = wait_for(queue, &l->launch, report);

    for (uint32_t i = 0; status >= 0 && i < plan->n_operands; i++)
        status = fetch(plan, queue, i, l->places.at[i], back, report);
    return status;
}

void heed_readback_finish(const heed_queue *queue, struct heed_readback *back)
{
    for (uint32_t i = 0; i < HEED_MAX_OPERANDS; i++)
        heed_free(queue->device->runtime, back->block[i], (size_t)back->bytes[i], READ_ALIGN);
}
