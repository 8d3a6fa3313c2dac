/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The CUDA backend over a driver that is not there: where kernels come from, what a run enqueues,
 * what is left of a device that is lost.
 */
#include "cuda_world.h"

/* ---- kernels ---- */

static const struct heed_driver *driver_of(void)
{
    return ((struct heed_device_state *)device.state)->driver;
}

START_TEST(kernels_are_loaded_once)
{
    void *first = NULL, *again = NULL;

    open_device();
    ck_assert_int_eq(driver_of()->kernel(device.state, HEED_KERNEL_prepare, 1, &first, &detail),
                     HEED_OK);
    fake_cuda_trace();
    ck_assert_int_eq(driver_of()->kernel(device.state, HEED_KERNEL_prepare, 1, &again, &detail),
                     HEED_OK);
    ck_assert_str_eq(fake_cuda.trace, "");
    ck_assert_ptr_eq(first, again);
    close_device();
}
END_TEST

/* Where no image is embedded, there is nothing to be refused: the images are NVRTC's. */
START_TEST(what_does_not_load_is_compiled)
{
    void *compiled = NULL;

    open_device();
    fake_cuda.refuse_modules = heed_cuda_images[0].name ? 1 : 0;
    ck_assert_int_eq(driver_of()->kernel(device.state, HEED_KERNEL_prepare, 0, &compiled, &detail),
                     HEED_OK);
    ck_assert_ptr_nonnull(strstr(fake_cuda.options, "--gpu-architecture=sm_90 "));
    ck_assert_ptr_nonnull(strstr(fake_cuda.options, "--fmad=false "));
    ck_assert_ptr_nonnull(strstr(fake_cuda.options, "-DHK_LARGE=0 "));
    ck_assert_ptr_nonnull(strstr(fake_cuda.options, "-DHK_GROUP_ROWS=64 "));
    close_device();
}
END_TEST

START_TEST(a_newer_device_gets_ptx)
{
    void *compiled = NULL;

    fake_cuda.capability = 120;
    open_device();
    fake_cuda.refuse_modules = heed_cuda_images[0].name ? 1 : 0;
    ck_assert_int_eq(driver_of()->kernel(device.state, HEED_KERNEL_prepare, 0, &compiled, &detail),
                     HEED_OK);
    ck_assert_ptr_nonnull(strstr(fake_cuda.options, "--gpu-architecture=compute_90 "));
    close_device();
}
END_TEST

START_TEST(what_cannot_be_built_says_why)
{
    void *compiled = NULL;

    open_device();
    fake_cuda.refuse_modules = 2;
    fake_cuda.compile_code = 6;
    ck_assert_int_eq(driver_of()->kernel(device.state, HEED_KERNEL_prepare, 0, &compiled, &detail),
                     HEED_E_KERNEL_BUILD);
    ck_assert_str_eq(detail.text, "kernel prepare: kernel.cl(1): error: first");
    ck_assert_int_eq(detail.native, 6);
    fake_cuda.compile_code = 0;
    fake_cuda.refuse_modules = 2;
    ck_assert_int_eq(driver_of()->kernel(device.state, HEED_KERNEL_prepare, 0, &compiled, &detail),
                     HEED_E_KERNEL_BUILD);
    ck_assert_str_eq(detail.text, "kernel prepare: first line of the driver's log");
    ck_assert_int_eq(detail.native, 209);
    ck_assert_ptr_null(compiled);
    fake_cuda.refuse_modules = 0;
    ck_assert_int_eq(driver_of()->kernel(device.state, HEED_KERNEL_prepare, 0, &compiled, &detail),
                     HEED_OK);
    close_device();
}
END_TEST

/* ---- runs ---- */

struct runner {
    void *image, *memory, *queue, *waited, *event, *kernel;
    struct heed_step steps[3];
    struct heed_work work;
};

