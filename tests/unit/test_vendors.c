/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the backends of both vendors promise alike, over drivers that are not there: devices and the
 * reasons for having none, opening, memory, queues, events, kernels and their cache, codes of the
 * driver, a device that is lost. Each test runs for each vendor.
 */
#define _POSIX_C_SOURCE 200809L

#include "vendor_world.h"

#include <unistd.h>

static heed_status wrap(heed_device *device, void *context, void *native)
{
    *device = (heed_device){
        .backend = world.v->backend, .runtime = world.rt, .index = UINT32_MAX
    };
    return world.offload->wrap(device, &world.rt->services, context, native, &world.detail);
}

/* ---- devices ---- */

LOOP_TEST(devices_are_described_without_opening_them, VENDORS)
{
    char name[64];
    heed_device_props props = { 0 };

    world_begin(&vendors[_i]);
    world.v->devices(2);
    ck_assert_uint_ge(world.v->backend->count(), 2);
    world.v->backend->describe(1, &props);
    snprintf(name, sizeof(name), "%s:1", world.v->name);
    ck_assert_str_eq(props.name, name);
    ck_assert_int_eq(props.usable, HEED_OK);
    ck_assert_uint_eq(props.exact, 0);
    ck_assert_uint_gt(props.memory, 0);
    ck_assert_uint_gt(props.width, 1);
    ck_assert_ptr_nonnull(strstr(props.description, "Fake"));
    ck_assert_int_eq(world.v->alive(), 0);
}

LOOP_TEST(without_devices_there_is_a_reason, VENDORS)
{
    heed_device device;

    world_begin(&vendors[_i]);
    world.v->devices(0);
    ck_assert_uint_eq(world.v->backend->count(), 0);
    ck_assert_ptr_nonnull(strstr(world.v->backend->none(), "no device"));
    world.v->without("no library at all");
    ck_assert_uint_eq(world.v->backend->count(), 0);
    ck_assert_str_eq(world.v->backend->none(), "no library at all");
    ck_assert_int_eq(wrap(&device, &world, &world), HEED_E_NOT_FOUND);
    ck_assert_str_eq(world.detail.text, "no library at all");
    ck_assert_ptr_null(device.state);
}

/* A device whose rint is wrong once. */
static void compute_wrong(unsigned items, unsigned groups, const void *blob, void *output)
{
    uint32_t *const group = (uint32_t *)output + 6 * HK_TEST_WORDS;

    compute_right(items, groups, blob, output);
    if (items == 1)
        group[HK_TEST_SCALARS + HK_TEST_RINT * 16 + 4] ^= 0x00400000;
}

LOOP_TEST(exact_is_what_passes_the_self_test, VENDORS)
{
    world_begin(&vendors[_i]);
    world_open();
    ck_assert_uint_eq(world.device.props.exact, 1);
    ck_assert_str_eq(world.device.props.reason, "");
    ck_assert_int_eq(world.logged[2], 0);
    world_close();
    fake.launched = NULL;
    world.v->install();             /* another driver, as far as the backend knows */
    world_open();
    ck_assert_uint_eq(world.device.props.exact, 0);
    ck_assert_str_eq(world.device.props.reason, "the self-test wrote nothing");
    ck_assert_int_eq(world.logged[2], 1);
    world_close();
    fake.launched = compute_wrong;
    world.v->install();
    world_open();
    ck_assert_uint_eq(world.device.props.exact, 0);
    ck_assert_str_eq(world.device.props.reason, "rint is not rounded to nearest even");
}

LOOP_TEST(contexts_of_the_caller_are_used_and_kept, VENDORS)
{
    heed_device device;
    void *mine;

    world_begin(&vendors[_i]);
    mine = world.v->context();
    ck_assert_int_eq(wrap(&device, NULL, native_device(world.v)), HEED_E_NULL);
    ck_assert_int_eq(wrap(&device, mine, native_device(world.v)), HEED_OK);
    ck_assert_ptr_eq(world.v->context_of(&device), mine);
    ck_assert_ptr_nonnull(strstr(device.props.description, "Fake"));
    ck_assert_uint_eq(device.props.exact, 1);
    ck_assert_int_eq(fake.alive[FAKE_CONTEXT], _i == OPENCL);       /* the caller's own */
    world.offload->close(&device, &world.rt->services);
    world.v->context_end(mine);
}

