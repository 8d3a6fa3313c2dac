/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The CUDA backend over a driver that is not there: which devices it lists, what opening, memory,
 * queues and events call, that nothing leaks and that the caller's context stays current.
 */
#include "cuda_world.h"

/* ---- which devices ---- */

START_TEST(devices_are_described)
{
    fake_cuda.devices = 2;
    ck_assert_uint_eq(heed_cuda_backend.count(), 2);
    heed_cuda_backend.describe(1, &device.props);
    ck_assert_str_eq(device.props.name, "cuda:1");
    ck_assert_str_eq(device.props.description, "Fake 1 (sm_90)");
    ck_assert_uint_eq(device.props.width, 132);
    ck_assert_uint_eq(device.props.memory, 1u << 30);
    ck_assert_int_eq(device.props.usable, HEED_OK);
    ck_assert_int_eq(fake_cuda.contexts, 0);
}
END_TEST

static void expect_none(const char *reason)
{
    ck_assert_uint_eq(heed_cuda_backend.count(), 0);
    ck_assert_str_eq(heed_cuda_backend.none(), reason);
}

START_TEST(without_devices_there_is_a_reason)
{
    void *mine = &fake_cuda;

    fake_cuda.devices = 0;
    expect_none("the CUDA driver knows no device");
    fake_cuda.devices = 1;
    fake_cuda.init_code = 100;
    expect_none("the CUDA driver knows no device");
    fake_cuda.init_code = 803;
    expect_none("CUDA library and kernel driver do not fit together (CUDA error 803)");
    fake_cuda.init_code = 12345;
    expect_none("the CUDA driver cannot be initialised");
    fake_cuda.init_code = 0;
    fake_cuda.fail_name = "cuDeviceGetCount";
    fake_cuda.fail_code = 999;
    expect_none("the CUDA driver failed in a way unknown to it (CUDA error 999)");
    heed_cuda_api_set(NULL, "no CUDA driver (libcuda.so.1) found");
    expect_none("no CUDA driver (libcuda.so.1) found");
    ck_assert_int_eq(offload->wrap(&device, &rt->services, mine, (void *)0, &detail),
                     HEED_E_NOT_FOUND);
    ck_assert_str_eq(detail.text, "no CUDA driver (libcuda.so.1) found");
}
END_TEST

/* The machine's own libraries, whatever they are. */
START_TEST(the_real_driver_is_asked_without_harm)
{
    uint32_t n;

    fake_cuda_uninstall();
    n = heed_cuda_backend.count();
    if (n == 0)
        ck_assert_str_ne(heed_cuda_backend.none(), "");
    for (uint32_t i = 0; i < n; i++) {
        heed_cuda_backend.describe(i, &device.props);
        ck_assert_int_eq(device.props.usable < 0, device.props.reason[0] != '\0');
    }
}
END_TEST

static void expect_unusable(heed_status status, const char *reason)
{
    memset(&device.props, 0, sizeof(device.props));
    ck_assert_uint_eq(heed_cuda_backend.count(), 1);
    heed_cuda_backend.describe(0, &device.props);
    ck_assert_str_eq(device.props.name, "cuda:0");
    ck_assert_int_eq(device.props.usable, status);
    ck_assert_str_eq(device.props.reason, reason);
    ck_assert_int_eq(device.props.exact, 0);
    ck_assert_int_eq(offload->open(&device, &rt->services), status);
    ck_assert_ptr_null(device.state);
}

START_TEST(what_cannot_be_used_says_why)
{
    fake_cuda.capability = 75;
    expect_unusable(HEED_E_UNSUPPORTED, "compute capability 7.5; 8.0 is the least");
    fake_cuda.capability = 90;
    fake_cuda.fail_name = "cuDeviceTotalMem";
    fake_cuda.fail_code = 46;
    expect_unusable(HEED_E_DEVICE_LOST, "cuDeviceGet: CUDA error 46");
    fake_cuda.fail_name = NULL;
    heed_cuda_nvrtc_set(NULL, "no run-time compiler (libnvrtc.so) found");
    if (heed_cuda_images[0].name == NULL)
        expect_unusable(HEED_E_UNSUPPORTED, "this library was built without nvcc, and no run-time "
                                            "compiler (libnvrtc.so) found");
}
END_TEST

/* ---- life ---- */

START_TEST(opening_and_closing_leaves_nothing)
{
    void *mine = fake_cuda_context();

    heed_cuda_backend.describe(0, &device.props);
    ck_assert_int_eq(offload->open(&device, &rt->services), HEED_OK);
    ck_assert_int_eq(fake_cuda.contexts, 1);
    ck_assert_ptr_eq(fake_cuda.stack[0], mine);
    close_device();
    fake_cuda_context_end();
}
END_TEST

