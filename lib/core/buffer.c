/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Memory for programs without a device context of their own. On host devices it is host memory with
 * a header in front that keeps the size, since heed_buf has none and the allocator's free wants it;
 * on others it is the backend's.
 */
#include "alloc.h"
#include "context.h"
#include "error.h"

#include <string.h>

enum { BUF_ALIGN = 64 };

struct header {
    _Alignas(BUF_ALIGN) size_t bytes;           /* of the whole block, this header included */
};

static const struct heed_backend_offload *offload_of(const heed_device *device)
{
    return device->backend->offload;
}

static heed_status create_on_host(heed_device *device, uint64_t bytes, heed_buf *out)
{
    struct header *header;
    size_t total;

    if (bytes > SIZE_MAX || !heed_add_size((size_t)bytes, sizeof(*header), &total))
        return HEED_E_NOMEM;
    header = heed_alloc(device->runtime, total, BUF_ALIGN);
    if (header == NULL)
        return HEED_E_NOMEM;
    header->bytes = total;
    *out = (heed_buf){ .handle = header + 1 };
    return HEED_OK;
}

static heed_status create_on_device(heed_device *device, uint64_t bytes, heed_buf *out,
                                    struct heed_error_detail *detail)
{
    void *handle = NULL;
    heed_status status;

    if (bytes > INT64_MAX)
        return HEED_E_DEVICE_NOMEM;
    status = offload_of(device)->buf_create(device, bytes, &handle, detail);
    if (status >= 0)
        *out = (heed_buf){ .handle = handle };
    return status;
}

heed_status heed_buf_create(heed_device *device, uint64_t bytes, heed_buf *out, heed_report *report)
{
    struct heed_error_detail detail = { .native = 0 };
    heed_status status;

    if (device == NULL || out == NULL)
        return heed_report_fill(report, HEED_E_NULL, device == NULL ? "device" : "out", 0, 0,
                                "a required pointer is NULL");
    status = heed_context_usable(device, report);
    if (status < 0)
        return status;
    status = offload_of(device) != NULL ? create_on_device(device, bytes, out, &detail)
                                       : create_on_host(device, bytes, out);
    if (status < 0)
        return heed_report_detail(report, status, "bytes", &detail,
                                  "%.60s has no buffer of %llu bytes", device->props.name,
                                  (unsigned long long)bytes);
    return heed_report_ok(report);
}

void heed_buf_destroy(heed_device *device, heed_buf buf)
{
    struct header *header = buf.handle;

    if (header == NULL || device == NULL || heed_context_usable(device, NULL) < 0)
        return;
    if (offload_of(device) != NULL) {
        offload_of(device)->buf_destroy(device, buf.handle);
        return;
    }
    header--;
    heed_free(device->runtime, header, header->bytes, BUF_ALIGN);
}

/* What of a transfer of `bytes` from or to `other` can be told without touching memory. Where
 * memory is an opaque handle, only the offset is a number. */
static heed_status require_transfer(const heed_queue *queue, heed_buf buf, const void *other,
                                    uint64_t bytes, heed_report *report)
{
    uintptr_t start;

    if (queue == NULL)
        return heed_report_fill(report, HEED_E_NULL, "queue", 0, 0, "a required pointer is NULL");
    if (bytes == 0)
        return HEED_OK;
    if (buf.handle == NULL || other == NULL)
        return heed_report_fill(report, HEED_E_NULL, other == NULL ? "host" : "buf", (int64_t)bytes,
                                0, "bytes are to be copied and an address is NULL");
    start = offload_of(queue->device) != NULL && offload_of(queue->device)->handles
                ? 0 : (uintptr_t)buf.handle;
    if (buf.offset > UINTPTR_MAX - start || bytes > UINTPTR_MAX - (start + buf.offset))
        return heed_report_fill(report, HEED_E_OVERFLOW, "buf", 0, 0,
                                "the range leaves the address space");
    return HEED_OK;
}

static heed_status transferred(heed_status status, const struct heed_error_detail *detail,
                               heed_report *report)
{
    return status < 0 ? heed_report_detail(report, status, "buf", detail, "the copy failed")
                      : heed_report_ok(report);
}

heed_status heed_buf_write(heed_queue *queue, heed_buf to, const void *from, uint64_t bytes,
                           heed_report *report)
{
    struct heed_error_detail detail = { .native = 0 };
    heed_status status = require_transfer(queue, to, from, bytes, report);

    if (status < 0)
        return status;
    if (bytes > 0 && offload_of(queue->device) != NULL)
        status = offload_of(queue->device)->buf_write(queue->device, queue->offload, to.handle,
                                                      to.offset, from, bytes, &detail);
    else if (bytes > 0)
        memmove((char *)to.handle + to.offset, from, (size_t)bytes);
    return transferred(status, &detail, report);
}

heed_status heed_buf_read(heed_queue *queue, void *to, heed_buf from, uint64_t bytes,
                          heed_report *report)
{
    struct heed_error_detail detail = { .native = 0 };
    heed_status status = require_transfer(queue, from, to, bytes, report);

    if (status < 0)
        return status;
    if (bytes > 0 && offload_of(queue->device) != NULL)
        status = offload_of(queue->device)->buf_read(queue->device, queue->offload, to, from.handle,
                                                     from.offset, bytes, &detail);
    else if (bytes > 0)
        memmove(to, (const char *)from.handle + from.offset, (size_t)bytes);
    return transferred(status, &detail, report);
}
