/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Device memory for programs without a device context of their own. On host devices it is host
 * memory with a header in front that keeps the size, since heed_buf has none and the
 * allocator's free wants it.
 */
#include "alloc.h"
#include "context.h"

#include <string.h>

enum { BUF_ALIGN = 64 };

struct header {
    _Alignas(BUF_ALIGN) size_t bytes;           /* of the whole block, this header included */
};

static heed_status host_device(const heed_device *device)
{
    if (device == NULL)
        return HEED_E_NULL;
    if (device->props.usable < 0)
        return device->props.usable;
    return device->backend->host ? HEED_OK : HEED_E_UNSUPPORTED;
}

heed_status heed_buf_create(heed_device *device, uint64_t bytes, heed_buf *out)
{
    const heed_status status = host_device(device);
    struct header *header;
    size_t total;

    if (status < 0)
        return status;
    if (out == NULL)
        return HEED_E_NULL;
    if (bytes > SIZE_MAX || !heed_add_size((size_t)bytes, sizeof(*header), &total))
        return HEED_E_NOMEM;
    header = heed_alloc(device->runtime, total, BUF_ALIGN);
    if (header == NULL)
        return HEED_E_NOMEM;
    header->bytes = total;
    *out = (heed_buf){ .handle = header + 1 };
    return HEED_OK;
}

void heed_buf_destroy(heed_device *device, heed_buf buf)
{
    struct header *header = buf.handle;

    if (header == NULL || host_device(device) < 0)
        return;
    header--;
    heed_free(device->runtime, header, header->bytes, BUF_ALIGN);
}

/* The address a host buffer stands for, for a transfer of `bytes` from or to `other`. */
static heed_status transfer(const heed_queue *queue, heed_buf buf, const void *other,
                            uint64_t bytes, char **address)
{
    heed_status status;

    if (queue == NULL)
        return HEED_E_NULL;
    status = host_device(queue->device);
    if (status < 0)
        return status;
    *address = buf.handle;
    if (bytes == 0)
        return HEED_OK;
    if (buf.handle == NULL || other == NULL)
        return HEED_E_NULL;
    if (buf.offset > UINTPTR_MAX - (uintptr_t)buf.handle ||
        bytes > UINTPTR_MAX - ((uintptr_t)buf.handle + buf.offset))
        return HEED_E_OVERFLOW;
    *address += buf.offset;
    return HEED_OK;
}

heed_status heed_buf_write(heed_queue *queue, heed_buf to, const void *from, uint64_t bytes)
{
    char *address = NULL;
    const heed_status status = transfer(queue, to, from, bytes, &address);

    if (status >= 0 && bytes > 0)
        memmove(address, from, (size_t)bytes);
    return status;
}

heed_status heed_buf_read(heed_queue *queue, void *to, heed_buf from, uint64_t bytes)
{
    char *address = NULL;
    const heed_status status = transfer(queue, from, to, bytes, &address);

    if (status >= 0 && bytes > 0)
        memmove(to, address, (size_t)bytes);
    return status;
}
