/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What is OpenCL's alone, over a driver that is not there: which devices it lists and why not
 * others, what it enqueues in which order. Building is test_opencl_build.c's, the rest is in
 * test_vendors.c.
 */
#include "vendor_world.h"

#include <limits.h>

static void begin(void)
{
    world_begin(&vendors[OPENCL]);
}

static void *callers_queue(uint64_t properties)
{
    return opencl_queue_of(opencl_context_of(&world.device), properties);
}

static void *callers_event(void *queue)
{
    return opencl_event(NULL, queue);
}

/* ---- devices ---- */

static void check_none(const char *reason)
{
    ck_assert_uint_eq(heed_opencl_backend.count(), 0);
    ck_assert_ptr_nonnull(strstr(heed_opencl_backend.none(), reason));
}

TEST(nothing_found_says_what_is_missing)
{
    heed_opencl_api_set(NULL, "no loader at all");
    check_none("no loader at all");
    opencl_install();
    fake_opencl.n_platforms = 0;
    check_none("no platform");
    opencl_install();
    fake_opencl.n_platforms = 2;
    fake_opencl.n_devices = 0;
    check_none("no device");
}

TEST(plain_devices_come_before_forced_shapes)
{
    static const char *const names[] = { "opencl:0",           "opencl:1",
                                         "opencl:0:lanes",     "opencl:0:workgroup",
                                         "opencl:1:lanes",     "opencl:1:workgroup" };

    fake_opencl.n_devices = 2;
    ck_assert_uint_eq(heed_opencl_backend.count(), 6);
    for (uint32_t i = 0; i < 6; i++) {
        heed_device_props props = { 0 };

        heed_opencl_backend.describe(i, &props);
        ck_assert_str_eq(props.name, names[i]);
        ck_assert_str_eq(props.description, "Fake: device");
        ck_assert_int_eq(props.usable, HEED_OK);
        ck_assert_uint_eq(props.kind, HEED_DEVICE_OPENCL);
        ck_assert_uint_eq(props.width, 3);
        ck_assert_uint_eq(props.memory, 1 << 20);
    }
}

TEST(devices_are_asked_for_once)
{
    long calls;

    heed_opencl_backend.count();
    calls = fake.calls;
    heed_opencl_backend.count();
    heed_opencl_backend.describe(0, &world.device.props);
    ck_assert_int_eq(fake.calls, calls);
    ck_assert_int_eq(fake_alive(), 0);
}

static void check_refused(const char *reason)
{
    heed_device_props props = { 0 };

    opencl_install();
    ck_assert_uint_eq(heed_opencl_backend.count(), 3);
    heed_opencl_backend.describe(0, &props);
    ck_assert_int_eq(props.usable, HEED_E_UNSUPPORTED);
    ck_assert_msg(strstr(props.reason, reason) != NULL, "'%s', not '%s'", props.reason, reason);
    world.device.props = props;
    ck_assert_int_eq(world.offload->open(&world.device, &world.rt->services), HEED_E_UNSUPPORTED);
    fake_opencl_reset();
    fake.launched = compute_right;
}

TEST(unfit_devices_have_a_reason)
{
    static const char *const old[] = { "OpenCL 1.1 x", "OpenCL 1", "OpenCL", "3.0", "",
                                       "OpenCL x" };

    fake_opencl.profile = "EMBEDDED_PROFILE";
    check_refused("embedded");
    for (size_t i = 0; i < sizeof(old) / sizeof(old[0]); i++) {
        fake_opencl.device_version = old[i];
        check_refused("older");
    }
    fake_opencl.available = 0;
    check_refused("not available");
    fake_opencl.compiler = 0;
    check_refused("no compiler");
    fake_opencl.little_endian = 0;
    check_refused("big-endian");
    fake_opencl.address_bits = 32;
    check_refused("64 bits");
    fake_opencl.parameter_bytes = 256;
    check_refused("parameters");
    fake_opencl.group_items = 128;
    check_refused("256 items");
    fake_opencl.local_memory = 16 << 10;
    check_refused("32 KiB");
    fake_opencl.platform = "rusticl";
    fake_opencl.name = "llvmpipe (LLVM 15.0.6, 256 bits)";
    check_refused("subnormals");
}

