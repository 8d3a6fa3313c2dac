/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What stands between two attentions and before the first: norms, activations, linear maps, rotary
 * positions, embeddings. Beside <heed/heed.h> it includes nothing.
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
 * workspace, but that an output may be the input that its operation names: the same type, extents,
 * strides and address (`same_as` of heed_plan_operands()). Extents of 0 are legal. Every array is
 * memory of the device.
 *
 * @section nn_bits Numerics
 *
 * Everything is computed in binary32 whatever the storage types, in the order of docs/numerics.md,
 * sections 12 to 16. HEED_NUMERICS_EXACT promises these bits on every device that offers it.
 *
 * @section nn_example Example: the residual stream and the next layer's input
 *
 * @code
 * // x_data, before, after, y_data: float [1][1][n][1024]; weight: float [1024]
 * const heed_tensor rows = heed_array4(HEED_F32, NULL, 1, 1, n, 1024).t;
 * const heed_norm_desc norm = { .size = sizeof norm, .kind = HEED_NORM_RMS, .eps = 1e-6,
 *                               .x = rows, .residual = rows, .y = rows, .sum = rows,
 *                               .weight = { HEED_F32, 1, { 1024 }, { 1 } } };
 * const heed_norm_args mem = { .size = sizeof mem, .x = { x_data, 0 }, .residual = { before, 0 },
 *                              .weight = { weight, 0 }, .y = { y_data, 0 }, .sum = { after, 0 } };
 *
 * if (heed_norm_plan(device, &norm, &plan, &why) < 0 ||
 *     heed_norm_run(plan, queue, &mem, NULL, &why) < 0)
 *     fprintf(stderr, "%s: %s\n", why.field, why.message);
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
 * y may be x, and sum may be residual. The norm is taken of s as it is before it is rounded to the
 * type of `sum`. A NaN makes its row NaN. So does an infinity, but for the other channels of RMS,
 * which become 0, and so does a sum of LAYER that leaves binary32. Where the squares leave it, from
 * |s| of about 1.8e19 / sqrt(d) on, the factor is 0. The mean of the squares plus eps counts as
 * 2^-126 at least: rows of zeros become the bias, whatever eps is, and with an eps of 0 rows below
 * 1e-19 are not scaled up to 1.
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

/* ---- act ------------------------------------------------------------------ */

/** Activations: functions of one number. NaN stays NaN, an infinity gives the limit. */
enum {
    HEED_ACT_NONE = 0,   /**< x */
    HEED_ACT_RELU,       /**< max(x, 0). */
    HEED_ACT_GELU,       /**< x P(X < x) of a normal X (Hendrycks and Gimpel 2016). */
    HEED_ACT_GELU_TANH,  /**< With tanh: x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) / 2. */
    HEED_ACT_SILU,       /**< x / (1 + e^-x) (Elfwing et al. 2018). */
    HEED_ACT_TANH,       /**< tanh x */
    HEED_ACT_SIGMOID,    /**< 1 / (1 + e^-x) */
    HEED_ACT_EXP,        /**< e^x: positive features (Choromanski et al. 2021). */
    HEED_ACT_ELU_PLUS_ONE, /**< x + 1 above 0, else e^x (Katharopoulos et al. 2020, eq. 7). */
    HEED_ACT_INVERSE     /**< 1 / x; of zeros infinity, with their sign. */
};