START_TEST(the_callers_context_is_used_and_kept)
{
    void *mine = fake_cuda_context();

    ck_assert_int_eq(offload->wrap(&device, &rt->services, mine, (void *)1, &detail),
                     HEED_E_NOT_FOUND);
    ck_assert_int_eq(offload->wrap(&device, &rt->services, NULL, (void *)0, &detail), HEED_E_NULL);
    ck_assert_int_eq(offload->wrap(&device, &rt->services, mine, (void *)0, &detail), HEED_OK);
    ck_assert_str_eq(device.props.description, "Fake 0 (sm_90)");
    ck_assert_int_eq(fake_cuda.contexts, 0);
    close_device();
    fake_cuda_context_end();
}
END_TEST

START_TEST(a_context_of_another_device_is_refused)
{
    void *mine = fake_cuda_context();

    fake_cuda.devices = 2;
    ck_assert_int_eq(offload->wrap(&device, &rt->services, mine, (void *)1, &detail),
                     HEED_E_MISMATCH);
    ck_assert_ptr_null(device.state);
    fake_cuda_context_end();
}
END_TEST

START_TEST(each_allocation_of_opening_may_fail)
{
    heed_status status = HEED_E_NOMEM;

    heed_cuda_backend.describe(0, &device.props);
    for (int k = 1; status == HEED_E_NOMEM; k++) {
        ck_assert_int_lt(k, 1000);
        device.props.usable = HEED_OK;
        ledger_restart(&ledger);
        atomic_store(&ledger.fail_at, k);
        status = offload->open(&device, &rt->services);
        ck_assert_int_eq(fake_cuda.depth, 0);
    }
    ledger_restart(&ledger);
    ck_assert_int_eq(status, HEED_OK);
    close_device();
}
END_TEST

/* Every call of opening fails once: the status is the code's, nothing is left. */
START_TEST(each_call_of_opening_may_fail)
{
    heed_status status = HEED_E_DEVICE;
    const long contexts = fake_cuda.contexts;

    heed_cuda_backend.describe(0, &device.props);
    for (long k = 1; status < 0; k++) {
        ck_assert_int_lt(k, 1000);
        device.props.usable = HEED_OK;
        fake_cuda.calls = 0;
        fake_cuda.fail_at = k;
        fake_cuda.fail_code = 2;
        status = offload->open(&device, &rt->services);
        ck_assert_int_eq(fake_cuda.depth, 0);
        if (status >= 0 && fake_cuda.calls >= k) {      /* one that may fail: a context's pop */
            close_device();
            status = HEED_E_DEVICE;
        } else if (status < 0) {
            ck_assert_ptr_null(device.state);
            ck_assert_int_eq(device.props.usable, status);
            ck_assert_str_ne(device.props.reason, "");
            ck_assert_int_eq(fake_cuda.contexts, contexts);
        }
    }
    fake_cuda.fail_at = 0;
    close_device();
}
END_TEST

/* ---- memory, queues, events ---- */

START_TEST(buffers_hold_what_was_written)
{
    char text[32] = "abcdefgh", back[32] = "";
    void *queue, *handle = NULL, *empty = NULL;

    open_device();
    queue = make_queue();
    ck_assert_int_eq(offload->buf_create(&device, 64, &handle, &detail), HEED_OK);
    ck_assert_int_eq(offload->buf_create(&device, 0, &empty, &detail), HEED_OK);
    ck_assert_ptr_nonnull(empty);
    ck_assert_int_eq(offload->buf_write(&device, queue, handle, 32, text, 32, &detail), HEED_OK);
    fake_cuda_trace();
    ck_assert_int_eq(offload->buf_read(&device, queue, back, handle, 36, 4, &detail), HEED_OK);
    ck_assert_str_eq(back, "efgh");
    ck_assert_str_eq(fake_cuda.trace, "cuCtxPushCurrent cuMemcpyDtoHAsync cuStreamSynchronize "
                                      "cuCtxPopCurrent ");
    ck_assert_int_eq(offload->buf_read(&device, queue, back, empty, 0, 0, &detail), HEED_OK);
    offload->buf_destroy(&device, handle);
    offload->buf_destroy(&device, empty);
    offload->buf_destroy(&device, NULL);
    offload->queue_destroy(&device, queue);
    close_device();
}
END_TEST

START_TEST(no_memory_on_the_device_is_not_its_end)
{
    void *handle = NULL;

    open_device();
    fake_cuda.fail_name = "cuMemAlloc";
    fake_cuda.fail_code = 2;
    ck_assert_int_eq(offload->buf_create(&device, 64, &handle, &detail), HEED_E_DEVICE_NOMEM);
    ck_assert_int_eq(detail.native, 2);
    ck_assert_ptr_null(handle);
    fake_cuda.fail_name = NULL;
    ck_assert_int_eq(offload->buf_create(&device, 64, &handle, &detail), HEED_OK);
    offload->buf_destroy(&device, handle);
    close_device();
}
END_TEST

/* A stream made while that context is current. */
static void *make_stream(void *context)
{
    void *stream = NULL;

    ck_assert_int_eq(fake_cuda_driver.context_push(context), 0);
    ck_assert_int_eq(fake_cuda_driver.stream_create(&stream, 1), 0);
    fake_cuda.depth--;
    return stream;
}

