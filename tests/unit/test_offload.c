/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Devices that are not the host's: when they are asked for and opened, their memory, queues and
 * events, and those over what the caller owns.
 */
#include "fake_offload.h"
#include "support/suite.h"

#include <pthread.h>

/* As in heed/opencl.h and heed/cuda.h, which are for those who have the vendor's. */
typedef struct _cl_context *cl_context;
typedef struct _cl_device_id *cl_device_id;
typedef struct _cl_command_queue *cl_command_queue;
typedef struct _cl_event *cl_event;
typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
heed_status heed_opencl_device(heed_runtime *, cl_context, cl_device_id, heed_device **,
                               heed_report *);
heed_status heed_opencl_queue(heed_device *, cl_command_queue, heed_queue **, heed_report *);
heed_status heed_opencl_event(heed_device *, cl_event, heed_event **, heed_report *);
heed_status heed_opencl_event_get(const heed_event *, cl_event *);
heed_status heed_cuda_device(heed_runtime *, CUcontext, int, heed_device **, heed_report *);
heed_status heed_cuda_queue(heed_device *, CUstream, heed_queue **, heed_report *);
heed_status heed_cuda_event(heed_device *, CUevent, heed_event **, heed_report *);
heed_status heed_cuda_event_get(const heed_event *, CUevent *);

/* ---- the list ---- */

TEST(nobody_asks_for_them_before_they_are_wanted)
{
    heed_device *device = find("reference");
    heed_queue *queue = make_queue(device);
    heed_device_props p = { .size = sizeof(p) };

    ck_assert_ptr_eq(find(NULL), device);
    ck_assert_ptr_eq(heed_device_get(rt, 0), device);
    ck_assert_int_eq(heed_device_info(device, &p), HEED_OK);
    ck_assert_int_eq(atomic_load(&fake.counts), 0);
    ck_assert_int_eq(atomic_load(&fake.describes), 0);
    heed_queue_destroy(queue);
    ck_assert_uint_eq(heed_device_count(rt), FAKE_ALL);
    ck_assert_uint_eq(heed_device_count(rt), FAKE_ALL);
    ck_assert_int_eq(heed_device_find(rt, "cuda:7", &device, &why), HEED_E_NOT_BUILT);
    ck_assert_int_eq(heed_device_find(rt, "opencl:77", &device, &why), HEED_E_NOT_FOUND);
    ck_assert_int_eq(atomic_load(&fake.describes), FAKE_OPENCL + 1);
    ck_assert_int_eq(atomic_load(&fake.opens), 0);
}

TEST(host_devices_come_first_and_places_stay)
{
    heed_device *first = heed_device_get(rt, 0);
    char name[32];

    for (uint32_t i = 0; i < FAKE_ALL; i++) {
        heed_device *device = heed_device_get(rt, i), *found = NULL;
        heed_device_props p = { .size = sizeof(p) };

        if (i == 0 || i == FAKE_ALL - 1)
            snprintf(name, sizeof(name), "%s", i == 0 ? "reference" : "cuda:0");
        else
            snprintf(name, sizeof(name), "opencl:%u", (unsigned)(i - 1));
        ck_assert_int_eq(heed_device_info(device, &p), HEED_OK);
        ck_assert_str_eq(p.name, name);
        ck_assert_uint_eq(p.size, sizeof(p));
        ck_assert_uint_eq(p.width, 1);
        ck_assert_uint_eq(p.kind, i == 0 ? HEED_DEVICE_REFERENCE
                                  : i == FAKE_ALL - 1 ? HEED_DEVICE_CUDA : HEED_DEVICE_OPENCL);
        ck_assert_int_eq(heed_device_find(rt, name, &found, &why), p.usable);
        ck_assert_ptr_eq(found, i == 3 ? NULL : device);
    }
    ck_assert_ptr_eq(heed_device_get(rt, 0), first);
    ck_assert_ptr_null(heed_device_get(rt, FAKE_ALL));
    ck_assert_ptr_null(heed_device_get(rt, UINT32_MAX));
    ck_assert_int_eq(atomic_load(&fake.opens), FAKE_ALL - 2);  /* opencl:2 said so before */
    ck_assert_int_eq(heed_device_find(rt, "opencl:2", &first, &why), HEED_E_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(why.message, "too old"));
}