LOOP_TEST(contexts_of_other_devices_are_a_mismatch, VENDORS)
{
    heed_device device;
    void *mine;

    world_begin(&vendors[_i]);
    world.v->devices(2);
    mine = world.v->context();      /* of device 0 */
    ck_assert_int_eq(wrap(&device, mine, _i == OPENCL ? fake_opencl_device(1) : (void *)1),
                     HEED_E_MISMATCH);
    ck_assert_ptr_null(device.state);
    world.v->context_end(mine);
}

/* ---- memory, queues, events ---- */

LOOP_TEST(buffers_hold_what_was_written, VENDORS)
{
    char text[32] = "abcdefgh", back[32] = "";
    struct heed_error_detail *const detail = &world.detail;
    void *queue = NULL, *full = NULL, *empty = NULL;

    world_begin(&vendors[_i]);
    world_open();
    ck_assert_int_eq(world.offload->queue_create(&world.device, NULL, 0, &queue, detail), HEED_OK);
    ck_assert_int_eq(world.offload->buf_create(&world.device, 64, &full, detail), HEED_OK);
    ck_assert_int_eq(world.offload->buf_create(&world.device, 0, &empty, detail), HEED_OK);
    ck_assert_ptr_nonnull(empty);
    ck_assert_int_eq(world.offload->buf_write(&world.device, queue, full, 32, text, 32, detail),
                     HEED_OK);
    ck_assert_int_eq(world.offload->buf_read(&world.device, queue, back, full, 36, 4, detail),
                     HEED_OK);
    ck_assert_str_eq(back, "efgh");
    ck_assert_int_eq(world.offload->buf_write(&world.device, queue, empty, 0, NULL, 0, detail),
                     HEED_OK);
    ck_assert_int_eq(world.offload->buf_read(&world.device, queue, back, empty, 0, 0, detail),
                     HEED_OK);
    world.offload->buf_destroy(&world.device, full);
    world.offload->buf_destroy(&world.device, empty);
    world.offload->buf_destroy(&world.device, NULL);
    world.offload->queue_destroy(&world.device, queue);
    world.offload->queue_destroy(&world.device, NULL);
}

LOOP_TEST(no_memory_on_the_device_is_not_its_end, VENDORS)
{
    void *handle = NULL;

    world_begin(&vendors[_i]);
    world_open();
    fake.fail_name = world.v->allocate;
    fake.fail_code = world.v->no_memory;
    ck_assert_int_eq(make_buffer(64, &handle), HEED_E_DEVICE_NOMEM);
    ck_assert_int_eq(world.detail.native, world.v->no_memory);
    ck_assert_ptr_null(handle);
    fake_mend();
    ck_assert_int_eq(make_buffer(64, &handle), HEED_OK);
    world.offload->buf_destroy(&world.device, handle);
}

LOOP_TEST(queues_may_be_the_callers_of_the_same_context, VENDORS)
{
    void *queue = NULL, *native, *other, *foreign;

    world_begin(&vendors[_i]);
    other = world.v->context();     /* current while the device is opened and used */
    world_open();
    native = world.v->queue(world.v->context_of(&world.device));
    ck_assert_int_eq(take_queue(native, &queue), HEED_OK);
    ck_assert_int_eq(queue_wait(queue), HEED_OK);
    world.offload->queue_destroy(&world.device, queue);
    world.v->queue_end(world.v->context_of(&world.device), native);
    queue = NULL;
    foreign = world.v->queue(other);
    ck_assert_int_eq(take_queue(foreign, &queue), HEED_E_MISMATCH);
    ck_assert_ptr_nonnull(strstr(world.detail.text, "another context"));
    ck_assert_ptr_null(queue);
    world.v->queue_end(other, foreign);
    world_close();
    world.v->context_end(other);
}

