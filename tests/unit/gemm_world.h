/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Libraries of matrices that are not there, over the drivers of vendor_world.h, and the plans that
 * go to them or not.
 */
#ifndef HEED_TESTS_UNIT_GEMM_WORLD_H
#define HEED_TESTS_UNIT_GEMM_WORLD_H

#include "vendor_world.h"

#include "backends/device/frame.h"
#include "backends/opencl/gemm.h"
#include "gemm_products.h"
#include "lib/core/interop.h"
#include "support/fake_cublaslt.h"

#include <heed/pool.h>

/* ---- a CLBlast that is not there ---- */

static struct {
    bool wrong;
} fake_clblast;

static inline int fake_sgemm(int layout, int a_transposed, int b_transposed, size_t m, size_t n,
                             size_t k, float alpha, void *a, size_t a_offset, size_t a_line,
                             void *b, size_t b_offset, size_t b_line, float beta, void *c,
                             size_t c_offset, size_t c_line, void **queue, void **event,
                             void *workspace)
{
    const float *const from = (const float *)fake_opencl_bytes(a) + a_offset;
    const float *const by = (const float *)fake_opencl_bytes(b) + b_offset;
    float *const to = (float *)fake_opencl_bytes(c) + c_offset;
    const int code = fake_call("CLBlastSgemm");

    if (layout != 101 || alpha != 1 || beta != 0 || event != NULL || workspace != NULL ||
        !fake_is(*queue, FAKE_QUEUE, "CLBlastSgemm") || c_line < n ||
        a_line < (a_transposed == 112 ? m : k) || b_line < (b_transposed == 112 ? k : n)) {
        fake_mistake("CLBlastSgemm");
        return -1014;
    }
    for (size_t i = 0; code == 0 && i < m; i++) {
        for (size_t j = 0; j < n; j++) {
            float sum = fake_clblast.wrong && i + j == 0;

            for (size_t l = 0; l < k; l++)
                sum += from[a_transposed == 112 ? l * a_line + i : i * a_line + l] *
                       by[b_transposed == 112 ? j * b_line + l : l * b_line + j];
            to[i * c_line + j] = sum;
        }
    }
    return code;
}

static inline int fake_sgemm_size(int layout, int a_transposed, int b_transposed, size_t m,
                                  size_t n, size_t k, size_t a_offset, size_t a_line,
                                  size_t b_offset, size_t b_line, size_t c_offset, size_t c_line,
                                  void **queue, size_t *bytes)
{
    const size_t numbers = m * n * k * a_offset * a_line * b_offset * b_line * c_offset * c_line;

    if (layout != 101 || a_transposed / 2 == 0 || b_transposed / 2 == 0 || numbers == 0)
        fake_mistake("CLBlastSGemmTempBufferSize");
    (void)fake_is(*queue, FAKE_QUEUE, "CLBlastSGemmTempBufferSize");
    *bytes = 0;
    return fake_call("CLBlastSGemmTempBufferSize");
}

static const struct heed_clblast_api fake_clblast_api = {
    .SgemmWithTempBuffer = fake_sgemm,
    .SGemmTempBufferSize = fake_sgemm_size,
};

/* ---- a device with a library, by the vendor's number ---- */

static const char *const library_names[VENDORS] = { [OPENCL] = "clblast", [CUDA] = "cublaslt" };
static const char *const library_products[VENDORS] = { [OPENCL] = "CLBlastSgemm",
                                                       [CUDA] = "cublasLtMatmul" };
/* Calls of which one that fails keeps the library from its work. */
static const char *const library_calls[VENDORS][8] = {
    [OPENCL] = { "CLBlastSGemmTempBufferSize", "CLBlastSgemm", NULL },
    [CUDA] = { "cublasLtCreate", "cublasLtMatmulDescCreate", "cublasLtMatrixLayoutCreate",
               "cublasLtMatmulAlgoGetHeuristic", "cublasLtMatmul", NULL },
};

static inline void library_remove(int vendor, const char *reason)
{
    if (vendor == OPENCL)
        heed_clblast_set(NULL, reason);
    else
        heed_cublaslt_set(NULL, reason);
}

static inline void library_spoil(int vendor)
{
    fake_clblast.wrong = vendor == OPENCL;
    fake_cublaslt.wrong = vendor == CUDA;
}