TEST(a_backend_says_why_it_has_no_device)
{
    heed_device *device = NULL;

    fake.absent = 1;
    ck_assert_int_eq(heed_device_find(rt, "opencl:0", &device, &why), HEED_E_NOT_FOUND);
    ck_assert_str_eq(why.message, "opencl:0: there is no loader");
    ck_assert_int_eq(heed_device_find(rt, "opencls", &device, &why), HEED_E_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(why.message, "no device is called 'opencls', there are: "));
    ck_assert_ptr_nonnull(strstr(why.message, " reference"));
    ck_assert_uint_eq(heed_device_count(rt), 2);
}

LOOP_TEST(what_opens_a_device, 6)
{
    heed_device *device = heed_device_get(rt, 1);
    const heed_attn_desc desc = { .size = sizeof(desc) };
    heed_device_props p = { .size = sizeof(p) };
    heed_plan *plan = NULL;
    heed_queue *queue = NULL;
    heed_buf buf = { NULL, 0 };

    ck_assert_int_eq(atomic_load(&fake.opens), 0);
    switch (_i) {
    case 0: device = find("opencl:0"); break;
    case 1: ck_assert_int_eq(heed_device_info(device, &p), HEED_OK); break;
    case 2: queue = make_queue(device); break;
    case 3: ck_assert_int_eq(heed_buf_create(device, 4, &buf, NULL), HEED_OK); break;
    case 4: ck_assert_int_lt(heed_attn_check(device, &desc, &why), 0); break;
    default: ck_assert_int_lt(heed_attn_plan(device, &desc, &plan, &why), 0);
    }
    ck_assert_int_eq(atomic_load(&fake.opens), 1);
    ck_assert_int_eq(heed_device_info(device, &p), HEED_OK);
    ck_assert_uint_eq(p.memory, 12345);
    ck_assert_str_eq(p.reason, "it cannot add");
    ck_assert_int_eq(atomic_load(&fake.opens), 1);
    heed_queue_destroy(queue);
    heed_buf_destroy(device, buf);
    ck_assert_int_eq(atomic_load(&fake.closes), 0);
    heed_runtime_destroy(rt);
    ck_assert_int_eq(atomic_load(&fake.closes), 1);
    rt = make_runtime(NULL, NULL);
}

static void *find_from_thread(void *name)
{
    heed_device *device = NULL;

    return heed_device_find(rt, name, &device, NULL) == HEED_OK ? device : NULL;
}

TEST(four_threads_open_it_once)
{
    char name[] = "opencl:1";
    pthread_t threads[4];
    void *found[4];

    fake.slow = 1;
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, find_from_thread, name), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], &found[i]);
    for (int i = 0; i < 4; i++)
        ck_assert_ptr_eq(found[i], heed_device_get(rt, 2));
    ck_assert_int_eq(atomic_load(&fake.opens), 1);
    ck_assert_int_eq(atomic_load(&fake.describes), FAKE_OPENCL + 1);
}

