/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the backends that run backends/kernels share: a plan becomes a blob (attn/blob.h: the
 * whole plan in one block that kernels read) and a few launches (a kernel of kernels/kernels.def
 * each). This folder makes both, chooses kernels and lays out the workspace; a driver (opencl,
 * cuda, that of host.c) owns memory and compiled kernels and runs launches. One set of heed_impl
 * for all of them.
 */
#ifndef HEED_BACKENDS_DEVICE_DEVICE_H
#define HEED_BACKENDS_DEVICE_DEVICE_H

#include "../../lib/backend.h"

#include <stdbool.h>

/* Rows of kernels/kernels.def. */
enum heed_kernel {
#define HK_KERNEL(name, file, options) HEED_KERNEL_##name,
#include "../kernels/kernels.def"
#undef HK_KERNEL
    HEED_KERNELS
};

struct heed_kernel_row {
    const char *name, *file, *options;
};
extern const struct heed_kernel_row heed_kernel_rows[HEED_KERNELS];     /* kernels.c */

/* Threads of a group, of a row whose options say it. */
uint32_t heed_kernel_threads(enum heed_kernel);

/* The text of backends/kernels, embedded by the build (sources.py): name as in #include "name". */
struct heed_kernel_text {
    const char *name, *text;
    uint64_t bytes;
};
extern const struct heed_kernel_text heed_kernel_texts[];       /* generated; ends with NULL */

/* A file of heed_kernel_texts with every include written out, each file once: one text for
 * compilers without a file system. NULL: no memory, or no such file. bytes: without the final NUL,
 * of a block of bytes + 1. */
char *heed_kernel_source(const struct heed_services *, const char *file, size_t *bytes);

/* Kernels number their buffers as the plan its operands; the last buffer is the workspace. OpenCL
 * kernels have a pointer argument for each, so the number of buffers comes in two sizes. */
enum {
    HEED_SMALL_SUBS = 4,            /* sub-sources of a source */
    HEED_GROUP_THREADS = 256,       /* workgroup: threads of a group at most; those of operations
                                     * beside attention stand in their rows */
    HEED_BUFFERS_SMALL = 28 + 1,
    HEED_BUFFERS_LARGE = HEED_MAX_OPERANDS + 1
};

/* Which kernels: workers with vectors that take strips (processors), or work-groups (GPUs). */
enum { HEED_SHAPE_LANES = 1, HEED_SHAPE_WORKGROUP };

/* What the driver finds out when it opens a device. */
struct heed_device_traits {
    uint32_t shape;
    uint32_t workers;       /* units. lanes: most groups to start; each takes strips till none is
                             * left */
    uint32_t tile_rows;     /* lanes in OpenCL C: HK_TILE_ROWS: 6 for 256 bits, 12 for 512 */
    uint32_t group_rows;    /* workgroup: HK_GROUP_ROWS: 64, or 32 if local memory is short */
    uint32_t group_sums;    /* workgroup: HK_GROUP_SUMS: outputs that a thread has registers for:
                             * 64, 32 or 16 */
    uint32_t least_lanes;   /* workgroup: HK_LEAST_LANES: threads of the smallest sub-group, where
                             * the compiler has to be asked for it; else 0 */
    uint32_t many_registers;    /* 1: threads can be given twice the usual registers (Intel) */
    uint32_t mma;           /* workgroup: HK_MMA of rows with `matrix` in their names: the matrix
                             * unit (dialect/mma.h) that it has, or may have if the driver tests
                             * units; 0: none */
    uint32_t processor;     /* HK_PROCESSOR: 1 where a processor poses as a GPU */
    uint32_t late;          /* 1: kernels are compiled when a plan needs them: the smaller the
                             * better */
    uint32_t endless;       /* 1: the system ends no kernel for taking long */
    uint32_t halves;        /* lanes: 1: has the rows with `halves` in their names */
    uint32_t large;         /* 1: has only kernels with HEED_BUFFERS_LARGE */
};

/* A kernel to be run: groups * threads, in groups of so many threads. */
struct heed_kernel_launch {
    enum heed_kernel kernel;
    uint32_t threads;
    uint64_t groups;
    uint64_t slice;                 /* groups that the device is given at once; 0: all */
    void *compiled;                 /* driver->kernel's */
};

/* Of the groups from `first` on, those that the device is given at once. */
static inline uint64_t heed_launch_slice(const struct heed_kernel_launch *launch, uint64_t first)
{
    const uint64_t left = launch->groups - first;

    return launch->slice == 0 || launch->slice > left ? left : launch->slice;
}

