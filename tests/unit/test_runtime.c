/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Status names, reports, runtimes and their hooks, devices, executors, buffers, queues.
 */
#include "lib/core/context.h"
#include "lib/core/error.h"
#include "lib/core/executor.h"
#include "lib/core/sized.h"
#include "support/ledger.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static heed_report why;

static void set_up(void)
{
    memset(&why, 0, sizeof(why));
    why.size = sizeof(why);
}

static heed_runtime *make_runtime(const heed_runtime_desc *desc)
{
    heed_runtime *rt = NULL;

    ck_assert_int_eq(heed_runtime_create(desc, &rt, &why), HEED_OK);
    ck_assert_int_eq(why.status, HEED_OK);
    ck_assert_str_eq(why.message, "");
    return rt;
}

/* ---- status and report ---- */

TEST(every_status_has_a_name_of_its_own)
{
    static const heed_status known[] = {
        HEED_OK, HEED_R_COMPOSED, HEED_E_NULL, HEED_E_SIZE, HEED_E_NEWER, HEED_E_FLAG,
        HEED_E_VALUE, HEED_E_SHAPE, HEED_E_STRIDE, HEED_E_DTYPE, HEED_E_ALIGN, HEED_E_ALIAS,
        HEED_E_OVERFLOW, HEED_E_AMBIGUOUS, HEED_E_INDEX, HEED_E_WORKSPACE, HEED_E_MISMATCH,
        HEED_E_UNSUPPORTED, HEED_E_NOT_BUILT, HEED_E_NOT_FOUND, HEED_E_NOMEM,
        HEED_E_DEVICE_NOMEM, HEED_E_BUSY, HEED_E_DEVICE_LOST, HEED_E_KERNEL_BUILD, HEED_E_DEVICE,
        HEED_E_INTERNAL,
    };
    enum { N = sizeof(known) / sizeof(known[0]) };

    for (int i = 0; i < N; i++) {
        ck_assert_int_eq(strncmp(heed_status_name(known[i]), "HEED_", 5), 0);
        for (int k = 0; k < i; k++)
            ck_assert_str_ne(heed_status_name(known[i]), heed_status_name(known[k]));
    }
    ck_assert_str_eq(heed_status_name(HEED_E_SHAPE), "HEED_E_SHAPE");
    ck_assert_str_eq(heed_status_name(-12345), heed_status_name(12345));
    ck_assert_uint_eq(heed_version(), HEED_VERSION_MAJOR << 16 | HEED_VERSION_MINOR << 8 |
                                          HEED_VERSION_PATCH);
}

/* For every stated size: bytes beyond it stay, bytes inside that heed does not know become 0. */
TEST(report_is_written_within_its_size)
{
    enum { ROOM = sizeof(heed_report) + 64 };

    for (uint32_t size = 0; size <= ROOM - 8; size++) {
        _Alignas(heed_report) unsigned char bytes[ROOM];
        heed_report *report = (heed_report *)(void *)bytes;
        uint32_t kept;

        memset(bytes, 0xee, sizeof(bytes));
        report->size = size;
        ck_assert_int_eq(heed_report_fill(report, HEED_E_SHAPE, "q.shape[1]", 3, 4, "three"),
                         HEED_E_SHAPE);
        kept = size < HEED_REPORT_V1 ? 4 : size;
        for (uint32_t i = kept; i < ROOM; i++)
            ck_assert_uint_eq(bytes[i], 0xee);
        for (uint32_t i = sizeof(heed_report); i < kept; i++)
            ck_assert_uint_eq(bytes[i], 0);
        ck_assert_uint_eq(report->size, size);
        if (size < HEED_REPORT_V1)
            continue;
        ck_assert_int_eq(report->status, HEED_E_SHAPE);
        ck_assert_int_eq(report->wanted, 3);
        ck_assert_int_eq(report->got, 4);
        ck_assert_str_eq(report->field, "q.shape[1]");
        ck_assert_str_eq(report->message, "three");
        ck_assert_int_eq(heed_report_ok(report), HEED_OK);
        ck_assert_int_eq(report->status, HEED_OK);
        ck_assert_int_eq(report->wanted, 0);
        ck_assert_str_eq(report->field, "");
        ck_assert_str_eq(report->message, "");
    }
    ck_assert_int_eq(heed_report_fill(NULL, HEED_E_NULL, NULL, 0, 0, "x"), HEED_E_NULL);
    ck_assert_int_eq(heed_report_ok(NULL), HEED_OK);
}

