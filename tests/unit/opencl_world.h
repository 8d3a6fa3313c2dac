/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the tests of the OpenCL backend have in common: the fake driver, an allocator that keeps
 * account, a log, and a device opened over them.
 */
#ifndef HEED_TESTS_UNIT_OPENCL_WORLD_H
#define HEED_TESTS_UNIT_OPENCL_WORLD_H

#include "backends/opencl/state.h"
#include "lib/core/context.h"
#include "support/fake_opencl.h"
#include "support/ledger.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const struct heed_backend heed_opencl_backend;

static struct {
    struct ledger ledger;
    struct heed_runtime runtime;
    struct heed_services services;
    struct heed_error_detail detail;
    heed_device device;
    const struct heed_backend_offload *offload;
    int logged[5];                  /* lines, by level */
    char line[512];                 /* the last of level 1 */
} world;

static void world_log(void *runtime, uint32_t level, const char *text)
{
    (void)runtime;
    world.logged[level]++;
    if (level == 1)
        snprintf(world.line, sizeof(world.line), "%s", text);
}

static void world_begin(void)
{
    memset(&world, 0, sizeof(world));
    world.runtime.allocator = ledger_allocator(&world.ledger);
    world.services = (struct heed_services){
        .runtime = &world.runtime,
        .alloc = heed_alloc,
        .free = heed_free,
        .log = world_log,
    };
    world.offload = heed_opencl_backend.offload;
    world.device = (heed_device){ .backend = &heed_opencl_backend };
    fake_opencl_reset();
    heed_opencl_api_set(fake_opencl_api(), NULL);
}

/* Everything has been given back, and nothing was used after that. */
static void world_end(void)
{
    ck_assert_int_eq(world.ledger.blocks, 0);
    ck_assert_int_eq(world.ledger.mistakes, 0);
    ck_assert_int_eq(fake_opencl.objects, 0);
    ck_assert_uint_eq(fake_opencl.mistakes, 0);
    fake_opencl_reset();
    heed_opencl_api_set(NULL, NULL);
}

static inline struct heed_opencl_state *world_device(void)
{
    return world.device.state;
}

static inline void world_open(void)
{
    ck_assert_uint_gt(heed_opencl_backend.count(), 0);
    heed_opencl_backend.describe(world.device.index, &world.device.props);
    ck_assert_int_eq(world.offload->open(&world.device, &world.services), HEED_OK);
}

static inline void world_close(void)
{
    world.offload->close(&world.device, &world.services);
    ck_assert_ptr_null(world.device.state);
}

/* ---- a run ---- */

struct run {
    void *queue, *image, *memory, *kernel, *event;
    struct heed_step steps[3];
    struct heed_work work;
};

static inline heed_status run_begin(struct run *run, void *native, uint32_t large)
{
    struct heed_error_detail *const detail = &world.detail;
    const struct heed_driver *const driver = world_device()->common.base.driver;
    uint32_t contents = 7;
    heed_status status;

    *run = (struct run){ .work.n_steps = 3 };
    status = world.offload->queue_create(&world.device, native, native != NULL, &run->queue,
                                         detail);
    if (status >= 0)
        status = driver->memory_create(world.device.state, 4, &contents, &run->image, detail);
    if (status >= 0)
        status = world.offload->buf_create(&world.device, 4096, &run->memory, detail);
    if (status >= 0)
        status = driver->kernel(world.device.state, HEED_KERNEL_prepare, large, &run->kernel,
                                detail);
    for (int i = 0; i < 3; i++)
        run->steps[i] = (struct heed_step){ HEED_KERNEL_prepare, 32, 2, run->kernel };
    run->work.steps = run->steps;
    run->work.n_buffers = large ? HEED_BUFFERS_LARGE : HEED_BUFFERS_SMALL;
    run->work.image = run->image;
    run->work.buffers[run->work.n_buffers - 1] = (heed_buf){ run->memory, 256 };
    run->work.queue = run->queue;
    return status;
}

static inline void run_end(struct run *run)
{
    world.offload->event_destroy(&world.device, run->event);
    if (run->image != NULL)
        world_device()->common.base.driver->memory_destroy(world.device.state, run->image);
    world.offload->buf_destroy(&world.device, run->memory);
    world.offload->queue_destroy(&world.device, run->queue);
}

static inline heed_status run_go(struct run *run)
{
    fake_opencl.n_commands = 0;
    fake_opencl.flushes = fake_opencl.finishes = 0;
    return world_device()->common.base.driver->run(world.device.state, &run->work, &world.detail);
}

/* A queue and an event as a caller would have them. */
static inline void *callers_queue(uint64_t properties)
{
    int32_t code = 0;

    return fake_opencl_api()->CreateCommandQueue(world_device()->context, fake_opencl_device(0),
                                                 properties, &code);
}

static inline void *callers_event(void *queue)
{
    void *event = NULL;

    fake_opencl_api()->EnqueueMarkerWithWaitList(queue, 0, NULL, &event);
    return event;
}

#endif