TEST(a_device_that_cannot_be_opened_stays)
{
    static const char *const reasons[] = { "it could not be opened", "it is broken" };
    const heed_attn_desc desc = { .size = sizeof(desc) };
    heed_queue *queue = NULL;
    heed_plan *plan = NULL;
    heed_buf buf = { NULL, 0 };

    fake.open = HEED_E_DEVICE;
    for (uint32_t i = 0; i < 2; i++) {
        heed_device *device = heed_device_get(rt, 1 + i), *found = NULL;
        heed_device_props p = { .size = sizeof(p) };

        ck_assert_int_eq(heed_device_info(device, &p), HEED_OK);
        ck_assert_int_eq(p.usable, HEED_E_DEVICE);
        ck_assert_str_eq(p.reason, reasons[i]);
        ck_assert_int_eq(heed_device_find(rt, p.name, &found, &why), HEED_E_DEVICE);
        ck_assert_ptr_nonnull(strstr(why.message, reasons[i]));
        ck_assert_int_eq(heed_queue_create(device, 0, &queue, &why), HEED_E_DEVICE);
        ck_assert_int_eq(heed_buf_create(device, 4, &buf, NULL), HEED_E_DEVICE);
        ck_assert_int_eq(heed_attn_check(device, &desc, &why), HEED_E_DEVICE);
        ck_assert_int_eq(heed_attn_plan(device, &desc, &plan, &why), HEED_E_DEVICE);
    }
    ck_assert_uint_eq(heed_device_count(rt), FAKE_ALL);
    ck_assert_int_eq(atomic_load(&fake.opens), 2);
    heed_runtime_destroy(rt);
    ck_assert_int_eq(atomic_load(&fake.closes), 0);
    rt = make_runtime(NULL, NULL);
}

static char last_line[256];

static void keep_line(void *context, uint32_t level, const char *text)
{
    (void)context;
    snprintf(last_line, sizeof(last_line), "%u %s", (unsigned)level, text);
}

TEST(backends_get_a_log_and_a_folder)
{
    const heed_logger logger = { .size = sizeof(logger), .level = 3, .line = keep_line };
    char folder[] = "/somewhere/else";
    const struct heed_services *s;

    heed_runtime_destroy(rt);
    rt = make_runtime(&logger, folder);
    memset(folder, 'x', sizeof(folder) - 1);            /* a copy was taken */
    find("opencl:0");
    s = fake.services;
    ck_assert_str_eq(s->cache_dir, "/somewhere/else");
    s->log(s->runtime, 3, "one\ntwo\t%s");
    ck_assert_str_eq(last_line, "3 one two %s");
    s->log(s->runtime, 4, "not this");
    ck_assert_str_eq(last_line, "3 one two %s");
    heed_runtime_destroy(rt);
    rt = make_runtime(NULL, NULL);
    find("opencl:0");
    ck_assert_ptr_null(fake.services->cache_dir);
    fake.services->log(rt, 1, "nowhere to go");
}

/* ---- memory, queues ---- */

LOOP_TEST(buffers_are_the_backends, 2)
{
    heed_device *device = find(kinds[_i]);
    heed_queue *queue = make_queue(device);
    heed_buf buf = { NULL, 5 }, none = { NULL, 0 }, at;
    const int handles = device->backend->offload->handles != 0;
    char text[16] = "";

    ck_assert_int_eq(heed_buf_create(device, 64, &buf, NULL), HEED_OK);
    ck_assert_uint_eq(buf.offset, 0);
    at = buf;
    at.offset = 7;
    ck_assert_int_eq(heed_buf_write(queue, at, "attend", 6, NULL), HEED_OK);
    at.offset = 8;
    ck_assert_int_eq(heed_buf_read(queue, text, at, 4, NULL), HEED_OK);
    ck_assert_str_eq(text, "tten");
    ck_assert_int_eq(heed_buf_write(queue, none, NULL, 0, NULL), HEED_OK);
    ck_assert_int_eq(heed_buf_write(queue, none, text, 1, NULL), HEED_E_NULL);
    ck_assert_int_eq(heed_buf_read(queue, NULL, buf, 1, NULL), HEED_E_NULL);
    at.offset = UINT64_MAX;
    ck_assert_int_eq(heed_buf_read(queue, text, at, 1, NULL), HEED_E_OVERFLOW);
    at.offset = handles ? UINT64_MAX - 4 : UINT64_MAX - (uintptr_t)buf.handle;
    ck_assert_int_eq(heed_buf_read(queue, text, at, 5, NULL), HEED_E_OVERFLOW);
    ck_assert_int_eq(fake.reads, 1);
    fake.transfer = HEED_E_DEVICE_LOST;
    ck_assert_int_eq(heed_buf_write(queue, buf, text, 1, NULL), HEED_E_DEVICE_LOST);
    ck_assert_int_eq(heed_buf_read(queue, text, buf, 1, NULL), HEED_E_DEVICE_LOST);
    heed_buf_destroy(device, buf);
    heed_buf_destroy(device, none);
    fake.create = HEED_E_DEVICE_NOMEM;
    buf = none;
    ck_assert_int_eq(heed_buf_create(device, 64, &buf, NULL), HEED_E_DEVICE_NOMEM);
    ck_assert_int_eq(heed_buf_create(device, UINT64_MAX, &buf, NULL), HEED_E_DEVICE_NOMEM);
    ck_assert_int_eq(heed_buf_create(device, 64, NULL, NULL), HEED_E_NULL);
    ck_assert_ptr_null(buf.handle);
    heed_queue_destroy(queue);
}