TEST(report_text_is_one_cut_plain_line)
{
    char text[1000];

    memset(text, 'a', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    heed_report_fill(&why, HEED_E_VALUE, text, 0, 0, "%s", text);
    ck_assert_uint_eq(strlen(why.field), sizeof(why.field) - 1);
    ck_assert_uint_eq(strlen(why.message), sizeof(why.message) - 1);
    heed_report_fill(&why, HEED_E_VALUE, NULL, 0, 0, "a\nb\tc\x1b\xff");
    ck_assert_str_eq(why.field, "");
    ck_assert_str_eq(why.message, "a b c??");
}

/* ---- runtime ---- */

static void in_turn(void *context, uint32_t width, void (*body)(void *arg, uint32_t worker),
                    void *arg)
{
    ++*(int *)context;
    for (uint32_t worker = width; worker-- > 0;)
        body(arg, worker);
}

static char last_line[256];

static void keep_line(void *context, uint32_t level, const char *text)
{
    (void)context;
    snprintf(last_line, sizeof(last_line), "%u %s", (unsigned)level, text);
}

/* Refused with a full report, before anything was asked of the allocator. */
static void refused(const heed_runtime_desc *desc, struct ledger *ledger, heed_status status,
                    const char *field)
{
    heed_runtime *rt = NULL;

    set_up();
    ck_assert_int_eq(heed_runtime_create(desc, &rt, &why), status);
    ck_assert_int_eq(why.status, status);
    ck_assert_str_eq(why.field, field);
    ck_assert_str_ne(why.message, "");
    ck_assert_ptr_null(rt);
    ck_assert_int_eq(heed_runtime_create(desc, &rt, NULL), status);
    ck_assert_int_eq(atomic_load(&ledger->requests), 0);
}

TEST(hooks_are_checked)
{
    struct ledger ledger = { 0 };
    int calls = 0;
    struct {
        heed_runtime_desc desc;
        uint64_t tail;
    } d = { { .size = sizeof(d) }, 0 };
    heed_allocator a = ledger_allocator(&ledger);
    heed_executor e = { .size = sizeof(e), .width = 2, .context = &calls, .parallel = in_turn };
    heed_logger l = { .size = sizeof(l), .level = 4, .line = keep_line };
    heed_runtime *rt = NULL;

    d.desc.allocator = &a;
    d.desc.executor = &e;
    d.desc.logger = &l;
    d.tail = 1;
    refused(&d.desc, &ledger, HEED_E_NEWER, "desc");
    d.tail = 0;
    d.desc.size = HEED_RUNTIME_DESC_V1 - 1;
    refused(&d.desc, &ledger, HEED_E_SIZE, "desc");
    d.desc.size = sizeof(d);
    d.desc.flags = 4;
    refused(&d.desc, &ledger, HEED_E_FLAG, "flags");
    d.desc.flags = 0;
    a.size--;
    refused(&d.desc, &ledger, HEED_E_SIZE, "allocator");
    a.size++;
    a.reserved = 9;
    refused(&d.desc, &ledger, HEED_E_VALUE, "allocator.reserved");
    a.reserved = 0;
    a.alloc = NULL;
    refused(&d.desc, &ledger, HEED_E_NULL, "allocator.alloc");
    a = ledger_allocator(&ledger);
    a.free = NULL;
    refused(&d.desc, &ledger, HEED_E_NULL, "allocator.free");
    a = ledger_allocator(&ledger);
    e.size--;
    refused(&d.desc, &ledger, HEED_E_SIZE, "executor");
    e.size++;
    e.width = 0;
    refused(&d.desc, &ledger, HEED_E_VALUE, "executor.width");
    e.width = 2;
    l.size--;
    refused(&d.desc, &ledger, HEED_E_SIZE, "logger");
    l.size++;
    l.line = NULL;
    refused(&d.desc, &ledger, HEED_E_NULL, "logger.line");
    l.line = keep_line;
    ck_assert_int_eq(heed_runtime_create(&d.desc, NULL, &why), HEED_E_NULL);
    rt = make_runtime(&d.desc);
    ck_assert_int_gt(atomic_load(&ledger.blocks), 0);
    heed_runtime_destroy(rt);
    ck_assert_int_eq(atomic_load(&ledger.blocks), 0);
    ck_assert_int_eq(atomic_load(&ledger.mistakes), 0);
    heed_runtime_destroy(NULL);
}

/* ---- devices ---- */

TEST(devices_have_names_and_are_found_by_them)
{
    heed_runtime *rt = make_runtime(NULL);
    const uint32_t n = rt->n_devices;       /* the host's: others depend on the machine */
    uint32_t references = 0;
    heed_device *device;

    ck_assert_uint_ge(n, 1);
    for (uint32_t i = 0; i < n; i++) {
        heed_device_props p = { .size = sizeof(p) };
        heed_status status;

        ck_assert_int_eq(heed_device_info(heed_device_get(rt, i), &p), HEED_OK);
        ck_assert_str_ne(p.name, "");
        ck_assert_str_eq(heed_device_name(heed_device_get(rt, i)), p.name);
        ck_assert_uint_ge(p.width, 1);
        ck_assert_uint_eq(p.size, sizeof(p));
        references += p.kind == HEED_DEVICE_REFERENCE;
        device = NULL;
        status = heed_device_find(rt, p.name, &device, &why);
        ck_assert_int_eq(status, p.usable >= 0 ? HEED_OK : p.usable);
        ck_assert_ptr_eq(device, p.usable >= 0 ? heed_device_get(rt, i) : NULL);
        if (p.usable < 0) {
            ck_assert_str_ne(p.reason, "");
            ck_assert_ptr_nonnull(strstr(why.message, p.reason));
        }
    }
    ck_assert_uint_eq(references, 1);
    ck_assert_int_eq(heed_device_find(rt, "reference", &device, &why), HEED_OK);
    ck_assert_int_eq(heed_device_find(rt, NULL, &device, &why), HEED_OK);
    ck_assert_ptr_null(heed_device_get(rt, heed_device_count(rt)));
    ck_assert_ptr_null(heed_device_get(NULL, 0));
    ck_assert_ptr_null(heed_device_name(NULL));
    ck_assert_uint_eq(heed_device_count(NULL), 0);
    heed_runtime_destroy(rt);
}

/* A name of a backend that this build has is only not found. */
static heed_status wanted_of(const char *name, heed_status wanted)
{
    for (size_t i = 0; heed_backends_absent[i].prefix != NULL; i++) {
        if (strncmp(name, heed_backends_absent[i].prefix, 4) == 0)
            return wanted;
    }
    return HEED_E_NOT_FOUND;
}

TEST(devices_that_are_not_there_say_so)
{
    static const struct {
        const char *name;
        heed_status status;
    } cases[] = {
        { "opencl:999", HEED_E_NOT_BUILT }, { "cuda:999", HEED_E_NOT_BUILT },
        { "cuda", HEED_E_NOT_BUILT }, { "cudas", HEED_E_NOT_FOUND }, { "", HEED_E_NOT_FOUND },
        { "Reference", HEED_E_NOT_FOUND }, { "cpu:nothing", HEED_E_NOT_FOUND },
        { "reference ", HEED_E_NOT_FOUND }, { "\n\xff", HEED_E_NOT_FOUND },
    };
    heed_runtime *rt = make_runtime(NULL);
    heed_device *device = NULL;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const heed_status wanted = wanted_of(cases[i].name, cases[i].status);

        ck_assert_int_eq(heed_device_find(rt, cases[i].name, &device, &why), wanted);
        ck_assert_int_eq(why.status, wanted);
        ck_assert_str_eq(why.field, "name");
        ck_assert_str_ne(why.message, "");
        ck_assert_ptr_null(device);
    }
    ck_assert_int_eq(heed_device_find(NULL, NULL, &device, &why), HEED_E_NULL);
    ck_assert_int_eq(heed_device_find(rt, NULL, NULL, &why), HEED_E_NULL);
    heed_runtime_destroy(rt);
}

