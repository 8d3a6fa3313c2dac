/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The OpenCL backend when the driver fails: what each code becomes, that what is lost stays lost,
 * that nothing leaks whichever call it is.
 */
#include "opencl_world.h"

static void fail_next(const char *name, int32_t code)
{
    fake_opencl.fail_name = name;
    fake_opencl.fail_code = code;
    fake_opencl.counted = 0;
    fake_opencl.fail_call = 1;
}

START_TEST(codes_become_statuses)
{
    static const struct {
        int32_t code;
        heed_status status;
    } rows[] = {
        { HEED_CL_MEM_OBJECT_ALLOCATION_FAILURE, HEED_E_DEVICE_NOMEM },
        { HEED_CL_OUT_OF_RESOURCES, HEED_E_DEVICE_NOMEM },
        { HEED_CL_INVALID_BUFFER_SIZE, HEED_E_DEVICE_NOMEM },
        { HEED_CL_OUT_OF_HOST_MEMORY, HEED_E_NOMEM },
        { HEED_CL_INVALID_CONTEXT, HEED_E_DEVICE },
        { -54, HEED_E_DEVICE },
        { -12345, HEED_E_DEVICE },
    };
    struct run run;

    world_open();
    ck_assert_int_eq(run_begin(&run, NULL, 0), HEED_OK);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        fail_next("EnqueueNDRangeKernel", rows[i].code);
        fake_opencl.fail_call = 2;
        ck_assert_int_eq(run_go(&run), rows[i].status);
        ck_assert_int_eq(world.detail.native, rows[i].code);
        ck_assert_ptr_nonnull(strstr(world.detail.text, "clEnqueueNDRangeKernel"));
        ck_assert_uint_eq(fake_opencl.n_commands, 1);
        ck_assert_int_eq(run_go(&run), HEED_OK);
    }
    run_end(&run);
    world_close();
}
END_TEST

START_TEST(lost_device_stays_lost_and_is_left_alone)
{
    static const int32_t codes[] = { HEED_CL_DEVICE_NOT_AVAILABLE, HEED_CL_INVALID_DEVICE,
                                     HEED_CL_INVALID_COMMAND_QUEUE };

    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        uint32_t calls, byte = 0;
        struct run run;
        void *got = NULL;

        world_open();
        ck_assert_int_eq(run_begin(&run, NULL, 0), HEED_OK);
        run.work.event = &run.event;
        ck_assert_int_eq(run_go(&run), HEED_OK);
        run.work.event = NULL;
        fail_next("SetKernelArg", codes[i]);
        ck_assert_int_eq(run_go(&run), HEED_E_DEVICE_LOST);
        calls = fake_opencl.calls;
        ck_assert_int_eq(run_go(&run), HEED_E_DEVICE_LOST);
        ck_assert_int_eq(world.offload->queue_wait(&world.device, run.queue, &world.detail),
                         HEED_E_DEVICE_LOST);
        ck_assert_int_eq(world.offload->event_wait(&world.device, run.event, &world.detail),
                         HEED_E_DEVICE_LOST);
        ck_assert_int_eq(world.offload->buf_create(&world.device, 8, &got, &world.detail),
                         HEED_E_DEVICE_LOST);
        ck_assert_int_eq(world.offload->buf_read(&world.device, run.queue, &byte, run.memory, 0, 4,
                                                 &world.detail),
                         HEED_E_DEVICE_LOST);
        ck_assert_int_eq(world.offload->queue_create(&world.device, NULL, 0, &got, &world.detail),
                         HEED_E_DEVICE_LOST);
        ck_assert_int_eq(world_device()->common.base.driver->kernel(world.device.state,
                                                                    HEED_KERNEL_pack,
                                                             0, &got, &world.detail),
                         HEED_E_DEVICE_LOST);
        ck_assert_uint_eq(fake_opencl.calls, calls);
        run_end(&run);
        ck_assert_uint_eq(fake_opencl.finishes, 0);
        world_close();
        ck_assert_int_eq(fake_opencl.objects, 0);
    }
}
END_TEST

