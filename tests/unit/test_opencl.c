/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The OpenCL backend over a driver that is not there: which devices it lists and why not others,
 * what it enqueues in which order, what it takes of a caller's.
 */
#include "opencl_world.h"

/* ---- devices ---- */

static void check_none(const char *reason)
{
    ck_assert_uint_eq(heed_opencl_backend.count(), 0);
    ck_assert_ptr_nonnull(strstr(heed_opencl_backend.none(), reason));
}

START_TEST(nothing_found_says_what_is_missing)
{
    heed_opencl_api_set(NULL, "no loader at all");
    check_none("no loader at all");
    heed_opencl_api_set(fake_opencl_api(), NULL);
    fake_opencl.n_platforms = 0;
    check_none("no platform");
    heed_opencl_api_set(fake_opencl_api(), NULL);
    fake_opencl.n_platforms = 2;
    fake_opencl.n_devices = 0;
    check_none("no device");
}
END_TEST

START_TEST(plain_devices_come_before_forced_shapes)
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
END_TEST

START_TEST(devices_are_asked_for_once)
{
    uint32_t calls;

    heed_opencl_backend.count();
    calls = fake_opencl.calls;
    heed_opencl_backend.count();
    heed_opencl_backend.describe(0, &world.device.props);
    ck_assert_uint_eq(fake_opencl.calls, calls);
    ck_assert_int_eq(fake_opencl.objects, 0);
}
END_TEST

static void check_refused(const char *reason)
{
    heed_device_props props = { 0 };

    heed_opencl_api_set(fake_opencl_api(), NULL);
    ck_assert_uint_eq(heed_opencl_backend.count(), 3);
    heed_opencl_backend.describe(0, &props);
    ck_assert_int_eq(props.usable, HEED_E_UNSUPPORTED);
    ck_assert_msg(strstr(props.reason, reason) != NULL, "'%s', not '%s'", props.reason, reason);
    world.device.props = props;
    ck_assert_int_eq(world.offload->open(&world.device, &world.services), HEED_E_UNSUPPORTED);
    fake_opencl_reset();
}

START_TEST(unfit_devices_have_a_reason)
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
}
END_TEST

