/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the backends of vendors (opencl, cuda) have in common: the state of an opened device, the
 * way there and back, compiled kernels, and what is said of failures.
 *
 * Opening is one sequence for all of them: memory for the state, the vendor's device and context
 * (attach), the self-test, the device's properties. One function undoes it, however far it got.
 */
#ifndef HEED_BACKENDS_DEVICE_OFFLOAD_H
#define HEED_BACKENDS_DEVICE_OFFLOAD_H

#include "../../lib/core/compiler.h"
#include "device.h"
#include "hash.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

/* The outcome of the self-test of a physical device: its names and contexts share it, since they
 * share the driver, the compiler and the processor. */
struct heed_offload_verdict {
    uint32_t known;
    char reason[sizeof(((heed_device_props *)0)->reason)];      /* "": EXACT */
};

enum { HEED_OFFLOAD_GEMMS = 9 }; /* f32, f16 and bf16 of each of these */

/* Begins the state of every vendor's device. */
struct heed_offload_state {
    struct heed_device_state base;
    atomic_int lost;                /* 0, or the code that told; never cleared: the driver is left
                                     * alone from then on */
    struct heed_offload_verdict *verdict;       /* attach may set it; NULL: not shared */
    /* Of the matrix unit, by the type of its halves (0 f16, 1 bf16); kept apart, as no plan but
     * those that want the unit cause its test. unbuilt: a bit for a row that did not compile. */
    struct heed_offload_verdict unit[2];
    uint32_t unbuilt;
    /* Of the library that multiplies matrices, by the types of its operands and of its results. */
    struct heed_offload_verdict gemm[HEED_OFFLOAD_GEMMS];
    pthread_mutex_t building;       /* over kernels */
    void *kernels[HEED_KERNELS][2]; /* [row][large], kernel_create's; NULL: not yet */
};

/* A vendor's table. offload comes first: heed_backend.offload points to it. */
struct heed_vendor {
    struct heed_backend_offload offload;
    struct heed_driver driver;
    const char *name;               /* begins lines of the log: "opencl" */
    size_t state_size, state_align; /* of its state, which begins with a heed_offload_state */
    /* Fills the properties of the caller's device, as heed_backend.describe does. */
    heed_status (*device_wrap)(heed_device_props *, void *context, void *native,
                               struct heed_error_detail *);
    /* Finds the device (by its index, or the caller's by native) and enters the context (context
     * NULL: makes one); sets the traits. The state is zeros but for base. */
    heed_status (*attach)(void *state, uint32_t index, void *context, void *native,
                          struct heed_error_detail *);
    /* Gives back what attach took, however far it got; no kernel is left. */
    void (*detach)(void *state);
    /* Kept in the state: a plan that fails leaves no memory behind. large: 0 or 1. */
    heed_status (*kernel_create)(void *state, enum heed_kernel, uint32_t large, void **compiled,
                                 struct heed_error_detail *);
    void (*kernel_destroy)(void *state, void *compiled);
    /* May be NULL: verdicts are not kept for other processes. What the arithmetic of listed device
     * `index` depends on; 0: that cannot be told. Opens nothing. */
    uint32_t (*identify)(uint32_t index, struct heed_hash *);
    /* May be NULL: work-groups. HEED_SHAPE_* of listed device `index`. Opens nothing. */
    uint32_t (*shape)(uint32_t index);
};

/* open, close and wrap of heed_backend_offload. */
heed_status heed_offload_open(heed_device *, const struct heed_services *);
void heed_offload_close(heed_device *, const struct heed_services *);
heed_status heed_offload_wrap(heed_device *, const struct heed_services *, void *context,
                              void *native, struct heed_error_detail *);

/* kernel of heed_driver: built by the first call for it. */
heed_status heed_offload_kernel(void *state, enum heed_kernel, uint32_t large, void **compiled,
                                struct heed_error_detail *);

/* ---- unit.c ---- */

/* Of PCI: who made a device. */
enum { HEED_VENDOR_AMD = 0x1002, HEED_VENDOR_NVIDIA = 0x10DE, HEED_VENDOR_INTEL = 0x8086 };

/* What a device says of itself; which of these count depends on the vendor. */
struct heed_unit_hints {
    uint32_t vendor;                    /* HEED_VENDOR_*; others have no unit */
    uint32_t capability;                /* NVIDIA: 90 for compute capability 9.0 */
    uint32_t least_lanes;               /* Intel: as in the traits */
    const char *name, *extensions;      /* AMD: the compiler's target; Intel: of OpenCL */
};
/* The matrix unit (kernels/dialect/mma.h) that a GPU may have; 0: none. */
uint32_t heed_unit_suggested(const struct heed_unit_hints *);

/* has_unit of heed_driver: tests the unit of the traits. */
bool heed_offload_has_unit(heed_device *, enum heed_kernel);

/* ---- offload.c ---- */

/* The table whose offload the device's backend has. */
const struct heed_vendor *heed_offload_vendor(const heed_device *);

/* The runtime's memory. NULL is freed without harm. */
void *heed_offload_alloc(const void *state, size_t size, size_t align);
void heed_offload_free(const void *state, void *pointer, size_t size, size_t align);

/* Remembers the first code that told of the loss. */
void heed_offload_lose(void *state, int code);

/* The detail's text; detail NULL: nobody listens. */
HEED_PRINTF(2, 3)
void heed_offload_say(struct heed_error_detail *, const char *format, ...);

/* Every line of a text to the log, long ones in pieces. */
void heed_offload_log(const void *state, uint32_t level, const char *text);

/* To the log, before the vendor's compiler is given the source of a kernel, which takes time. */
void heed_offload_compiles(const void *state, enum heed_kernel);

/* A compiler's log: all of it to the log; "kernel <name>: " and the first line that speaks of an
 * error, else the first that is not blank, become the detail's text. A log without lines leaves
 * that as it is. */
void heed_offload_build_log(const void *state, uint32_t level, enum heed_kernel, const char *log,
                            struct heed_error_detail *);

/* ---- verdict.c ---- */

/* Verdicts of self-tests in the cache, under what the test (a row: self_test, test_matrix_*) and
 * the device are. index: of the vendor's list. */
void heed_offload_verdict_store(const struct heed_vendor *, uint32_t index, enum heed_kernel test,
                                const struct heed_services *, const struct heed_offload_verdict *);
/* Sets *verdict if one is kept. */
void heed_offload_verdict_load(const struct heed_vendor *, uint32_t index, enum heed_kernel test,
                               const struct heed_services *, struct heed_offload_verdict *);
/* recall of heed_backend_offload for a vendor. */
void heed_offload_recall(const struct heed_vendor *, uint32_t index, const struct heed_services *,
                         heed_device_props *);

/* The log levels of heed_logger. */
enum {
    HEED_OFFLOAD_ERROR = 1, HEED_OFFLOAD_WARNING, HEED_OFFLOAD_INFORMATION, HEED_OFFLOAD_DETAIL
};

#endif
