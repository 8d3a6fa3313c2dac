/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The backends of both vendors when the driver fails, from a runtime's creation to its end: every
 * call of a program's life fails with every kind of code (where not all cases run: one of them in
 * turn), alone or with all that come after it. The status and the code are the right ones, outputs
 * stay as they were, nothing is left behind, the caller's context stays current, what is lost stays
 * lost and what is not can be used on.
 */
#include "lib/core/interop.h"
#include "vendor_world.h"

#include <heed/attn.h>

/* In place of the library's own, so that no driver of the machine has a part in this. */
extern const struct heed_backend heed_reference_backend;
const struct heed_backend *const heed_backends[] = { &heed_reference_backend, &heed_cuda_backend,
                                                     &heed_opencl_backend, NULL };
const struct heed_backend_absent heed_backends_absent[] = { { NULL, NULL } };

enum { HEADS = 2, ROWS = 80, DIM = 8, BYTES = HEADS * ROWS * DIM * 4, WRITTEN = 0x5a };
enum { Q, K, V, O, WORK, BUFFERS, SOURCES = 5 };

/* Kinds of life, to be combined. THEIRS: context, queue and an event of the caller's, and a
 * workspace; else all is heed's. OTHER: no embedded blob can be loaded (CUDA), kernels for many
 * buffers (OpenCL). */
enum { THEIRS = 1, OTHER = 2, KINDS = 4 };

static struct life {
    const struct vendor *v;
    int kind;
    void *context, *native_queue, *native_event;        /* the caller's */
    heed_runtime *runtime;
    heed_device *device;
    heed_plan *plan;
    heed_queue *queue;
    heed_event *before, *events[2];
    heed_buf bufs[BUFFERS];
    heed_attn_args args;
    heed_kv_bufs kv[SOURCES];
    heed_report why;
    bool spoiled;                               /* a run that failed has written outputs */
    long end;                                   /* calls before things were given back */
} life;

static struct ledger ledger;
static char heard[512];             /* lines of errors and warnings */

static void hear(void *context, uint32_t level, const char *text)
{
    const size_t used = strlen(heard);

    (void)context;
    if (level <= 2)
        snprintf(heard + used, sizeof(heard) - used, "%s\n", text);
}

/* The device is a right one: the self-test gets what it wants, and attention writes its output. */
static void compute(unsigned items, unsigned groups, const void *blob, void *output)
{
    compute_right(items, groups, blob, output);
    if (items > 1 && items != heed_kernel_threads(HEED_KERNEL_workgroup_prepare)) /* attention */
        memset(output, WRITTEN, BYTES);
}

/* ---- a life ---- */

/* What the caller has; nothing fails yet. */
static void prepare(int i)
{
    memset(&life, 0, sizeof(life));
    life.v = &vendors[i / KINDS];
    life.kind = i % KINDS;
    life.why.size = sizeof(life.why);
    for (int v = 0; v < VENDORS; v++)
        vendors[v].without("it is not here");
    life.v->reset();
    life.v->install();
    fake.launched = compute;
    fake_cuda.refuse_embedded = (life.kind & OTHER) != 0;
    fake_opencl.type = 4;                       /* a GPU */
    ledger_restart(&ledger);
    heard[0] = '\0';
    if (life.kind & THEIRS) {
        life.context = life.v->context();
        life.native_queue = life.v->queue(life.context);
        life.native_event = life.v->event(life.context, life.native_queue);
    }
    fake.calls = fake.counted = 0;
}

static heed_status make_runtime(void)
{
    const heed_allocator allocator = ledger_allocator(&ledger);
    const heed_logger logger = { .size = sizeof(logger), .level = 3, .line = hear };
    const heed_runtime_desc desc = {
        .size = sizeof(desc), .allocator = &allocator, .logger = &logger
    };

    return heed_runtime_create(&desc, &life.runtime, &life.why);
}

