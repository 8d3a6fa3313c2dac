/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What is CUDA's alone, over a driver that is not there: reasons for having no device, where its
 * kernels come from, streams, what a run calls. The rest is in test_vendors.c.
 */
#include "vendor_world.h"

static void begin(void)
{
    world_begin(&vendors[CUDA]);
}

/* Three launches, the second without groups. */
static void begin_run(struct run *r)
{
    run_begin(r, NULL, 0);
    r->launches[0] = (struct heed_kernel_launch){ HEED_KERNEL_prepare, 64, 3, 0, r->kernel };
    r->launches[1] = (struct heed_kernel_launch){ HEED_KERNEL_prepare, 64, 0, 0, r->kernel };
    r->launches[2] = (struct heed_kernel_launch){ HEED_KERNEL_prepare, 256, 7, 0, r->kernel };
    r->work.buffers[r->work.n_buffers - 1].offset = 16;
    r->work.event = &r->event;
    fake_cuda.n_launches = 0;
}

/* ---- which devices ---- */

static void expect_none(const char *reason)
{
    ck_assert_uint_eq(heed_cuda_backend.count(), 0);
    ck_assert_str_eq(heed_cuda_backend.none(), reason);
}

TEST(without_devices_there_is_a_reason)
{
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
    fake.fail_name = "cuDeviceGetCount";
    fake.fail_code = 999;
    expect_none("the CUDA driver failed in a way unknown to it (CUDA error 999)");
}

/* The machine's own libraries, whatever they are. */
TEST(the_real_driver_is_asked_without_harm)
{
    uint32_t n;

    heed_cuda_api_set(NULL, NULL);
    n = heed_cuda_backend.count();
    if (n == 0)
        ck_assert_str_ne(heed_cuda_backend.none(), "");
    for (uint32_t i = 0; i < n; i++) {
        heed_cuda_backend.describe(i, &world.device.props);
        ck_assert_int_eq(world.device.props.usable < 0, world.device.props.reason[0] != '\0');
    }
}

static void expect_unusable(heed_status status, const char *reason)
{
    memset(&world.device.props, 0, sizeof(world.device.props));
    ck_assert_uint_eq(heed_cuda_backend.count(), 1);
    heed_cuda_backend.describe(0, &world.device.props);
    ck_assert_str_eq(world.device.props.name, "cuda:0");
    ck_assert_int_eq(world.device.props.usable, status);
    ck_assert_str_eq(world.device.props.reason, reason);
    ck_assert_int_eq(world.device.props.exact, 0);
    ck_assert_int_eq(world.offload->open(&world.device, &world.rt->services), status);
    ck_assert_ptr_null(world.device.state);
}

TEST(what_cannot_be_used_says_why)
{
    fake_cuda.capability = 75;
    expect_unusable(HEED_E_UNSUPPORTED, "compute capability 7.5; 8.0 is the least");
    fake_cuda.capability = 90;
    fake.fail_name = "cuDeviceTotalMem";
    fake.fail_code = 46;
    expect_unusable(HEED_E_DEVICE_LOST, "cuDeviceGet: CUDA error 46");
    fake.fail_name = NULL;
    heed_cuda_nvrtc_set(NULL, "no run-time compiler (libnvrtc.so) found");
    if (heed_cuda_cubins[0].name == NULL)
        expect_unusable(HEED_E_UNSUPPORTED, "this library was built without nvcc, and no run-time "
                                            "compiler (libnvrtc.so) found");
}

/* ---- streams and events ---- */

TEST(the_default_stream_is_a_queue)
{
    void *queue = NULL;

    world_open();
    ck_assert_int_eq(take_queue(NULL, &queue), HEED_OK);
    ck_assert_ptr_null(((struct heed_cuda_queue *)queue)->stream);
    ck_assert_int_eq(queue_wait(queue), HEED_OK);
    world.offload->queue_destroy(&world.device, queue);
}

