/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Memory of an OpenCL device for plug-ins. Devices have the numbers that heed's own list gives
 * them: all platforms in a row, a device's first place counts.
 */
#include "vendor.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Numbers and types of the OpenCL registry (Khronos, OpenCL 1.2); handles are pointers. */
enum { SUCCESS = 0, TRUE_ = 1, COMPLETE = 0, DEVICE_NAME = 0x102B };
#define TYPE_ALL UINT64_C(0xFFFFFFFF)
#define TYPE_CUSTOM UINT64_C(16)
#define READ_WRITE UINT64_C(1)

#define FUNCTIONS(X)                                                                               \
    X(int32_t, GetPlatformIDs, (uint32_t n, void **platforms, uint32_t *count))                    \
    X(int32_t, GetDeviceIDs,                                                                       \
      (void *platform, uint64_t type, uint32_t n, void **devices, uint32_t *count))                \
    X(int32_t, GetDeviceInfo, (void *device, uint32_t what, size_t, void *to, size_t *size))       \
    X(void *, CreateContext,                                                                       \
      (const intptr_t *properties, uint32_t n, void *const *devices,                               \
       void (*notify)(const char *, const void *, size_t, void *), void *user, int32_t *error))    \
    X(void *, CreateCommandQueue,                                                                  \
      (void *context, void *device, uint64_t properties, int32_t *error))                          \
    X(void *, CreateBuffer,                                                                        \
      (void *context, uint64_t flags, size_t bytes, void *host, int32_t *error))                   \
    X(int32_t, EnqueueWriteBuffer,                                                                 \
      (void *queue, void *memory, uint32_t blocking, size_t offset, size_t bytes,                  \
       const void *from, uint32_t n_waits, void *const *waits, void **event))                      \
    X(int32_t, EnqueueReadBuffer,                                                                  \
      (void *queue, void *memory, uint32_t blocking, size_t offset, size_t bytes, void *to,        \
       uint32_t n_waits, void *const *waits, void **event))                                        \
    X(int32_t, EnqueueMarkerWithWaitList,                                                          \
      (void *queue, uint32_t n_waits, void *const *waits, void **event))                           \
    X(int32_t, Finish, (void *queue))                                                              \
    X(void *, CreateUserEvent, (void *context, int32_t *error))                                    \
    X(int32_t, SetUserEventStatus, (void *event, int32_t status))                                  \
    X(int32_t, ReleaseEvent, (void *event))

static struct {
#define MEMBER(result, name, parameters) result(*name) parameters;
    FUNCTIONS(MEMBER)
#undef MEMBER
} cl;

#define NAME(result, name, parameters) "cl" #name,
static const char *const names[] = { FUNCTIONS(NAME) };
#undef NAME

static const char *const files[] = {
    "libOpenCL.so.1", "libOpenCL.so", "/System/Library/Frameworks/OpenCL.framework/OpenCL", NULL,
};

static void *context, *queue, *aside; /* aside: a queue of the kit's own */

/* ---- devices -------------------------------------------------------------------- */

enum { MAX_PLATFORMS = 16, MAX_DEVICES = 64 };

struct list {
    void *device[MAX_DEVICES];
    uint32_t n;
};

static void list_add(struct list *list, void *device)
{
    for (uint32_t i = 0; i < list->n; i++) {
        if (list->device[i] == device)
            return;
    }
    if (list->n < MAX_DEVICES)
        list->device[list->n++] = device;
}

static void list_type(struct list *list, void *platform, uint64_t type)
{
    void *devices[MAX_DEVICES];
    uint32_t n = 0;

    if (cl.GetDeviceIDs(platform, type, MAX_DEVICES, devices, &n) != SUCCESS)
        return;
    for (uint32_t i = 0; i < n && i < MAX_DEVICES; i++)
        list_add(list, devices[i]);
}

static void list_all(struct list *list)
{
    void *platforms[MAX_PLATFORMS];
    uint32_t n = 0;

    list->n = 0;
    if (cl.GetPlatformIDs(MAX_PLATFORMS, platforms, &n) != SUCCESS)
        n = 0;
    for (uint32_t i = 0; i < n && i < MAX_PLATFORMS; i++) {
        list_type(list, platforms[i], TYPE_ALL);
        list_type(list, platforms[i], TYPE_CUSTOM); /* not among "all" */
    }
}

static const char *open(int64_t ordinal, heed_host_device *out, char *description, size_t size)
{
    struct list list;
    int32_t code[3] = { SUCCESS };
    void *device;

    _Static_assert(sizeof cl == sizeof names, "a function a name");
    if (!vendor_load(files, names, sizeof names / sizeof *names, 0, &cl))
        return "no OpenCL loader (libOpenCL.so.1) with the functions of OpenCL 1.2";
    list_all(&list);
    if (ordinal >= list.n)
        return list.n ? "there are fewer OpenCL devices" : "there is no OpenCL device";
    device = list.device[ordinal];
    context = cl.CreateContext(NULL, 1, &device, NULL, NULL, &code[0]);
    queue = context ? cl.CreateCommandQueue(context, device, 0, &code[1]) : NULL;
    aside = queue ? cl.CreateCommandQueue(context, device, 0, &code[2]) : NULL;
    if (!aside)
        return "the OpenCL driver makes no context with two queues";
    memset(description, 0, size);
    (void)cl.GetDeviceInfo(device, DEVICE_NAME, size - 1, description, NULL);
    *out = (heed_host_device){ .size = sizeof *out, .kind = HEED_DEVICE_OPENCL, .context = context,
                               .device = device, .queue = queue, .ordinal = ordinal };
    return NULL;
}

/* ---- memory --------------------------------------------------------------------- */

static int make(size_t bytes, void **memory)
{
    int32_t code = SUCCESS;

    *memory = cl.CreateBuffer(context, READ_WRITE, bytes, NULL, &code);
    return *memory ? 0 : (int)code;
}

static int put(void *memory, const void *from, size_t bytes)
{
    return cl.EnqueueWriteBuffer(queue, memory, TRUE_, 0, bytes, from, 0, NULL, NULL);
}

static int get(void *memory, void *to, size_t bytes)
{
    return cl.EnqueueReadBuffer(aside, memory, TRUE_, 0, bytes, to, 0, NULL, NULL);
}

static int finish(void)
{
    return cl.Finish(queue);
}

/* ---- a queue that waits ------------------------------------------------------------ */

static struct {
    pthread_t thread;
    void *event;
    void (*until)(void);
} held;

static void *hold_end(void *arg)
{
    (void)arg;
    held.until();
    cl.SetUserEventStatus(held.event, COMPLETE);
    return NULL;
}

static bool hold(void (*until)(void))
{
    int32_t code = SUCCESS;

    held.until = until;
    held.event = cl.CreateUserEvent(context, &code);
    if (!held.event)
        return false;
    if (cl.EnqueueMarkerWithWaitList(queue, 1, &held.event, NULL) == SUCCESS &&
        pthread_create(&held.thread, NULL, hold_end, NULL) == 0)
        return true;
    cl.SetUserEventStatus(held.event, COMPLETE);
    cl.ReleaseEvent(held.event);
    return false;
}

static void release(void)
{
    pthread_join(held.thread, NULL);
    cl.ReleaseEvent(held.event);
}

const struct vendor vendor_opencl = { .kind = HEED_DEVICE_OPENCL, .word = "opencl",
                                      .name = "OpenCL", .open = open, .make = make, .put = put,
                                      .get = get, .finish = finish, .hold = hold,
                                      .release = release };
