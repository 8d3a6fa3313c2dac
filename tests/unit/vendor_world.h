/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the tests of the vendors' backends have in common: a table of both vendors over drivers that
 * are not there, and a device of one of them with a runtime that is kept account of.
 */
#ifndef HEED_TESTS_UNIT_VENDOR_WORLD_H
#define HEED_TESTS_UNIT_VENDOR_WORLD_H

#include "backends/cuda/state.h"
#include "backends/opencl/state.h"
#include "lib/core/context.h"
#include "support/fake_cuda.h"
#include "support/fake_opencl.h"
#include "support/fake_right.h"
#include "support/ledger.h"
#include "support/suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const struct heed_backend heed_cuda_backend, heed_opencl_backend;

enum { LEVELS = 5 };

/* ---- the two vendors ---- */

struct vendor {
    const char *name;
    const struct heed_backend *backend;
    void (*reset)(void), (*install)(void), (*uninstall)(void);
    void (*without)(const char *reason);        /* no library */
    void (*devices)(int n);
    long (*alive)(void);                        /* what is left in the driver */
    /* The caller's own; a queue and an event are of that context (NULL: of the device's). */
    void *(*context)(void);
    void (*context_end)(void *);
    void *(*queue)(void *context), *(*event)(void *context, void *queue);
    void (*queue_end)(void *context, void *), (*event_end)(void *context, void *);
    void *(*context_of)(const heed_device *);
    void (*refuse_builds)(bool);
    long (*builds)(void);                       /* from source */
    char *(*bytes)(void *memory);
    const char *launch, *allocate;              /* names of calls */
    int no_memory;                              /* codes */
    int lost[3];
};

static void opencl_install(void)
{
    heed_opencl_api_set(fake_opencl_api(), NULL);
}

static void opencl_uninstall(void)
{
    fake_opencl_reset();
    heed_opencl_api_set(NULL, NULL);
}

static void opencl_without(const char *reason)
{
    heed_opencl_api_set(NULL, reason);
}

static void opencl_devices(int n)
{
    fake_opencl.n_devices = (uint32_t)n;
    opencl_install();
}

static long opencl_alive(void)
{
    return fake_alive();
}

static void *opencl_context(void)
{
    void *const device = fake_opencl_device(0);
    int32_t code = 0;

    return fake_opencl_api()->CreateContext(NULL, 1, &device, NULL, NULL, &code);
}

static void opencl_context_end(void *context)
{
    (void)fake_opencl_api()->ReleaseContext(context);
}

static void *opencl_queue_of(void *context, uint64_t properties)
{
    int32_t code = 0;

    return fake_opencl_api()->CreateCommandQueue(context, fake_opencl_device(0), properties, &code);
}

static void *opencl_queue(void *context)
{
    return opencl_queue_of(context, HEED_CL_QUEUE_OUT_OF_ORDER);
}

static void *opencl_event(void *context, void *queue)
{
    void *event = NULL;

    (void)context;
    (void)fake_opencl_api()->EnqueueMarkerWithWaitList(queue, 0, NULL, &event);
    return event;
}

static void opencl_queue_end(void *context, void *queue)
{
    (void)context;
    (void)fake_opencl_api()->ReleaseCommandQueue(queue);
}

static void opencl_event_end(void *context, void *event)
{
    (void)context;
    (void)fake_opencl_api()->ReleaseEvent(event);
}

static void *opencl_context_of(const heed_device *device)
{
    return ((const struct heed_opencl_state *)device->state)->context;
}

static const char build_log[] = "begun\n\n  kernel.cl(1): error: first\r\nand second\n";

static void opencl_refuse_builds(bool refuse)
{
    fake_opencl.refuse_source = refuse;
    fake_opencl.log = build_log;
}

static long opencl_builds(void)
{
    return fake_opencl.source_builds;
}

static char *opencl_bytes(void *memory)
{
    return fake_opencl_bytes(memory);
}

static void cuda_without(const char *reason)
{
    heed_cuda_api_set(NULL, reason);
}

static void cuda_devices(int n)
{
    fake_cuda.devices = n;
}

static void cuda_context_end(void *context)
{
    (void)context;
    fake_cuda_context_end();
}

/* What is done while that context is current. */
static void *cuda_queue(void *context)
{
    void *stream = NULL;

    ck_assert_int_eq(fake_cuda_driver.context_push(context), 0);
    ck_assert_int_eq(fake_cuda_driver.stream_create(&stream, 1), 0);
    fake_cuda.depth--;
    return stream;
}

