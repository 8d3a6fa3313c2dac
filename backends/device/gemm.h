/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Libraries that multiply matrices, behind FAST of heed_linear: a provider is a table of what it
 * takes, prepares and enqueues, and a vendor's driver names the one that it has. gemm.c finds the
 * product that a plan is, asks the provider, tests it once on each device and falls back to the
 * kernels of EXACT where anything of that fails. What a plan wants besides the product - bias, add,
 * act, another type of y - a kernel does to the sums (kernels/ops/linear_end.cl). The queue, the
 * waits, the events and the workspace stay heed's or the caller's.
 */
#ifndef HEED_BACKENDS_DEVICE_GEMM_H
#define HEED_BACKENDS_DEVICE_GEMM_H

#include "../../lib/backend.h"

#include <stdbool.h>

/* Axes of items; products that a run enqueues one by one, at most: more are slower than kernels. */
enum { HEED_GEMM_AXES = 4, HEED_GEMM_CALLS = 64, HEED_GEMM_TEXT = 128 };

/* In place of an operand: sums in the workspace, f32 without gaps. */
#define HEED_GEMM_SUMS UINT32_MAX

/* A matrix of each item as lines of elements that lie side by side. */
struct heed_gemm_matrix {
    uint32_t operand, dtype;      /* operand: of the plan, or HEED_GEMM_SUMS */
    uint32_t turned, reserved;    /* 1: the lines are its columns */
    int64_t line;                 /* elements from line to line: those of a line at least */
    int64_t span;                 /* elements of an item, from the first to the last */
    int64_t step[HEED_GEMM_AXES]; /* elements from item to item, 0 or more */
};

/* c[i][j] = the sum over l of a[i][l] * b[j][l], in each item; a is m x k, b is n x k, c is m x n
 * and never turned. No extent is 0. Axes of items are merged where all matrices allow it, and the
 * last one varies fastest; unused axes, which come first, have the extent 1. */
struct heed_gemm {
    int64_t m, n, k;
    struct heed_gemm_matrix a, b, c;
    int64_t items[HEED_GEMM_AXES];
};

struct heed_gemm_provider;

/* What a plan keeps. */
struct heed_gemm_plan {
    const struct heed_gemm_provider *provider;
    struct heed_gemm form;
    uint64_t workspace_size, workspace_align; /* set by prepare; align 0: 1 */
    uint64_t workspace_at, sums_at; /* in the plan's workspace: the provider's part, the sums */
    void *prepared;                 /* the provider's own */
};

/* Where the matrices of the items of one call begin. */
struct heed_gemm_place {
    heed_buf a, b, c, workspace;
};

struct heed_gemm_provider {
    const char *name; /* of the kernel in heed_plan_info: "clblast" */
    bool batches;     /* 1: a call has all items of the last axis; else one item */
    /* Is there the library? Opens it. text: NULL, or for its name and version, or what is missing,
     * for which the file system is asked. */
    bool (*describe)(char text[HEED_GEMM_TEXT]);
    /* Limits of types and sizes; *reason: static text. Asked only where describe says true. */
    bool (*takes)(const void *state, const struct heed_gemm *, const char **reason);
    /* Sets workspace_* and prepared. On failure nothing is left. */
    heed_status (*prepare)(void *state, struct heed_gemm_plan *, struct heed_error_detail *);
    void (*release)(void *state, struct heed_gemm_plan *);
    /* Enqueues the product of one call behind what the queue (offload->queue_create's) holds.
     * Nothing is allocated but by the vendor. */
    heed_status (*enqueue)(void *state, void *queue, const struct heed_gemm_plan *,
                           const struct heed_gemm_place *, struct heed_error_detail *);
};

struct heed_work;
struct heed_device_plan;

/* Gives back the product of a plan, if it has one. */
void heed_gemm_finish(struct heed_device_plan *, const struct heed_services *);

/* How many calls a run has, and where call i finds its matrices. */
int64_t heed_gemm_calls(const struct heed_gemm_plan *);
struct heed_gemm_place heed_gemm_at(const struct heed_gemm_plan *, const struct heed_work *,
                                    int64_t call);

extern const struct heed_impl heed_gemm_impl;

/* ---- gemm_test.c ---- */

/* gemm of heed_backend_offload for vendors. */
heed_status heed_offload_gemm(const heed_device *, uint32_t open, char *text, size_t size);

/* gemm_test of heed_driver for vendors. */
heed_status heed_offload_gemm_test(heed_device *, const struct heed_gemm *, const char **reason,
                                   struct heed_error_detail *);

#endif
