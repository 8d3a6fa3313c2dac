/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Two backends whose devices are not the host, in place of backends/table.c: one with handles
 * ("opencl:0" and on), one with addresses ("cuda:0"). Addresses are of no use to the host, so that
 * lib is found out when it follows one. Nothing is computed; everything is counted and can be made
 * to fail. For test_offload.c, test_offload_run.c.
 */
#ifndef HEED_TESTS_UNIT_FAKE_OFFLOAD_H
#define HEED_TESTS_UNIT_FAKE_OFFLOAD_H

#include "lib/core/context.h"
#include "lib/ops/op.h"
#include "lib/core/owned.h"
#include "support/ledger.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAKE_FAR ((uintptr_t)1 << 62) /* added to addresses */
enum { FAKE_WORKSPACE = 512, FAKE_ALIGN = 256, FAKE_STATE = 48 };
enum { FAKE_OPENCL = 12, FAKE_ALL = 1 + FAKE_OPENCL + 1 };   /* more than fit the first chunk */

struct fake_memory {
    uint64_t bytes;
    char *data;
};

struct fake_event {
    int waited;
    int native;                     /* wrapped or asked for */
};

/* What was asked of the backends, and what they are to answer. */
static struct fake_world {
    atomic_int counts, describes, opens, closes, wraps, memories, queues, events;
    int absent;                     /* no devices of OpenCL */
    int slow;                       /* open takes its time */
    heed_status open, wrap, create, transfer, queue, wait, prepare, run, event;
    struct heed_error_detail detail;
    int no_event;                   /* runs are complete when they return */
    uint32_t captures;              /* queues are captured */
    int queue_waits, event_waits, runs, drops, has_native;
    void *native;
    const struct heed_services *services;
    struct heed_launch launch;      /* of the last run, with copies of what it points to */
    heed_buf at[HEED_MAX_OPERANDS];
    void *waits[HEED_MAX_WAITS + 1];
    uint64_t read_offset, read_bytes;
    int reads;
} fake;

static uint32_t fake_count_opencl(void)
{
    atomic_fetch_add(&fake.counts, 1);
    return fake.absent ? 0 : FAKE_OPENCL;
}

static uint32_t fake_count_cuda(void)
{
    atomic_fetch_add(&fake.counts, 1);
    return 1;
}

static const char *fake_none(void)
{
    return "there is no loader";
}

/* opencl:2 cannot be used, as can be told without opening it. */
static void fake_describe_opencl(uint32_t index, heed_device_props *props)
{
    atomic_fetch_add(&fake.describes, 1);
    snprintf(props->name, sizeof(props->name), "opencl:%u", (unsigned)index);
    props->usable = index == 2 ? HEED_E_UNSUPPORTED : HEED_OK;
    if (index == 2)
        snprintf(props->reason, sizeof(props->reason), "too old");
}

static void fake_describe_cuda(uint32_t index, heed_device_props *props)
{
    atomic_fetch_add(&fake.describes, 1);
    snprintf(props->name, sizeof(props->name), "cuda:%u", (unsigned)index);
}

static void fake_sleep(void)
{
    for (volatile int i = 0; i < 20000000; i++)
        ;
}

static heed_status fake_open(heed_device *device, const struct heed_services *services)
{
    atomic_fetch_add(&fake.opens, 1);
    fake.services = services;
    if (fake.slow)
        fake_sleep();
    if (fake.open < 0 && device->index != 0)
        snprintf(device->props.reason, sizeof(device->props.reason), "it is broken");
    if (fake.open < 0)
        return fake.open;
    device->state = services->alloc(services->runtime, FAKE_STATE, 8);
    if (device->state == NULL)
        return HEED_E_NOMEM;
    memset(&device->props, 0, sizeof(device->props));   /* lib puts right what it must */
    device->props.memory = 12345;
    snprintf(device->props.reason, sizeof(device->props.reason), "it cannot add");
    return HEED_OK;
}

static void fake_close(heed_device *device, const struct heed_services *services)
{
    atomic_fetch_add(&fake.closes, 1);
    services->free(services->runtime, device->state, FAKE_STATE, 8);
}

static heed_status fake_wrap(heed_device *device, const struct heed_services *services,
                             void *context, void *native, struct heed_error_detail *detail)
{
    ck_assert_uint_eq(device->index, UINT32_MAX);
    ck_assert_ptr_nonnull(context);
    atomic_fetch_add(&fake.wraps, 1);
    *detail = fake.detail;
    fake.native = native;
    if (fake.wrap < 0)
        return fake.wrap;
    device->state = services->alloc(services->runtime, FAKE_STATE, 8);
    return device->state != NULL ? HEED_OK : HEED_E_NOMEM;
}

static int has_handles(const heed_device *device)
{
    return device->backend->offload->handles != 0;
}

static heed_status fake_buf_create(heed_device *device, uint64_t bytes, void **handle,
                                   struct heed_error_detail *detail)
{
    struct fake_memory *memory;