/**
 * A function of each element, times a factor, plus an addend. Zero is the default everywhere.
 *
 *     x       [batch...][H][n][d], f32, f16, bf16
 *     factor  [batch...][H][n][d], f32, f16, bf16, or absent: 1
 *     add     [batch...][H][n][d], f32, f16, bf16, or absent: 0
 *     y       [batch...][H][n][d], f32, f16, bf16
 *
 *     y = f(x) * factor + add
 *
 * with f of `kind`; y may be x. Gated units (GLU, GEGLU, SwiGLU: Shazeer 2020) have both
 * projections as x and factor; where these are halves of one array, two tensors with its strides
 * name them. With HEED_ACT_NONE it is a product or a sum of two arrays.
 *
 * Over all numbers of binary32, before y is rounded to its type, f is off by at most
 *
 *     RELU          nothing
 *     GELU          1.1e-7 |x|; from -5.5 to 0 also the share 5e-7
 *     GELU_TANH     1.6e-7 |x|
 *     SILU          1.5e-7 |x|
 *     TANH          the share 1.8e-7
 *     SIGMOID       the share 2.2e-7
 *     EXP, ELU_PLUS_ONE
 *                   the share 1.2e-7
 *     INVERSE       the share 2^-24
 *
 * and by 2^-149 where the result is a subnormal.
 *
 * HEED_NUMERICS_EXACT promises the bits of docs/numerics.md, section 14.
 */
typedef struct heed_act_desc {
    uint32_t size, flags;    /**< flags: HEED_PLAN_*. */
    uint32_t numerics, kind; /**< HEED_NUMERICS_*; HEED_ACT_*. */
    heed_tensor x, factor, add;
    heed_tensor y;
} heed_act_desc;

/** Memory of one run: as heed_attn_args, one buf for each tensor of the descriptor. */
typedef struct heed_act_args {
    uint32_t size, reserved;
    heed_run run;
    heed_buf x, factor, add;
    heed_buf y;
} heed_act_args;

/**
 * Says whether heed_act_plan() would succeed, without making the plan. Any thread.
 *
 * @param report may be NULL.
 * @return HEED_OK heed_act_plan() would answer this;
 *   HEED_E_NULL device or desc is NULL; x or y is absent;
 *   HEED_E_SIZE, HEED_E_NEWER the size of desc;
 *   HEED_E_FLAG an unknown flag;
 *   HEED_E_VALUE kind, numerics, an extent or a number of axes out of range;
 *   HEED_E_SHAPE two extents disagree: the report has both;
 *   HEED_E_DTYPE an element type that is not in the table above;
 *   HEED_E_STRIDE an output maps two elements to one address;
 *   HEED_E_OVERFLOW extents or strides leave 63 bits;
 *   HEED_E_UNSUPPORTED legal, but not on this device: the report names the part;
 *   HEED_E_NOMEM free memory and try again; the device's `usable` when that is negative.
 */
HEED_API HEED_MUST_CHECK heed_status heed_act_check(heed_device *device,
                                                     const heed_act_desc *desc,
                                                     heed_report *report);

/** Checks and prepares act: as heed_attn_plan(). The plan keeps nothing of the caller's. */
HEED_API HEED_MUST_CHECK heed_status heed_act_plan(heed_device *device, const heed_act_desc *desc,
                                                    heed_plan **out, heed_report *report);

/** Runs a plan of heed_act_plan(): all as heed_attn_run() says, statuses and threads too. */
HEED_API HEED_MUST_CHECK heed_status heed_act_run(const heed_plan *plan, heed_queue *queue,
                                                   const heed_act_args *args, heed_event **event,
                                                   heed_report *report);

/* ---- linear --------------------------------------------------------------- */