static void cuda_queue_end(void *context, void *stream)
{
    ck_assert_int_eq(fake_cuda_driver.context_push(context), 0);
    ck_assert_int_eq(fake_cuda_driver.stream_destroy(stream), 0);
    fake_cuda.depth--;
}

static void *cuda_event(void *context, void *queue)
{
    void *event = NULL;

    (void)queue;
    ck_assert_int_eq(fake_cuda_driver.context_push(context), 0);
    ck_assert_int_eq(fake_cuda_driver.event_create(&event, 2), 0);
    fake_cuda.depth--;
    return event;
}

static void cuda_event_end(void *context, void *event)
{
    ck_assert_int_eq(fake_cuda_driver.context_push(context), 0);
    ck_assert_int_eq(fake_cuda_driver.event_destroy(event), 0);
    fake_cuda.depth--;
}

static void *cuda_context_of(const heed_device *device)
{
    return ((const struct heed_cuda_state *)device->state)->context;
}

static void cuda_refuse_builds(bool refuse)
{
    fake_cuda.compile_code = refuse ? 6 : 0;
    fake_cuda.refuse_embedded = true;
}

static long cuda_builds(void)
{
    return fake_cuda.compiles;
}

static char *cuda_bytes(void *memory)
{
    return memory;
}

static const struct vendor vendors[] = {
    {
        .name = "opencl",
        .backend = &heed_opencl_backend,
        .reset = fake_opencl_reset,
        .install = opencl_install,
        .uninstall = opencl_uninstall,
        .without = opencl_without,
        .devices = opencl_devices,
        .alive = opencl_alive,
        .context = opencl_context,
        .context_end = opencl_context_end,
        .queue = opencl_queue,
        .event = opencl_event,
        .queue_end = opencl_queue_end,
        .event_end = opencl_event_end,
        .context_of = opencl_context_of,
        .refuse_builds = opencl_refuse_builds,
        .builds = opencl_builds,
        .bytes = opencl_bytes,
        .launch = "EnqueueNDRangeKernel",
        .allocate = "CreateBuffer",
        .no_memory = HEED_CL_OUT_OF_RESOURCES,
        .lost = { HEED_CL_DEVICE_NOT_AVAILABLE, HEED_CL_INVALID_DEVICE,
                  HEED_CL_INVALID_COMMAND_QUEUE },
    },
    {
        .name = "cuda",
        .backend = &heed_cuda_backend,
        .reset = fake_cuda_reset,
        .install = fake_cuda_install,
        .uninstall = fake_cuda_uninstall,
        .without = cuda_without,
        .devices = cuda_devices,
        .alive = fake_cuda_alive,
        .context = fake_cuda_context,
        .context_end = cuda_context_end,
        .queue = cuda_queue,
        .event = cuda_event,
        .queue_end = cuda_queue_end,
        .event_end = cuda_event_end,
        .context_of = cuda_context_of,
        .refuse_builds = cuda_refuse_builds,
        .builds = cuda_builds,
        .bytes = cuda_bytes,
        .launch = "cuLaunchKernel",
        .allocate = "cuMemAlloc",
        .no_memory = HEED_CU_OUT_OF_MEMORY,
        .lost = { HEED_CU_ILLEGAL_ADDRESS, HEED_CU_LAUNCH_FAILED, HEED_CU_ECC_UNCORRECTABLE },
    },
};
enum { OPENCL, CUDA, VENDORS };

/* Device 0, for wrapping. */
static inline void *native_device(const struct vendor *v)
{
    return v == &vendors[OPENCL] ? fake_opencl_device(0) : (void *)0;
}

/* ---- a device of one of them ---- */

static struct {
    const struct vendor *v;
    struct ledger ledger;
    heed_runtime *rt;
    heed_device device;
    struct heed_error_detail detail;
    const struct heed_backend_offload *offload;
    int logged[LEVELS];      /* lines, by level */
    char line[512];                 /* the last of level 1 */
} world;

static void world_log(void *context, uint32_t level, const char *text)
{
    (void)context;
    world.logged[level]++;
    if (level == 1)
        snprintf(world.line, sizeof(world.line), "%s", text);
}

static inline void world_begin(const struct vendor *v)
{
    const heed_logger logger = { .size = sizeof(logger), .level = 4, .line = world_log };
    heed_allocator allocator;
    heed_runtime_desc desc = { .size = sizeof(desc), .logger = &logger };

    memset(&world, 0, sizeof(world));
    world.v = v;
    allocator = ledger_allocator(&world.ledger);
    desc.allocator = &allocator;
    v->reset();
    v->install();
    fake.launched = compute_right;
    ck_assert_int_eq(heed_runtime_create(&desc, &world.rt, NULL), HEED_OK);
    world.offload = v->backend->offload;
    world.device = (heed_device){ .backend = v->backend, .runtime = world.rt };
}