LOOP_TEST(queues_are_the_backends, 2)
{
    heed_device *device = find(kinds[_i]);
    heed_queue *queue = make_queue(device);

    ck_assert_int_eq(fake.has_native, 0);
    ck_assert_ptr_eq(heed_queue_device(queue), device);
    ck_assert_int_eq(heed_queue_wait(queue, NULL), HEED_OK);
    fake.wait = HEED_E_DEVICE_LOST;
    ck_assert_int_eq(heed_queue_wait(queue, NULL), HEED_E_DEVICE_LOST);
    ck_assert_int_eq(fake.queue_waits, 2);
    heed_queue_destroy(queue);
    fake.queue = HEED_E_DEVICE;
    fill_detail(-5, "out of\nqueues");
    queue = NULL;
    ck_assert_int_eq(heed_queue_create(device, 0, &queue, &why), HEED_E_DEVICE);
    ck_assert_int_eq(why.native_code, -5);
    ck_assert_ptr_nonnull(strstr(why.message, ": out of queues"));
    ck_assert_ptr_null(queue);
    ck_assert_int_eq(heed_queue_create(device, 1, &queue, &why), HEED_E_FLAG);
    ck_assert_int_eq(why.native_code, 0);
}

/* ---- the caller's own objects ---- */

static char objects[4];

#define OBJECT(i) ((void *)&objects[i])

TEST(opencl_objects_are_wrapped)
{
    heed_device *device = NULL;
    heed_queue *queue = NULL;
    heed_event *event = NULL;
    cl_event native = NULL;
    heed_device_props p = { .size = sizeof(p) };

    ck_assert_int_eq(heed_opencl_device(rt, OBJECT(0), OBJECT(1), &device, &why), HEED_OK);
    ck_assert_ptr_eq(fake.native, OBJECT(1));
    ck_assert_int_eq(heed_device_info(device, &p), HEED_OK);
    ck_assert_uint_eq(p.kind, HEED_DEVICE_OPENCL);
    ck_assert_str_ne(p.name, "");
    ck_assert_uint_eq(p.width, 1);
    ck_assert_int_eq(p.usable, HEED_OK);
    ck_assert_int_eq(atomic_load(&fake.opens), 0);
    ck_assert_uint_eq(heed_device_count(rt), FAKE_ALL);
    ck_assert_int_eq(heed_opencl_queue(device, OBJECT(2), &queue, &why), HEED_OK);
    ck_assert_ptr_eq(fake.native, OBJECT(2));
    ck_assert_int_eq(fake.has_native, 1);
    ck_assert_int_eq(heed_opencl_event(device, OBJECT(3), &event, &why), HEED_OK);
    ck_assert_ptr_eq(fake.native, OBJECT(3));
    ck_assert_int_eq(heed_opencl_event_get(event, &native), HEED_OK);
    ck_assert_ptr_nonnull(native);
    fake.event = HEED_E_DEVICE;
    ck_assert_int_eq(heed_opencl_event_get(event, &native), HEED_E_DEVICE);
    ck_assert_int_eq(heed_event_wait(event, &why), HEED_OK);
    heed_event_destroy(event);
    heed_queue_destroy(queue);
    heed_runtime_destroy(rt);
    ck_assert_int_eq(atomic_load(&fake.closes), 1);
    rt = make_runtime(NULL, NULL);
}

