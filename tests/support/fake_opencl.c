/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * See fake_opencl.h. Every entry point begins with fake_call(), which counts and decides whether
 * this one fails; objects are those of fake.h.
 */
#include "fake_opencl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEVICES = 4, MAX_PLATFORMS = 2, BINARY = 64, ARGUMENTS = 2 + 102 };

/* What any object may have; the bytes of memory come after it. */
struct object {
    struct object *context;
    uint64_t properties;
    bool built, from_binary;
    void *arguments[ARGUMENTS];     /* of a kernel, those that are handles: 0 and from 2 on */
};

struct fake_opencl fake_opencl;
static char platforms[MAX_PLATFORMS], devices[MAX_DEVICES];

void fake_opencl_reset(void)
{
    fake_reset();
    fake_opencl = (struct fake_opencl){
        .n_platforms = 1,
        .n_devices = 1,
        .device_version = "OpenCL 3.0 fake",
        .driver_version = "1",
        .profile = "FULL_PROFILE",
        .available = 1,
        .platform = "Fake",
        .name = "device",
        .compiler = 1,
        .little_endian = 1,
        .address_bits = 64,
        .vector = 8,
        .type = HEED_CL_DEVICE_TYPE_CPU,
        .event_status = 3,                      /* queued */
        .parameter_bytes = 1024,
        .group_items = 256,
        .local_memory = 64 << 10,
        .log = "",
    };
}

void *fake_opencl_bytes(void *memory)
{
    return memory != NULL ? (struct object *)memory + 1 : NULL;
}

void *fake_opencl_device(uint32_t index)
{
    return &devices[index];
}

static struct object *live(void *given, enum fake_kind kind)
{
    return fake_is(given, kind, __func__) ? given : NULL;
}

static void among(const char *list, int n, const void *given)
{
    if ((const char *)given < list || (const char *)given >= list + n)
        fake_mistake(__func__);
}

static struct object *create(enum fake_kind kind, struct object *context)
{
    struct object *const object = fake_create(kind, sizeof(*object));

    object->context = context;
    return object;
}

#include "fake_opencl_devices.h"

/* ---- contexts and queues ---- */

static void *CreateContext(const intptr_t *properties, uint32_t n, void *const *list,
                           void (*notify)(const char *, const void *, size_t, void *), void *user,
                           int32_t *error)
{
    (void)properties;
    (void)n;
    (void)notify;
    (void)user;
    *error = fake_call("CreateContext");
    among(devices, MAX_DEVICES, list[0]);
    return *error == HEED_CL_SUCCESS ? create(FAKE_CONTEXT, NULL) : NULL;
}

static int32_t GetContextInfo(void *context, uint32_t what, size_t room, void *to, size_t *size)
{
    const int32_t code = fake_call("GetContextInfo");
    void *device = &devices[0];

    if (code != HEED_CL_SUCCESS)
        return code;
    live(context, FAKE_CONTEXT);
    if (what == HEED_CL_CONTEXT_NUM_DEVICES)
        return answer_number(1, 4, room, to, size);
    return answer(&device, sizeof(device), room, to, size);
}

static void *CreateCommandQueue(void *context, void *device, uint64_t properties, int32_t *error)
{
    struct object *queue;

    *error = fake_call("CreateCommandQueue");
    among(devices, MAX_DEVICES, device);
    if (*error != HEED_CL_SUCCESS)
        return NULL;
    queue = create(FAKE_QUEUE, live(context, FAKE_CONTEXT));
    queue->properties = properties;
    return queue;
}

static int32_t GetCommandQueueInfo(void *given, uint32_t what, size_t room, void *to, size_t *size)
{
    const int32_t code = fake_call("GetCommandQueueInfo");
    struct object *const queue = live(given, FAKE_QUEUE);
    void *device = &devices[0];

    if (code != HEED_CL_SUCCESS)
        return code;
    if (queue == NULL)
        return HEED_CL_INVALID_COMMAND_QUEUE;
    if (what == HEED_CL_QUEUE_PROPERTIES)
        return answer(&queue->properties, sizeof(queue->properties), room, to, size);
    if (what == HEED_CL_QUEUE_CONTEXT)
        return answer(&queue->context, sizeof(queue->context), room, to, size);
    return answer(&device, sizeof(device), room, to, size);
}