/* From opening to closing, with a queue of heed's or an out-of-order one of the caller's and a
 * large kernel; the first failure. */
static heed_status whole_life(bool ooo)
{
    char bytes[16] = "";
    void *queue = NULL;
    struct run run = { 0 };
    heed_status status;

    if (heed_opencl_backend.count() == 0)
        return HEED_E_NOT_FOUND;
    heed_opencl_backend.describe(0, &world.device.props);
    status = world.offload->open(&world.device, &world.services);
    if (status < 0)
        return status;
    if (ooo)
        queue = callers_queue(HEED_CL_QUEUE_OUT_OF_ORDER);
    if (ooo && queue == NULL) {
        world_close();
        return HEED_E_DEVICE;
    }
    status = run_begin(&run, queue, ooo);
    run.work.event = &run.event;
    if (status >= 0)
        status = world.offload->buf_write(&world.device, run.queue, run.memory, 0, bytes, 16,
                                          &world.detail);
    for (int i = 0; i < 2 && status >= 0; i++) {
        world.offload->event_destroy(&world.device, run.event);
        run.event = NULL;
        status = run_go(&run);
    }
    if (status >= 0)
        status = world.offload->event_wait(&world.device, run.event, &world.detail);
    if (status >= 0)
        status = world.offload->buf_read(&world.device, run.queue, bytes, run.memory, 0, 16,
                                         &world.detail);
    run_end(&run);
    if (queue != NULL)
        fake_opencl_api()->ReleaseCommandQueue(queue);
    world_close();
    return status;
}

/* Calls whose failure changes nothing: giving back, what tells people something, and what waits
 * before giving back. */
static bool needless(const char *call)
{
    static const char *const names[] = { "Release", "GetPlatformInfo", "GetDeviceInfo", "Finish",
                                         "GetDeviceIDs" };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strncmp(call, names[i], strlen(names[i])) == 0)
            return true;
    }
    return false;
}

/* A life in which call k answers code, or with `from` that one and all after it. */
static void fail_at(uint32_t k, int32_t code, bool from, bool ooo)
{
    heed_status status;

    world_end();
    world_begin();
    fake_opencl.fail_code = code;
    *(from ? &fake_opencl.fail_from : &fake_opencl.fail_call) = k;
    status = whole_life(ooo);
    ck_assert_msg(fake_opencl.objects == 0 && world.ledger.blocks == 0 &&
                      fake_opencl.mistakes == 0,
                  "call %u (%s) code %d: status %d, %d objects, %lld blocks, %u mistakes", k,
                  fake_opencl.failed, code, status, fake_opencl.objects,
                  (long long)world.ledger.blocks, fake_opencl.mistakes);
    ck_assert_msg(status < 0 || needless(fake_opencl.failed),
                  "call %u (%s) code %d: nobody noticed", k, fake_opencl.failed, code);
}

START_TEST(whatever_call_fails_nothing_leaks)
{
    static const int32_t codes[] = { HEED_CL_DEVICE_NOT_AVAILABLE, HEED_CL_OUT_OF_RESOURCES,
                                     HEED_CL_OUT_OF_HOST_MEMORY, -30 };
    uint32_t calls;

    ck_assert_int_eq(whole_life(_i), HEED_OK);
    calls = fake_opencl.calls;
    for (uint32_t k = 1; k <= calls; k++) {
        for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
            fail_at(k, codes[i], false, _i);
            fail_at(k, codes[i], true, _i);
        }
    }
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("opencl-faults");
    TCase *const tests = tcase_create("fake");
    SRunner *runner;
    int failed;

    tcase_add_checked_fixture(tests, world_begin, world_end);
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, codes_become_statuses);
    tcase_add_test(tests, lost_device_stays_lost_and_is_left_alone);
    tcase_add_loop_test(tests, whatever_call_fails_nothing_leaks, 0, 2);
    suite_add_tcase(suite, tests);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