TEST(cuda_objects_are_wrapped)
{
    heed_device *device = NULL;
    heed_queue *queue = NULL;
    heed_event *event = NULL;
    CUevent native = NULL;

    ck_assert_int_eq(heed_cuda_device(rt, OBJECT(0), 3, &device, &why), HEED_OK);
    ck_assert_uint_eq((uintptr_t)fake.native, 3);
    ck_assert_int_eq(heed_cuda_queue(device, NULL, &queue, &why), HEED_OK);
    ck_assert_ptr_null(fake.native);
    ck_assert_int_eq(fake.has_native, 1);
    ck_assert_int_eq(heed_cuda_event(device, OBJECT(3), &event, &why), HEED_OK);
    ck_assert_int_eq(heed_cuda_event_get(event, &native), HEED_OK);
    ck_assert_ptr_nonnull(native);
    ck_assert_int_eq(heed_opencl_event_get(event, (cl_event *)&native), HEED_E_MISMATCH);
    heed_event_destroy(event);
    heed_queue_destroy(queue);
    ck_assert_int_eq(heed_cuda_device(rt, OBJECT(0), -1, &device, &why), HEED_E_VALUE);
    ck_assert_str_eq(why.field, "ordinal");
}

TEST(wrong_objects_are_refused)
{
    heed_device *device = NULL, *cuda = find("cuda:0"), *opencl = find("opencl:0");
    heed_device *host = find("reference");
    heed_queue *queue = NULL;
    heed_event *event = NULL;
    cl_event native = NULL;
    const long long held = atomic_load(&ledger.blocks);

    ck_assert_int_eq(heed_opencl_device(NULL, OBJECT(0), OBJECT(1), &device, &why), HEED_E_NULL);
    ck_assert_int_eq(heed_opencl_device(rt, NULL, OBJECT(1), &device, &why), HEED_E_NULL);
    ck_assert_int_eq(heed_opencl_device(rt, OBJECT(0), NULL, &device, &why), HEED_E_NULL);
    ck_assert_str_eq(why.field, "id");
    ck_assert_int_eq(heed_opencl_device(rt, OBJECT(0), OBJECT(1), NULL, &why), HEED_E_NULL);
    ck_assert_int_eq(heed_opencl_queue(cuda, OBJECT(2), &queue, &why), HEED_E_MISMATCH);
    ck_assert_int_eq(heed_opencl_queue(host, OBJECT(2), &queue, &why), HEED_E_MISMATCH);
    ck_assert_str_eq(why.field, "device");
    ck_assert_int_eq(heed_opencl_queue(opencl, NULL, &queue, &why), HEED_E_NULL);
    ck_assert_int_eq(heed_opencl_queue(NULL, OBJECT(2), &queue, &why), HEED_E_NULL);
    ck_assert_int_eq(heed_opencl_queue(opencl, OBJECT(2), NULL, &why), HEED_E_NULL);
    ck_assert_int_eq(heed_cuda_queue(opencl, NULL, &queue, &why), HEED_E_MISMATCH);
    ck_assert_int_eq(heed_opencl_event(cuda, OBJECT(3), &event, &why), HEED_E_MISMATCH);
    ck_assert_int_eq(heed_opencl_event(opencl, NULL, &event, &why), HEED_E_NULL);
    ck_assert_int_eq(heed_cuda_event(cuda, NULL, &event, &why), HEED_E_NULL);
    ck_assert_int_eq(heed_opencl_event_get(NULL, &native), HEED_E_NULL);
    fill_detail(-33, "no such device");
    fake.wrap = HEED_E_DEVICE;
    ck_assert_int_eq(heed_opencl_device(rt, OBJECT(0), OBJECT(1), &device, &why), HEED_E_DEVICE);
    ck_assert_int_eq(why.native_code, -33);
    ck_assert_ptr_nonnull(strstr(why.message, ": no such device"));
    fake.event = HEED_E_MISMATCH;
    ck_assert_int_eq(heed_opencl_event(opencl, OBJECT(3), &event, &why), HEED_E_MISMATCH);
    fake.queue = HEED_E_MISMATCH;
    ck_assert_int_eq(heed_opencl_queue(opencl, OBJECT(2), &queue, &why), HEED_E_MISMATCH);
    ck_assert_ptr_null(device);
    ck_assert_ptr_null(queue);
    ck_assert_ptr_null(event);
    ck_assert_int_eq(atomic_load(&ledger.blocks), held);
}