static int32_t Flush(void *queue)
{
    const int32_t code = fake_call("Flush");

    live(queue, FAKE_QUEUE);
    fake_opencl.flushes++;
    return code;
}

static int32_t Finish(void *queue)
{
    const int32_t code = fake_call("Finish");

    live(queue, FAKE_QUEUE);
    fake_opencl.finishes++;
    return code;
}

/* ---- memory ---- */

static void *CreateBuffer(void *context, uint64_t flags, size_t bytes, void *host, int32_t *error)
{
    struct object *memory;

    *error = fake_call("CreateBuffer");
    if (*error == HEED_CL_SUCCESS && bytes == 0)
        *error = HEED_CL_INVALID_BUFFER_SIZE;
    if (*error != HEED_CL_SUCCESS)
        return NULL;
    live(context, FAKE_CONTEXT);
    memory = fake_create(FAKE_MEMORY, sizeof(*memory) + bytes);
    if (flags & HEED_CL_MEM_COPY_HOST_PTR)
        memcpy(memory + 1, host, bytes);
    return memory;
}

/* Nobody of the tests asks for one but by mistake. */
static void *CreateSubBuffer(void *memory, uint64_t flags, uint32_t kind, const void *region,
                             int32_t *error)
{
    *error = memory && flags && kind && region ? fake_call(__func__) : -30;
    fake_mistake(__func__);
    return NULL;
}

/* ---- programs and kernels ---- */

static void *CreateProgramWithSource(void *context, uint32_t n, const char **texts,
                                     const size_t *lengths, int32_t *error)
{
    *error = fake_call("CreateProgramWithSource");
    if (n != 1 || texts[0] == NULL || strlen(texts[0]) != lengths[0])
        fake_mistake(__func__);
    return *error == HEED_CL_SUCCESS ? create(FAKE_PROGRAM, live(context, FAKE_CONTEXT)) : NULL;
}

static void *CreateProgramWithBinary(void *context, uint32_t n, void *const *list,
                                     const size_t *lengths, const unsigned char **binaries,
                                     int32_t *statuses, int32_t *error)
{
    struct object *program;

    *error = fake_call("CreateProgramWithBinary");
    among(devices, MAX_DEVICES, list[0]);
    if (*error == HEED_CL_SUCCESS &&
        (fake_opencl.refuse_binary || n != 1 || lengths[0] != BINARY || binaries[0][0] != 'B'))
        *error = -42;
    *statuses = *error;
    if (*error != HEED_CL_SUCCESS)
        return NULL;
    program = create(FAKE_PROGRAM, live(context, FAKE_CONTEXT));
    program->from_binary = true;
    return program;
}

static int32_t BuildProgram(void *given, uint32_t n, void *const *list, const char *options,
                            void (*notify)(void *, void *), void *user)
{
    const int32_t code = fake_call("BuildProgram");
    struct object *const program = live(given, FAKE_PROGRAM);

    (void)n;
    (void)notify;
    (void)user;
    among(devices, MAX_DEVICES, list[0]);
    snprintf(fake_opencl.options, sizeof(fake_opencl.options), "%s", options);
    if (code != HEED_CL_SUCCESS)
        return code;
    if (fake_opencl.refuse_option != NULL && strstr(options, fake_opencl.refuse_option) != NULL)
        return HEED_CL_INVALID_BUILD_OPTIONS;
    if (program->from_binary)
        fake_opencl.binary_builds++;
    else
        fake_opencl.source_builds++;
    if (!program->from_binary && fake_opencl.refuse_source)
        return HEED_CL_BUILD_PROGRAM_FAILURE;
    program->built = true;
    return HEED_CL_SUCCESS;
}

static int32_t GetProgramInfo(void *given, uint32_t what, size_t room, void *to, size_t *size)
{
    const int32_t code = fake_call("GetProgramInfo");
    unsigned char *const *binaries = to;
    void *device = &devices[0];

    if (code != HEED_CL_SUCCESS)
        return code;
    live(given, FAKE_PROGRAM);
    switch (what) {
    case HEED_CL_PROGRAM_NUM_DEVICES: return answer_number(1, 4, room, to, size);
    case HEED_CL_PROGRAM_DEVICES: return answer(&device, sizeof(device), room, to, size);
    case HEED_CL_PROGRAM_BINARY_SIZES: return answer_number(BINARY, 8, room, to, size);
    default: break;
    }
    memset(binaries[0], 'B', BINARY);
    return HEED_CL_SUCCESS;
}