static void destroy_stream(void *context, void *stream)
{
    ck_assert_int_eq(fake_cuda_driver.context_push(context), 0);
    ck_assert_int_eq(fake_cuda_driver.stream_destroy(stream), 0);
    fake_cuda.depth--;
}

START_TEST(queues_may_be_the_callers)
{
    void *queue = NULL, *native, *context;

    open_device();
    context = ((struct heed_cuda_state *)device.state)->context;
    ck_assert_int_eq(offload->queue_create(&device, NULL, 1, &queue, &detail), HEED_OK);
    ck_assert_ptr_null(((struct heed_cuda_queue *)queue)->stream);
    ck_assert_int_eq(offload->queue_wait(&device, queue, &detail), HEED_OK);
    offload->queue_destroy(&device, queue);

    native = make_stream(context);
    ck_assert_int_eq(offload->queue_create(&device, native, 1, &queue, &detail), HEED_OK);
    offload->queue_destroy(&device, queue);
    destroy_stream(context, native);
    offload->queue_destroy(&device, NULL);
    close_device();
}
END_TEST

/* While a context of the caller's is current. */
static void open_beneath(void)
{
    memset(&device.props, 0, sizeof(device.props));
    heed_cuda_backend.describe(0, &device.props);
    ck_assert_int_eq(offload->open(&device, &rt->services), HEED_OK);
}

/* But not those of another context, where the driver can tell. */
START_TEST(streams_of_another_context_are_refused)
{
    struct heed_cuda_api old = fake_cuda_driver;
    void *queue = NULL, *mine = fake_cuda_context(), *native = make_stream(mine);

    old.stream_context = NULL;
    open_beneath();
    ck_assert_int_eq(offload->queue_create(&device, native, 1, &queue, &detail), HEED_E_MISMATCH);
    ck_assert_ptr_null(queue);
    ck_assert_ptr_nonnull(strstr(detail.text, "another context"));
    fake_cuda.fail_name = "cuStreamGetCtx";
    fake_cuda.fail_code = HEED_CU_NOT_SUPPORTED;
    ck_assert_int_eq(offload->queue_create(&device, native, 1, &queue, &detail), HEED_OK);
    offload->queue_destroy(&device, queue);
    fake_cuda.fail_code = 400;
    ck_assert_int_eq(offload->queue_create(&device, native, 1, &queue, &detail), HEED_E_DEVICE);
    ck_assert_int_eq(detail.native, 400);
    fake_cuda.fail_name = NULL;
    close_device();

    heed_cuda_api_set(&old, NULL);
    open_beneath();
    ck_assert_int_eq(offload->queue_create(&device, native, 1, &queue, &detail), HEED_OK);
    offload->queue_destroy(&device, queue);
    close_device();
    destroy_stream(mine, native);
    fake_cuda_context_end();
}
END_TEST

START_TEST(events_of_the_caller_stay_the_callers)
{
    void *native = NULL, *event = NULL;

    open_device();
    fake_cuda_context();
    ck_assert_int_eq(fake_cuda_driver.event_create(&native, 2), 0);
    ck_assert_int_eq(offload->event_wrap(&device, NULL, &event, &detail), HEED_E_UNSUPPORTED);
    ck_assert_int_eq(offload->event_wrap(&device, native, &event, &detail), HEED_OK);
    ck_assert_ptr_eq(offload->event_native(&device, event), native);
    ck_assert_int_eq(offload->event_wait(&device, event, &detail), HEED_OK);
    offload->event_destroy(&device, event);
    ck_assert_int_eq(fake_cuda.events, 1);
    ck_assert_int_eq(fake_cuda_driver.event_destroy(native), 0);
    fake_cuda_context_end();
    close_device();
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("cuda");
    Suite *suite = suite_create("cuda");
    SRunner *runner;
    int failed;

    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, devices_are_described);
    tcase_add_test(tcase, without_devices_there_is_a_reason);
    tcase_add_test(tcase, the_real_driver_is_asked_without_harm);
    tcase_add_test(tcase, what_cannot_be_used_says_why);
    tcase_add_test(tcase, opening_and_closing_leaves_nothing);
    tcase_add_test(tcase, the_callers_context_is_used_and_kept);
    tcase_add_test(tcase, a_context_of_another_device_is_refused);
    tcase_add_test(tcase, each_allocation_of_opening_may_fail);
    tcase_add_test(tcase, each_call_of_opening_may_fail);
    tcase_add_test(tcase, buffers_hold_what_was_written);
    tcase_add_test(tcase, no_memory_on_the_device_is_not_its_end);
    tcase_add_test(tcase, queues_may_be_the_callers);
    tcase_add_test(tcase, streams_of_another_context_are_refused);
    tcase_add_test(tcase, events_of_the_caller_stay_the_callers);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