/* But not those of another context, where the driver can tell. */
TEST(streams_of_another_context_are_refused)
{
    struct heed_cuda_api old = fake_cuda_driver;
    void *queue = NULL, *mine = fake_cuda_context(), *native = cuda_queue(mine);

    old.stream_context = NULL;
    world_open();
    ck_assert_int_eq(take_queue(native, &queue), HEED_E_MISMATCH);
    ck_assert_ptr_null(queue);
    ck_assert_ptr_nonnull(strstr(world.detail.text, "another context"));
    fake.fail_name = "cuStreamGetCtx";
    fake.fail_code = HEED_CU_NOT_SUPPORTED;
    ck_assert_int_eq(take_queue(native, &queue), HEED_OK);
    world.offload->queue_destroy(&world.device, queue);
    fake.fail_code = 400;
    ck_assert_int_eq(take_queue(native, &queue), HEED_E_DEVICE);
    ck_assert_int_eq(world.detail.native, 400);
    fake.fail_name = NULL;
    world_close();

    heed_cuda_api_set(&old, NULL);
    world_open();
    ck_assert_int_eq(take_queue(native, &queue), HEED_OK);
    world.offload->queue_destroy(&world.device, queue);
    world_close();
    cuda_queue_end(mine, native);
    fake_cuda_context_end();
}

TEST(events_of_the_caller_stay_the_callers)
{
    void *native, *event = NULL, *context;

    world_open();
    context = cuda_context_of(&world.device);
    native = cuda_event(context, NULL);
    ck_assert_int_eq(take_event(NULL, &event), HEED_E_UNSUPPORTED);
    ck_assert_int_eq(take_event(native, &event), HEED_OK);
    world.offload->event_destroy(&world.device, event);
    ck_assert_int_eq(fake.alive[FAKE_EVENT], 1);
    cuda_event_end(context, native);
}

/* ---- kernels ---- */

/* Where no cubin is embedded, there is nothing to be refused: the cubins are NVRTC's. */
TEST(what_does_not_load_is_compiled)
{
    void *compiled = NULL;

    world_open();
    fake_cuda.refuse_modules = heed_cuda_cubins[0].name ? 1 : 0;
    ck_assert_int_eq(get_kernel(HEED_KERNEL_prepare, 0, &compiled), HEED_OK);
    ck_assert_ptr_nonnull(strstr(fake_cuda.options, "--gpu-architecture=sm_90 "));
    ck_assert_ptr_nonnull(strstr(fake_cuda.options, "--fmad=false "));
    ck_assert_ptr_nonnull(strstr(fake_cuda.options, "-DHK_LARGE=0 "));
    ck_assert_ptr_nonnull(strstr(fake_cuda.options, "-DHK_GROUP_ROWS=64 "));
}

TEST(a_newer_device_gets_ptx)
{
    void *compiled = NULL;

    fake_cuda.capability = 120;
    world_open();
    fake_cuda.refuse_modules = heed_cuda_cubins[0].name ? 1 : 0;
    ck_assert_int_eq(get_kernel(HEED_KERNEL_prepare, 0, &compiled), HEED_OK);
    ck_assert_ptr_nonnull(strstr(fake_cuda.options, "--gpu-architecture=compute_90 "));
}

/* Cubins of the build would be taken. */
TEST(a_compiler_newer_than_the_driver_is_not_used)
{
    void *compiled = NULL;

    world_open();
    fake_cuda.version = 12080;
    fake_cuda.compiles = 0;
    fake_cuda.refuse_embedded = true;
    ck_assert_int_eq(get_kernel(HEED_KERNEL_workgroup_keep, 0, &compiled), HEED_E_KERNEL_BUILD);
    ck_assert_ptr_nonnull(strstr(world.detail.text, "NVRTC is of CUDA 13.0"));
    ck_assert_ptr_nonnull(strstr(world.detail.text, "the driver of CUDA 12.8"));
    ck_assert_int_eq(fake_cuda.compiles, 0);
    ck_assert(heed_cuda_nvrtc_suits(13010, 13) && heed_cuda_nvrtc_suits(13000, 12));
    ck_assert(!heed_cuda_nvrtc_suits(12090, 13));
}