struct heed_gemm; /* gemm.h */
struct heed_gemm_plan;
struct heed_gemm_provider;

/* n_buffers is HEED_BUFFERS_SMALL or _LARGE. Absent buffers have a NULL handle. */
struct heed_work {
    const struct heed_gemm_plan *gemm; /* a product before the launches; NULL: none */
    const struct heed_kernel_launch *launches;
    uint32_t n_launches, n_buffers;
    void *blob;                    /* driver->memory_create's; handed to every kernel as well */
    heed_buf buffers[HEED_BUFFERS_LARGE];
    void *queue;
    void *const *waits;
    uint32_t n_waits, width;        /* width: the host, as in struct heed_launch */
    void **event;                   /* NULL: none wanted */
};

/* Statuses as offload's; HEED_E_KERNEL_BUILD with the log's first lines in the detail and all of
 * it logged. All functions: any thread. */
struct heed_driver {
    uint32_t size;
    uint32_t handles;               /* as offload->handles */
    /* Read-only memory with contents; complete on return. */
    heed_status (*memory_create)(void *state, uint64_t bytes, const void *contents, void **handle,
                                 struct heed_error_detail *);
    void (*memory_destroy)(void *state, void *handle);
    /* The compiled kernel, built or loaded at the first call for it and kept by the device. large:
     * with HEED_BUFFERS_LARGE (HK_LARGE=1). */
    heed_status (*kernel)(void *state, enum heed_kernel, uint32_t large, void **compiled,
                          struct heed_error_detail *);
    /* Enqueues the launches in order, the first after the waits. Nothing is allocated but by the
     * vendor. Vendors' drivers run a launch by its slices, one after the other. A failure of any
     * launch but the last leaves the outputs of attention unwritten, as only the last writes them,
     * or of some strips alone where others are cut (cuts.h) or slices came before; a push may have
     * moved rows, but its head and length stay. */
    heed_status (*run)(void *state, const struct heed_work *, struct heed_error_detail *);
    /* May be NULL: the unit of the traits is there. Has the device a matrix unit for a row that
     * needs one (heed_kernel_is_matrix)? What there is to test and to compile is done by the first
     * call that asks, so only plans that would take the row may ask. */
    bool (*has_unit)(heed_device *, enum heed_kernel);
    /* The library that multiplies matrices on such devices; NULL: none is known. */
    const struct heed_gemm_provider *gemm;
    /* Set with gemm: has the library the right sums on this device, in the types of this product?
     * *reason: "" if so, else why not. The first call that asks finds it out, so only plans that
     * would take the library may ask. Want of memory and a lost device are failures, no answers. */
    heed_status (*gemm_test)(heed_device *, const struct heed_gemm *, const char **reason,
                             struct heed_error_detail *);
};

/* device->state of every backend that uses this begins with it. */
struct heed_device_state {
    const struct heed_driver *driver;
    const struct heed_services *services;
    struct heed_device_traits traits;
};

/* Rows for a matrix unit: those that attend, with the type of their halves (HEED_F16 or HEED_BF16);
 * and those that test it besides, all of which are given HK_MMA. */
static inline bool heed_kernel_is_matrix(enum heed_kernel row)
{
    return row >= HEED_KERNEL_matrix_64_f16 && row <= HEED_KERNEL_matrix_128_bf16;
}

static inline bool heed_kernel_needs_unit(enum heed_kernel row)
{
    return row >= HEED_KERNEL_test_matrix_f16 && row <= HEED_KERNEL_matrix_128_bf16;
}

/* Rows whose sums are in an order of a unit's own: FAST. */
static inline bool heed_kernel_is_loose(enum heed_kernel row)
{
    return heed_kernel_is_matrix(row) || row == HEED_KERNEL_halves_plain ||
           row == HEED_KERNEL_halves_any;
}

static inline uint32_t heed_unit_dtype(enum heed_kernel row)
{
    return (row - HEED_KERNEL_matrix_64_f16) % 2 == 0 ? HEED_F16 : HEED_BF16;
}

extern const struct heed_impl *const heed_device_impls[];       /* impls.c; ends with NULL */

/* Runs the self_test kernel: do fma, rint, conversions and every step of docs/numerics.md give the
 * host's bits? *reason: "" if so, else static text why the device is not EXACT. offload: for a
 * queue and memory of the backend's. */
heed_status heed_device_self_test(heed_device *, const struct heed_backend_offload *,
                                  const char **reason, struct heed_error_detail *);

#endif