/* Three steps, the second without groups; one wait; buffers 0 and 4. */
static void prepare_run(struct runner *r)
{
    *r = (struct runner){ 0 };
    r->queue = make_queue();
    ck_assert_int_eq(driver_of()->memory_create(device.state, 5, "image", &r->image, &detail),
                     HEED_OK);
    ck_assert_int_eq(offload->buf_create(&device, 64, &r->memory, &detail), HEED_OK);
    ck_assert_int_eq(driver_of()->kernel(device.state, HEED_KERNEL_prepare, 0, &r->kernel,
                                         &detail), HEED_OK);
    r->steps[0] = (struct heed_step){ HEED_KERNEL_prepare, 64, 3, r->kernel };
    r->steps[1] = (struct heed_step){ HEED_KERNEL_prepare, 64, 0, r->kernel };
    r->steps[2] = (struct heed_step){ HEED_KERNEL_prepare, 256, 7, r->kernel };
    r->work = (struct heed_work){
        .steps = r->steps,
        .n_steps = 3,
        .n_buffers = HEED_BUFFERS_SMALL,
        .image = r->image,
        .queue = r->queue,
        .event = &r->event,
    };
    r->work.buffers[0] = (heed_buf){ r->memory, 0 };
    r->work.buffers[4] = (heed_buf){ r->memory, 16 };
    fake_cuda.n_launches = 0;
}

static void finish_run(struct runner *r)
{
    offload->event_destroy(&device, r->event);
    offload->event_destroy(&device, r->waited);
    offload->buf_destroy(&device, r->memory);
    driver_of()->memory_destroy(device.state, r->image);
    offload->queue_destroy(&device, r->queue);
}

START_TEST(a_run_is_waits_launches_and_an_event)
{
    struct runner r;

    open_device();
    prepare_run(&r);
    ck_assert_int_eq(driver_of()->run(device.state, &r.work, &detail), HEED_OK);
    r.waited = r.event;
    r.event = NULL;
    r.work.waits = &r.waited;
    r.work.n_waits = 1;
    fake_cuda.n_launches = 0;
    fake_cuda_trace();
    ck_assert_int_eq(driver_of()->run(device.state, &r.work, &detail), HEED_OK);
    ck_assert_str_eq(fake_cuda.trace,
                     "cuCtxPushCurrent cuEventCreate cuStreamWaitEvent cuLaunchKernel "
                     "cuLaunchKernel cuEventRecord cuCtxPopCurrent ");
    ck_assert_int_eq(fake_cuda.n_launches, 2);
    ck_assert_uint_eq(fake_cuda.launches[1].grid, 7);
    ck_assert_uint_eq(fake_cuda.launches[1].block, 256);
    ck_assert_ptr_eq(fake_cuda.launches[1].image, r.image);
    ck_assert_ptr_eq(fake_cuda.launches[1].pointers[0], r.memory);
    ck_assert_ptr_null(fake_cuda.launches[1].pointers[1]);
    ck_assert_ptr_eq(fake_cuda.launches[1].pointers[4], (char *)r.memory + 16);
    ck_assert_int_eq(offload->event_wait(&device, r.event, &detail), HEED_OK);

    /* What a CUDA graph may capture: no event, nothing but launches. */
    r.work.n_waits = 0;
    r.work.event = NULL;
    fake_cuda_trace();
    ck_assert_int_eq(driver_of()->run(device.state, &r.work, &detail), HEED_OK);
    ck_assert_str_eq(fake_cuda.trace,
                     "cuCtxPushCurrent cuLaunchKernel cuLaunchKernel cuCtxPopCurrent ");
    finish_run(&r);
    close_device();
}
END_TEST

START_TEST(more_groups_than_can_be_launched_are_refused)
{
    struct runner r;

    open_device();
    prepare_run(&r);
    r.steps[0].groups = (uint64_t)1 << 31;
    ck_assert_int_eq(driver_of()->run(device.state, &r.work, &detail), HEED_E_UNSUPPORTED);
    ck_assert_int_eq(fake_cuda.n_launches, 0);
    ck_assert_ptr_null(r.event);
    finish_run(&r);
    close_device();
}
END_TEST