/**
 * A linear map of rows, or of windows of rows: a projection, or a convolution over tokens. Zero is
 * the default everywhere, and is the projection of every row.
 *
 *     x     [batch...][H][n][in], f32, f16, bf16
 *     w     [1 or H][out][in], or with `kernel` [1 or H][out][kernel][in]; f32, f16, bf16, or in
 *           blocks of channels: q8_0, q4_0, q4_1, q5_0, q5_1, iq4_nl
 *     bias  [out], f32, f16, bf16, or absent
 *     add   [batch...][H][m][out], f32, f16, bf16, or absent
 *     y     [batch...][H][m][out], f32, f16, bf16
 *
 * Row i has the taps 0 .. kernel - 1, tap t at row i * stride - left + t of x, as the windows of
 * heed/pool.h have them: `tail` is a HEED_TAIL_* of that header and says which rows y has, m of
 * them, and with HEED_TAIL_END where windows begin. For each head
 *
 *     y[i][o] = act((s + bias[o]) + add[i][o])
 *     s       = sum over taps t and channels c of w[o][t][c] * x[i * stride - left + t][c]
 *
 * Taps before the first row of x or behind its last are absent: a NaN among their weights changes
 * nothing. A sum of no terms is 0. What is absent adds nothing. Strides of w are any: a matrix
 * [in][out] is w with its strides exchanged, and weights [out][in][kernel] of a convolution are w
 * with those of the last two axes exchanged. w is fastest where its channels lie side by side, or
 * its outputs do. Of weights in blocks (heed/heed.h) w is the number times its block's scale,
 * rounded once, or with a minimum that plus the minimum, rounded once; `in` is then a multiple of
 * 32 (HEED_E_SHAPE), and channels lie side by side (HEED_E_STRIDE).
 *
 * Invariants: kernel 0 is one tap, of which w has no axis; stride 0 is 1; only HEED_TAIL_CENTRE
 * takes left, from 0 to ceil((1 + kernel)/2) - 1; HEED_TAIL_CEIL wants stride at most kernel,
 * HEED_TAIL_END stride = kernel; HEED_TAIL_JOIN is no linear map. Else HEED_E_VALUE. kernel above
 * 2^24: HEED_E_UNSUPPORTED.
 *
 * y may be add. A sum is within gamma times the sum of |w * x|, |bias| and |add| of the exact one,
 * and a few 2^-149, with gamma the rounding errors of 256 terms and of one addition for every 256
 * terms more (Higham 2002, section 4.2); it is finite while 1 + gamma times that sum is. `act` is a
 * HEED_ACT_* of the rounded sum. HEED_NUMERICS_EXACT promises the bits of docs/numerics.md, section
 * 15.
 *
 * With HEED_NUMERICS_FAST a GPU's plan may go to the library that heed_device_gemm() names, and
 * heed_plan_info() then says FAST and "linear-gemm" with the library's name. It does where kernel
 * is 0 or 1, or windows neither overlap nor leave x and their elements follow each other; w is in
 * no blocks; and in x, w and y either the channels or the rows, the outputs, lie side by side.
 * gamma is then that of all terms, in any order (of x and w in halves of one type four times
 * that), subnormal numbers may count as zeros, y may be -0, and the bits may depend on addresses
 * and on the batch. All other plans get those of EXACT.
 */
typedef struct heed_linear_desc {
    uint32_t size, flags;         /**< flags: HEED_PLAN_*. */
    uint32_t numerics, act;       /**< HEED_NUMERICS_*; HEED_ACT_*. */
    uint32_t tail, reserved;      /**< HEED_TAIL_*. */
    int64_t kernel, stride, left; /**< Rows of x. */
    heed_tensor x, w, bias, add;
    heed_tensor y;
} heed_linear_desc;

/** Memory of one run: as heed_attn_args, one buf for each tensor of the descriptor. */
typedef struct heed_linear_args {
    uint32_t size, reserved;
    heed_run run;
    heed_buf x, w, bias, add;
    heed_buf y;
} heed_linear_args;

/**
 * Says whether heed_linear_plan() would succeed, without making the plan. Any thread.
 *
 * @param report may be NULL.
 * @return HEED_OK heed_linear_plan() would answer this;
 *   HEED_E_NULL device or desc is NULL; x, w or y is absent;
 *   HEED_E_SIZE, HEED_E_NEWER the size of desc;
 *   HEED_E_FLAG an unknown flag;
 *   HEED_E_VALUE act, tail, kernel, stride, left, numerics, reserved, an extent or a number of axes
 *     out of range;
 *   HEED_E_SHAPE two extents disagree: the report has both;
 *   HEED_E_DTYPE an element type that is not in the table above;
 *   HEED_E_STRIDE an output maps two elements to one address;
 *   HEED_E_OVERFLOW extents or strides leave 63 bits;
 *   HEED_E_UNSUPPORTED legal, but not on this device: the report names the part;
 *   HEED_E_NOMEM free memory and try again; the device's `usable` when that is negative.
 */