TEST(shape_follows_the_kind_of_device_unless_forced)
{
    for (int gpu = 0; gpu < 2; gpu++) {
        for (uint32_t index = 0; index < 3; index++) {
            const struct heed_device_traits *traits;

            opencl_install();
            fake_opencl.type = gpu ? 4 : HEED_CL_DEVICE_TYPE_CPU;
            fake_opencl.vector = gpu ? 1 : 16;
            fake_opencl.local_memory = gpu ? 32 << 10 : 48 << 10;
            world.device.index = index;
            world_open();
            traits = &((const struct heed_device_state *)world.device.state)->traits;
            ck_assert_uint_eq(traits->shape, index != 0 ? index
                                             : gpu      ? HEED_SHAPE_WORKGROUP
                                                        : HEED_SHAPE_LANES);
            ck_assert_uint_eq(traits->workers, 3);
            ck_assert_uint_eq(traits->tile_rows, gpu ? 6 : 12);
            ck_assert_uint_eq(traits->group_rows, gpu ? 32 : 64);
            world_close();
        }
    }
}

/* What Intel's GPUs are told: registers of threads, as far as the device and the driver go. */
TEST(sub_groups_and_registers_of_intel)
{
    static const struct {
        uint32_t vendor, ip, lanes, many;
        size_t sub_groups[2];
    } devices[] = {
        { 0x8086, 12u << 22 | 55u << 14, 8, 1, { 16, 8 } },
        { 0x8086, 12u << 22 | 60u << 14, 16, 1, { 16, 32 } },
        { 0x8086, 12u << 22, 8, 0, { 8, 16 } },
        { 0x8086, 0, 0, 0, { 0, 0 } },
        { 0x8086, 0, 0, 0, { 32, 64 } },
        { 0x1002, 12u << 22 | 60u << 14, 0, 0, { 8, 16 } },
    };

    for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
        const struct heed_device_traits *traits;

        opencl_install();
        fake_opencl.type = 4;
        fake_opencl.vendor = devices[i].vendor;
        fake_opencl.ip_version = devices[i].ip;
        memcpy(fake_opencl.sub_groups, devices[i].sub_groups, sizeof(fake_opencl.sub_groups));
        world_open();
        traits = &((const struct heed_device_state *)world.device.state)->traits;
        ck_assert_uint_eq(traits->least_lanes, devices[i].lanes);
        ck_assert_uint_eq(traits->many_registers, devices[i].many);
        world_close();
    }
}

/* The names of one device, and a context of the caller's over it, share one self-test. */
TEST(one_self_test_serves_all_names)
{
    heed_device wrapped = { .backend = &heed_opencl_backend, .index = UINT32_MAX };

    for (world.device.index = 0; world.device.index < 3; world.device.index++) {
        world_open();
        ck_assert_uint_eq(world.device.props.exact, 1);
        ck_assert_uint_eq(fake_opencl.source_builds, 1);
        if (world.device.index < 2)
            world_close();
    }
    world.device.index = 2;
    ck_assert_int_eq(world.offload->wrap(&wrapped, &world.rt->services,
                                         opencl_context_of(&world.device), fake_opencl_device(0),
                                         &world.detail), HEED_OK);
    ck_assert_uint_eq(wrapped.props.exact, 1);
    ck_assert_uint_eq(fake_opencl.source_builds, 1);
    world_close();
    ck_assert_int_gt(opencl_alive(), 0);        /* the wrapped one holds the context */
    world.offload->close(&wrapped, &world.rt->services);
}

/* ---- runs ---- */

static void check_kinds(const char *kinds)
{
    char got[FAKE_COMMANDS + 1] = "";

    for (uint32_t i = 0; i < fake_opencl.n_commands; i++)
        got[i] = fake_opencl.commands[i].kind;
    ck_assert_str_eq(got, kinds);
    ck_assert_uint_eq(fake_opencl.flushes, 1);
    ck_assert_uint_eq(fake_opencl.finishes, 0);
}

TEST(events_that_failed_are_not_waited_for)
{
    struct run run;
    void *queue, *event;

    world_open();
    queue = callers_queue(HEED_CL_QUEUE_OUT_OF_ORDER);
    event = callers_event(queue);
    run_begin(&run, queue, 0);
    ck_assert_int_eq(run_go(&run), HEED_OK);
    fake_opencl.event_status = -14;
    ck_assert_int_eq(run_go(&run), HEED_OK);            /* the run before is forgotten */
    ck_assert_uint_eq(fake_opencl.commands[0].n_waits, 0);
    run.work.waits = &event;
    run.work.n_waits = 1;
    ck_assert_int_eq(run_go(&run), HEED_E_DEVICE);      /* the caller's is not */
    ck_assert_uint_eq(fake_opencl.n_commands, 0);
    fake_opencl.event_status = 3;
    fake_opencl_api()->ReleaseEvent(event);
    fake_opencl_api()->ReleaseCommandQueue(queue);
    run_end(&run);
}