/* In a build without the backend the functions are there and say so. */
TEST(absent_backends_are_named)
{
    heed_device *device = NULL, *host = find("reference");
    heed_queue *queue = NULL;
    heed_event *event = NULL;
    CUevent native = NULL;

    fake_cuda.prefix = fake_opencl.prefix = "another";
    ck_assert_int_eq(heed_cuda_device(rt, OBJECT(0), 0, &device, &why), HEED_E_NOT_BUILT);
    ck_assert_str_eq(why.message, "left out of this test");
    ck_assert_int_eq(heed_cuda_queue(host, NULL, &queue, &why), HEED_E_NOT_BUILT);
    ck_assert_int_eq(heed_cuda_event(host, OBJECT(0), &event, &why), HEED_E_NOT_BUILT);
    ck_assert_int_eq(heed_cuda_event_get(host->done, &native), HEED_E_NOT_BUILT);
    ck_assert_int_eq(heed_opencl_device(rt, OBJECT(0), OBJECT(1), &device, &why),
                     HEED_E_NOT_BUILT);
    ck_assert_str_ne(why.message, "");
}

TEST(events_left_over_are_logged)
{
    const heed_logger logger = { .size = sizeof(logger), .level = 2, .line = keep_line };
    heed_event *event = NULL;
    heed_device *device = NULL;

    heed_runtime_destroy(rt);
    rt = make_runtime(&logger, NULL);
    ck_assert_int_eq(heed_opencl_device(rt, OBJECT(0), OBJECT(1), &device, &why), HEED_OK);
    ck_assert_int_eq(heed_opencl_event(device, OBJECT(3), &event, &why), HEED_OK);
    ck_assert_int_eq(heed_context_events(rt), 1);
    heed_event_destroy(event);
    ck_assert_int_eq(heed_opencl_event(find("opencl:0"), OBJECT(3), &event, &why), HEED_OK);
    ck_assert_int_eq(heed_context_events(rt), 1);
    heed_event_destroy(event);
    ck_assert_int_eq(heed_context_events(rt), 0);
}

/* Without memory for them the list is the host's; later it is whole. */
TEST(the_list_survives_a_lack_of_memory)
{
    heed_device *found = NULL;

    atomic_store(&ledger.fail_from, 1);
    ck_assert_uint_eq(heed_device_count(rt), 1);
    ck_assert_ptr_null(heed_device_get(rt, 1));
    ck_assert_int_eq(heed_device_find(rt, "opencl:0", &found, &why), HEED_E_NOMEM);
    ck_assert_int_eq(heed_device_find(rt, "reference", &found, &why), HEED_OK);
    ck_assert_int_eq(atomic_load(&fake.describes), 0);
    ledger_restart(&ledger);
    ck_assert_uint_eq(heed_device_count(rt), FAKE_ALL);
    ck_assert_int_eq(heed_device_find(rt, "opencl:0", &found, &why), HEED_OK);
}

int main(void)
{
    return suite_run("offload", 60, set_up, tear_down);
}
