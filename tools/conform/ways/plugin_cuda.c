/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Memory of a CUDA device for plug-ins: that of the device's primary context, which the runtime API
 * has as well.
 */
#include "vendor.h"

#include <stdint.h>
#include <string.h>

/* Names and types of the CUDA driver API (NVIDIA); handles are pointers. Those with _v2 are the
 * present ABI of functions whose plain name is an older one. */
enum { SUCCESS = 0, NON_BLOCKING = 1 };

#define FUNCTIONS(X)                                                                               \
    X(init, "cuInit", (unsigned flags))                                                            \
    X(device_get, "cuDeviceGet", (int *device, int ordinal))                                       \
    X(device_name, "cuDeviceGetName", (char *name, int size, int device))                          \
    X(primary_retain, "cuDevicePrimaryCtxRetain", (void **context, int device))                    \
    X(context_push, "cuCtxPushCurrent_v2", (void *context))                                        \
    X(stream_create, "cuStreamCreate", (void **stream, unsigned flags))                            \
    X(stream_finish, "cuStreamSynchronize", (void *stream))                                        \
    X(memory_create, "cuMemAlloc_v2", (unsigned long long *memory, size_t bytes))                  \
    X(copy_in, "cuMemcpyHtoDAsync_v2",                                                             \
      (unsigned long long to, const void *from, size_t bytes, void *stream))                       \
    X(copy_out, "cuMemcpyDtoHAsync_v2",                                                            \
      (void *to, unsigned long long from, size_t bytes, void *stream))

#define OPTIONAL(X)                                                                                \
    X(launch_host, "cuLaunchHostFunc", (void *stream, void (*function)(void *), void *arg))

static struct {
#define MEMBER(name, symbol, parameters) int(*name) parameters;
    FUNCTIONS(MEMBER)
    OPTIONAL(MEMBER)
#undef MEMBER
} cu;

#define NAME(name, symbol, parameters) symbol,
static const char *const names[] = { FUNCTIONS(NAME) OPTIONAL(NAME) };
#undef NAME

static const char *const files[] = { "libcuda.so.1", "libcuda.so", NULL };

static void *stream, *aside; /* aside: a stream of the kit's own */

static const char *open(int64_t ordinal, heed_host_device *out, char *description, size_t size)
{
    void *context = NULL;
    int device = 0;

    _Static_assert(sizeof cu == sizeof names, "a function a name");
    if (!vendor_load(files, names, sizeof names / sizeof *names, 1, &cu))
        return "no CUDA driver (libcuda.so.1) with the functions that are needed";
    if (cu.init(0) != SUCCESS)
        return "the CUDA driver cannot be used";
    if (ordinal > INT32_MAX || cu.device_get(&device, (int)ordinal) != SUCCESS)
        return "there is no such CUDA device";
    if (cu.primary_retain(&context, device) != SUCCESS || cu.context_push(context) != SUCCESS ||
        cu.stream_create(&stream, NON_BLOCKING) != SUCCESS ||
        cu.stream_create(&aside, NON_BLOCKING) != SUCCESS)
        return "the CUDA driver makes no context with two streams";
    memset(description, 0, size);
    (void)cu.device_name(description, (int)size - 1, device);
    *out = (heed_host_device){ .size = sizeof *out, .kind = HEED_DEVICE_CUDA, .context = context,
                               .queue = stream, .ordinal = device };
    return NULL;
}

static unsigned long long address_of(const void *memory)
{
    return (uintptr_t)memory;
}

static int make(size_t bytes, void **memory)
{
    unsigned long long address = 0;
    const int code = cu.memory_create(&address, bytes);

    *memory = code ? NULL : (void *)(uintptr_t)address;
    return code;
}

static int put(void *memory, const void *from, size_t bytes)
{
    const int code = cu.copy_in(address_of(memory), from, bytes, stream);

    return code ? code : cu.stream_finish(stream);
}

static int get(void *memory, void *to, size_t bytes)
{
    const int code = cu.copy_out(to, address_of(memory), bytes, aside);

    return code ? code : cu.stream_finish(aside);
}

static int finish(void)
{
    return cu.stream_finish(stream);
}

static void hold_wait(void *arg)
{
    (*(void (**)(void))arg)();
}

/* A thread of the driver's calls it. */
static bool hold(void (*until)(void))
{
    static void (*wait)(void);

    wait = until;
    return cu.launch_host && cu.launch_host(stream, hold_wait, &wait) == SUCCESS;
}

static void release(void)
{
}

const struct vendor vendor_cuda = { .kind = HEED_DEVICE_CUDA, .word = "cuda", .name = "CUDA",
                                    .open = open, .make = make, .put = put, .get = get,
                                    .finish = finish, .hold = hold, .release = release };