    *detail = fake.detail;
    if (fake.create < 0)
        return fake.create;
    memory = malloc(sizeof(*memory));
    memory->bytes = bytes;
    memory->data = aligned_alloc(FAKE_ALIGN, (bytes + 2 * FAKE_ALIGN) / FAKE_ALIGN * FAKE_ALIGN);
    atomic_fetch_add(&fake.memories, 1);
    if (has_handles(device)) {
        *handle = memory;
        return HEED_OK;
    }
    *handle = (void *)((uintptr_t)memory->data + FAKE_FAR);
    free(memory);
    return HEED_OK;
}

static void fake_buf_destroy(heed_device *device, void *handle)
{
    struct fake_memory *memory = handle;

    atomic_fetch_sub(&fake.memories, 1);
    if (has_handles(device)) {
        free(memory->data);
        free(memory);
    } else {
        free((void *)((uintptr_t)handle - FAKE_FAR));
    }
}

static char *fake_place(const heed_device *device, void *handle, uint64_t offset)
{
    const struct fake_memory *memory = handle;

    return has_handles(device) ? memory->data + offset
                               : (char *)((uintptr_t)handle + offset - FAKE_FAR);
}

static heed_status fake_buf_write(heed_device *device, void *queue, void *handle, uint64_t offset,
                                  const void *from, uint64_t bytes,
                                  struct heed_error_detail *detail)
{
    *detail = fake.detail;
    ck_assert_ptr_nonnull(queue);
    if (fake.transfer >= 0)
        memcpy(fake_place(device, handle, offset), from, bytes);
    return fake.transfer;
}

static heed_status fake_buf_read(heed_device *device, void *queue, void *to, void *handle,
                                 uint64_t offset, uint64_t bytes,
                                 struct heed_error_detail *detail)
{
    *detail = fake.detail;
    ck_assert_ptr_nonnull(queue);
    fake.reads++;
    fake.read_offset = offset;
    fake.read_bytes = bytes;
    if (fake.transfer >= 0)
        memcpy(to, fake_place(device, handle, offset), bytes);
    return fake.transfer;
}

static heed_status fake_queue_create(heed_device *device, void *native, uint32_t has_native,
                                     void **queue, struct heed_error_detail *detail)
{
    (void)device;
    *detail = fake.detail;
    fake.native = native;
    fake.has_native = (int)has_native;
    if (fake.queue < 0)
        return fake.queue;
    *queue = malloc(8);
    atomic_fetch_add(&fake.queues, 1);
    return HEED_OK;
}

static heed_status fake_queue_captures(heed_device *device, void *queue, uint32_t *captures,
                                       struct heed_error_detail *detail)
{
    (void)device;
    (void)queue;
    (void)detail;
    *captures = fake.captures;
    return HEED_OK;
}

static heed_status fake_queue_wait(heed_device *device, void *queue,
                                   struct heed_error_detail *detail)
{
    (void)device;
    ck_assert_ptr_nonnull(queue);
    *detail = fake.detail;
    fake.queue_waits++;
    return fake.wait;
}

static void fake_queue_destroy(heed_device *device, void *queue)
{
    (void)device;
    atomic_fetch_sub(&fake.queues, 1);
    free(queue);
}

static heed_status fake_event_wait(heed_device *device, void *event,
                                   struct heed_error_detail *detail)
{
    (void)device;
    *detail = fake.detail;
    fake.event_waits++;
    ((struct fake_event *)event)->waited++;
    return fake.wait;
}

static void fake_event_destroy(heed_device *device, void *event)
{
    (void)device;
    atomic_fetch_sub(&fake.events, 1);
    free(event);
}

static void *new_fake_event(void)
{
    atomic_fetch_add(&fake.events, 1);
    return calloc(1, sizeof(struct fake_event));
}

static heed_status fake_event_wrap(heed_device *device, void *native, void **event,
                                   struct heed_error_detail *detail)
{
    (void)device;
    *detail = fake.detail;
    fake.native = native;
    if (fake.event >= 0)
        *event = new_fake_event();
    return fake.event;
}

static void *fake_event_native(heed_device *device, void *event)
{
    (void)device;
    return fake.event < 0 ? NULL : &((struct fake_event *)event)->native;
}

static heed_status fake_prepare(struct heed_plan *plan, const struct heed_services *services,
                             struct heed_error_detail *detail)
{
    *detail = fake.detail;
    if (fake.prepare < 0)
        return fake.prepare;
    plan->state = services->alloc(services->runtime, 100, 32);
    plan->state_bytes = 100;
    plan->device_bytes = 1000;
    plan->workspace_size = FAKE_WORKSPACE;
    plan->workspace_align = FAKE_ALIGN;
    return plan->state != NULL ? HEED_OK : HEED_E_NOMEM;
}