HEED_API HEED_MUST_CHECK heed_status heed_linear_check(heed_device *device,
                                                       const heed_linear_desc *desc,
                                                       heed_report *report);

/** Checks and prepares a map: as heed_attn_plan(). The plan keeps nothing of the caller's. */
HEED_API HEED_MUST_CHECK heed_status heed_linear_plan(heed_device *device,
                                                      const heed_linear_desc *desc,
                                                      heed_plan **out, heed_report *report);

/** Runs a plan of heed_linear_plan(): all as heed_attn_run() says, statuses and threads too. */
HEED_API HEED_MUST_CHECK heed_status heed_linear_run(const heed_plan *plan, heed_queue *queue,
                                                     const heed_linear_args *args,
                                                     heed_event **event, heed_report *report);

/* ---- rope ----------------------------------------------------------------- */

/** Which channels a pair has, of 2 r that are turned. */
enum {
    HEED_ROPE_HALVES = 0, /**< i and r + i (GPT-NeoX, Llama as published for transformers). */
    HEED_ROPE_ADJACENT    /**< 2 i and 2 i + 1 (RoFormer, GPT-J). */
};

/**
 * Rotary positions: pairs of channels turned by an angle that grows with the position (Su et al.
 * 2021, section 3.2). Zero is the default everywhere.
 *
 *     x         [batch...][H][n][d], f32, f16, bf16
 *     cos, sin  [positions][r], f32     of the angle of pair i at each position; 2 r <= d
 *     pos       [B][1 or H][n], i32 or i64, or absent: row j is at pos0 + j
 *     y         [batch...][H][n][d], f32, f16, bf16
 *
 * For the pair (a, b) of a row at position p, with c = cos[p][i] and s = sin[p][i]:
 *
 *     y_a = x_a * c - x_b * s        y_b = x_b * c + x_a * s
 *
 * y may be x. Channels from 2 r on are copied. Positions are indices of the tables and nothing
 * else: scaling (linear, NTK, YaRN) and other bases are in the tables, which heed_rope_tables()
 * fills. The turned channels of a row whose position is outside of [0, positions) are NaN.
 *
 * HEED_NUMERICS_EXACT promises the bits of docs/numerics.md, section 13.
 */
typedef struct heed_rope_desc {
    uint32_t size, flags;    /**< flags: HEED_PLAN_*. */
    uint32_t numerics, kind; /**< HEED_NUMERICS_*; HEED_ROPE_*. */
    int64_t pos0;            /**< Within 2^62; 0 with `pos`. */
    heed_tensor x, cos, sin, pos;
    heed_tensor y;
} heed_rope_desc;

/** Memory of one run: as heed_attn_args, one buf for each tensor of the descriptor. */
typedef struct heed_rope_args {
    uint32_t size, reserved;
    heed_run run;
    heed_buf x, cos, sin, pos;
    heed_buf y;
} heed_rope_args;

/**
 * Says whether heed_rope_plan() would succeed, without making the plan. Any thread.
 *
 * @param report may be NULL.
 * @return HEED_OK heed_rope_plan() would answer this;
 *   HEED_E_NULL device or desc is NULL; x, cos, sin or y is absent;
 *   HEED_E_SIZE, HEED_E_NEWER the size of desc;
 *   HEED_E_FLAG an unknown flag;
 *   HEED_E_VALUE kind, pos0, numerics, an extent or a number of axes out of range;
 *   HEED_E_SHAPE two extents disagree, or 2 r is more than d: the report has both;
 *   HEED_E_DTYPE an element type that is not in the table above;
 *   HEED_E_STRIDE an output maps two elements to one address;
 *   HEED_E_OVERFLOW extents or strides leave 63 bits;
 *   HEED_E_UNSUPPORTED legal, but not on this device: the report names the part;
 *   HEED_E_NOMEM free memory and try again; the device's `usable` when that is negative.
 */
