/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The workgroup kernels on the host, for tests: as C, behind the same plans, blobs and launches as
 * on a GPU, so that sanitizers see what a GPU would do to memory. Not for speed, and not in a
 * library that is shipped (option emulate). The lanes kernels as C are the CPU backend.
 */
#include "../device/host.h"
#include "backends/host_kernels.h"

#include <stdio.h>
#include <stdlib.h>

#define DECLARE(row, none)                                                                         \
    extern heed_host_kernel heed_kernel_##row##_small, heed_kernel_##row##_large;
HEED_EMULATED_KERNELS(DECLARE, )
#undef DECLARE

#define KERNEL(row, none)                                                                          \
    [HEED_KERNEL_##row] = { heed_kernel_##row##_small, heed_kernel_##row##_large },
static heed_host_kernel *const kernels[HEED_KERNELS][2] = { HEED_EMULATED_KERNELS(KERNEL, ) };

/* Those of processors that multiply pairs of halves, as a model, beside the portable ones. */
#define HOST(row, isa) [HEED_KERNEL_##row] = { NULL, heed_kernel_##row##_##isa },
#define HOST_DECLARE(row, isa) extern heed_host_kernel heed_kernel_##row##_##isa;
HEED_HOST_KERNELS(HOST_DECLARE, scalar)
HEED_HALVES_KERNELS(HOST_DECLARE, model)
static heed_host_kernel *const kernels_halves[HEED_KERNELS][2] = {
    HEED_HOST_KERNELS(HOST, scalar) HEED_HALVES_KERNELS(HOST, model)
};
#undef HOST
#undef HOST_DECLARE

/* The same with the kernels for a matrix unit, a table for each unit. */
#define MATRIX_DECLARE(row, unit) extern heed_host_kernel heed_kernel_##row##_##unit;
#define MATRIX_KERNEL(row, unit) [HEED_KERNEL_##row] = { heed_kernel_##row##_##unit, NULL },
#define MATRIX_TABLE(unit, number)                                                                 \
    HEED_MATRIX_KERNELS(MATRIX_DECLARE, unit)                                                      \
    static heed_host_kernel *const kernels_##unit[HEED_KERNELS][2] = {                             \
        HEED_EMULATED_KERNELS(KERNEL, ) HEED_MATRIX_KERNELS(MATRIX_KERNEL, unit)                   \
    };
HEED_MATRIX_UNITS(MATRIX_TABLE)

struct device {
    const char *name, *description;
    uint32_t unit;                      /* traits.mma */
    heed_host_kernel *const (*kernels)[2];
};

#define MATRIX_DEVICE(unit, number)                                                                \
    { "emulate:" #unit, "kernels for GPUs with a matrix unit as C; for tests", number,             \
      kernels_##unit },
static const struct device devices[] = {
    { "emulate:workgroup", "kernels for GPUs as C; for tests", 0, kernels },
    { "emulate:halves", "kernels for processors with a unit for bf16 as C; for tests", 0,
      kernels_halves },
    HEED_MATRIX_UNITS(MATRIX_DEVICE)
};
#undef KERNEL

static uint32_t count(void)
{
    return sizeof(devices) / sizeof(devices[0]);
}

static void describe(uint32_t index, heed_device_props *props)
{
    props->kind = HEED_DEVICE_CPU;
    props->exact = 1;
    props->usable = HEED_OK;
    snprintf(props->name, sizeof(props->name), "%s", devices[index].name);
    snprintf(props->description, sizeof(props->description), "%s", devices[index].description);
}

/* Units that a device says it has: those of a large GPU, or what a test has in the environment. */
static uint32_t units(void)
{
    const char *said = getenv("HEED_EMULATED_UNITS");
    const long n = said != NULL ? strtol(said, NULL, 10) : 0;

    return n > 0 && n < 1 << 20 ? (uint32_t)n : 132;
}

/* The build compiles the kernels with these (backends/meson.build). */
static void begin(uint32_t index, const struct heed_services *services, void *state)
{
    if (devices[index].kernels == kernels_halves) {
        heed_host_begin(state, services,
                        (struct heed_device_traits){ .shape = HEED_SHAPE_LANES,
                                                     .workers = services->executor->width,
                                                     .halves = 1,
                                                     .large = 1 },
                        kernels_halves);
        return;
    }
    heed_host_begin(state, services,
                    (struct heed_device_traits){
                        .shape = HEED_SHAPE_WORKGROUP, .workers = units(), .group_rows = 32,
                        .group_sums = 32, .mma = devices[index].unit },
                    devices[index].kernels);
}

const struct heed_backend heed_emulate_backend = {
    .size = sizeof(struct heed_backend),
    .kind = HEED_DEVICE_CPU,
    .host = 1,
    .count = count,
    .describe = describe,
    .impls = heed_device_impls,
    .state_size = sizeof(struct heed_host_device),
    .begin = begin,
};
