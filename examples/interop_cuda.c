/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * heed among a program's own CUDA objects: context, stream, memory and events are made here by the
 * driver API, and heed works on them without a wait on the host. The result is compared, bit for
 * bit, with that of heed's reference device. Exit status 77: no CUDA device, or a heed without
 * CUDA. Programs that use the runtime API do the same: their context is the primary one, and a
 * cudaStream_t is a CUstream.
 */
#include <heed/attn.h>
#include <heed/cuda.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADS = 2, ROWS = 512, DIM = 64, CELLS = HEADS * ROWS * DIM, SKIPPED = 77 };
enum { Q, K, V, O, ARRAYS };

static float host[ARRAYS][CELLS];       /* o: the reference's */
static float result[CELLS];

static const heed_term see[] = {
    { .kind = HEED_TERM_WINDOW, .left = 32, .right = 32 },
    { .kind = HEED_TERM_GLOBAL, .block = 1 },
};

/* What a program that uses CUDA has. */
struct program {
    CUdevice id;
    CUcontext context;
    CUstream stream;
    CUdeviceptr memory[ARRAYS];
    CUevent written;
};

static bool ok(CUresult code, const char *call)
{
    if (code != CUDA_SUCCESS)
        fprintf(stderr, "%s: CUDA error %d\n", call, (int)code);
    return code == CUDA_SUCCESS;
}

static bool find_device(CUdevice *id)
{
    int n = 0;

    return cuInit(0) == CUDA_SUCCESS && cuDeviceGetCount(&n) == CUDA_SUCCESS && n > 0 &&
           cuDeviceGet(id, 0) == CUDA_SUCCESS;
}

