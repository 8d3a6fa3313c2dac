/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What stands between two attentions: norms. Beside <heed/heed.h> it includes nothing.
 */
#ifndef HEED_NN_H
#define HEED_NN_H

#include <heed/heed.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @file nn.h
 *
 * @section nn_arrays Arrays
 *
 * As in heed/memory.h: tensors are [batch...][H][rows][d] with zero to three batch axes and without
 * a head axis one head; inputs are broadcast along batch axes of extent 1, outputs are not; strides
 * are any, outputs map no two elements to one address and share no byte with another array or the
 * workspace. Extents of 0 are legal. Every array is memory of the device.
 *
 * @section nn_bits Numerics
 *
 * Everything is computed in binary32 whatever the storage types, in the order of docs/numerics.md,
 * section 12. HEED_NUMERICS_EXACT promises these bits on every device that offers it.
 *
 * @section nn_example Example: the residual stream and the next layer's input
 *
 * @code
 * // x, residual, y: float [1][1][n][d]; weight: float [d]; queue: of the device to use
 * const heed_norm_desc desc = {
 *     .size = sizeof desc, .kind = HEED_NORM_RMS, .eps = 1e-6,
 *     .x = heed_array4(HEED_F32, NULL, 1, 1, n, d).t,
 *     .residual = heed_array4(HEED_F32, NULL, 1, 1, n, d).t,
 *     .weight = { HEED_F32, 1, { d }, { 1 } },
 *     .y = heed_array4(HEED_F32, NULL, 1, 1, n, d).t,
 *     .sum = heed_array4(HEED_F32, NULL, 1, 1, n, d).t };
 * const heed_norm_args args = { .size = sizeof args, .x = { x, 0 }, .residual = { stream, 0 },
 *                               .weight = { weight, 0 }, .y = { y, 0 }, .sum = { next, 0 } };
 * @endcode
 */

/* ---- norm ----------------------------------------------------------------- */

/** What a row is divided by. */
enum {
    HEED_NORM_LAYER = 0, /**< Its standard deviation, its mean being 0 then (Ba et al. 2016). */
    HEED_NORM_RMS        /**< Its root mean square (Zhang and Sennrich 2019). */
};

/**
 * A norm of rows, and the sum that it is taken of. Zero is the default everywhere.
 *
 *     x, residual  [batch...][H][n][d], f32, f16, bf16; residual may be absent
 *     weight       [d], f32, f16, bf16, or absent: 1
 *     bias         [d], f32, f16, bf16, or absent: 0; LAYER alone
 *     y            [batch...][H][n][d], f32, f16, bf16
 *     sum          [batch...][H][n][d], f32, f16, bf16, or absent
 *
 * For each row, with s = x + residual, which `sum` receives:
 *
 *     LAYER   y = (s - mean(s)) / sqrt(mean((s - mean(s))^2) + eps) * weight + bias
 *     RMS     y = s / sqrt(mean(s^2) + eps) * weight
 *
 * The norm is taken of s as it is before it is rounded to the type of `sum`. A NaN makes its row
 * NaN. So does an infinity, but for the other channels of RMS, which become 0. Where the squares
 * leave binary32, from |s| of about 1.8e19 on, the factor is 0.
 *
 * HEED_NUMERICS_EXACT promises the bits of docs/numerics.md, section 12.
 */
typedef struct heed_norm_desc {
    uint32_t size, flags;    /**< flags: HEED_PLAN_*. */
    uint32_t numerics, kind; /**< HEED_NUMERICS_*; HEED_NORM_*. */
    double eps;              /**< At least 0 and finite; rounded to binary32. */
    heed_tensor x, residual, weight, bias;
    heed_tensor y, sum;
} heed_norm_desc;

/** Memory of one run: as heed_attn_args, one buf for each tensor of the descriptor. */
typedef struct heed_norm_args {
    uint32_t size, reserved;
    heed_run run;
    heed_buf x, residual, weight, bias;
    heed_buf y, sum;
} heed_norm_args;

/**
 * Says whether heed_norm_plan() would succeed, without making the plan. Any thread.
 *
 * @param report may be NULL.
 * @return HEED_OK heed_norm_plan() would answer this;
 *   HEED_E_NULL device or desc is NULL; x or y is absent;
 *   HEED_E_SIZE, HEED_E_NEWER the size of desc;
 *   HEED_E_FLAG an unknown flag;
 *   HEED_E_VALUE kind, eps, numerics, an extent or a number of axes out of range; a bias with
 *     HEED_NORM_RMS;
 *   HEED_E_SHAPE two extents disagree: the report has both;
 *   HEED_E_DTYPE an element type that is not in the table above;
 *   HEED_E_STRIDE an output maps two elements to one address;
 *   HEED_E_OVERFLOW extents or strides leave 63 bits;
 *   HEED_E_UNSUPPORTED legal, but not on this device: the report names the part;
 *   HEED_E_NOMEM free memory and try again; the device's `usable` when that is negative.
 */
HEED_API HEED_MUST_CHECK heed_status heed_norm_check(heed_device *device,
                                                     const heed_norm_desc *desc,
                                                     heed_report *report);

/** Checks and prepares a norm: as heed_attn_plan(). The plan keeps nothing of the caller's. */
HEED_API HEED_MUST_CHECK heed_status heed_norm_plan(heed_device *device, const heed_norm_desc *desc,
                                                    heed_plan **out, heed_report *report);

/** Runs a plan of heed_norm_plan(): all as heed_attn_run() says, statuses and threads too. */
HEED_API HEED_MUST_CHECK heed_status heed_norm_run(const heed_plan *plan, heed_queue *queue,
                                                   const heed_norm_args *args, heed_event **event,
                                                   heed_report *report);

#ifdef __cplusplus
}
#endif
#endif