TEST(unusable_devices_make_nothing)
{
    heed_runtime *rt = make_runtime(NULL);
    heed_device lame = *heed_device_get(rt, 0);
    const heed_attn_desc desc = { .size = sizeof(desc) };
    heed_plan *plan = NULL;
    heed_queue *queue = NULL;
    heed_buf buf = { NULL, 0 };

    lame.props.usable = HEED_E_UNSUPPORTED;
    snprintf(lame.props.reason, sizeof(lame.props.reason), "one leg is missing");
    ck_assert_int_eq(heed_queue_create(&lame, 0, &queue, &why), HEED_E_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(why.message, "one leg is missing"));
    ck_assert_int_eq(heed_attn_check(&lame, &desc, &why), HEED_E_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(why.message, "one leg is missing"));
    ck_assert_int_eq(heed_attn_plan(&lame, &desc, &plan, &why), HEED_E_UNSUPPORTED);
    ck_assert_int_eq(heed_buf_create(&lame, 4, &buf, NULL), HEED_E_UNSUPPORTED);
    ck_assert_ptr_null(queue);
    ck_assert_ptr_null(plan);
    ck_assert_ptr_null(buf.handle);
    heed_runtime_destroy(rt);
}

TEST(device_info_is_written_within_its_size)
{
    enum { ROOM = sizeof(heed_device_props) + 32 };
    heed_runtime *rt = make_runtime(NULL);
    heed_device *device = heed_device_get(rt, 0);
    _Alignas(heed_device_props) unsigned char bytes[ROOM];
    heed_device_props *p = (heed_device_props *)(void *)bytes;

    for (uint32_t size = 0; size <= ROOM - 8; size++) {
        const uint32_t kept = size < HEED_DEVICE_PROPS_V1 ? 4 : size;

        memset(bytes, 0xee, sizeof(bytes));
        p->size = size;
        ck_assert_int_eq(heed_device_info(device, p),
                         size < HEED_DEVICE_PROPS_V1 ? HEED_E_SIZE : HEED_OK);
        for (uint32_t i = kept; i < ROOM; i++)
            ck_assert_uint_eq(bytes[i], 0xee);
        for (uint32_t i = sizeof(*p); i < kept; i++)
            ck_assert_uint_eq(bytes[i], 0);
        ck_assert_uint_eq(p->size, size);
    }
    ck_assert_int_eq(heed_device_info(NULL, p), HEED_E_NULL);
    ck_assert_int_eq(heed_device_info(device, NULL), HEED_E_NULL);
    heed_runtime_destroy(rt);
}