TEST(in_order_queue_needs_no_events_between_steps)
{
    struct run run;
    void *queue, *event;

    world_open();
    queue = callers_queue(0);
    event = callers_event(queue);
    run_begin(&run, queue, 0);
    run.work.waits = &event;
    run.work.n_waits = 1;
    ck_assert_int_eq(run_go(&run), HEED_OK);
    check_kinds("kkk");
    ck_assert_uint_eq(fake_opencl.commands[0].n_waits, 1);
    ck_assert_ptr_eq(fake_opencl.commands[0].waits[0], event);
    for (int i = 0; i < 3; i++)
        ck_assert_ptr_null(fake_opencl.commands[i].event);
    ck_assert_uint_eq(fake_opencl.commands[1].n_waits, 1);   /* of no promise otherwise */
    ck_assert_ptr_eq(fake_opencl.commands[2].waits[0], event);
    run.work.event = &run.event;
    ck_assert_int_eq(run_go(&run), HEED_OK);
    check_kinds("kkk");
    ck_assert_ptr_eq(run.event, fake_opencl.commands[2].event);
    fake_opencl_api()->ReleaseEvent(event);
    fake_opencl_api()->ReleaseCommandQueue(queue);
    run_end(&run);
}

/* Every command waits for the one before it, the first for what the caller named. */
static void check_chain(const void *first)
{
    for (uint32_t i = 0; i < fake_opencl.n_commands; i++) {
        const struct fake_command *command = &fake_opencl.commands[i];

        ck_assert_ptr_nonnull(command->event);
        ck_assert_uint_ge(command->n_waits, i > 0 || first != NULL);
        if (command->n_waits > 0)
            ck_assert_ptr_eq(command->waits[0],
                             i > 0 ? fake_opencl.commands[i - 1].event : first);
    }
}

/* The event of the run is that of the last one. */
TEST(launches_go_by_slices)
{
    struct run run;
    void *queue;

    for (int ooo = 0; ooo < 2; ooo++) {
        world_open();
        queue = callers_queue(ooo ? HEED_CL_QUEUE_OUT_OF_ORDER : 0);
        run_begin(&run, queue, 0);
        run.launches[1].groups = 5;
        run.launches[1].slice = 2;
        run.launches[2].slice = 1;
        run.work.event = &run.event;
        ck_assert_int_eq(run_go(&run), HEED_OK);
        check_kinds("kkkkkk");
        if (ooo)
            check_chain(NULL);
        else
            ck_assert_ptr_null(fake_opencl.commands[4].event);
        ck_assert_ptr_eq(run.event, fake_opencl.commands[5].event);
        fake_opencl_api()->ReleaseCommandQueue(queue);
        run_end(&run);
        world_close();
    }
}

TEST(out_of_order_queue_gets_a_chain)
{
    struct run run;
    void *queue, *event, *second = NULL;

    world_open();
    queue = callers_queue(HEED_CL_QUEUE_OUT_OF_ORDER);
    event = callers_event(queue);
    run_begin(&run, queue, 0);
    run.work.waits = &event;
    run.work.n_waits = 1;
    run.work.event = &run.event;
    ck_assert_int_eq(run_go(&run), HEED_OK);
    check_kinds("kkk");
    check_chain(event);
    /* The next run comes after this one, and after what its caller names. */
    run.work.event = &second;
    ck_assert_int_eq(run_go(&run), HEED_OK);
    check_kinds("mkkk");
    check_chain(event);
    ck_assert_uint_eq(fake_opencl.commands[1].n_waits, 2);
    ck_assert_ptr_eq(fake_opencl.commands[1].waits[1], run.event);
    ck_assert_ptr_eq(second, fake_opencl.commands[3].event);
    /* And without waits. */
    run.work.n_waits = 0;
    run.work.event = NULL;
    ck_assert_int_eq(run_go(&run), HEED_OK);
    check_kinds("kkk");
    check_chain(second);
    world.offload->event_destroy(&world.device, second);
    fake_opencl_api()->ReleaseEvent(event);
    fake_opencl_api()->ReleaseCommandQueue(queue);
    run_end(&run);
}

/* operand: the last one that is there. */
static void check_places(bool out_of_order, uint32_t operand, const char *kinds)
{
    uint64_t places[112];
    struct run run;
    void *queue;

    world_open();
    queue = callers_queue(out_of_order ? HEED_CL_QUEUE_OUT_OF_ORDER : 0);
    run_begin(&run, queue, 1);
    run.work.buffers[operand] = (heed_buf){ run.memory, 12345 };
    run.work.event = &run.event;
    ck_assert_int_eq(run_go(&run), HEED_OK);
    check_kinds(kinds);
    if (out_of_order)
        check_chain(NULL);
    ck_assert_int_eq(world.offload->buf_read(&world.device, run.queue, places, run.memory, 256,
                                             sizeof(places), &world.detail),
                     HEED_OK);
    ck_assert_uint_eq(places[operand], 12345);
    ck_assert_uint_eq(places[4], 0);
    fake_opencl_api()->ReleaseCommandQueue(queue);
    run_end(&run);
    world_close();
}