static int32_t GetProgramBuildInfo(void *given, void *device, uint32_t what, size_t room, void *to,
                                   size_t *size)
{
    const int32_t code = fake_call("GetProgramBuildInfo");

    (void)what;
    if (code != HEED_CL_SUCCESS)
        return code;
    live(given, FAKE_PROGRAM);
    among(devices, MAX_DEVICES, device);
    return answer_text(fake_opencl.log, room, to, size);
}

static void *CreateKernel(void *given, const char *name, int32_t *error)
{
    struct object *program;

    *error = fake_call("CreateKernel");
    program = live(given, FAKE_PROGRAM);
    if (!program->built || strcmp(name, "heed_kernel") != 0)
        fake_mistake(__func__);
    return *error == HEED_CL_SUCCESS ? create(FAKE_KERNEL, program->context) : NULL;
}

static int32_t SetKernelArg(void *kernel, uint32_t index, size_t size, const void *value)
{
    const int32_t code = fake_call("SetKernelArg");

    live(kernel, FAKE_KERNEL);
    if (size == 0 || value == NULL)
        fake_mistake(__func__);
    if (index < ARGUMENTS && size == sizeof(void *))
        memcpy(&((struct object *)kernel)->arguments[index], value, size);
    return code;
}

/* ---- commands ---- */

static void put(char kind, void *given, uint32_t n_waits, void *const *waits, void **event)
{
    struct fake_opencl *const f = &fake_opencl;
    struct object *const queue = live(given, FAKE_QUEUE);
    struct fake_command command = { .kind = kind, .n_waits = n_waits, .queue = queue };

    if (queue == NULL || n_waits > FAKE_WAITS || (n_waits > 0) != (waits != NULL)) {
        fake_mistake("put");
        return;
    }
    for (uint32_t i = 0; i < n_waits; i++)
        command.waits[i] = live(waits[i], FAKE_EVENT);
    if (event != NULL)
        *event = command.event = create(FAKE_EVENT, queue->context);
    if (f->n_commands < FAKE_COMMANDS)          /* what comes later is not written down */
        f->commands[f->n_commands++] = command;
}

/* The bytes of a range, or NULL. */
static unsigned char *range(void *given, size_t offset, size_t bytes)
{
    struct object *const memory = live(given, FAKE_MEMORY);
    const size_t room = memory != NULL ? fake_bytes(memory) - sizeof(*memory) : 0;

    if (memory != NULL && offset <= room && bytes <= room - offset)
        return (unsigned char *)(memory + 1) + offset;
    fake_mistake(__func__);
    return NULL;
}

static int32_t EnqueueNDRangeKernel(void *queue, void *kernel, uint32_t dimensions,
                                    const size_t *offset, const size_t *global,
                                    const size_t *local, uint32_t n_waits, void *const *waits,
                                    void **event)
{
    const int32_t code = fake_call("EnqueueNDRangeKernel");
    void *const *const arguments = ((const struct object *)kernel)->arguments;

    live(kernel, FAKE_KERNEL);
    if (dimensions != 1 || offset != NULL || global[0] == 0 || global[0] % local[0] != 0)
        fake_mistake(__func__);
    for (int i = 0; i < ARGUMENTS; i++) {
        if (arguments[i] != NULL)
            live(arguments[i], FAKE_MEMORY);
    }
    if (code != HEED_CL_SUCCESS)
        return code;
    put('k', queue, n_waits, waits, event);
    if (fake.launched != NULL)
        fake.launched((unsigned)local[0], (unsigned)(global[0] / local[0]),
                      fake_opencl_bytes(arguments[0]), fake_opencl_bytes(arguments[3]));
    return code;
}

static int32_t EnqueueReadBuffer(void *queue, void *memory, uint32_t blocking, size_t offset,
                                 size_t bytes, void *to, uint32_t n_waits, void *const *waits,
                                 void **event)
{
    const int32_t code = fake_call("EnqueueReadBuffer");
    const unsigned char *const from = range(memory, offset, bytes);

    if (code != HEED_CL_SUCCESS)
        return code;
    put('r', queue, n_waits, waits, event);
    if (from != NULL && blocking)
        memcpy(to, from, bytes);
    return code;
}