/* ---- executor ---- */

struct workers {
    atomic_int seen[512];
};

static void mark_lane(void *arg, uint32_t worker)
{
    struct workers *workers = arg;

    atomic_fetch_add(&workers->seen[worker], 1);
}

TEST(each_lane_runs_once)
{
    static const uint32_t widths[] = { 0, 1, 2, 3, 8, 64, 500, UINT32_MAX };

    for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
        const heed_executor given = { .size = sizeof(given), .width = widths[i] };
        heed_executor e, *own;
        struct workers workers = { { 0 } };

        ck_assert_int_eq(heed_executor_take(&e, &own, &given, &heed_alloc_default, &why), HEED_OK);
        ck_assert_uint_ge(e.width, 1);
        ck_assert_ptr_nonnull((void *)(uintptr_t)e.parallel);
        if (widths[i] != 0)
            ck_assert_uint_le(e.width, widths[i]);
        ck_assert_uint_le(e.width, 512);
        e.parallel(e.context, e.width, mark_lane, &workers);
        for (uint32_t worker = 0; worker < 512; worker++)
            ck_assert_int_eq(atomic_load(&workers.seen[worker]), worker < e.width);
        heed_executor_destroy(own);
    }
}

TEST(callers_executor_is_taken_as_it_is)
{
    int calls = 0;
    const heed_executor given = { sizeof(given), 3, &calls, in_turn };
    const heed_runtime_desc desc = { .size = sizeof(desc), .executor = &given };
    heed_runtime *rt = make_runtime(&desc);
    const heed_executor *e = rt->services.executor;
    struct workers workers = { { 0 } };

    ck_assert_uint_eq(e->width, 3);
    e->parallel(e->context, e->width, mark_lane, &workers);
    ck_assert_int_eq(calls, 1);
    ck_assert_int_eq(atomic_load(&workers.seen[2]), 1);
    for (uint32_t i = 0; i < rt->n_devices; i++) {
        heed_device_props p = { .size = sizeof(p) };

        ck_assert_int_eq(heed_device_info(heed_device_get(rt, i), &p), HEED_OK);
        ck_assert_uint_eq(p.width, p.kind == HEED_DEVICE_REFERENCE ? 1 : 3);
    }
    heed_runtime_destroy(rt);
}

