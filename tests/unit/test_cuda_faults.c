/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The CUDA backend when the driver or NVRTC fails, from a runtime's creation to its end: every call
 * of a program's life fails with every kind of code, alone or with all that come after it. The
 * status and the code are the right ones, outputs stay as they were, nothing is left behind, the
 * caller's context stays current, what is lost stays lost and what is not can be used on.
 */
#define _POSIX_C_SOURCE 200809L     /* truncate */

#include "backends/device/cache.h"
#include "backends/device/selftest.h"
#include "backends/kernels/image.h"
#include "backends/kernels/selftest.h"
#include "cuda_world.h"

#include <dirent.h>
#include <heed/attn.h>
#include <unistd.h>

/* As in heed/cuda.h, which is for those who have the vendor's. */
typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
heed_status heed_cuda_device(heed_runtime *, CUcontext, int, heed_device **, heed_report *);
heed_status heed_cuda_queue(heed_device *, CUstream, heed_queue **, heed_report *);
heed_status heed_cuda_event(heed_device *, CUevent, heed_event **, heed_report *);

/* In place of the library's own, so that no other vendor's driver has a part in this. */
extern const struct heed_backend heed_reference_backend;
const struct heed_backend *const heed_backends[] = { &heed_reference_backend, &heed_cuda_backend,
                                                     NULL };
const struct heed_backend_absent heed_backends_absent[] = { { NULL, NULL } };

enum { HEADS = 2, ROWS = 8, DIM = 8, BYTES = HEADS * ROWS * DIM * 4, WRITTEN = 0x5a };
enum { Q, K, V, O, WORK, BUFFERS };

/* Kinds of life, to be combined. THEIRS: context, stream and an event of the caller's, and a
 * workspace; else all is heed's. NVRTC: no embedded image can be loaded. */
enum { THEIRS = 1, NVRTC = 2, KINDS = 4 };

static struct hk_test_input inputs[HEED_TEST_GROUPS];
static uint32_t wanted[HEED_TEST_GROUPS * HK_TEST_WORDS];

static struct life {
    uint32_t kind;
    void *context, *stream, *event;             /* the caller's */
    heed_runtime *runtime;
    heed_device *device;
    heed_plan *plan;
    heed_queue *queue;
    heed_event *before, *events[2];
    heed_buf bufs[BUFFERS];
    heed_attn_args args;
    heed_kv_bufs kv;
    heed_report why;
    bool spoiled;                               /* a run that failed has written outputs */
    long end;                                   /* calls before things were given back */
} life;

static char folder[64];             /* of the cache; "": none */
static char heard[512];             /* lines of errors and warnings */

static void hear(void *context, uint32_t level, const char *text)
{
    const size_t used = strlen(heard);

    (void)context;
    if (level <= 2)
        snprintf(heard + used, sizeof(heard) - used, "%s\n", text);
}

/* The device is a right one: the self-test gets what it wants, and attention writes its output. */
static void compute(const struct fake_cuda_launch *launch)
{
    if (launch->block == 1 && launch->grid == HEED_TEST_GROUPS)
        memcpy(launch->pointers[1], wanted, sizeof(wanted));
    else if (launch->block == HEED_GROUP_ITEMS)
        memset(launch->pointers[1], WRITTEN, BYTES);
}

/* ---- a life ---- */

/* What the caller has; nothing fails yet. */
static void prepare(uint32_t kind)
{
    memset(&life, 0, sizeof(life));
    life.kind = kind;
    life.why.size = sizeof(life.why);
    fake_cuda_reset();
    fake_cuda.launched = compute;
    fake_cuda.refuse_embedded = (kind & NVRTC) != 0;
    ledger_restart(&ledger);
    if (kind & THEIRS) {
        life.context = fake_cuda_context();
        ck_assert_int_eq(fake_cuda_driver.stream_create(&life.stream, 1), 0);
        ck_assert_int_eq(fake_cuda_driver.event_create(&life.event, 2), 0);
    }
    fake_cuda.calls = 0;
}

static heed_status make_runtime(void)
{
    const heed_allocator allocator = ledger_allocator(&ledger);
    const heed_logger logger = { .size = sizeof(logger), .level = 3, .line = hear };
    const heed_runtime_desc desc = {
        .size = sizeof(desc), .allocator = &allocator, .logger = &logger, .cache_dir = folder
    };

    return heed_runtime_create(&desc, &life.runtime, &life.why);
}