static int32_t EnqueueWriteBuffer(void *queue, void *memory, uint32_t blocking, size_t offset,
                                  size_t bytes, const void *from, uint32_t n_waits,
                                  void *const *waits, void **event)
{
    const int32_t code = fake_call("EnqueueWriteBuffer");
    unsigned char *const to = range(memory, offset, bytes);

    if (code != HEED_CL_SUCCESS)
        return code;
    put('w', queue, n_waits, waits, event);
    if (to != NULL && blocking)
        memcpy(to, from, bytes);
    return code;
}

static int32_t EnqueueFillBuffer(void *queue, void *memory, const void *pattern,
                                 size_t pattern_bytes, size_t offset, size_t bytes,
                                 uint32_t n_waits, void *const *waits, void **event)
{
    const int32_t code = fake_call("EnqueueFillBuffer");
    unsigned char *const to = range(memory, offset, bytes);

    if (pattern_bytes == 0 || offset % pattern_bytes != 0 || bytes % pattern_bytes != 0)
        fake_mistake(__func__);
    if (code != HEED_CL_SUCCESS)
        return code;
    put('f', queue, n_waits, waits, event);
    for (size_t i = 0; to != NULL && i < bytes; i += pattern_bytes)
        memcpy(to + i, pattern, pattern_bytes);
    return code;
}

static int32_t EnqueueMarkerWithWaitList(void *queue, uint32_t n_waits, void *const *waits,
                                         void **event)
{
    const int32_t code = fake_call("EnqueueMarkerWithWaitList");

    if (code == HEED_CL_SUCCESS)
        put('m', queue, n_waits, waits, event);
    return code;
}

static int32_t EnqueueBarrierWithWaitList(void *queue, uint32_t n_waits, void *const *waits,
                                          void **event)
{
    const int32_t code = fake_call("EnqueueBarrierWithWaitList");

    if (code == HEED_CL_SUCCESS)
        put('b', queue, n_waits, waits, event);
    return code;
}

/* ---- events ---- */

static int32_t WaitForEvents(uint32_t n, void *const *events)
{
    const int32_t code = fake_call("WaitForEvents");

    for (uint32_t i = 0; i < n; i++)
        live(events[i], FAKE_EVENT);
    if (code == HEED_CL_SUCCESS && fake_opencl.event_status < 0)
        return HEED_CL_EXEC_STATUS_ERROR_IN_WAIT_LIST;
    return code;
}

static int32_t GetEventInfo(void *given, uint32_t what, size_t room, void *to, size_t *size)
{
    const int32_t code = fake_call("GetEventInfo");
    struct object *const event = live(given, FAKE_EVENT);

    if (code != HEED_CL_SUCCESS)
        return code;
    if (what == HEED_CL_EVENT_CONTEXT)
        return answer(&event->context, sizeof(event->context), room, to, size);
    return answer(&fake_opencl.event_status, sizeof(fake_opencl.event_status), room, to, size);
}

/* References. Giving back cannot fail here, as drivers that do leave nothing to be done. */
#define RETAIN(name, kind)                                                                         \
    static int32_t Retain##name(void *object)                                                      \
    {                                                                                              \
        const int32_t code = fake_call("Retain" #name);                                            \
                                                                                                   \
        if (code == HEED_CL_SUCCESS)                                                               \
            (void)fake_retain(object, FAKE_##kind, "Retain" #name);                                \
        return code;                                                                               \
    }
#define RELEASE(name, kind)                                                                        \
    static int32_t Release##name(void *object)                                                     \
    {                                                                                              \
        const int32_t code = fake_call("Release" #name);                                           \
                                                                                                   \
        (void)fake_release(object, FAKE_##kind, "Release" #name);                                  \
        return code;                                                                               \
    }
RETAIN(Context, CONTEXT)
RELEASE(Context, CONTEXT)
RETAIN(CommandQueue, QUEUE)
RELEASE(CommandQueue, QUEUE)
RELEASE(MemObject, MEMORY)
RELEASE(Program, PROGRAM)
RELEASE(Kernel, KERNEL)
RETAIN(Event, EVENT)
RELEASE(Event, EVENT)
#undef RETAIN
#undef RELEASE

const struct heed_opencl_api *fake_opencl_api(void)
{
    static const struct heed_opencl_api api = {
#define MEMBER(result, name, parameters) .name = name,
        HEED_OPENCL_FUNCTIONS(MEMBER)
#undef MEMBER
    };

    return &api;
}
