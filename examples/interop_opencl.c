/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * heed among a program's own OpenCL objects: context, queue, buffers and events are made here by
 * OpenCL's functions, and heed works on them without a wait on the host. The result is compared,
 * bit for bit, with that of heed's reference device. Exit status 77: no OpenCL device, or a heed
 * without OpenCL.
 */
#include <heed/attn.h>
#include <heed/opencl.h>

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

/* What a program that uses OpenCL has. */
struct program {
    cl_device_id id;
    cl_context context;
    cl_command_queue commands;
    cl_mem memory[ARRAYS];
};

static bool ok(cl_int code, const char *call)
{
    if (code != CL_SUCCESS)
        fprintf(stderr, "%s: OpenCL error %d\n", call, (int)code);
    return code == CL_SUCCESS;
}

/* The first device there is; false: none. */
static bool find_device(cl_device_id *id)
{
    cl_platform_id platforms[16];
    cl_uint n = 0, found = 0;

    if (clGetPlatformIDs(16, platforms, &n) != CL_SUCCESS)
        return false;
    for (cl_uint i = 0; i < n && i < 16 && found == 0; i++) {
        if (clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 1, id, &found) != CL_SUCCESS)
            found = 0;
    }
    return found > 0;
}

static bool begin(struct program *p)
{
    cl_int code = CL_SUCCESS;

    p->context = clCreateContext(NULL, 1, &p->id, NULL, NULL, &code);
    if (!ok(code, "clCreateContext"))
        return false;
    p->commands = clCreateCommandQueue(p->context, p->id, 0, &code);
    if (!ok(code, "clCreateCommandQueue"))
        return false;
    for (int i = 0; i < ARRAYS; i++) {
        p->memory[i] = clCreateBuffer(p->context, CL_MEM_READ_WRITE, sizeof host[i], NULL, &code);
        if (!ok(code, "clCreateBuffer"))
            return false;
    }
    return true;
}

static void end(const struct program *p)
{
    for (int i = 0; i < ARRAYS; i++) {
        if (p->memory[i])
            clReleaseMemObject(p->memory[i]);
    }
    if (p->commands)
        clReleaseCommandQueue(p->commands);
    if (p->context)
        clReleaseContext(p->context);
}

static heed_buf place(cl_mem memory)
{
    return (heed_buf){ .handle = memory };      /* an offset would be in bytes */
}

/* Enqueues attention over the program's buffers. It starts after `written`; *done, which the caller
 * releases, is complete when o is. */
static heed_status attend(heed_device *device, const struct program *p, cl_event written,
                          cl_event *done, heed_report *why)
{
    const heed_tensor t = heed_array4(HEED_F32, NULL, 1, HEADS, ROWS, DIM).t;
    const heed_source source = { .k = t, .v = t, .terms = HEED_ARRAY(see) };
    const heed_attn_desc desc = { .size = sizeof desc, .flags = HEED_PLAN_OWN_WORKSPACE,
                                  .q = t, .o = t, .sources = &source, .n_sources = 1,
                                  .source_size = sizeof source };
    const heed_kv_bufs kv = { .k = place(p->memory[K]), .v = place(p->memory[V]) };
    heed_queue *queue = NULL;
    heed_event *before = NULL, *after = NULL;
    heed_plan *plan = NULL;
    heed_attn_args args = { .size = sizeof args, .q = place(p->memory[Q]),
                            .o = place(p->memory[O]), .kv = &kv, .kv_size = sizeof kv,
                            .wait = &before, .n_wait = 1 };
    heed_status status = heed_opencl_queue(device, p->commands, &queue, why);

    if (status >= 0)
        status = heed_opencl_event(device, written, &before, why);
    if (status >= 0)
        status = heed_attn_plan(device, &desc, &plan, why);
    if (status >= 0)
        status = heed_attn_run(plan, queue, &args, &after, why);
    if (status >= 0)
        status = heed_opencl_event_get(after, done);
    heed_event_destroy(after);
    heed_event_destroy(before);
    heed_plan_drop(plan);
    heed_queue_destroy(queue);          /* waits; a program would keep plan and queue */
    return status;
}

/* Inputs to the device, attention, its result back: every step waits for an event of the one
 * before, so that this would be right on an out-of-order queue as well. */
static heed_status compute(heed_device *device, const struct program *p, heed_report *why)
{
    cl_event inputs[O] = { NULL }, written = NULL, done = NULL;
    heed_status status = HEED_E_DEVICE;
    bool good = true;

    for (int i = 0; good && i < O; i++)
        good = ok(clEnqueueWriteBuffer(p->commands, p->memory[i], CL_FALSE, 0, sizeof host[i],
                                       host[i], 0, NULL, &inputs[i]), "clEnqueueWriteBuffer");
    if (good && ok(clEnqueueMarkerWithWaitList(p->commands, O, inputs, &written),
                   "clEnqueueMarkerWithWaitList"))
        status = attend(device, p, written, &done, why);
    if (status >= 0 && !ok(clEnqueueReadBuffer(p->commands, p->memory[O], CL_TRUE, 0,
                                               sizeof result, result, 1, &done, NULL),
                           "clEnqueueReadBuffer"))
        status = HEED_E_DEVICE;
    for (int i = 0; i < O; i++) {
        if (inputs[i])
            clReleaseEvent(inputs[i]);
    }
    if (written)
        clReleaseEvent(written);
    if (done)
        clReleaseEvent(done);
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
    struct program program = { .id = NULL };
    heed_runtime *runtime = NULL;
    heed_device *device = NULL;
    heed_status status = HEED_E_DEVICE;
    int code = EXIT_FAILURE;

    if (!find_device(&program.id)) {
        puts("skipped: no OpenCL device");
        return SKIPPED;
    }
    for (int i = 0; i < O * CELLS; i++)
        host[i / CELLS][i % CELLS] = (float)((i * 37 + i / CELLS * 11) % 101) / 50.0f - 1.0f;
    if (begin(&program))
        status = heed_runtime_create(NULL, &runtime, &why);
    if (status >= 0)
        status = heed_opencl_device(runtime, program.context, program.id, &device, &why);
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