START_TEST(shape_follows_the_kind_of_device_unless_forced)
{
    for (int gpu = 0; gpu < 2; gpu++) {
        for (uint32_t index = 0; index < 3; index++) {
            const struct heed_device_traits *traits;

            heed_opencl_api_set(fake_opencl_api(), NULL);
            fake_opencl.type = gpu ? 4 : HEED_CL_DEVICE_TYPE_CPU;
            fake_opencl.vector = gpu ? 1 : 16;
            fake_opencl.local_memory = gpu ? 32 << 10 : 48 << 10;
            world.device.index = index;
            world_open();
            traits = &world_device()->common.base.traits;
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
END_TEST

START_TEST(device_that_fails_the_self_test_is_usable_not_exact)
{
    world_open();
    ck_assert_int_eq(world.device.props.usable, HEED_OK);
    ck_assert_uint_eq(world.device.props.exact, 0);
    ck_assert_int_ne(world.device.props.reason[0], '\0');
    world_close();
}
END_TEST

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

START_TEST(events_that_failed_are_not_waited_for)
{
    struct run run;
    void *queue, *event;

    world_open();
    queue = callers_queue(HEED_CL_QUEUE_OUT_OF_ORDER);
    event = callers_event(queue);
    ck_assert_int_eq(run_begin(&run, queue, 0), HEED_OK);
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
    world_close();
}
END_TEST

START_TEST(in_order_queue_needs_no_events_between_steps)
{
    struct run run;
    void *queue, *event;

    world_open();
    queue = callers_queue(0);
    event = callers_event(queue);
    ck_assert_int_eq(run_begin(&run, queue, 0), HEED_OK);
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
    world_close();
}
END_TEST

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

START_TEST(out_of_order_queue_gets_a_chain)
{
    struct run run;
    void *queue, *event, *second = NULL;

    world_open();
    queue = callers_queue(HEED_CL_QUEUE_OUT_OF_ORDER);
    event = callers_event(queue);
    ck_assert_int_eq(run_begin(&run, queue, 0), HEED_OK);
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
    world_close();
}
END_TEST

START_TEST(large_kernels_find_the_places_in_the_workspace)
{
    for (int ooo = 0; ooo < 2; ooo++) {
        uint64_t places[112];
        struct run run;
        void *queue;

        world_open();
        queue = callers_queue(ooo ? HEED_CL_QUEUE_OUT_OF_ORDER : 0);
        ck_assert_int_eq(run_begin(&run, queue, 1), HEED_OK);
        run.work.buffers[99] = (heed_buf){ run.memory, 12345 };
        run.work.event = &run.event;
        ck_assert_int_eq(run_go(&run), HEED_OK);
        check_kinds("fffffffffffffkkk");
        if (ooo)
            check_chain(NULL);
        ck_assert_int_eq(world.offload->buf_read(&world.device, run.queue, places, run.memory, 256,
                                                 sizeof(places), &world.detail),
                         HEED_OK);
        ck_assert_uint_eq(places[100], 256);
        ck_assert_uint_eq(places[99], 12345);
        ck_assert_uint_eq(places[4], 0);
        fake_opencl_api()->ReleaseCommandQueue(queue);
        run_end(&run);
        world_close();
    }
}
END_TEST

START_TEST(run_without_work_has_an_event_all_the_same)
{
    struct run run;

    world_open();
    ck_assert_int_eq(run_begin(&run, NULL, 0), HEED_OK);
    for (int i = 0; i < 3; i++)
        run.steps[i].groups = 0;
    run.work.event = &run.event;
    ck_assert_int_eq(run_go(&run), HEED_OK);
    check_kinds("m");
    ck_assert_ptr_nonnull(run.event);
    run_end(&run);
    world_close();
}
END_TEST

START_TEST(transfers_keep_bytes_and_empty_buffers_are_legal)
{
    char out[5] = "", in[] = "abcd";
    void *queue = NULL, *full = NULL, *empty = NULL;

    world_open();
    ck_assert_int_eq(
        world.offload->queue_create(&world.device, NULL, 0, &queue, &world.detail), HEED_OK);
    ck_assert_int_eq(world.offload->buf_create(&world.device, 8, &full, &world.detail), HEED_OK);
    ck_assert_int_eq(world.offload->buf_create(&world.device, 0, &empty, &world.detail), HEED_OK);
    ck_assert_int_eq(world.offload->buf_write(&world.device, queue, full, 3, in, 4, &world.detail),
                     HEED_OK);
    ck_assert_int_eq(world.offload->buf_read(&world.device, queue, out, full, 3, 4, &world.detail),
                     HEED_OK);
    ck_assert_str_eq(out, "abcd");
    ck_assert_int_eq(world.offload->buf_write(&world.device, queue, empty, 0, NULL, 0,
                                              &world.detail), HEED_OK);
    world.offload->buf_destroy(&world.device, full);
    world.offload->buf_destroy(&world.device, empty);
    world.offload->queue_destroy(&world.device, queue);
    world_close();
}
END_TEST

/* ---- the caller's own objects ---- */

START_TEST(wrapped_context_is_a_device_like_any_other)
{
    heed_device wrapped = { .backend = &heed_opencl_backend, .index = UINT32_MAX };
    void *context;

    world_open();
    context = world_device()->context;
    ck_assert_int_eq(world.offload->wrap(&wrapped, &world.services, context, fake_opencl_device(0),
                                         &world.detail),
                     HEED_OK);
    world_close();
    ck_assert_int_eq(fake_opencl.objects > 0, 1);       /* the wrapped one holds the context */
    ck_assert_str_eq(wrapped.props.description, "Fake: device");
    ck_assert_uint_eq(wrapped.props.kind, HEED_DEVICE_OPENCL);
    world.offload->close(&wrapped, &world.services);
}
END_TEST

START_TEST(objects_of_other_contexts_are_a_mismatch)
{
    heed_device wrapped = { .backend = &heed_opencl_backend, .index = UINT32_MAX };
    void *const device = fake_opencl_device(0);
    int32_t code = 0;
    void *other, *queue, *event, *got = NULL;

    world_open();
    other = fake_opencl_api()->CreateContext(NULL, 1, &device, NULL, NULL, &code);
    queue = fake_opencl_api()->CreateCommandQueue(other, device, 0, &code);
    event = callers_event(queue);
    ck_assert_int_eq(world.offload->queue_create(&world.device, queue, 1, &got, &world.detail),
                     HEED_E_MISMATCH);
    ck_assert_int_eq(world.offload->event_wrap(&world.device, event, &got, &world.detail),
                     HEED_E_MISMATCH);
    ck_assert_int_eq(world.offload->wrap(&wrapped, &world.services, other, fake_opencl_device(1),
                                         &world.detail),
                     HEED_E_MISMATCH);
    ck_assert_ptr_null(got);
    fake_opencl_api()->ReleaseEvent(event);
    fake_opencl_api()->ReleaseCommandQueue(queue);
    fake_opencl_api()->ReleaseContext(other);
    world_close();
}
END_TEST

START_TEST(events_go_both_ways_with_references)
{
    void *queue, *event, *got = NULL, *native;

    world_open();
    queue = callers_queue(0);
    event = callers_event(queue);
    ck_assert_int_eq(world.offload->event_wrap(&world.device, event, &got, &world.detail),
                     HEED_OK);
    native = world.offload->event_native(&world.device, got);
    ck_assert_ptr_eq(native, event);
    ck_assert_int_eq(world.offload->event_wait(&world.device, got, &world.detail), HEED_OK);
    fake_opencl.event_status = -9999;
    ck_assert_int_eq(world.offload->event_wait(&world.device, got, &world.detail), HEED_E_DEVICE);
    ck_assert_int_eq(world.detail.native, -9999);
    world.offload->event_destroy(&world.device, got);
    fake_opencl_api()->ReleaseEvent(native);
    fake_opencl_api()->ReleaseEvent(event);
    fake_opencl_api()->ReleaseCommandQueue(queue);
    world_close();
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("opencl");
    TCase *const tests = tcase_create("fake");
    SRunner *runner;
    int failed;

    tcase_add_checked_fixture(tests, world_begin, world_end);
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, nothing_found_says_what_is_missing);
    tcase_add_test(tests, plain_devices_come_before_forced_shapes);
    tcase_add_test(tests, devices_are_asked_for_once);
    tcase_add_test(tests, unfit_devices_have_a_reason);
    tcase_add_test(tests, shape_follows_the_kind_of_device_unless_forced);
    tcase_add_test(tests, device_that_fails_the_self_test_is_usable_not_exact);
    tcase_add_test(tests, in_order_queue_needs_no_events_between_steps);
    tcase_add_test(tests, events_that_failed_are_not_waited_for);
    tcase_add_test(tests, out_of_order_queue_gets_a_chain);
    tcase_add_test(tests, large_kernels_find_the_places_in_the_workspace);
    tcase_add_test(tests, run_without_work_has_an_event_all_the_same);
    tcase_add_test(tests, transfers_keep_bytes_and_empty_buffers_are_legal);
    tcase_add_test(tests, wrapped_context_is_a_device_like_any_other);
    tcase_add_test(tests, objects_of_other_contexts_are_a_mismatch);
    tcase_add_test(tests, events_go_both_ways_with_references);
    suite_add_tcase(suite, tests);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