TEST(what_cannot_be_built_says_why)
{
    void *compiled = NULL;

    world_open();
    fake_cuda.refuse_modules = 2;
    fake_cuda.compile_code = 6;
    ck_assert_int_eq(get_kernel(HEED_KERNEL_prepare, 0, &compiled), HEED_E_KERNEL_BUILD);
    ck_assert_str_eq(world.detail.text, "kernel prepare: kernel.cl(1): error: first");
    ck_assert_int_eq(world.detail.native, 6);
    fake_cuda.compile_code = 0;
    fake_cuda.refuse_modules = 2;
    ck_assert_int_eq(get_kernel(HEED_KERNEL_prepare, 0, &compiled), HEED_E_KERNEL_BUILD);
    ck_assert_str_eq(world.detail.text, "kernel prepare: first line of the driver's log");
    ck_assert_int_eq(world.detail.native, 209);
    ck_assert_ptr_null(compiled);
    fake_cuda.refuse_modules = 0;
    ck_assert_int_eq(get_kernel(HEED_KERNEL_prepare, 0, &compiled), HEED_OK);
}

/* ---- runs ---- */

TEST(a_run_is_waits_launches_and_an_event)
{
    struct run r;
    void *waited;

    world_open();
    begin_run(&r);
    ck_assert_int_eq(run_go(&r), HEED_OK);
    waited = r.event;
    r.event = NULL;
    r.work.waits = &waited;
    r.work.n_waits = 1;
    ck_assert_int_eq(run_go(&r), HEED_OK);
    ck_assert_str_eq(fake.trace,
                     "cuCtxPushCurrent cuEventCreate cuStreamWaitEvent cuLaunchKernel "
                     "cuLaunchKernel cuEventRecord cuCtxPopCurrent ");
    ck_assert_int_eq(fake_cuda.n_launches, 2);
    ck_assert_uint_eq(fake_cuda.launches[1].grid, 7);
    ck_assert_uint_eq(fake_cuda.launches[1].block, 256);
    ck_assert_ptr_eq(fake_cuda.launches[1].blob, r.blob);
    ck_assert_ptr_eq(fake_cuda.launches[1].pointers[0], r.memory);
    ck_assert_ptr_null(fake_cuda.launches[1].pointers[1]);
    ck_assert_ptr_eq(fake_cuda.launches[1].pointers[HEED_BUFFERS_SMALL - 1], (char *)r.memory + 16);
    ck_assert_int_eq(event_wait(r.event), HEED_OK);

    /* What a CUDA graph may capture: no event, nothing but launches. */
    r.work.n_waits = 0;
    r.work.event = NULL;
    ck_assert_int_eq(run_go(&r), HEED_OK);
    ck_assert_str_eq(fake.trace,
                     "cuCtxPushCurrent cuLaunchKernel cuLaunchKernel cuCtxPopCurrent ");
    world.offload->event_destroy(&world.device, waited);
    run_end(&r);
}

/* Memory and kernels come and go as if nobody captured, and the thread's mode is what it was. */
TEST(another_thread_may_capture_a_graph)
{
    struct run r;
    void *compiled = NULL, *memory = NULL;
    char byte = 0;

    world_open();
    fake_cuda.captures = true;
    begin_run(&r);
    ck_assert_int_eq(get_kernel(HEED_KERNEL_workgroup_keep, 0, &compiled), HEED_OK);
    ck_assert_int_eq(make_buffer(16, &memory), HEED_OK);
    ck_assert_int_eq(world.offload->buf_read(&world.device, r.queue, &byte, memory, 0, 1,
                                             &world.detail),
                     HEED_OK);
    world.offload->buf_destroy(&world.device, memory);
    ck_assert_int_eq(run_go(&r), HEED_OK);
    run_end(&r);
    world_close();
    ck_assert_int_eq(fake_cuda.mode, 0);
    ck_assert_str_eq(fake.mistake, "");
}

/* A run is captured, and launched again by whoever has the graph. With an event it is none of the
 * graph's, as lib knows (test_offload_run.c) from what the backend says of the queue. */