static heed_status make_device(void)
{
    char name[16];

    if (life.kind & THEIRS)
        return heed_interop_device(life.v->name, life.runtime, life.context, native_device(life.v),
                                   &life.device, &life.why);
    snprintf(name, sizeof(name), "%s:0", life.v->name);
    return heed_device_find(life.runtime, name, &life.device, &life.why);
}

/* With a list, so that two kernels run. */
static heed_status make_plan(void)
{
    static const int32_t entries[] = { 0, 5 };
    static const heed_term see[] = {
        { .kind = HEED_TERM_WINDOW, .left = 1, .right = 1 },
        { .kind = HEED_TERM_GLOBAL, .slot = 1 },
    };
    const heed_slot list = { .t = { HEED_I32, 2, { 1, 2 }, { 2, 1 } }, .data = entries };
    const heed_tensor t = heed_array4(HEED_F32, NULL, 1, HEADS, ROWS, DIM).t;
    const heed_source source = {
        .k = t, .v = t, .terms = see, .n_terms = 2, .term_size = sizeof(see[0])
    };
    const heed_source sources[SOURCES] = { source, source, source, source, source };
    const heed_attn_desc desc = {
        .size = sizeof(desc),
        .flags = life.kind & THEIRS ? 0 : HEED_PLAN_OWN_WORKSPACE,
        .q = t,
        .o = t,
        .sources = sources,
        .n_sources = life.v == &vendors[OPENCL] && life.kind & OTHER ? SOURCES : 1,
        .source_size = sizeof(source),
        .slots = &list,
        .n_slots = 1,
        .slot_size = sizeof(list),
    };

    return heed_attn_plan(life.device, &desc, &life.plan, &life.why);
}

static heed_status make_queue_and_event(void)
{
    heed_status status;

    if (!(life.kind & THEIRS))
        return heed_queue_create(life.device, 0, &life.queue, &life.why);
    status = heed_interop_queue(life.v->name, life.device, life.native_queue, &life.queue,
                                &life.why);
    if (status >= 0)
        status = heed_interop_event(life.v->name, life.device, life.native_event, &life.before,
                                    &life.why);
    return status;
}

static heed_status make_buffers(void)
{
    static const char zeros[BYTES];
    heed_plan_props props = { .size = sizeof(props) };
    heed_status status = heed_plan_info(life.plan, &props);

    for (int i = 0; i < BUFFERS && status >= 0; i++) {
        status = heed_buf_create(life.device, i == WORK ? props.workspace_size + 1 : BYTES,
                                 &life.bufs[i], NULL);
        if (status >= 0 && i != WORK)
            status = heed_buf_write(life.queue, life.bufs[i], zeros, BYTES, NULL);
    }
    for (int i = 0; i < SOURCES; i++)
        life.kv[i] = (heed_kv_bufs){ life.bufs[K], life.bufs[V] };
    life.args = (heed_attn_args){
        .size = sizeof(life.args),
        .kv_size = sizeof(life.kv[0]),
        .q = life.bufs[Q],
        .o = life.bufs[O],
        .workspace = life.bufs[WORK],
        .workspace_size = props.workspace_size,
        .kv = life.kv,
        .slots = &life.bufs[Q],         /* a constant one: not looked at */
        .n_slots = 1,
    };
    return status;
}

/* Outputs of a fake device can be looked at without asking it. */
static heed_status run_once(heed_event *before, heed_event **after)
{
    char *o = life.v->bytes(life.bufs[O].handle);
    heed_status status;

    memset(o, 0, BYTES);
    life.args.wait = &before;
    life.args.n_wait = before != NULL;
    status = heed_attn_run(life.plan, life.queue, &life.args, after, &life.why);
    life.spoiled = status < 0 && o[0] != 0;
    ck_assert(status < 0 || o[0] == WRITTEN);
    ck_assert(status >= 0 || *after == NULL);
    return status;
}