LOOP_TEST(events_go_both_ways, VENDORS)
{
    void *queue, *event, *got = NULL, *context;

    world_begin(&vendors[_i]);
    world_open();
    context = world.v->context_of(&world.device);
    queue = world.v->queue(context);
    event = world.v->event(context, queue);
    ck_assert_int_lt(take_event(NULL, &got), 0);
    ck_assert_int_eq(take_event(event, &got), HEED_OK);
    ck_assert_ptr_eq(world.offload->event_native(&world.device, got), event);
    ck_assert_int_eq(event_wait(got), HEED_OK);
    world.offload->event_destroy(&world.device, got);
    if (_i == OPENCL)               /* which counts: one for who asked for the native */
        world.v->event_end(context, event);
    world.v->event_end(context, event);
    world.v->queue_end(context, queue);
}

/* ---- kernels ---- */

LOOP_TEST(kernels_are_made_once, VENDORS)
{
    void *first = NULL, *again = NULL;
    long calls;

    world_begin(&vendors[_i]);
    world_open();
    ck_assert_int_eq(get_kernel(HEED_KERNEL_prepare, 1, &first), HEED_OK);
    calls = fake.calls;
    ck_assert_int_eq(get_kernel(HEED_KERNEL_prepare, 1, &again), HEED_OK);
    ck_assert_ptr_eq(first, again);
    ck_assert_int_eq(fake.calls, calls);
    ck_assert_int_eq(get_kernel(HEED_KERNEL_prepare, 0, &again), HEED_OK);
    ck_assert_ptr_ne(first, again);
}

LOOP_TEST(failed_builds_tell_why, VENDORS)
{
    void *kernel = NULL;
    char last[64];
    long details;

    world_begin(&vendors[_i]);
    world_open();
    world.v->refuse_builds(true);
    ck_assert_int_eq(get_kernel(HEED_KERNEL_prepare, 0, &kernel), HEED_E_KERNEL_BUILD);
    ck_assert_str_eq(world.detail.text, "kernel prepare: kernel.cl(1): error: first");
    ck_assert_int_eq(world.detail.native, _i == OPENCL ? HEED_CL_BUILD_PROGRAM_FAILURE : 6);
    ck_assert_int_eq(world.logged[1], _i == OPENCL ? 3 : 2);
    snprintf(last, sizeof(last), "%s: and second", world.v->name);
    ck_assert_str_eq(world.line, last);
    ck_assert_ptr_null(kernel);
    world.v->refuse_builds(false);
    details = world.logged[4];
    ck_assert_int_eq(get_kernel(HEED_KERNEL_prepare, 0, &kernel), HEED_OK);
    ck_assert_int_eq(world.logged[4], details + 1);     /* it is there */
}

/* Opens a device that keeps what it compiles; how many kernels it compiled. */
static long builds_with_cache(const char *folder)
{
    const long before = world.v->builds();
    void *kernel = NULL;

    world.v->install();             /* the self-test is made again */
    world.rt->services.cache_dir = folder;
    world_open();
    ck_assert_int_eq(get_kernel(HEED_KERNEL_prepare, 0, &kernel), HEED_OK);
    world_close();
    world.rt->services.cache_dir = NULL;
    return world.v->builds() - before;
}

LOOP_TEST(what_is_built_once_comes_from_the_cache, VENDORS)
{
    char folder[64], command[96];

    snprintf(folder, sizeof(folder), "vendors-%ld", (long)getpid());
    snprintf(command, sizeof(command), "rm -r %s", folder);
    world_begin(&vendors[_i]);
    world.v->refuse_builds(false);
    ck_assert_int_eq(builds_with_cache(folder), 2);
    ck_assert_int_eq(builds_with_cache(folder), 0);
    ck_assert_int_eq(system(command), 0);
    ck_assert_int_eq(builds_with_cache(folder), 2);
    ck_assert_int_eq(system(command), 0);
}