static bool begin(struct program *p)
{
    if (!ok(cuDevicePrimaryCtxRetain(&p->context, p->id), "cuDevicePrimaryCtxRetain") ||
        !ok(cuCtxSetCurrent(p->context), "cuCtxSetCurrent") ||
        !ok(cuStreamCreate(&p->stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate") ||
        !ok(cuEventCreate(&p->written, CU_EVENT_DISABLE_TIMING), "cuEventCreate"))
        return false;
    for (int i = 0; i < ARRAYS; i++) {
        if (!ok(cuMemAlloc(&p->memory[i], sizeof host[i]), "cuMemAlloc"))
            return false;
    }
    return true;
}

static void end(const struct program *p)
{
    for (int i = 0; i < ARRAYS; i++) {
        if (p->memory[i])
            cuMemFree(p->memory[i]);
    }
    if (p->written)
        cuEventDestroy(p->written);
    if (p->stream)
        cuStreamDestroy(p->stream);
    if (p->context)
        cuDevicePrimaryCtxRelease(p->id);
}

static heed_buf place(CUdeviceptr memory)
{
    return (heed_buf){ .handle = (void *)(uintptr_t)memory };
}

/* Enqueues attention over the program's memory. It starts after `written`; what the program
 * enqueues on its stream next comes after it. */
static heed_status attend(heed_device *device, const struct program *p, heed_report *why)
{
    const heed_tensor t = heed_array4(HEED_F32, NULL, 1, HEADS, ROWS, DIM).t;
    const heed_source source = { .k = t, .v = t, .terms = HEED_ARRAY(see) };
    const heed_attn_desc desc = { .size = sizeof desc, .flags = HEED_PLAN_OWN_WORKSPACE,
                                  .q = t, .o = t, .sources = &source, .n_sources = 1,
                                  .source_size = sizeof source };
    const heed_kv_bufs kv = { .k = place(p->memory[K]), .v = place(p->memory[V]) };
    heed_queue *queue = NULL;
    heed_event *before = NULL;
    heed_plan *plan = NULL;
    heed_attn_args args = { .size = sizeof args, .q = place(p->memory[Q]),
                            .o = place(p->memory[O]), .kv = &kv, .kv_size = sizeof kv,
                            .wait = &before, .n_wait = 1 };
    heed_status status = heed_cuda_queue(device, p->stream, &queue, why);

    if (status >= 0)                    /* here the stream's own order would do */
        status = heed_cuda_event(device, p->written, &before, why);
    if (status >= 0)
        status = heed_attn_plan(device, &desc, &plan, why);
    if (status >= 0)
        status = heed_attn_run(plan, queue, &args, NULL, why);
    heed_event_destroy(before);
    heed_plan_drop(plan);
    heed_queue_destroy(queue);          /* waits; a program would keep plan and queue */
    return status;
}

/* Inputs to the device, attention, its result back: all on one stream. */
static heed_status compute(heed_device *device, const struct program *p, heed_report *why)
{
    heed_status status = HEED_E_DEVICE;
    bool good = true;

    for (int i = 0; good && i < O; i++)
        good = ok(cuMemcpyHtoDAsync(p->memory[i], host[i], sizeof host[i], p->stream),
                  "cuMemcpyHtoDAsync");
    if (good && ok(cuEventRecord(p->written, p->stream), "cuEventRecord"))
        status = attend(device, p, why);
    if (status >= 0 && !(ok(cuMemcpyDtoHAsync(result, p->memory[O], sizeof result, p->stream),
                            "cuMemcpyDtoHAsync") &&
                         ok(cuStreamSynchronize(p->stream), "cuStreamSynchronize")))
        status = HEED_E_DEVICE;
    return status;
}

/* The same on the reference device, in host memory. */
static heed_status refer(heed_runtime *runtime, heed_report *why)
{
    heed_array a[ARRAYS];
    heed_device *device = NULL;
    heed_queue *queue = NULL;
    heed_status status = heed_device_find(runtime, "reference", &device, why);

    for (int i = 0; i < ARRAYS; i++)
        a[i] = heed_array4(HEED_F32, host[i], 1, HEADS, ROWS, DIM);
    if (status >= 0)
        status = heed_queue_create(device, 0, &queue, why);
    if (status >= 0)
        status = heed_attn_simple(queue, &a[Q], &a[K], &a[V], &a[O], see, 2, 0, why);
    heed_queue_destroy(queue);
    return status;
}

static int conclude(const heed_device *device)
{
    heed_device_props props = { .size = sizeof props };
    long differ = 0;

    for (int i = 0; i < CELLS; i++)
        differ += memcmp(&result[i], &host[O][i], sizeof result[i]) != 0;
    if (heed_device_info(device, &props) < 0)
        return EXIT_FAILURE;
    printf("%s: %ld of %d elements differ from the reference's\n", props.description, differ,
           (int)CELLS);
    return differ > 0 && props.exact ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(void)
{
    heed_report why = { .size = sizeof why };
    struct program program = { .id = 0 };
    heed_runtime *runtime = NULL;
    heed_device *device = NULL;
    heed_status status = HEED_E_DEVICE;
    int code = EXIT_FAILURE;

    if (!find_device(&program.id)) {
        puts("skipped: no CUDA device");
        return SKIPPED;
    }
    for (int i = 0; i < O * CELLS; i++)
        host[i / CELLS][i % CELLS] = (float)((i * 37 + i / CELLS * 11) % 101) / 50.0f - 1.0f;
    if (begin(&program))
        status = heed_runtime_create(NULL, &runtime, &why);
    if (status >= 0)
        status = heed_cuda_device(runtime, program.context, program.id, &device, &why);
    if (status >= 0)
        status = compute(device, &program, &why);
    if (status >= 0)
        status = refer(runtime, &why);
    if (status >= 0)
        code = conclude(device);
    else
        fprintf(stderr, "%s: %s %s\n", heed_status_name(status), why.field, why.message);
    if (status == HEED_E_NOT_BUILT)
        code = SKIPPED;
    heed_runtime_destroy(runtime);
    end(&program);
    return code;
}