static heed_status live(void)
{
    char back[BYTES] = "";
    heed_status status = make_runtime();

    if (status >= 0)
        status = make_device();
    if (status >= 0)
        status = make_plan();
    if (status >= 0)
        status = make_queue_and_event();
    if (status >= 0)
        status = make_buffers();
    if (status >= 0)
        status = run_once(life.before, &life.events[0]);
    if (status >= 0)
        status = run_once(life.events[0], &life.events[1]);
    if (status >= 0)
        status = heed_event_wait(life.events[1], &life.why);
    if (status >= 0)
        status = heed_queue_wait(life.queue, NULL);
    if (status >= 0)
        status = heed_buf_read(life.queue, back, life.bufs[O], BYTES, NULL);
    ck_assert(status < 0 || back[BYTES - 1] == WRITTEN);
    life.end = fake.calls;
    return status;
}

/* Everything can be given back, whatever has happened. */
static void give_back(void)
{
    heed_event_destroy(life.before);
    heed_event_destroy(life.events[0]);
    heed_event_destroy(life.events[1]);
    for (int i = 0; i < BUFFERS; i++)
        heed_buf_destroy(life.device, life.bufs[i]);
    heed_plan_drop(life.plan);
    heed_queue_destroy(life.queue);
    heed_runtime_destroy(life.runtime);
}

/* gone: the context has taken with it what lived in it. */
static void expect_nothing_left(bool gone)
{
    fake_mend();
    if (gone)
        fake_cuda_context_lost();
    if (life.kind & THEIRS) {
        if (!gone)
            life.v->event_end(life.context, life.native_event);
        if (!gone)
            life.v->queue_end(life.context, life.native_queue);
        life.v->context_end(life.context);
    }
    ck_assert_msg(life.v->alive() == 0 && fake.mistakes == 0 && ledger.blocks == 0 &&
                      ledger.mistakes == 0,
                  "after %s: %ld alive, %ld mistakes (%s), %lld blocks", fake.failed,
                  life.v->alive(), fake.mistakes, fake.mistake, (long long)ledger.blocks);
}

/* ---- each call fails ---- */

static bool among(const char *call, const char *const *words)
{
    for (; *words != NULL; words++) {
        if (strncmp(call, *words, strlen(*words)) == 0)
            return true;
    }
    return false;
}

static bool begins(const char *word)
{
    return strncmp(fake.failed, word, strlen(word)) == 0;
}

/* What a call's code becomes; HEED_OK: any failure will do, of calls that count and describe. */
static heed_status becomes_opencl(int code)
{
    static const char *const waits[] = { "EnqueueWriteBuffer", "EnqueueReadBuffer", "Finish",
                                         "WaitForEvents", NULL };

    if (begins("GetPlatform") || begins("GetDevice"))
        return HEED_OK;
    if (code == HEED_CL_OUT_OF_RESOURCES && among(fake.failed, waits))
        return HEED_E_DEVICE;           /* a kernel crashed */
    return code == HEED_CL_OUT_OF_RESOURCES       ? HEED_E_DEVICE_NOMEM
           : code == HEED_CL_OUT_OF_HOST_MEMORY   ? HEED_E_NOMEM
           : code == HEED_CL_DEVICE_NOT_AVAILABLE ? HEED_E_DEVICE_LOST
                                                  : HEED_E_DEVICE;
}

static heed_status becomes_cuda(int code)
{
    if (begins("nvrtc"))
        return HEED_E_KERNEL_BUILD;
    if (begins("cuInit") || begins("cuDeviceGetCount"))
        return HEED_E_NOT_FOUND;
    if (code == HEED_CU_OUT_OF_MEMORY)
        return HEED_E_DEVICE_NOMEM;
    if (code == HEED_CU_ILLEGAL_ADDRESS || code == HEED_CU_CONTEXT_IS_DESTROYED)
        return HEED_E_DEVICE_LOST;
    return begins("cuModule") || begins("cuFunc") ? HEED_E_KERNEL_BUILD : HEED_E_DEVICE;
}