HEED_API HEED_MUST_CHECK heed_status heed_rope_check(heed_device *device,
                                                     const heed_rope_desc *desc,
                                                     heed_report *report);

/** Checks and prepares a rotation: as heed_attn_plan(). The plan keeps nothing of the caller's. */
HEED_API HEED_MUST_CHECK heed_status heed_rope_plan(heed_device *device, const heed_rope_desc *desc,
                                                    heed_plan **out, heed_report *report);

/** Runs a plan of heed_rope_plan(): all as heed_attn_run() says, statuses and threads too. */
HEED_API HEED_MUST_CHECK heed_status heed_rope_run(const heed_plan *plan, heed_queue *queue,
                                                   const heed_rope_args *args, heed_event **event,
                                                   heed_report *report);

/** How the angles of positions beyond those that a model was trained with are made. */
enum {
    HEED_ROPE_SCALING_PLAIN = 0, /**< They go on. */
    HEED_ROPE_SCALING_LINEAR,    /**< Positions are divided by the factor (Chen et al. 2023). */
    HEED_ROPE_SCALING_NTK,       /**< The base grows: the slowest pair is that much slower. */
    HEED_ROPE_SCALING_YARN       /**< Slow pairs are divided, fast ones go on (Peng et al. 2023). */
};

/** What heed_rope_tables() fills tables for. Zero is the default everywhere. */
typedef struct heed_rope_scaling {
    uint32_t size, kind; /**< kind: HEED_ROPE_SCALING_*. */
    double base;         /**< Above 1, at most 2^500; 0: 10,000. */
    double factor;       /**< How many times as long, 1 to 2^31; 0: 1. */
    double trained;      /**< YARN: positions of the training, 1 to 2^31. */
    double fast, slow;   /**< YARN: turns within these, 2^-500 to 2^500; 0: 32 and 1. */
    double amplitude;    /**< Of cos and sin, positive, at most 2^100; 0: 1, of YARN
                              1 + ln(factor) / 10. */
} heed_rope_scaling;

/**
 * Fills tables for heed_rope_desc, cos and sin [positions][pairs], row j for position first + j.
 * Pair i of r turns by freq(i) at each position,
 *
 *     PLAIN   freq(i) = base^(-i / r)
 *     LINEAR  base^(-i / r) / factor
 *     NTK     PLAIN with base * factor^(r / (r - 1))
 *     YARN    base^(-i / r) * (1 - w + w / factor), w = clamp((i - low) / (high - low), 0, 1),
 *             low = floor(at(fast)), high = ceil(at(slow)), high at least low + 0.001,
 *             at(t) = r * ln(trained / (2 pi t)) / ln(base), clamped to [0, 2 r - 1]
 *
 * and the tables have amplitude * cos and amplitude * sin of position * freq(i). All is computed in
 * binary64 by additions, multiplications and divisions alone, and rounded once, so that every
 * platform has the same tables. Beside half a unit of binary32 they are within 1e-9 of the
 * formulas, times the amplitude, up to position 2^22, and within 2e-7 up to 2^31. No memory but the
 * tables is touched. Any thread.
 *
 * @param scaling NULL: all defaults.
 * @return HEED_OK; on success alone the tables are written;
 *   HEED_E_NULL a table that has elements is NULL;
 *   HEED_E_SIZE, HEED_E_NEWER the size of scaling;
 *   HEED_E_VALUE kind, a number out of range, NTK with less than two pairs, a negative count;
 *   HEED_E_OVERFLOW positions beyond 2^31, or more than 2^61 elements.
 */
HEED_API HEED_MUST_CHECK heed_status heed_rope_tables(const heed_rope_scaling *scaling,
                                                      int64_t first, int64_t positions,
                                                      int64_t pairs, float *cos, float *sin);

/* ---- embed ---------------------------------------------------------------- */

