/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Small structured problems of every operation on the backends of OpenCL and CUDA, over drivers
 * of the tests' own, whose kernels compute nothing, from a runtime's creation to its end. One
 * call of the driver fails, alone or with all that come after it, or one allocation does.
 * Promised and asked for here: a documented status, and a report that has it; no plan, event or
 * buffer beside an error; inputs and what lies between the elements of outputs unchanged; no use
 * of what is dead, nothing left in the driver or of the memory; what is lost stays lost, and
 * after any other failure the device goes on as if nothing had been. Where nothing fails, the
 * device says of a problem what the reference says, but for its own limits.
 *
 * An input is five bytes, which say the driver and what fails, and a problem as fuzz_run has it.
 */
#include "arrays.h"
#include "fuzz.h"
#include "world.h"

#include "backends/cuda/api.h"
#include "backends/opencl/api.h"
#include "backends/opencl/gemm.h"
#include "support/fake_cublaslt.h"
#include "support/fake_cuda.h"
#include "support/fake_opencl.h"
#include "support/fake_right.h"

#include <stdlib.h>
#include <string.h>

enum { HEAD = 5, BUFFERS_MOST = JOB_PLAN_OPERANDS + 1, WORKSPACE_MOST = 1 << 24 };
enum { BAD_ALLOCATIONS = 64 };
/* Bits of the first byte. */
enum { IS_CUDA = 1, FOR_GOOD = 2, FROM_THE_START = 4, NO_BLOB = 8, TWICE = 16 };

static struct {
    struct fuzz_heap heap;
    struct fuzz_case c;
    struct fuzz_arrays arrays;
    heed_runtime *runtime;
    heed_device *device;
    heed_plan *plan;
    heed_queue *queue;
    heed_event *event;
    heed_buf bufs[BUFFERS_MOST];
    uint32_t n_bufs;
    heed_report report;
    bool runs; /* the last life came to its end */
} w;

static bool documented(heed_status status)
{
    return strcmp(heed_status_name(status), "unknown status") != 0;
}

/* ---- the drivers -------------------------------------------------------- */

static const int codes[2][4] = {
    { HEED_CL_DEVICE_NOT_AVAILABLE, HEED_CL_OUT_OF_RESOURCES, HEED_CL_OUT_OF_HOST_MEMORY, -59 },
    { 1, HEED_CU_OUT_OF_MEMORY, 3, HEED_CU_ILLEGAL_ADDRESS },
};

/* Behind the backends; nothing fails yet. */
static void driver_start(uint8_t how)
{
    heed_opencl_api_set(NULL, "it is not here");
    heed_cuda_api_set(NULL, "it is not here");
    if (how & IS_CUDA) {
        fake_cuda_reset();
        fake_cuda_install();
        fake_cublaslt_reset();
        fake_cuda.refuse_embedded = (how & NO_BLOB) != 0;
    } else {
        fake_opencl_reset();
        fake_opencl.type = 4; /* a GPU */
        heed_opencl_api_set(fake_opencl_api(), NULL);
        heed_clblast_set(NULL, "it is not here");
    }
    fake.launched = compute_right;
}

static void driver_end(uint8_t how)
{
    FUZZ_REQUIRE((how & IS_CUDA ? fake_cuda_alive() : fake_alive()) == 0,
                 "after %s objects of the driver are left", fake.failed);
    FUZZ_REQUIRE(fake.mistakes == 0, "after %s: %s is given what is dead", fake.failed,
                 fake.mistake);
    if (how & IS_CUDA)
        fake_cuda_uninstall();
    else
        fake_opencl_reset();
}

static void fail_later(const uint8_t *head)
{
    const uint32_t call = head[1] | (uint32_t)(head[2] & 1) << 8;

    fake.counted = 0;
    fake.fail_at = (long)call;
    fake.fail_code = codes[head[0] & IS_CUDA][head[3] % 4];
    fake.poison = (head[0] & FOR_GOOD) != 0;
    w.heap.fail_at = head[4] < BAD_ALLOCATIONS ? head[4] : 0;
}

static void mend(void)
{
    fake_mend();
    w.heap.fail_at = 0;
}

/* ---- a life ------------------------------------------------------------- */

static heed_status device_make(uint8_t how)
{
    const heed_allocator allocator = fuzz_heap_hook(&w.heap);
    const heed_executor executor = { .size = sizeof(executor), .width = 1 };
    const heed_runtime_desc desc = { .size = sizeof(desc),
                                     .allocator = &allocator,
                                     .executor = &executor };
    heed_status status = heed_runtime_create(&desc, &w.runtime, &w.report);

    FUZZ_REQUIRE((status < 0) == (w.runtime == NULL), "heed_runtime_create answers %d", status);
    if (status < 0)
        return status;
    status =
        heed_device_find(w.runtime, how & IS_CUDA ? "cuda:0" : "opencl:0", &w.device, &w.report);
    FUZZ_REQUIRE((status < 0) == (w.device == NULL), "heed_device_find answers %d", status);
    return status;
}