TEST(large_kernels_find_the_places_in_the_workspace)
{
    for (int ooo = 0; ooo < 2; ooo++) {
        check_places(ooo, 99, "fffffffkkk");
        check_places(ooo, 30, "ffkkk");
    }
}

static long calls_of_a_run(struct run *run, const char *name)
{
    fake.fail_name = name;
    fake.fail_at = LONG_MAX;
    fake.counted = 0;
    ck_assert_int_eq(run_go(run), HEED_OK);
    fake.fail_name = NULL;
    return fake.counted;
}

/* Plans of many operands and of few share a kernel object, whose arguments outlive a run. */
TEST(runs_set_the_arguments_that_change)
{
    for (uint32_t large = 0; large < 2; large++) {
        const int last = large ? HEED_BUFFERS_LARGE - 1 : HEED_BUFFERS_SMALL - 1;
        struct run run;
        void *other;

        world_open();
        run_begin(&run, NULL, large);
        ck_assert_int_eq(world.offload->buf_create(&world.device, 64, &other, &world.detail),
                         HEED_OK);
        run.work.buffers[5] = (heed_buf){ other, 0 };
        ck_assert_int_eq(calls_of_a_run(&run, "SetKernelArg"), (3 + last) + 2 * (3 + 6));
        ck_assert_int_eq(calls_of_a_run(&run, "SetKernelArg"), 3 * (3 + 6));
        world.offload->buf_destroy(&world.device, other);
        run.work.buffers[5] = (heed_buf){ NULL, 0 };
        ck_assert_int_eq(calls_of_a_run(&run, "SetKernelArg"), (3 + 6) + 2 * (3 + 1));
        run_end(&run);
        world_close();
    }
}

/* What was set when a call failed is unknown. */
TEST(arguments_are_all_set_after_a_failure)
{
    struct run run;

    world_open();
    run_begin(&run, NULL, 0);
    (void)calls_of_a_run(&run, "SetKernelArg");
    fake.fail_name = "SetKernelArg";
    fake.fail_at = 2;
    fake.counted = 0;
    fake.fail_code = HEED_CL_OUT_OF_HOST_MEMORY;
    ck_assert_int_eq(run_go(&run), HEED_E_NOMEM);
    ck_assert_int_eq(calls_of_a_run(&run, "SetKernelArg"),
                     (3 + HEED_BUFFERS_SMALL - 1) + 2 * (3 + 1));
    run_end(&run);
}

TEST(run_without_work_has_an_event_all_the_same)
{
    struct run run;

    world_open();
    run_begin(&run, NULL, 0);
    for (int i = 0; i < 3; i++)
        run.launches[i].groups = 0;
    run.work.event = &run.event;
    ck_assert_int_eq(run_go(&run), HEED_OK);
    check_kinds("m");
    ck_assert_ptr_nonnull(run.event);
    run_end(&run);
}

/* ---- the caller's own objects ---- */

TEST(events_of_other_contexts_are_a_mismatch)
{
    void *other = opencl_context(), *queue = opencl_queue(other);
    void *event = opencl_event(other, queue), *got = NULL;

    world_open();
    ck_assert_int_eq(take_event(event, &got), HEED_E_MISMATCH);
    ck_assert_ptr_null(got);
    opencl_event_end(other, event);
    opencl_queue_end(other, queue);
    opencl_context_end(other);
}

TEST(events_that_fail_say_with_what)
{
    void *queue, *event;

    world_open();
    queue = callers_queue(0);
    event = callers_event(queue);
    fake_opencl.event_status = -9999;
    ck_assert_int_eq(event_wait(event), HEED_E_DEVICE);
    ck_assert_int_eq(world.detail.native, -9999);
    fake_opencl.event_status = HEED_CL_OUT_OF_RESOURCES;        /* a kernel crashed */
    ck_assert_int_eq(event_wait(event), HEED_E_DEVICE);
    ck_assert_int_eq(world.detail.native, HEED_CL_OUT_OF_RESOURCES);
    opencl_event_end(NULL, event);
    opencl_queue_end(NULL, queue);
}

int main(void)
{
    return suite_run("opencl", 240, begin, world_end);
}