/**
 * Rows of tables by id, and their sum: what an encoder begins with. Zero is the default everywhere.
 *
 *     table      [V][d], f32, f16, bf16
 *     ids        [B][1 or H][n], i32 or i64
 *     positions  [P][d], f32, f16, bf16, or absent
 *     pos        [B][1 or H][n], i32 or i64, or absent: row j is at pos0 + j
 *     types      [T][d], f32, f16, bf16, or absent
 *     type_ids   [B][1 or H][n], i32 or i64, or absent: 0
 *     y          [batch...][H][n][d], f32, f16, bf16
 *
 * Row j of y is
 *
 *     y = table[ids[j]] * scale + positions[pos[j]] + types[type_ids[j]]
 *
 * and without positions or types, without their term: token, position and type embeddings of BERT
 * (Devlin et al. 2019, section 3); with a scale of sqrt(d), which is of the token alone, those of
 * the Transformer (Vaswani et al. 2017, section 3.4). A row with an id outside [0, V), a position
 * outside [0, P) or a type outside [0, T) is NaN; nothing outside the tables is read. Items may as
 * well be heads: ids [items][n] become y [items][n][d].
 *
 * HEED_NUMERICS_EXACT promises the bits of docs/numerics.md, section 16. With a scale of 1 and
 * without positions and types these are the bits of heed_copy_run().
 */
typedef struct heed_embed_desc {
    uint32_t size, flags;        /**< flags: HEED_PLAN_*. */
    uint32_t numerics, reserved; /**< HEED_NUMERICS_*. */
    double scale;                /**< Within binary32, to which it is rounded; 0: 1. */
    int64_t pos0;                /**< Within 2^62; 0 with `pos` and without `positions`. */
    heed_tensor table, ids;
    heed_tensor positions, pos;
    heed_tensor types, type_ids;
    heed_tensor y;
} heed_embed_desc;

/** Memory of one run: as heed_attn_args, one buf for each tensor of the descriptor. */
typedef struct heed_embed_args {
    uint32_t size, reserved;
    heed_run run;
    heed_buf table, ids;
    heed_buf positions, pos;
    heed_buf types, type_ids;
    heed_buf y;
} heed_embed_args;

/**
 * Says whether heed_embed_plan() would succeed, without making the plan. Any thread.
 *
 * @param report may be NULL.
 * @return HEED_OK heed_embed_plan() would answer this;
 *   HEED_E_NULL device or desc is NULL; table, ids or y is absent;
 *   HEED_E_SIZE, HEED_E_NEWER the size of desc;
 *   HEED_E_FLAG an unknown flag;
 *   HEED_E_VALUE scale, pos0, numerics, an extent or a number of axes out of range; pos without
 *     positions, type_ids without types;
 *   HEED_E_SHAPE two extents disagree: the report has both;
 *   HEED_E_DTYPE an element type that is not in the table above;
 *   HEED_E_STRIDE an output maps two elements to one address;
 *   HEED_E_OVERFLOW extents or strides leave 63 bits;
 *   HEED_E_UNSUPPORTED legal, but not on this device: the report names the part;
 *   HEED_E_NOMEM free memory and try again; the device's `usable` when that is negative.
 */
HEED_API HEED_MUST_CHECK heed_status heed_embed_check(heed_device *device,
                                                      const heed_embed_desc *desc,
                                                      heed_report *report);

/** Checks and prepares an embedding: as heed_attn_plan(). The plan keeps nothing of the caller's.
 */
HEED_API HEED_MUST_CHECK heed_status heed_embed_plan(heed_device *device,
                                                     const heed_embed_desc *desc, heed_plan **out,
                                                     heed_report *report);

/** Runs a plan of heed_embed_plan(): all as heed_attn_run() says, statuses and threads too. */
HEED_API HEED_MUST_CHECK heed_status heed_embed_run(const heed_plan *plan, heed_queue *queue,
                                                    const heed_embed_args *args, heed_event **event,
                                                    heed_report *report);

#ifdef __cplusplus
}
#endif
#endif