/* A buffer with the bytes of an operand. */
static heed_status upload(const struct fuzz_array *x, heed_buf *at)
{
    heed_buf *const buf = &w.bufs[w.n_bufs++];
    heed_status status = heed_buf_create(w.device, x->size ? x->size : 1, buf, &w.report);

    FUZZ_REQUIRE((status < 0) == (buf->handle == NULL), "heed_buf_create answers %d", status);
    if (status >= 0 && x->size)
        status = heed_buf_write(w.queue, *buf, x->place, x->size, &w.report);
    *at = *buf;
    at->offset += (uint64_t)(x->origin - x->place);
    return status;
}

static heed_status upload_all(heed_buf at[JOB_PLAN_OPERANDS], int *n, heed_run *run,
                              const struct fuzz_array *of[BUFFERS_MOST])
{
    heed_plan_props props = { .size = sizeof(props) };
    int order[JOB_PLAN_OPERANDS];
    heed_status status = heed_queue_create(w.device, 0, &w.queue, &w.report);

    FUZZ_REQUIRE((status < 0) == (w.queue == NULL), "heed_queue_create answers %d", status);
    *n = job_order(w.c.job, w.plan, order);
    FUZZ_REQUIRE(*n >= 0 && heed_plan_info(w.plan, &props) == HEED_OK, "a plan says nothing");
    for (int i = 0; i < *n && status >= 0; i++) {
        const struct fuzz_array *const x = order[i] >= 0 ? &w.arrays.at[order[i]] : NULL;

        at[i] = (heed_buf){ 0 };
        if (!x || !x->place || x->x->constant)
            continue;
        of[w.n_bufs] = x;
        status = upload(x, &at[i]);
    }
    if (status < 0 || props.workspace_size == 0 || props.workspace_size > WORKSPACE_MOST)
        return status < 0 || props.workspace_size == 0 ? status : HEED_E_NOMEM;
    of[w.n_bufs] = NULL;
    status = heed_buf_create(w.device, props.workspace_size, &w.bufs[w.n_bufs++], &w.report);
    run->workspace = w.bufs[w.n_bufs - 1];
    run->workspace_size = props.workspace_size;
    return status;
}

/* What lies in a buffer is what was put there, in the elements of outputs, too: the kernels of
 * these drivers write nothing. */
static heed_status read_back(const struct fuzz_array *const of[BUFFERS_MOST])
{
    heed_status status = HEED_OK;

    for (uint32_t i = 0; i < w.n_bufs && status >= 0; i++) {
        uint8_t *taken;

        if (!of[i] || of[i]->size == 0)
            continue;
        taken = fuzz_copy(NULL, of[i]->size);
        status = heed_buf_read(w.queue, taken, w.bufs[i], of[i]->size, &w.report);
        for (size_t b = 0; b < of[i]->size && status >= 0; b++)
            FUZZ_REQUIRE(taken[b] == of[i]->before[b] || of[i]->written[b],
                         "op=%s: byte %zu of %s differs", cf_op->name, b, of[i]->x->name);
        free(taken);
    }
    return status;
}

static heed_status run_once(const heed_buf *at, int n, heed_run *run)
{
    heed_event *before = w.event;
    heed_status status;

    w.event = NULL;
    run->wait = &before;
    run->n_wait = before != NULL;
    status = heed_plan_run(w.plan, w.queue, at, (uint32_t)n, run, &w.event, &w.report);
    heed_event_destroy(before);
    FUZZ_REQUIRE((status < 0) == (w.event == NULL), "heed_plan_run answers %d", status);
    FUZZ_REQUIRE(w.report.status == status, "run answers %d, the report %d", status,
                 w.report.status);
    return status;
}

static heed_status plan_run(uint8_t how)
{
    const struct fuzz_array *of[BUFFERS_MOST] = { NULL };
    heed_buf at[JOB_PLAN_OPERANDS];
    heed_run run = { 0 };
    int n;
    heed_status status = upload_all(at, &n, &run, of);

    for (int i = 0; i < (how & TWICE ? 2 : 1) && status >= 0; i++)
        status = run_once(at, n, &run);
    if (status >= 0)
        status = heed_event_wait(w.event, &w.report);
    if (status >= 0)
        status = heed_queue_wait(w.queue, &w.report);
    if (status >= 0)
        status = read_back(of);
    w.runs = status >= 0;
    return status;
}