/* Of the vendor, opened: one of the runtime's, for plans. */
static inline heed_device *gemm_begin(const struct vendor *v)
{
    heed_device_props props = { .size = sizeof props };
    heed_device *device = NULL;
    char name[32];

    for (int i = 0; i < VENDORS; i++)
        vendors[i].without("it is not here");
    world_begin(v);
    fake_cublaslt_reset();
    fake_clblast.wrong = false;
    heed_clblast_set(&fake_clblast_api, NULL);
    if (v == &vendors[OPENCL]) {
        fake_opencl.type = 4;       /* a GPU */
        opencl_install();
    }
    snprintf(name, sizeof name, "%s:0", v->name);
    ck_assert_int_eq(heed_device_find(world.rt, name, &device, NULL), HEED_OK);
    ck_assert_int_eq(heed_device_info(device, &props), HEED_OK);
    memset(world.logged, 0, sizeof world.logged);
    return device;
}

/* The libraries are this machine's again, if nobody opens them. */
static inline void gemm_end(void)
{
    world_end();
    heed_clblast_set(NULL, NULL);
    heed_cublaslt_set(NULL, NULL);
}

/* ---- a caller's queue ---- */

static inline void native_end(void *queue)
{
    opencl_queue_end(NULL, queue);
}

/* In place of heed's own queue one of a caller's of OpenCL. */
static inline void product_queue(struct product *p, bool out_of_order)
{
    heed_queue_destroy(p->queue);
    p->native = opencl_queue_of(opencl_context_of(p->device),
                                out_of_order ? HEED_CL_QUEUE_OUT_OF_ORDER : 0);
    p->native_end = native_end;
    ck_assert_int_eq(heed_interop_queue("opencl", p->device, p->native, &p->queue, NULL), HEED_OK);
}

/* ---- plans alone ---- */

static inline heed_linear_desc plain_desc(int64_t m, int64_t n, int64_t k)
{
    const struct shape shape = { m, n, k, 1, 1, PLAIN, PLAIN, PLAIN, HEED_F32, HEED_F32, 0, 1, 0 };
    int64_t elements[Y + 1];
    heed_linear_desc desc;

    (void)shape_lay(&shape, &desc, elements);
    return desc;
}

static inline heed_plan_props props_of(heed_device *device, const heed_linear_desc *desc)
{
    heed_plan_props props = { .size = sizeof props };
    heed_report report = { .size = sizeof report };
    heed_plan *plan = NULL;

    ck_assert_msg(heed_linear_plan(device, desc, &plan, &report) >= 0, "%s: %s", report.field,
                  report.message);
    ck_assert_int_eq(heed_plan_info(plan, &props), HEED_OK);
    heed_plan_drop(plan);
    return props;
}

/* Launches behind the product. */
static inline uint32_t launches_of(heed_device *device, const heed_linear_desc *desc)
{
    heed_plan *plan = NULL;
    uint32_t n;

    ck_assert_int_ge(heed_linear_plan(device, desc, &plan, NULL), 0);
    n = ((const struct heed_device_plan *)plan->state)->n_launches;
    heed_plan_drop(plan);
    return n;
}

#define CHANGE(name) static inline void name(heed_linear_desc *d)
CHANGE(ask_exact) { d->numerics = HEED_NUMERICS_EXACT; }
CHANGE(ask_repeat) { d->numerics = HEED_NUMERICS_REPEAT; }
CHANGE(ask_best) { d->numerics = HEED_NUMERICS_BEST; }
CHANGE(add_act) { d->act = HEED_ACT_RELU; }
CHANGE(add_add) { d->add = d->y; }
CHANGE(other_weights) { d->w.dtype = HEED_F16; }
CHANGE(no_rows) { d->x.shape[2] = d->y.shape[2] = 0; }
CHANGE(no_terms) { d->x.shape[3] = d->w.shape[2] = 0; }
CHANGE(add_bias)
{
    d->bias = (heed_tensor){ .dtype = HEED_F32, .ndim = 1, .shape = { d->y.shape[3] },
                             .stride = { 1 } };
}
CHANGE(add_windows)
{
    d->kernel = 2;
    d->w = (heed_tensor){ .dtype = HEED_F32, .ndim = 4, .shape = { 1, d->y.shape[3], 2,
                                                                   d->x.shape[3] } };
    d->w.stride[2] = d->x.shape[3];
    d->w.stride[1] = 2 * d->x.shape[3];
    d->w.stride[3] = 1;
    d->x.shape[2]++;
}
CHANGE(add_centre)
{
    add_windows(d);
    d->x.shape[2]--;
    d->tail = HEED_TAIL_CENTRE;
    d->left = 1;
}
CHANGE(spread_channels)
{
    d->x.stride[3] = 2;
    d->x.stride[2] *= 2;
    d->x.stride[1] *= 2;
    d->x.stride[0] *= 2;
}
CHANGE(turn_rows) { d->x.stride[2] = -d->x.stride[2]; }
CHANGE(other_results)
{
    d->y.dtype = HEED_BF16;
}
CHANGE(add_turned)
{
    d->add = d->y;
    d->y.stride[2] = -d->y.stride[2];
}
#undef CHANGE

#endif