/* ---- failures ---- */

LOOP_TEST(codes_become_statuses, VENDORS)
{
    static const struct {
        int code;
        heed_status status;
    } rows[VENDORS][7] = {
        {
            { HEED_CL_MEM_OBJECT_ALLOCATION_FAILURE, HEED_E_DEVICE_NOMEM },
            { HEED_CL_OUT_OF_RESOURCES, HEED_E_DEVICE_NOMEM },
            { HEED_CL_INVALID_BUFFER_SIZE, HEED_E_DEVICE_NOMEM },
            { HEED_CL_OUT_OF_HOST_MEMORY, HEED_E_NOMEM },
            { HEED_CL_INVALID_CONTEXT, HEED_E_DEVICE },
            { -54, HEED_E_DEVICE },
            { -12345, HEED_E_DEVICE },
        },
        { { 2, HEED_E_DEVICE_NOMEM }, { 1, HEED_E_DEVICE }, { 701, HEED_E_DEVICE },
          { 12345, HEED_E_DEVICE } },
    };
    struct run run;

    world_begin(&vendors[_i]);
    world_open();
    run_begin(&run, NULL, 0);
    for (size_t i = 0; i < 7 && rows[_i][i].code != 0; i++) {
        fake.fail_name = world.v->launch;
        fake.fail_code = rows[_i][i].code;
        fake.fail_at = 2;
        fake.counted = 0;
        ck_assert_int_eq(run_go(&run), rows[_i][i].status);
        ck_assert_int_eq(world.detail.native, rows[_i][i].code);
        ck_assert_ptr_nonnull(strstr(world.detail.text, world.v->launch));
        ck_assert_ptr_null(run.event);
        fake_mend();
        ck_assert_int_eq(run_go(&run), HEED_OK);
    }
    run_end(&run);
}

LOOP_TEST(lost_devices_stay_lost_and_are_left_alone, 3 * VENDORS)
{
    const struct vendor *const v = &vendors[_i / 3];
    uint32_t byte = 0;
    long calls;
    struct run run;
    void *got = NULL;

    world_begin(v);
    world_open();
    run_begin(&run, NULL, 0);
    run.work.event = &run.event;
    ck_assert_int_eq(run_go(&run), HEED_OK);
    run.work.event = NULL;
    fake.fail_name = v->launch;
    fake.fail_code = v->lost[_i % 3];
    ck_assert_int_eq(run_go(&run), HEED_E_DEVICE_LOST);
    fake_mend();
    calls = fake.calls;
    world.detail = (struct heed_error_detail){ 0 };
    ck_assert_int_eq(run_go(&run), HEED_E_DEVICE_LOST);
    ck_assert_int_eq(world.detail.native, v->lost[_i % 3]);
    ck_assert_ptr_nonnull(strstr(world.detail.text, "an earlier call"));
    ck_assert_int_eq(queue_wait(run.queue), HEED_E_DEVICE_LOST);
    ck_assert_int_eq(event_wait(run.event), HEED_E_DEVICE_LOST);
    ck_assert_int_eq(make_buffer(8, &got), HEED_E_DEVICE_LOST);
    ck_assert_int_eq(world.offload->buf_read(&world.device, run.queue, &byte, run.memory, 0, 4,
                                             &world.detail), HEED_E_DEVICE_LOST);
    ck_assert_int_eq(world.offload->queue_create(&world.device, NULL, 0, &got, &world.detail),
                     HEED_E_DEVICE_LOST);
    ck_assert_int_eq(get_kernel(HEED_KERNEL_lanes_pack, 0, &got), HEED_E_DEVICE_LOST);
    ck_assert_ptr_null(got);
    ck_assert_int_eq(fake.calls, calls);
    run_end(&run);
}

int main(void)
{
    return suite_run("vendors", 240, NULL, world_end);
}