/* Gives back what plan_do has made; whatever has happened, that may be done. */
static void plan_end(void)
{
    heed_event_destroy(w.event);
    for (uint32_t i = 0; i < w.n_bufs; i++) {
        heed_buf_destroy(w.device, w.bufs[i]);
        w.bufs[i] = (heed_buf){ 0 };
    }
    heed_plan_drop(w.plan);
    heed_queue_destroy(w.queue);
    w.event = NULL;
    w.n_bufs = 0;
    w.plan = NULL;
    w.queue = NULL;
}

/* A plan of the problem, and a run where there is something to run. */
static heed_status plan_do(uint8_t how)
{
    heed_status status = w.c.job->plan(w.device, w.c.job->desc, &w.plan, &w.report);

    FUZZ_REQUIRE((status < 0) == (w.plan == NULL), "plan answers %d", status);
    FUZZ_REQUIRE(w.report.status == status, "plan answers %d, the report %d", status,
                 w.report.status);
    w.runs = false;
    if (status >= 0 && w.arrays.placed && w.c.trouble == FUZZ_SOUND)
        status = plan_run(how);
    FUZZ_REQUIRE(documented(status), "status %d", status);
    return status;
}

/* Does a call that fails so say that the device is lost? One that may go unnoticed, too. */
static bool is_lost(const uint8_t *head)
{
    const int code = codes[head[0] & IS_CUDA][head[3] % 4];

    return fake.failed[0] != '\0' &&
           (code == HEED_CL_DEVICE_NOT_AVAILABLE || code == HEED_CU_ILLEGAL_ADDRESS);
}

/* Nothing fails any more: what is lost stays so. Else the device answers what the reference does,
 * as every device that can number the problem. */
static void goes_on(const uint8_t *head, heed_status before, heed_status wanted)
{
    const heed_status said = w.c.job->check(w.device, w.c.job->desc, &w.report);
    const heed_status did = plan_do(head[0]);

    FUZZ_REQUIRE(said == wanted || said == HEED_E_UNSUPPORTED || said == HEED_E_NOMEM,
                 "op=%s: check says %s (%s), the reference %s", cf_op->name, heed_status_name(said),
                 w.report.message, heed_status_name(wanted));
    if (before == HEED_E_DEVICE_LOST)
        FUZZ_REQUIRE(did < 0, "op=%s: after %s what was lost is back", cf_op->name, fake.failed);
    else
        FUZZ_REQUIRE(did == said || (did == HEED_E_DEVICE_LOST && is_lost(head)) ||
                         did == HEED_E_UNSUPPORTED || did == HEED_E_NOMEM,
                     "op=%s: after %s the device answers %s (%s), check %s", cf_op->name,
                     fake.failed, heed_status_name(did), w.report.message, heed_status_name(said));
}

static void live(const uint8_t *head, heed_status wanted)
{
    heed_status status;

    driver_start(head[0]);
    if (head[0] & FROM_THE_START)
        fail_later(head);
    status = device_make(head[0]);
    FUZZ_REQUIRE(documented(status), "status %d", status);
    if (!(head[0] & FROM_THE_START) && status >= 0)
        fail_later(head);
    if (status >= 0) {
        status = plan_do(head[0]);
        plan_end();
        mend();
        goes_on(head, status, wanted);
        plan_end();
    }
    mend();
    heed_runtime_destroy(w.runtime);
    w.runtime = NULL;
    w.device = NULL;
    FUZZ_REQUIRE(w.heap.live == 0 && w.heap.n_blocks == 0, "after %s %u blocks are left",
                 fake.failed, w.heap.n_blocks);
    driver_end(head[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    heed_device *const reference = fuzz_world(1)->devices[0];

    if (size > FUZZ_INPUT_MOST || size < HEAD)
        return 0;
    w.heap.cap = UINT64_C(256) << 20;
    w.report = (heed_report){ .size = sizeof(w.report) };
    fuzz_case_make(&w.c, reference, data + HEAD, size - HEAD);
    w.c.guest = w.c.host = 0; /* every operand has its own buffer */
    fuzz_arrays_make(&w.arrays, &w.c);
    live(data, w.c.job->check(reference, w.c.job->desc, NULL));
    fuzz_arrays_finish(&w.arrays);
    fuzz_case_finish(&w.c);
    return 0;
}

/* Every operation on both drivers in turn; half of them with a call that fails. */
size_t fuzz_seed(uint32_t number, uint8_t data[FUZZ_INPUT_MOST])
{
    struct rng numbers = rng_of(number);
    const size_t size = HEAD + 60 + number % 3 * 60;

    for (size_t i = 0; i < size; i++)
        data[i] = fuzz_byte(&numbers);
    data[0] = (uint8_t)(number % 32);
    data[2] = 0;
    data[4] = 255;
    data[HEAD] = (uint8_t)(number / 2);
    if (number % 4 < 2)
        data[1] = 0;
    (void)LLVMFuzzerTestOneInput(data, size);
    return w.runs || number % 4 > 1 ? size : 0;
}
