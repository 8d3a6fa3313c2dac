/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Memory of heed's own, and transfers to and from any memory of the context. Handles are device
 * addresses. Copies are asynchronous on a stream and then waited for, so that no other stream is
 * held up.
 */
#include "state.h"

static heed_status create_entered(struct heed_cuda_state *state, uint64_t bytes, void **handle,
                                  struct heed_error_detail *detail)
{
    heed_cuda_address memory = 0;
    heed_status status;
    int mode;

    if (bytes > SIZE_MAX) {
        heed_offload_say(detail, "%llu bytes leave the address space", (unsigned long long)bytes);
        return HEED_E_DEVICE_NOMEM;
    }
    mode = heed_cuda_capture_set(state, HEED_CU_CAPTURE_RELAXED);
    status = heed_cuda_check(state, state->driver->memory_create(&memory,
                                                                 bytes ? (size_t)bytes : 1),
                             "cuMemAlloc", detail);
    (void)heed_cuda_capture_set(state, mode);
    if (status >= 0)
        *handle = (void *)(uintptr_t)memory;
    return status;
}

heed_status heed_cuda_buf_create(heed_device *device, uint64_t bytes, void **handle,
                                 struct heed_error_detail *detail)
{
    struct heed_cuda_state *const state = device->state;
    heed_status status = heed_cuda_enter(state, detail);

    if (status < 0)
        return status;
    status = create_entered(state, bytes, handle, detail);
    heed_cuda_leave(state);
    return status;
}

void heed_cuda_buf_destroy(heed_device *device, void *handle)
{
    heed_cuda_memory_destroy(device->state, handle);
}

/* One of `in` (a write) and `out` (a read) is set. */
static heed_status copy_entered(struct heed_cuda_state *state, void *stream, uintptr_t memory,
                                const void *in, void *out, uint64_t bytes,
                                struct heed_error_detail *detail)
{
    const struct heed_cuda_api *const driver = state->driver;
    heed_status status;
    int mode;

    if (bytes == 0)
        return HEED_OK;
    mode = heed_cuda_capture_set(state, HEED_CU_CAPTURE_RELAXED);
    status = heed_cuda_check(state,
                             in != NULL ? driver->copy_in(memory, in, (size_t)bytes, stream)
                                        : driver->copy_out(out, memory, (size_t)bytes, stream),
                             in != NULL ? "cuMemcpyHtoDAsync" : "cuMemcpyDtoHAsync", detail);
    if (status >= 0)
        status = heed_cuda_check(state, driver->stream_finish(stream), "cuStreamSynchronize",
                                 detail);
    (void)heed_cuda_capture_set(state, mode);
    return status;
}

heed_status heed_cuda_buf_write(heed_device *device, void *queue, void *handle, uint64_t offset,
                                const void *from, uint64_t bytes, struct heed_error_detail *detail)
{
    struct heed_cuda_state *const state = device->state;
    heed_status status = heed_cuda_enter(state, detail);

    if (status < 0)
        return status;
    status = copy_entered(state, ((struct heed_cuda_queue *)queue)->stream,
                          (uintptr_t)handle + offset, from, NULL, bytes, detail);
    heed_cuda_leave(state);
    return status;
}

heed_status heed_cuda_buf_read(heed_device *device, void *queue, void *to, void *handle,
                               uint64_t offset, uint64_t bytes, struct heed_error_detail *detail)
{
    struct heed_cuda_state *const state = device->state;
    heed_status status = heed_cuda_enter(state, detail);

    if (status < 0)
        return status;
    status = copy_entered(state, ((struct heed_cuda_queue *)queue)->stream,
                          (uintptr_t)handle + offset, NULL, to, bytes, detail);
    heed_cuda_leave(state);
    return status;
}

heed_status heed_cuda_memory_create(void *opened, uint64_t bytes, const void *contents,
                                    void **handle, struct heed_error_detail *detail)
{
    struct heed_cuda_state *const state = opened;
    heed_status status = heed_cuda_enter(state, detail);
    void *memory = NULL;

    if (status < 0)
        return status;
    status = create_entered(state, bytes, &memory, detail);
    if (status >= 0)
        status = copy_entered(state, state->stream, (uintptr_t)memory, contents, NULL, bytes,
                              detail);
    heed_cuda_leave(state);
    if (status >= 0)
        *handle = memory;
    else
        heed_cuda_memory_destroy(state, memory);
    return status;
}

/* Runs that still use it are waited for: by the driver (CUDA C++ Programming Guide, NVIDIA 2025, of
 * freeing memory that belongs to no stream's pool). */
void heed_cuda_memory_destroy(void *opened, void *handle)
{
    struct heed_cuda_state *const state = opened;
    int mode;

    if (handle == NULL || !heed_cuda_enter_to_destroy(state))
        return;
    mode = heed_cuda_capture_set(state, HEED_CU_CAPTURE_RELAXED);
    (void)state->driver->memory_destroy((uintptr_t)handle);
    (void)heed_cuda_capture_set(state, mode);
    heed_cuda_leave(state);
}