TEST(a_run_is_captured_in_a_graph)
{
    struct run r;
    uint32_t captures = 1;
    void *stream;

    world_open();
    begin_run(&r);
    stream = ((struct heed_cuda_queue *)r.queue)->stream;
    ck_assert_int_eq(world.offload->queue_captures(&world.device, r.queue, &captures,
                                                   &world.detail),
                     HEED_OK);
    ck_assert_uint_eq(captures, 0);
    fake_cuda.captures = true;
    fake_cuda.captured = stream;
    ck_assert_int_eq(world.offload->queue_captures(&world.device, r.queue, &captures,
                                                   &world.detail),
                     HEED_OK);
    ck_assert_uint_eq(captures, 1);
    r.work.event = NULL;
    ck_assert_int_eq(run_go(&r), HEED_OK);
    ck_assert_int_eq(fake_cuda.n_launches, 2);
    ck_assert_ptr_eq(fake_cuda.launches[0].stream, stream);
    ck_assert_ptr_eq(fake_cuda.launches[1].stream, stream);
    ck_assert_str_eq(fake.mistake, "");
    fake_cuda.captures = false;
    ck_assert_int_eq(world.offload->queue_captures(&world.device, r.queue, &captures,
                                                   &world.detail),
                     HEED_OK);
    ck_assert_uint_eq(captures, 0);
    run_end(&r);
}

TEST(a_launch_goes_by_slices)
{
    struct run r;

    world_open();
    begin_run(&r);
    r.launches[2].slice = 3;
    ck_assert_int_eq(run_go(&r), HEED_OK);
    ck_assert_int_eq(fake_cuda.n_launches, 4);
    ck_assert_uint_eq(fake_cuda.launches[0].grid, 3);
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_uint_eq(fake_cuda.launches[1 + i].group, 3 * i);
        ck_assert_uint_eq(fake_cuda.launches[1 + i].grid, i < 2 ? 3 : 1);
    }
    run_end(&r);
}

TEST(more_groups_than_can_be_launched_are_refused)
{
    struct run r;

    world_open();
    begin_run(&r);
    r.launches[0].groups = (uint64_t)1 << 31;
    ck_assert_int_eq(run_go(&r), HEED_E_UNSUPPORTED);
    ck_assert_int_eq(fake_cuda.n_launches, 0);
    ck_assert_ptr_null(r.event);
    run_end(&r);
}

LOOP_TEST(a_lost_device_stays_lost_and_can_be_left, 2)
{
    struct run r;
    void *handle = NULL;
    char byte = 0;

    world_open();
    begin_run(&r);
    ck_assert_int_eq(run_go(&r), HEED_OK);
    fake.fail_name = "cuEventSynchronize";
    fake.fail_code = 700;
    fake.poison = (int)_i;
    ck_assert_int_eq(event_wait(r.event), HEED_E_DEVICE_LOST);
    ck_assert_int_eq(world.detail.native, 700);
    ck_assert_ptr_nonnull(strstr(world.detail.text, "illegal memory access"));
    fake.fail_name = NULL;
    world.detail = (struct heed_error_detail){ 0 };
    ck_assert_int_eq(run_go(&r), HEED_E_DEVICE_LOST);
    ck_assert_int_eq(world.detail.native, 700);
    ck_assert_int_eq(make_buffer(1, &handle), HEED_E_DEVICE_LOST);
    ck_assert_int_eq(world.offload->buf_read(&world.device, r.queue, &byte, r.memory, 0, 1,
                                             &world.detail),
                     HEED_E_DEVICE_LOST);
    ck_assert_int_eq(queue_wait(r.queue), HEED_E_DEVICE_LOST);
    run_end(&r);
}

TEST(a_context_that_is_gone_is_not_entered_again)
{
    struct run r;

    world_open();
    begin_run(&r);
    fake.fail_name = "cuStreamSynchronize";
    fake.fail_code = 709;
    ck_assert_int_eq(queue_wait(r.queue), HEED_E_DEVICE_LOST);
    fake.fail_name = NULL;
    fake.trace[0] = '\0';
    run_end(&r);
    world_close();
    ck_assert_str_eq(fake.trace, "cuDevicePrimaryCtxRelease ");
    fake_cuda_context_lost();
}

int main(void)
{
    return suite_run("cuda", 240, begin, world_end);
}