/* ---- memory and queues ---- */

TEST(buffers_hold_what_was_written)
{
    struct ledger ledger = { 0 };
    const heed_allocator a = ledger_allocator(&ledger);
    const heed_runtime_desc desc = { .size = sizeof(desc), .allocator = &a };
    heed_runtime *rt = make_runtime(&desc);
    heed_device *device = heed_device_get(rt, 0);
    const long long before = atomic_load(&ledger.blocks);
    heed_queue *queue = NULL;
    heed_buf buf = { NULL, 5 }, none = { NULL, 0 }, at;
    char text[16] = "", full[32];

    ck_assert_int_eq(heed_queue_create(device, 0, &queue, &why), HEED_OK);
    ck_assert_int_eq(heed_buf_create(device, 32, &buf, NULL), HEED_OK);
    ck_assert_uint_eq((uintptr_t)buf.handle % 64, 0);
    ck_assert_uint_eq(buf.offset, 0);
    memset(full, 'x', sizeof(full));
    ck_assert_int_eq(heed_buf_write(queue, buf, full, sizeof(full), NULL), HEED_OK);
    at = buf;
    at.offset = 7;
    ck_assert_int_eq(heed_buf_write(queue, at, "attend", 6, NULL), HEED_OK);
    at.offset = 6;
    ck_assert_int_eq(heed_buf_read(queue, text, at, 8, NULL), HEED_OK);
    ck_assert_str_eq(text, "xattendx");
    ck_assert_int_eq(heed_buf_write(queue, none, NULL, 0, NULL), HEED_OK);
    ck_assert_int_eq(heed_buf_write(queue, none, text, 1, NULL), HEED_E_NULL);
    ck_assert_int_eq(heed_buf_read(queue, NULL, buf, 1, &why), HEED_E_NULL);
    ck_assert_int_eq(heed_buf_read(NULL, text, buf, 1, NULL), HEED_E_NULL);
    at.offset = UINT64_MAX - 2;
    ck_assert_int_eq(heed_buf_read(queue, text, at, 1, NULL), HEED_E_OVERFLOW);
    at.offset = 0;
    ck_assert_int_eq(heed_buf_read(queue, text, at, UINT64_MAX, NULL), HEED_E_OVERFLOW);
    heed_buf_destroy(device, buf);
    heed_buf_destroy(device, none);
    heed_buf_destroy(NULL, none);
    ck_assert_int_eq(heed_buf_create(device, 0, &buf, NULL), HEED_OK);
    heed_buf_destroy(device, buf);
    heed_queue_destroy(queue);
    ck_assert_int_eq(atomic_load(&ledger.blocks), before);
    ck_assert_int_eq(atomic_load(&ledger.mistakes), 0);
    heed_runtime_destroy(rt);
}

