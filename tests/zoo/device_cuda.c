/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * CUDA for device.c, over the driver of the tests (tests/support/fake_libcuda.c): it links that
 * one, and the kernel is a function of the host, which that driver calls for one thread after
 * another.
 */
#include "device.h"

#include "fake_cuda.h"

#include <math.h>

const uint32_t vendor_kind = HEED_DEVICE_CUDA;

#define GLOBAL
#define LONG int64_t
#define ENTRY static void
#define ITEM , size_t number
#define NUMBER number
#define BARRIER ((void)0)
#define A_NAN NAN
#define fma fmaf
#define exp expf
#define log logf
#include "device_kernel.h"

/* The driver's functions by the names that programs have for them. */
#define DECLARE(member, symbol, arguments) extern int cu_##member arguments __asm__(symbol);
HEED_CUDA_DRIVER(DECLARE)
#undef DECLARE

static void *module, *function, *event;
static void *queues[2]; /* the host's, the own one */

static void item_run(void *const *p, size_t number)
{
    float *at[DEVICE_MEMORIES];
    const int64_t *n;
    float scale;

    memcpy(at, p[0], sizeof at);
    memcpy(&n, (char *)p[0] + sizeof *at * (DEVICE_MEMORIES - 1), sizeof n);
    memcpy(&scale, p[1], sizeof scale);
    attend(at[Q], at[K], at[V], at[O], at[LSE], at[ARRAYS], n, scale, number);
}

static const struct fake_cuda_host image = { FAKE_CUDA_HOST, item_run };

bool vendor_open(const heed_host_device *device)
{
    queues[0] = device->queue;
    return cu_stream_create(&queues[1], HEED_CU_STREAM_NON_BLOCKING) == 0 &&
           cu_event_create(&event, HEED_CU_EVENT_DISABLE_TIMING) == 0 &&
           cu_module_load(&module, &image, 0, NULL, NULL) == 0 &&
           cu_module_function(&function, module, "attend") == 0;
}

void vendor_close(void)
{
    cu_module_unload(module);
    cu_event_destroy(event);
    cu_stream_destroy(queues[1]);
}

void *vendor_make(size_t bytes)
{
    heed_cuda_address memory = 0;

    return cu_memory_create(&memory, bytes) ? NULL : (void *)(uintptr_t)memory;
}

void vendor_free(void *memory)
{
    if (memory)
        cu_memory_destroy((uintptr_t)memory);
}

bool vendor_write(bool own, void *memory, const void *from, size_t bytes)
{
    return cu_copy_in((uintptr_t)memory, from, bytes, queues[own]) == 0;
}

bool vendor_launch(bool own, void *const memory[DEVICE_MEMORIES], float scale, size_t items,
                   size_t threads)
{
    void *arguments[] = { (void *)(uintptr_t)memory, &scale };

    return cu_launch(function, (unsigned)((items + threads - 1) / threads), 1, 1,
                     (unsigned)threads, 1, 1, 0, queues[own], arguments, NULL) == 0;
}

bool vendor_wait(bool own)
{
    return cu_stream_finish(queues[own]) == 0;
}

bool vendor_follow(bool own)
{
    return cu_event_record(event, queues[!own]) == 0 &&
           cu_stream_wait(queues[own], event, 0) == 0;
}

void vendor_spoil(void *memory)
{
    void *context;

    (void)memory;
    cu_context_pop(&context);
}