/* May the failed call go unnoticed? Giving back, waiting before that, what only tells people
 * something or names a file of the cache, and blobs for which NVRTC stands in. */
static bool needless_opencl(int code)
{
    static const char *const names[] = { "Release", "GetPlatformInfo", "GetDeviceInfo",
                                         "GetDeviceIDs", NULL };

    (void)code;
    if (begins("Finish"))             /* a queue's, before it is given back */
        return strncmp(fake.next, "Release", 7) == 0;
    if (begins("GetEventInfo"))       /* is the run before over? else it is waited for */
        return !(life.kind & THEIRS);
    return among(fake.failed, names);
}

static bool needless_cuda(int code)
{
    static const char *const names[] = {
        "cuStreamDestroy", "cuEventDestroy", "cuMemFree", "cuModuleUnload", "cuCtxPop",
        "cuDevicePrimaryCtxRelease", "nvrtcDestroyProgram", "nvrtcVersion",
        "cuDriverGetVersion", NULL,
    };
    static const char *const after_push[] = { "cuMemFree", "cuMemAlloc", NULL };

    if (among(fake.failed, names))
        return true;
    if (begins("cuStreamSync"))
        return strcmp(fake.next, "cuStreamDestroy") == 0;
    if (begins("cuCtxPush"))            /* the self-test's: others' come after life.end */
        return among(fake.next, after_push);
    return becomes_cuda(code) == HEED_E_KERNEL_BUILD && !begins("nvrtc") &&
           heed_cuda_cubins[0].name != NULL;
}

static const struct {
    int codes[5];
    heed_status (*becomes)(int code);
    bool (*needless)(int code);
    const char *late[4];            /* calls that may fail after the last launch was enqueued */
    const char *callers[5];         /* whose codes say nothing of the device */
} kinds_of[VENDORS] = {
    {
        .codes = { HEED_CL_DEVICE_NOT_AVAILABLE, HEED_CL_OUT_OF_RESOURCES,
                   HEED_CL_OUT_OF_HOST_MEMORY, -30, -59 },
        .becomes = becomes_opencl,
        .needless = needless_opencl,
        .late = { "Flush", "RetainEvent", NULL },
        .callers = { "GetCommandQueueInfo", "RetainCommandQueue", "GetEventInfo", "RetainEvent",
                     NULL },
    },
    {
        .codes = { 1, HEED_CU_OUT_OF_MEMORY, 3, HEED_CU_ILLEGAL_ADDRESS,
                   HEED_CU_CONTEXT_IS_DESTROYED },
        .becomes = becomes_cuda,
        .needless = needless_cuda,
        .late = { "cuEventRecord", NULL },
    },
};

/* The report, if the call that failed has one, holds the vendor's code, or its words. */
static void expect_report(heed_status status, int code)
{
    char number[32];

    if (life.why.status != status || status == HEED_E_NOT_FOUND || status == HEED_E_UNSUPPORTED)
        return;
    snprintf(number, sizeof(number), "%d", code);
    ck_assert_msg(life.why.native_code == code || strstr(life.why.message, number) != NULL ||
                      strstr(life.why.message, "kernel.cl(1): error: first") != NULL,
                  "%s, code %d: %s", fake.failed, code, life.why.message);
}

/* Nothing fails any more: what is lost stays so, all else goes on. */
static void expect_after(heed_status failure)
{
    const bool callers = among(fake.failed, kinds_of[life.v - vendors].callers);
    const heed_status wants =
        failure == HEED_E_DEVICE_LOST && !callers ? HEED_E_DEVICE_LOST : HEED_OK;
    heed_buf buf = { NULL, 0 };
    heed_status status;

    fake_mend();
    if (life.device == NULL)
        return;
    status = heed_buf_create(life.device, 8, &buf, NULL);
    ck_assert_msg(status == wants || callers, "after %s, %d: status %d", fake.failed, failure,
                  status);
    heed_buf_destroy(life.device, buf);
    if (status >= 0 && life.events[1] == NULL && life.bufs[WORK].handle != NULL) {
        heed_event_destroy(life.events[0]);
        life.events[0] = NULL;
        ck_assert_int_eq(run_once(NULL, &life.events[0]), HEED_OK);
    }
}

