/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * OpenCL for device.c.
 */
#include "device.h"

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <stdio.h>
#include <stdlib.h>

const uint32_t vendor_kind = HEED_DEVICE_OPENCL;

static cl_context context;
static cl_program program;
static cl_kernel kernel;
static cl_command_queue queues[2]; /* the host's, the own one */

static char *text_read(void)
{
    enum { MOST = 1 << 16 };
    FILE *const file = fopen(KERNEL_FILE, "r");
    char *const text = calloc(MOST, 1);

    if (file && text && fread(text, 1, MOST - 1, file) == 0)
        text[0] = '\0';
    if (file)
        fclose(file);
    return text;
}

bool vendor_open(const heed_host_device *device)
{
    const cl_device_id id = device->device;
    char *const text = text_read();

    context = device->context;
    queues[0] = device->queue;
    queues[1] = clCreateCommandQueue(context, id, 0, NULL);
    program = clCreateProgramWithSource(context, 1, (const char **)(uintptr_t)&text, NULL, NULL);
    free(text);
    if (!program || clBuildProgram(program, 1, &id, "-cl-std=CL1.2", NULL, NULL))
        return false;
    kernel = clCreateKernel(program, "attend", NULL);
    return kernel && queues[1];
}

void vendor_close(void)
{
    clReleaseKernel(kernel);
    clReleaseProgram(program);
    clReleaseCommandQueue(queues[1]);
}

void *vendor_make(size_t bytes)
{
    return clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, NULL);
}

void vendor_free(void *memory)
{
    if (memory)
        clReleaseMemObject(memory);
}

bool vendor_write(bool own, void *memory, const void *from, size_t bytes)
{
    return clEnqueueWriteBuffer(queues[own], memory, CL_FALSE, 0, bytes, from, 0, NULL, NULL) == 0;
}

bool vendor_launch(bool own, void *const memory[DEVICE_MEMORIES], float scale, size_t items,
                   size_t threads)
{
    const size_t global = (items + threads - 1) / threads * threads;
    cl_int bad = 0;

    for (cl_uint i = 0; i < DEVICE_MEMORIES; i++)
        bad |= clSetKernelArg(kernel, i, sizeof(cl_mem), &memory[i]);
    bad |= clSetKernelArg(kernel, DEVICE_MEMORIES, sizeof scale, &scale);
    bad |= clEnqueueNDRangeKernel(queues[own], kernel, 1, NULL, &global, &threads, 0, NULL, NULL);
    return !bad && clFlush(queues[own]) == 0;
}

bool vendor_wait(bool own)
{
    return clFinish(queues[own]) == 0;
}

bool vendor_follow(bool own)
{
    cl_event done = NULL;
    const bool good = clEnqueueMarkerWithWaitList(queues[!own], 0, NULL, &done) == 0 &&
                      clEnqueueBarrierWithWaitList(queues[own], 1, &done, NULL) == 0 &&
                      clFlush(queues[!own]) == 0;

    if (done)
        clReleaseEvent(done);
    return good;
}

void vendor_spoil(void *memory)
{
    clFinish(queues[0]);
    clReleaseMemObject(memory);
}