static heed_status make_device(void)
{
    if (!(life.kind & THEIRS))
        return heed_device_find(life.runtime, "cuda:0", &life.device, &life.why);
    return heed_cuda_device(life.runtime, life.context, 0, &life.device, &life.why);
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
    const heed_attn_desc desc = {
        .size = sizeof(desc),
        .flags = life.kind & THEIRS ? 0 : HEED_PLAN_OWN_WORKSPACE,
        .q = t,
        .o = t,
        .sources = &source,
        .n_sources = 1,
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
    status = heed_cuda_queue(life.device, life.stream, &life.queue, &life.why);
    if (status >= 0)
        status = heed_cuda_event(life.device, life.event, &life.before, &life.why);
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
    life.kv = (heed_kv_bufs){ life.bufs[K], life.bufs[V] };
    life.args = (heed_attn_args){
        .size = sizeof(life.args),
        .kv_size = sizeof(life.kv),
        .q = life.bufs[Q],
        .o = life.bufs[O],
        .workspace = life.bufs[WORK],
        .workspace_size = props.workspace_size,
        .kv = &life.kv,
        .slots = &life.bufs[Q],         /* a constant one: not looked at */
        .n_slots = 1,
    };
    return status;
}

/* Outputs of the fake device can be looked at without asking it. */
static heed_status run_once(heed_event *before, heed_event **after)
{
    char *o = life.bufs[O].handle;
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
    life.end = fake_cuda.calls;
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

static void nothing_fails(void)
{
    fake_cuda.fail_at = 0;
    fake_cuda.poisoned = 0;
}

/* gone: the context has taken with it what lived in it. */
static void expect_nothing_left(bool gone)
{
    nothing_fails();
    if (gone) {
        fake_cuda_context_lost();
    } else if (life.kind & THEIRS) {
        ck_assert_int_eq(fake_cuda_driver.event_destroy(life.event), 0);
        ck_assert_int_eq(fake_cuda_driver.stream_destroy(life.stream), 0);
    }
    if (life.kind & THEIRS)
        fake_cuda_context_end();
    ck_assert_msg(fake_cuda_alive() == 0 && fake_cuda.mistakes == 0 && ledger.blocks == 0 &&
                      ledger.mistakes == 0,
                  "after %s: %ld alive, %ld mistakes (%s), %lld blocks", fake_cuda.failed,
                  fake_cuda_alive(), fake_cuda.mistakes, fake_cuda.mistake,
                  (long long)ledger.blocks);
}

/* ---- each call fails ---- */

static bool begins(const char *word)
{
    return strncmp(fake_cuda.failed, word, strlen(word)) == 0;
}

static bool loses(int code)
{
    return code == HEED_CU_ILLEGAL_ADDRESS || code == HEED_CU_CONTEXT_IS_DESTROYED;
}

/* What a call's code becomes. */
static heed_status becomes(int code)
{
    if (begins("nvrtc"))
        return HEED_E_KERNEL_BUILD;
    if (begins("cuInit") || begins("cuDeviceGetCount"))
        return HEED_E_NOT_FOUND;
    if (code == HEED_CU_OUT_OF_MEMORY)
        return HEED_E_DEVICE_NOMEM;
    if (loses(code))
        return HEED_E_DEVICE_LOST;
    return begins("cuModule") || begins("cuFunc") ? HEED_E_KERNEL_BUILD : HEED_E_DEVICE;
}

/* May the failed call go unnoticed? Giving back, waiting before that, what only names a file of the
 * cache, and images for which NVRTC stands in. */
static bool needless(int code, long k)
{
    static const char *const names[] = {
        "cuStreamDestroy", "cuEventDestroy", "cuMemFree", "cuModuleUnload", "cuCtxPop",
        "cuDevicePrimaryCtxRelease", "nvrtcDestroyProgram", "nvrtcVersion",
    };

    if (k > life.end)
        return true;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (begins(names[i]))
            return true;
    }
    if (begins("cuStreamSync"))
        return strcmp(fake_cuda.next, "cuStreamDestroy") == 0;
    if (begins("cuCtxPush"))            /* the self-test's: others' come after life.end */
        return strcmp(fake_cuda.next, "cuMemFree") == 0 ||
               strcmp(fake_cuda.next, "cuMemAlloc") == 0;
    return becomes(code) == HEED_E_KERNEL_BUILD && !begins("nvrtc") &&
           heed_cuda_images[0].name != NULL;
}

/* The report, if the call that failed has one, holds the vendor's code, or its words. */
static void expect_report(heed_status status, int code)
{
    char number[32];

    if (life.why.status != status || status == HEED_E_NOT_FOUND)
        return;
    snprintf(number, sizeof(number), "error %d", code);
    ck_assert_msg(life.why.native_code == code || strstr(life.why.message, number) != NULL ||
                      strstr(life.why.message, "kernel.cl(1): error: first") != NULL,
                  "%s, code %d: %s", fake_cuda.failed, code, life.why.message);
}

/* Nothing fails any more: what is lost stays so, all else goes on. */
static void expect_after(heed_status failure)
{
    const heed_status wants = failure == HEED_E_DEVICE_LOST ? failure : HEED_OK;
    heed_buf buf = { NULL, 0 };
    heed_status status;

    nothing_fails();
    if (life.device == NULL)
        return;
    status = heed_buf_create(life.device, 8, &buf, NULL);
    ck_assert_msg(status == wants, "after %s, %d: status %d", fake_cuda.failed, failure, status);
    heed_buf_destroy(life.device, buf);
    if (status >= 0 && life.events[1] == NULL && life.bufs[WORK].handle != NULL) {
        heed_event_destroy(life.events[0]);
        life.events[0] = NULL;
        ck_assert_int_eq(run_once(NULL, &life.events[0]), HEED_OK);
    }
}

/* A life in which call k answers code; from: and all after it, but for entering and leaving the
 * context, without which nothing could be given back. False: there are not so many calls. */
static bool fail_at(long k, int code, bool from, uint32_t kind)
{
    bool right;
    heed_status status;

    prepare(kind);
    fake_cuda.count_contexts = !from;
    fake_cuda.fail_at = k;
    fake_cuda.fail_code = code;
    fake_cuda.poison = from;
    status = live();
    right = status >= 0 ? fake_cuda.failed[0] == '\0' || needless(code, k)
                        : from || status == becomes(code);
    ck_assert_msg(right, "kind %u, call %ld (%s) code %d: status %d: %s", kind, k,
                  fake_cuda.failed, code, status, life.why.message);
    ck_assert_msg(!life.spoiled || begins("cuEventRecord"), "%s with %d: outputs are written",
                  fake_cuda.failed, code);
    if (status < 0)
        expect_report(status, code);
    if (status < 0 && !from)
        expect_after(status);
    give_back();
    expect_nothing_left(code == HEED_CU_CONTEXT_IS_DESTROYED ||
                        (begins("cuCtxPush") && status >= 0));
    return fake_cuda.failed[0] != '\0';
}

START_TEST(whatever_call_fails_all_is_well)
{
    static const int codes[] = { 1, HEED_CU_OUT_OF_MEMORY, 3, HEED_CU_ILLEGAL_ADDRESS,
                                 HEED_CU_CONTEXT_IS_DESTROYED };
    const uint32_t kind = (uint32_t)_i % KINDS;
    const bool from = _i >= KINDS;

    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        long k = 1;

        while (fail_at(k, codes[i], from, kind))
            ck_assert_int_lt(++k, 2000);
        ck_assert_int_gt(k, 60);
    }
}
END_TEST