/* A life in which call k answers code; from: and all after it, but for entering and leaving the
 * context, without which nothing could be given back. False: there are not so many calls. */
static bool fail_at(long k, int code, bool from, int i)
{
    const int v = i / KINDS;
    heed_status status, wants;
    bool right;

    prepare(i);
    fake_cuda.count_contexts = !from;
    fake.fail_at = k;
    fake.fail_code = code;
    fake.poison = from;
    status = live();
    if (status >= 0) {
        right = fake.failed[0] == '\0' || k > life.end || kinds_of[v].needless(code);
    } else {
        wants = kinds_of[v].becomes(code);
        right = from || status == wants || wants == HEED_OK;
    }
    ck_assert_msg(right, "kind %d, call %ld (%s) code %d: status %d: %s", i, k, fake.failed, code,
                  status, life.why.message);
    ck_assert_msg(!life.spoiled || among(fake.failed, kinds_of[v].late) ||
                      (from && kinds_of[v].needless(code)),
                  "%s with %d: outputs are written", fake.failed, code);
    if (status < 0 && !from)
        expect_report(status, code);
    if (status < 0 && !from)
        expect_after(status);
    give_back();
    expect_nothing_left(v == CUDA && (code == HEED_CU_CONTEXT_IS_DESTROYED ||
                                      (begins("cuCtxPush") && status >= 0)));
    return fake.failed[0] != '\0';
}

LOOP_TEST(whatever_call_fails_all_is_well, 2 * VENDORS * KINDS)
{
    const int i = _i % (VENDORS * KINDS);
    const bool from = _i >= VENDORS * KINDS;

    for (int c = 0; c < (suite_all() ? 5 : 1); c += from ? 4 : 1) {
        long k = 1;

        while (fail_at(k, kinds_of[i / KINDS].codes[suite_all() ? c : (k + i) % 5], from, i))
            ck_assert_int_lt(++k, 4000);
        ck_assert_int_gt(k, 60);
    }
}

LOOP_TEST(whatever_allocation_fails_all_is_well, VENDORS * KINDS)
{
    long long requests;

    prepare(_i);
    ck_assert_msg(live() == HEED_OK, "%s", life.why.message);
    requests = ledger.requests;
    give_back();
    expect_nothing_left(false);
    for (long long k = 1; k <= requests; k++) {
        heed_status status;

        prepare(_i);
        atomic_store(&ledger.fail_at, k);
        status = live();
        ck_assert_msg(status == HEED_E_NOMEM, "request %lld of %lld: status %d: %s", k, requests,
                      status, life.why.message);
        ck_assert(!life.spoiled);
        give_back();
        expect_nothing_left(false);
    }
}

LOOP_TEST(logs_of_builds_are_in_the_report, VENDORS)
{
    prepare(_i * KINDS + OTHER);
    ck_assert_int_eq(make_runtime(), HEED_OK);
    ck_assert_int_eq(make_device(), HEED_OK);
    life.v->refuse_builds(true);
    ck_assert_int_eq(make_plan(), HEED_E_KERNEL_BUILD);
    ck_assert_int_eq(life.why.status, HEED_E_KERNEL_BUILD);
    ck_assert_ptr_nonnull(strstr(life.why.message, "kernel.cl(1): error: first"));
    ck_assert_ptr_nonnull(strstr(heard, "kernel.cl(1): error: first\n"));
    ck_assert_ptr_nonnull(strstr(heard, "and second\n"));
    ck_assert_ptr_null(life.plan);
    life.v->refuse_builds(false);
    ck_assert_int_eq(make_plan(), HEED_OK);     /* the device goes on */
    give_back();
    expect_nothing_left(false);
}

int main(void)
{
    return suite_run("vendor-faults", 240, NULL, NULL);
}
