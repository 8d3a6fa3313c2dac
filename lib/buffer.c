/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Memory for programs without a device context of their own. On host devices it is host memory with
 * a header in front that keeps the size, since heed_buf has none and the allocator's free wants it;
 * on others it is the backend's.
 */
#include "alloc.h"
#include "context.h"

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

static heed_status create_on_device(heed_device *device, uint64_t bytes, heed_buf *out)
{
    struct heed_error_detail detail = { .native = 0 };
    void *handle = NULL;
    heed_status status;

    if (bytes > INT64_MAX)
        return HEED_E_DEVICE_NOMEM;
    status = offload_of(device)->buf_create(device, bytes, &handle, &detail);
    if (status >= 0)
        *out = (heed_buf){ .handle = handle };
    return status;
}

heed_status heed_buf_create(heed_device *device, uint64_t bytes, heed_buf *out)
{
    heed_status status;

    if (device == NULL)
        return HEED_E_NULL;
    status = heed_context_usable(device, NULL);
    if (status < 0)
        return status;
    if (out == NULL)
        return HEED_E_NULL;
    return offload_of(device) != NULL ? create_on_device(device, bytes, out)
                                     : create_on_host(device, bytes, out);
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
static heed_status transfer(const heed_queue *queue, heed_buf buf, const void *other,
                            uint64_t bytes)
{
    uintptr_t start;

    if (queue == NULL)
        return HEED_E_NULL;
    if (bytes == 0)
        return HEED_OK;
    if (buf.handle == NULL || other == NULL)
        return HEED_E_NULL;
    start = offload_of(queue->device) != NULL && offload_of(queue->device)->handles
                ? 0 : (uintptr_t)buf.handle;
    if (buf.offset > UINTPTR_MAX - start || bytes > UINTPTR_MAX - (start + buf.offset))
        return HEED_E_OVERFLOW;
    return HEED_OK;
}

heed_status heed_buf_write(heed_queue *queue, heed_buf to, const void *from, uint64_t bytes)
{
    const heed_status status = transfer(queue, to, from, bytes);

    if (status < 0 || bytes == 0)
        return status;
    if (offload_of(queue->device) != NULL)
        return offload_of(queue->device)->buf_write(queue->device, queue->offload, to.handle,
                                                    to.offset, from, bytes);
    memmove((char *)to.handle + to.offset, from, (size_t)bytes);
    return HEED_OK;
}

heed_status heed_buf_read(heed_queue *queue, void *to, heed_buf from, uint64_t bytes)
{
    const heed_status status = transfer(queue, from, to, bytes);

    if (status < 0 || bytes == 0)
        return status;
    if (offload_of(queue->device) != NULL)
        return offload_of(queue->device)->buf_read(queue->device, queue->offload, to, from.handle,
                                                   from.offset, bytes);
    memmove(to, (const char *)from.handle + from.offset, (size_t)bytes);
    return HEED_OK;
}