static heed_status fake_run(const struct heed_plan *plan, const struct heed_services *services,
                            const struct heed_launch *launch)
{
    ck_assert_ptr_eq(services, fake.services);
    fake.runs++;
    *launch->detail = fake.detail;
    fake.launch = *launch;
    memcpy(fake.waits, launch->waits, launch->n_waits * sizeof(void *));
    memcpy(fake.at, launch->at, plan->n_operands * sizeof(fake.at[0]));
    if (fake.run >= 0 && launch->event != NULL && !fake.no_event)
        *launch->event = new_fake_event();
    return fake.run;
}

static void fake_release(struct heed_plan *plan, const struct heed_services *services)
{
    fake.drops++;
    services->free(services->runtime, plan->state, 100, 32);
}

static const struct heed_impl fake_impl = {
    .op = HEED_OP_ATTN,
    .name = "fake",
    .prepare = fake_prepare,
    .run = fake_run,
    .release = fake_release,
};
static const struct heed_impl *const fake_impls[] = { &fake_impl, NULL };

#define FAKE_OFFLOAD(by_handle)                                                                    \
    {                                                                                              \
        .size = sizeof(struct heed_backend_offload), .handles = (by_handle), .open = fake_open,    \
        .close = fake_close, .wrap = fake_wrap, .buf_create = fake_buf_create,                     \
        .buf_destroy = fake_buf_destroy, .buf_write = fake_buf_write, .buf_read = fake_buf_read,   \
        .queue_create = fake_queue_create, .queue_wait = fake_queue_wait,                          \
        .queue_captures = fake_queue_captures,                                                     \
        .queue_destroy = fake_queue_destroy, .event_wait = fake_event_wait,                        \
        .event_destroy = fake_event_destroy, .event_wrap = fake_event_wrap,                        \
        .event_native = fake_event_native,                                                         \
    }
static const struct heed_backend_offload fake_with_handles = FAKE_OFFLOAD(1);
static const struct heed_backend_offload fake_with_addresses = FAKE_OFFLOAD(0);

static struct heed_backend fake_opencl = {
    .size = sizeof(fake_opencl), .kind = HEED_DEVICE_OPENCL, .count = fake_count_opencl,
    .describe = fake_describe_opencl, .impls = fake_impls, .offload = &fake_with_handles,
    .none = fake_none,
    .prefix = "opencl",
};
static struct heed_backend fake_cuda = {
    .size = sizeof(fake_cuda), .kind = HEED_DEVICE_CUDA, .count = fake_count_cuda,
    .describe = fake_describe_cuda, .impls = fake_impls, .offload = &fake_with_addresses,
    .prefix = "cuda",
};

extern const struct heed_backend heed_reference_backend;
const struct heed_backend *const heed_backends[] = {
    &fake_opencl, &heed_reference_backend, &fake_cuda, NULL
};
const struct heed_backend_absent heed_backends_absent[] = {
    { "cuda", "left out of this test" }, { NULL, NULL }
};

/* ---- a runtime over them ---- */

static struct ledger ledger;
static heed_runtime *rt;
static heed_report why;

static heed_runtime *make_runtime(const heed_logger *logger, const char *cache_dir)
{
    const heed_allocator a = ledger_allocator(&ledger);
    const heed_runtime_desc desc = {
        .size = sizeof(desc), .allocator = &a, .logger = logger, .cache_dir = cache_dir
    };
    heed_runtime *made = NULL;

    ck_assert_int_eq(heed_runtime_create(&desc, &made, &why), HEED_OK);
    return made;
}

static void set_up(void)
{
    memset(&fake, 0, sizeof(fake));
    memset(&why, 0, sizeof(why));
    why.size = sizeof(why);
    fake_cuda.prefix = "cuda";
    fake_opencl.prefix = "opencl";
    ledger_restart(&ledger);
    rt = make_runtime(NULL, NULL);
}

static void nothing_left(void)
{
    ck_assert_int_eq(atomic_load(&ledger.blocks), 0);
    ck_assert_int_eq(atomic_load(&ledger.mistakes), 0);
    ck_assert_int_eq(atomic_load(&fake.memories), 0);
    ck_assert_int_eq(atomic_load(&fake.queues), 0);
    ck_assert_int_eq(atomic_load(&fake.events), 0);
}

static void tear_down(void)
{
    heed_runtime_destroy(rt);
    nothing_left();
}

static heed_device *find(const char *name)
{
    heed_device *device = NULL;

    ck_assert_msg(heed_device_find(rt, name, &device, &why) == HEED_OK, "%s: %s", name,
                  why.message);
    return device;
}

static heed_queue *make_queue(heed_device *device)
{
    heed_queue *queue = NULL;

    ck_assert_int_eq(heed_queue_create(device, 0, &queue, &why), HEED_OK);
    return queue;
}

static void fill_detail(int64_t native, const char *text)
{
    fake.detail.native = native;
    memset(fake.detail.text, 0, sizeof(fake.detail.text));
    memcpy(fake.detail.text, text, strlen(text) + 1);
}

static const char *const kinds[] = { "opencl:0", "cuda:0" };    /* by handle, by address */

#endif