START_TEST(whatever_allocation_fails_all_is_well)
{
    long long requests;

    prepare((uint32_t)_i);
    ck_assert_msg(live() == HEED_OK, "%s", life.why.message);
    requests = ledger.requests;
    give_back();
    expect_nothing_left(false);
    for (long long k = 1; k <= requests; k++) {
        heed_status status;

        prepare((uint32_t)_i);
        atomic_store(&ledger.fail_at, k);
        status = live();
        ck_assert_msg(status == HEED_E_NOMEM, "request %lld of %lld: status %d: %s", k, requests,
                      status, life.why.message);
        ck_assert(!life.spoiled);
        give_back();
        expect_nothing_left(false);
    }
}
END_TEST

/* ---- no device ---- */

static void expect_no_device(const char *reason)
{
    heed_device *found = NULL;

    life.runtime = NULL;
    ck_assert_int_eq(make_runtime(), HEED_OK);
    ck_assert_int_eq(heed_device_find(life.runtime, "cuda:0", &found, &life.why),
                     HEED_E_NOT_FOUND);
    ck_assert_msg(strstr(life.why.message, reason) != NULL, "%s", life.why.message);
    life.context = fake_cuda_context();
    ck_assert_int_eq(heed_cuda_device(life.runtime, life.context, 0, &found, &life.why),
                     HEED_E_NOT_FOUND);
    ck_assert_msg(strstr(life.why.message, reason) != NULL, "%s", life.why.message);
    ck_assert_ptr_null(found);
    fake_cuda_context_end();
    give_back();
    expect_nothing_left(false);
}

START_TEST(without_driver_or_device_there_is_a_reason)
{
    prepare(0);
    fake_cuda.devices = 0;
    expect_no_device("the CUDA driver knows no device");
    heed_cuda_api_set(NULL, "no CUDA driver (libcuda.so.1) found");
    expect_no_device("no CUDA driver (libcuda.so.1) found");
}
END_TEST

/* ---- kernels that cannot be built ---- */