static inline void world_close(void)
{
    world.offload->close(&world.device, &world.rt->services);
    ck_assert_ptr_null(world.device.state);
}

/* Closes the device, if it is open: everything has been given back, and nothing was used after
 * that. */
static inline void world_end(void)
{
    if (world.device.state != NULL)
        world_close();
    heed_runtime_destroy(world.rt);
    ck_assert_int_eq(world.ledger.blocks, 0);
    ck_assert_int_eq(world.ledger.mistakes, 0);
    ck_assert_int_eq(world.v->alive(), 0);
    ck_assert_msg(fake.mistakes == 0, "%ld mistakes, first: %s", fake.mistakes, fake.mistake);
    world.v->uninstall();
}

static inline const struct heed_driver *driver_of_world(void)
{
    return ((struct heed_device_state *)world.device.state)->driver;
}

static inline void world_open(void)
{
    memset(&world.device.props, 0, sizeof(world.device.props));
    ck_assert_uint_gt(world.v->backend->count(), 0);
    world.v->backend->describe(world.device.index, &world.device.props);
    ck_assert_int_eq(world.device.props.usable, HEED_OK);
    ck_assert_int_eq(world.offload->open(&world.device, &world.rt->services), HEED_OK);
}

static inline heed_status get_kernel(enum heed_kernel row, uint32_t large, void **kernel)
{
    return driver_of_world()->kernel(world.device.state, row, large, kernel, &world.detail);
}

static inline heed_status make_buffer(uint64_t bytes, void **handle)
{
    return world.offload->buf_create(&world.device, bytes, handle, &world.detail);
}

/* Over what is the caller's. */
static inline heed_status take_queue(void *native, void **queue)
{
    return world.offload->queue_create(&world.device, native, 1, queue, &world.detail);
}

static inline heed_status take_event(void *native, void **event)
{
    return world.offload->event_wrap(&world.device, native, event, &world.detail);
}

static inline heed_status queue_wait(void *queue)
{
    return world.offload->queue_wait(&world.device, queue, &world.detail);
}

static inline heed_status event_wait(void *event)
{
    return world.offload->event_wait(&world.device, event, &world.detail);
}

/* ---- a run: three launches of the same kernel ---- */

struct run {
    void *queue, *blob, *memory, *kernel, *event;
    struct heed_kernel_launch launches[3];
    struct heed_work work;
};

static inline void run_begin(struct run *run, void *native, uint32_t large)
{
    struct heed_error_detail *const detail = &world.detail;
    uint32_t contents = 7;

    *run = (struct run){ .work.n_launches = 3 };
    ck_assert_int_eq(world.offload->queue_create(&world.device, native, native != NULL,
                                                 &run->queue, detail), HEED_OK);
    ck_assert_int_eq(driver_of_world()->memory_create(world.device.state, 4, &contents,
                                                      &run->blob, detail), HEED_OK);
    ck_assert_int_eq(world.offload->buf_create(&world.device, 4096, &run->memory, detail),
                     HEED_OK);
    ck_assert_int_eq(get_kernel(HEED_KERNEL_prepare, large, &run->kernel), HEED_OK);
    for (int i = 0; i < 3; i++)
        run->launches[i] = (struct heed_kernel_launch){
            HEED_KERNEL_prepare, 32, 2, 0, run->kernel
        };
    run->work.launches = run->launches;
    run->work.n_buffers = large ? HEED_BUFFERS_LARGE : HEED_BUFFERS_SMALL;
    run->work.blob = run->blob;
    run->work.buffers[0] = (heed_buf){ run->memory, 0 };
    run->work.buffers[run->work.n_buffers - 1] = (heed_buf){ run->memory, 256 };
    run->work.queue = run->queue;
}

static inline void run_end(struct run *run)
{
    world.offload->event_destroy(&world.device, run->event);
    driver_of_world()->memory_destroy(world.device.state, run->blob);
    world.offload->buf_destroy(&world.device, run->memory);
    world.offload->queue_destroy(&world.device, run->queue);
}

static inline heed_status run_go(struct run *run)
{
    fake_opencl.n_commands = 0;
    fake_opencl.flushes = fake_opencl.finishes = 0;
    fake_cuda.n_launches = 0;
    fake.trace[0] = '\0';
    return driver_of_world()->run(world.device.state, &run->work, &world.detail);
}

#endif