TEST(buffers_that_cannot_be_say_so)
{
    heed_runtime *rt = make_runtime(NULL);
    heed_device *device = heed_device_get(rt, 0);
    heed_buf buf = { NULL, 5 };

    ck_assert_int_eq(heed_buf_create(device, UINT64_MAX, &buf, NULL), HEED_E_NOMEM);
    ck_assert_int_eq(heed_buf_create(device, UINT64_MAX / 2, &buf, &why), HEED_E_NOMEM);
    ck_assert_str_eq(why.field, "bytes");
    ck_assert_int_eq(heed_buf_create(NULL, 4, &buf, NULL), HEED_E_NULL);
    ck_assert_ptr_null(buf.handle);
    ck_assert_uint_eq(buf.offset, 5);
    heed_runtime_destroy(rt);
}

TEST(queues_know_their_device)
{
    heed_runtime *rt = make_runtime(NULL);
    heed_device *device = heed_device_get(rt, rt->n_devices - 1);
    heed_queue *queue = NULL;

    ck_assert_int_eq(heed_queue_create(device, 1, &queue, &why), HEED_E_FLAG);
    ck_assert_str_eq(why.field, "flags");
    ck_assert_int_eq(why.got, 1);
    ck_assert_int_eq(heed_queue_create(NULL, 0, &queue, &why), HEED_E_NULL);
    ck_assert_int_eq(heed_queue_create(device, 0, NULL, &why), HEED_E_NULL);
    ck_assert_ptr_null(queue);
    ck_assert_int_eq(heed_queue_create(device, 0, &queue, &why), HEED_OK);
    ck_assert_ptr_eq(heed_queue_device(queue), device);
    ck_assert_int_eq(heed_queue_wait(queue, NULL), HEED_OK);
    heed_queue_destroy(queue);
    heed_queue_destroy(NULL);
    ck_assert_ptr_null(heed_queue_device(NULL));
    ck_assert_int_eq(heed_queue_wait(NULL, NULL), HEED_E_NULL);
    ck_assert_int_eq(heed_event_wait(NULL, &why), HEED_E_NULL);
    ck_assert_int_eq(why.status, HEED_E_NULL);
    heed_event_destroy(NULL);
    heed_runtime_destroy(rt);
}

TEST(events_left_over_are_logged)
{
    const heed_logger quiet = { .size = sizeof(quiet), .level = 1, .line = keep_line };
    heed_logger loud = quiet;
    heed_runtime_desc desc = { .size = sizeof(desc), .logger = &quiet };
    heed_runtime *rt = make_runtime(&desc);

    atomic_fetch_add(&rt->events[0].handed_out, 1);
    last_line[0] = '\0';
    heed_runtime_destroy(rt);
    ck_assert_str_eq(last_line, "");
    loud.level = 2;
    desc.logger = &loud;
    rt = make_runtime(&desc);
    atomic_fetch_add(&rt->events[0].handed_out, 2);
    ck_assert_int_eq(heed_event_wait(&rt->events[0], &why), HEED_OK);
    heed_event_destroy(&rt->events[0]);
    heed_runtime_destroy(rt);
    ck_assert_int_eq(strncmp(last_line, "2 ", 2), 0);
    ck_assert_ptr_nonnull(strstr(last_line, " 1 event"));
}

int main(void)
{
    return suite_run("runtime", 0, set_up, NULL);
}