static void expect_build_failure(heed_status status)
{
    ck_assert_int_eq(status, HEED_E_KERNEL_BUILD);
    ck_assert_int_eq(life.why.status, HEED_E_KERNEL_BUILD);
    ck_assert_msg(strstr(life.why.message, "kernel.cl(1): error: first") != NULL, "%s",
                  life.why.message);
    ck_assert_ptr_nonnull(strstr(heard, "kernel.cl(1): error: first\n"));
    ck_assert_ptr_nonnull(strstr(heard, "and second\n"));
}

START_TEST(logs_of_builds_are_in_the_report)
{
    heard[0] = '\0';
    prepare(NVRTC);
    fake_cuda.compile_code = 6;
    expect_build_failure(live());
    give_back();
    expect_nothing_left(false);

    /* Also when the device is open: it goes on. */
    heard[0] = '\0';
    prepare(NVRTC);
    ck_assert_int_eq(make_runtime(), HEED_OK);
    ck_assert_int_eq(make_device(), HEED_OK);
    fake_cuda.compile_code = 6;
    expect_build_failure(make_plan());
    ck_assert_int_eq(life.why.native_code, 6);
    ck_assert_ptr_null(life.plan);
    fake_cuda.compile_code = 0;
    ck_assert_int_eq(make_plan(), HEED_OK);
    give_back();
    expect_nothing_left(false);
}
END_TEST

/* ---- the cache ---- */

/* Does `what`, if not NULL, to every file of the cache; how many there are. */
static int each_file(void (*what)(const char *path))
{
    DIR *open = opendir(folder);
    struct dirent *entry;
    char path[400];
    int n = 0;

    ck_assert_ptr_nonnull(open);
    while ((entry = readdir(open)) != NULL) {
        snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        if (entry->d_name[0] == '.')
            continue;
        n++;
        if (what)
            what(path);
    }
    closedir(open);
    return n;
}

static void flip(const char *path)
{
    FILE *file = fopen(path, "r+b");

    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fseek(file, HEED_CACHE_HEADER + 2, SEEK_SET), 0);
    ck_assert_int_eq(fputc('!', file), '!');
    ck_assert_int_eq(fclose(file), 0);
}

static void cut(const char *path)
{
    ck_assert_int_eq(truncate(path, HEED_CACHE_HEADER + 3), 0);
}

static void empty(const char *path)
{
    ck_assert_int_eq(truncate(path, 0), 0);
}

static void discard(const char *path)
{
    ck_assert_int_eq(remove(path), 0);
}

/* A life that compiles so many kernels. */
static void expect_compiles(long n)
{
    prepare(NVRTC);
    ck_assert_msg(live() == HEED_OK, "%s", life.why.message);
    ck_assert_int_eq(fake_cuda.compiles, n);
    give_back();
    expect_nothing_left(false);
}

START_TEST(damaged_files_of_the_cache_are_made_anew)
{
    static void (*const damages[])(const char *) = { flip, cut, empty, discard };
    long n;
    snprintf(folder, sizeof(folder), "cuda-faults-%ld", (long)getpid());
    prepare(NVRTC);
    ck_assert_int_eq(live(), HEED_OK);
    n = fake_cuda.compiles;
    give_back();
    expect_nothing_left(false);
    ck_assert_int_eq(n, 3);             /* self-test, prepare, attention */
    ck_assert_int_eq(each_file(NULL), n);
    expect_compiles(0);
    for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
        ck_assert_int_eq(each_file(damages[i]), n);
        expect_compiles(n);
        expect_compiles(0);
    }
    ck_assert_int_eq(each_file(discard), n);
    ck_assert_int_eq(rmdir(folder), 0);
}
END_TEST

static void begin(void)
{
    fake_cuda_reset();
    fake_cuda_install();
}

int main(void)
{
    TCase *tcase = tcase_create("faults");
    Suite *suite = suite_create("cuda-faults");
    SRunner *runner;
    int failed;

    heed_self_test_inputs(inputs);
    heed_self_test_expect(inputs, HEED_TEST_GROUPS, wanted);
    tcase_add_checked_fixture(tcase, begin, fake_cuda_uninstall);
    tcase_set_timeout(tcase, 240);
    tcase_add_loop_test(tcase, whatever_call_fails_all_is_well, 0, 2 * KINDS);
    tcase_add_loop_test(tcase, whatever_allocation_fails_all_is_well, 0, KINDS);
    tcase_add_test(tcase, without_driver_or_device_there_is_a_reason);
    tcase_add_test(tcase, logs_of_builds_are_in_the_report);
    tcase_add_test(tcase, damaged_files_of_the_cache_are_made_anew);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