START_TEST(each_call_of_a_run_may_fail)
{
    heed_status status = HEED_E_DEVICE;
    struct runner r;

    open_device();
    prepare_run(&r);
    for (long k = 1; status < 0; k++) {
        ck_assert_int_lt(k, 100);
        fake_cuda.calls = 0;
        fake_cuda.fail_at = k;
        fake_cuda.fail_code = 701;
        status = driver_of()->run(device.state, &r.work, &detail);
        ck_assert_int_eq(fake_cuda.depth, 0);
        ck_assert(status == HEED_OK || (status == HEED_E_DEVICE && detail.native == 701));
        ck_assert(status == HEED_OK || r.event == NULL);
    }
    finish_run(&r);
    close_device();
}
END_TEST

/* ---- a device that is lost ---- */

START_TEST(a_lost_device_stays_lost_and_can_be_left)
{
    struct runner r;
    void *handle = NULL;
    char byte = 0;

    open_device();
    prepare_run(&r);
    ck_assert_int_eq(driver_of()->run(device.state, &r.work, &detail), HEED_OK);
    fake_cuda.fail_name = "cuEventSynchronize";
    fake_cuda.fail_code = 700;
    fake_cuda.poison = (int)_i;
    ck_assert_int_eq(offload->event_wait(&device, r.event, &detail), HEED_E_DEVICE_LOST);
    ck_assert_int_eq(detail.native, 700);
    ck_assert_ptr_nonnull(strstr(detail.text, "illegal memory access"));
    fake_cuda.fail_name = NULL;
    detail = (struct heed_error_detail){ 0 };
    ck_assert_int_eq(driver_of()->run(device.state, &r.work, &detail), HEED_E_DEVICE_LOST);
    ck_assert_int_eq(detail.native, 700);
    ck_assert_int_eq(offload->buf_create(&device, 1, &handle, &detail), HEED_E_DEVICE_LOST);
    ck_assert_int_eq(offload->buf_read(&device, r.queue, &byte, r.memory, 0, 1, &detail),
                     HEED_E_DEVICE_LOST);
    ck_assert_int_eq(offload->queue_wait(&device, r.queue, &detail), HEED_E_DEVICE_LOST);
    finish_run(&r);
    close_device();
}
END_TEST

START_TEST(a_context_that_is_gone_is_not_entered_again)
{
    struct runner r;

    open_device();
    prepare_run(&r);
    fake_cuda.fail_name = "cuStreamSynchronize";
    fake_cuda.fail_code = 709;
    ck_assert_int_eq(offload->queue_wait(&device, r.queue, &detail), HEED_E_DEVICE_LOST);
    fake_cuda.fail_name = NULL;
    fake_cuda_trace();
    finish_run(&r);
    close_device();
    ck_assert_str_eq(fake_cuda.trace, "cuDevicePrimaryCtxRelease ");
    fake_cuda_context_lost();
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("cuda-run");
    Suite *suite = suite_create("cuda-run");
    SRunner *runner;
    int failed;

    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, kernels_are_loaded_once);
    tcase_add_test(tcase, what_does_not_load_is_compiled);
    tcase_add_test(tcase, a_newer_device_gets_ptx);
    tcase_add_test(tcase, what_cannot_be_built_says_why);
    tcase_add_test(tcase, a_run_is_waits_launches_and_an_event);
    tcase_add_test(tcase, more_groups_than_can_be_launched_are_refused);
    tcase_add_test(tcase, each_call_of_a_run_may_fail);
    tcase_add_loop_test(tcase, a_lost_device_stays_lost_and_can_be_left, 0, 2);
    tcase_add_test(tcase, a_context_that_is_gone_is_not_entered_again);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
