/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Runs the programs of heed/programs.h on a text of random rows: one plan and one call each,
 * although several operations are behind it. Prints what they take and what the first row becomes.
 */
#include <heed/programs.h>

#include <stdio.h>
#include <stdlib.h>

enum { HEADS = 2, ROWS = 4096, DIM = 32, GLOBALS = 4, COLUMNS = 16 };

static heed_report why = { .size = sizeof why };

/* A dense array [1][HEADS][rows][columns] of numbers in [-1, 1). */
static heed_array floats(int64_t rows, int64_t columns)
{
    const size_t n = (size_t)(HEADS * rows * columns);
    float *data = malloc(n * sizeof *data);
    uint32_t state = 1;

    for (size_t i = 0; data && i < n; i++) {
        state = state * 1664525u + 1013904223u;
        data[i] = (float)(state >> 8) * 0x1p-23f - 1.0f;
    }
    return heed_array4(HEED_F32, data, 1, HEADS, rows, columns);
}

static struct {
    heed_array q, k, v, o, global_k, global_v, taps, round;
} x;

static heed_array *const arrays[] = { &x.q, &x.k, &x.v, &x.o, &x.global_k, &x.global_v, &x.taps,
                                      &x.round };
enum { ARRAYS = sizeof arrays / sizeof *arrays };

static int make_arrays(void)
{
    int made = 1;

    x.q = floats(ROWS, DIM);
    x.k = floats(ROWS, DIM);
    x.v = floats(ROWS, DIM);
    x.o = floats(ROWS, DIM);
    x.global_k = floats(GLOBALS, DIM);
    x.global_v = floats(GLOBALS, DIM);
    x.taps = floats(ROWS, 5);
    x.round = floats(DIM, COLUMNS);
    for (int i = 0; i < ARRAYS; i++)
        made &= arrays[i]->buf.handle != NULL;
    return made;
}

static heed_status run(const char *name, heed_queue *queue, heed_plan *plan)
{
    heed_plan_props props = { .size = sizeof props };
    heed_program_args args = {
        .size = sizeof args,
        .q = x.q.buf,
        .o = x.o.buf,
        .text = { .k = x.k.buf, .v = x.v.buf },
        .globals = { .k = x.global_k.buf, .v = x.global_v.buf },
        .taps_k = x.taps.buf,
        .taps_v = x.taps.buf,
        .rounds = { x.round.buf },
    };
    heed_status status = heed_plan_info(plan, &props);

    if (status >= 0)
        status = heed_buf_create(heed_queue_device(queue), props.workspace_size,
                                 &args.run.workspace, &why);
    if (status < 0)
        return status;
    args.run.workspace_size = props.workspace_size;
    status = heed_program_run(plan, queue, &args, NULL, &why);
    heed_buf_destroy(heed_queue_device(queue), args.run.workspace);
    if (status >= 0)
        printf("%-16s %8.3f Gflop %8.1f KiB  o[0] %9.6f  %s\n", name, (double)props.flops / 1e9,
               (double)props.workspace_size / 1024, (double)*(const float *)x.o.buf.handle,
               props.implementation);
    return status;
}

static heed_status lsg(const char *name, heed_queue *queue, uint32_t sparsity)
{
    heed_lsg_program_desc desc = { .size = sizeof desc, .sparsity = sparsity, .q = x.q.t,
                                   .o = x.o.t, .text = { .k = x.k.t, .v = x.v.t },
                                   .globals = { .k = x.global_k.t, .v = x.global_v.t },
                                   .block = 128, .factor = 4 };
    heed_plan *plan = NULL;
    heed_status status;

    if (sparsity == HEED_LSG_LSH) {     /* [heads][d][columns] */
        const int64_t extents[3] = { HEADS, DIM, COLUMNS };

        desc.rounds[0] = heed_array_dense(HEED_F32, NULL, 3, extents).t;
    }
    status = heed_lsg_program_plan(heed_queue_device(queue), &desc, &plan, &why);
    if (status >= 0)
        status = run(name, queue, plan);
    heed_plan_drop(plan);
    return status;
}

static heed_status poolingformer(const char *name, heed_queue *queue, uint32_t pooling)
{
    heed_poolingformer_level2_desc desc = { .size = sizeof desc, .pooling = pooling, .q = x.q.t,
                                            .o = x.o.t, .text = { .k = x.k.t, .v = x.v.t },
                                            .window = 512, .kernel = 5, .stride = 4 };
    heed_plan *plan = NULL;
    heed_status status;

    if (pooling == HEED_POOLINGFORMER_LDCONV)
        desc.taps_k = desc.taps_v = x.taps.t;
    status = heed_poolingformer_level2_plan(heed_queue_device(queue), &desc, &plan, &why);
    if (status >= 0)
        status = run(name, queue, plan);
    heed_plan_drop(plan);
    return status;
}

int main(void)
{
    heed_runtime *runtime = NULL;
    heed_device *device = NULL;
    heed_queue *queue = NULL;
    heed_status status = make_arrays() ? heed_runtime_create(NULL, &runtime, &why) : HEED_E_NOMEM;

    if (status >= 0)
        status = heed_device_find(runtime, NULL, &device, &why);
    if (status >= 0)
        status = heed_queue_create(device, 0, &queue, &why);
    if (status >= 0)
        status = lsg("lsg norm", queue, HEED_LSG_NORM);
    if (status >= 0)
        status = lsg("lsg pooling", queue, HEED_LSG_POOLING);
    if (status >= 0)
        status = lsg("lsg lsh", queue, HEED_LSG_LSH);
    if (status >= 0)
        status = lsg("lsg bos pooling", queue, HEED_LSG_BOS_POOLING);
    if (status >= 0)
        status = poolingformer("poolingformer 2", queue, HEED_POOLINGFORMER_MEAN);
    if (status >= 0)
        status = poolingformer("with ldconv", queue, HEED_POOLINGFORMER_LDCONV);
    if (status < 0)
        fprintf(stderr, "%s: %s: %s\n", heed_status_name(status), why.field, why.message);
    heed_queue_destroy(queue);
    heed_runtime_destroy(runtime);
    for (int i = 0; i < ARRAYS; i++)
        free(arrays[i]->buf.handle);
    return status < 0;
}
