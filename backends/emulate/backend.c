/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Device code on the host, for tests: the kernels' C17 build behind the same plans, images and
 * steps as on a real device, so that sanitizers see what a GPU would do to memory. Not for speed,
 * and not in a library that is shipped (option emulate). "emulate:a" and "emulate:b" are the two
 * shapes of kernels.
 */
#include "../device/device.h"

#include <fenv.h>
#include <stdio.h>
#include <string.h>

typedef void kernel_fn(const char *image, char *const *buffers, int64_t group);

struct compiled {
    kernel_fn *run[2];              /* by large */
};

#define HK_KERNEL(name, file, options)                                                             \
    extern kernel_fn heed_kernel_##name##_small, heed_kernel_##name##_large;
#include "../kernels/kernels.def"
#undef HK_KERNEL

static const struct compiled table[HEED_KERNELS] = {
#define HK_KERNEL(name, file, options)                                                             \
    { { heed_kernel_##name##_small, heed_kernel_##name##_large } },
#include "../kernels/kernels.def"
#undef HK_KERNEL
};

/* ---- the driver ---- */

/* Before every block, so that it can be given back without being told its size. */
enum { HEADER = 64 };

struct header {
    uint64_t bytes;
};

static heed_status memory_create(void *given, uint64_t bytes, const void *contents, void **handle,
                                 struct heed_error_detail *detail)
{
    const struct heed_device_state *state = given;
    char *block = NULL;

    (void)detail;
    if (bytes <= SIZE_MAX - HEADER)
        block = state->services->alloc(state->services->runtime, HEADER + (size_t)bytes, HEADER);
    if (block == NULL)
        return HEED_E_NOMEM;
    *(struct header *)(void *)block = (struct header){ .bytes = bytes };
    memcpy(block + HEADER, contents, (size_t)bytes);
    *handle = block + HEADER;
    return HEED_OK;
}

static void memory_destroy(void *given, void *handle)
{
    const struct heed_device_state *state = given;
    char *block;

    if (handle == NULL)
        return;
    block = (char *)handle - HEADER;
    state->services->free(state->services->runtime, block,
                          HEADER + (size_t)((struct header *)(void *)block)->bytes, HEADER);
}

static heed_status kernel(void *given, enum heed_kernel row, uint32_t large, void **compiled,
                          struct heed_error_detail *detail)
{
    (void)given;
    (void)detail;
    *compiled = (void *)(uintptr_t)&table[row].run[large != 0];
    return HEED_OK;
}

static heed_status run(void *given, const struct heed_work *work, struct heed_error_detail *detail)
{
    char *buffers[HEED_BUFFERS_LARGE] = { NULL };
    fenv_t caller;

    (void)given;
    (void)detail;
    for (uint32_t i = 0; i < work->n_buffers; i++) {
        if (work->buffers[i].handle != NULL)
            buffers[i] = (char *)work->buffers[i].handle + work->buffers[i].offset;
    }
    fegetenv(&caller);
    fesetenv(FE_DFL_ENV);
    for (uint32_t i = 0; i < work->n_steps; i++) {
        const struct heed_step *step = &work->steps[i];
        kernel_fn *const *function = step->compiled;

        for (uint64_t group = 0; group < step->groups; group++)
            (*function)(work->image, buffers, (int64_t)group);
    }
    fesetenv(&caller);
    return HEED_OK;
}

static const struct heed_driver driver = {
    .size = sizeof(struct heed_driver),
    .handles = 0,
    .memory_create = memory_create,
    .memory_destroy = memory_destroy,
    .kernel = kernel,
    .run = run,
};

/* ---- the backend ---- */

/* The build compiles the kernels with these (meson.build). */
static const struct heed_device_traits traits[] = {
    { .shape = HEED_SHAPE_A, .lanes = 2, .tile_rows = 6, .group_rows = 32 },
    { .shape = HEED_SHAPE_B, .lanes = 2, .tile_rows = 6, .group_rows = 32 },
};

static uint32_t count(void)
{
    return sizeof(traits) / sizeof(traits[0]);
}

static void describe(uint32_t index, heed_device_props *props)
{
    props->kind = HEED_DEVICE_CPU;
    props->exact = 1;
    props->usable = HEED_OK;
    snprintf(props->name, sizeof(props->name), "emulate:%c", (int)(index == 0 ? 'a' : 'b'));
    snprintf(props->description, sizeof(props->description),
             "device kernels as C, shape %c; for tests", (int)(index == 0 ? 'A' : 'B'));
}

static void begin(uint32_t index, const struct heed_services *services, void *state)
{
    *(struct heed_device_state *)state = (struct heed_device_state){
        .driver = &driver,
        .services = services,
        .traits = traits[index],
    };
}

const struct heed_backend heed_emulate_backend = {
    .size = sizeof(struct heed_backend),
    .kind = HEED_DEVICE_CPU,
    .host = 1,
    .count = count,
    .describe = describe,
    .impls = heed_device_impls,
    .state_size = sizeof(struct heed_device_state),
    .begin = begin,
};
