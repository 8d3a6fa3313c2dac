/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Rows that are moved: copy (gather, scatter, append to a cache) and push (a memory of
 * fixed size that gives back what falls out). Rows that a state of fixed size takes in: recur.
 * Beside <heed/heed.h> it includes <string.h>, as it always did.
 */
#ifndef HEED_MEMORY_H
#define HEED_MEMORY_H

#include <heed/heed.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @file memory.h
 *
 * @section arrays Arrays
 *
 * Tensors are arrays [batch...][H][rows][d] as in heed/attn.h: zero to three batch axes, on the
 * left, and without a head axis one head. `[B]` is an array with one to three batch axes, the
 * missing ones on the left with extent 1, `[1 or H][n]` may lack its head axis, too. B, the batch,
 * has of each axis the extent that all arrays have in common; an input with extent 1, or without
 * the axis, is broadcast. Axes are read from the right: [n], [H][n], [b][H][n]; a mask or a list
 * for each item is [B][1][n]. [B][pages] and [B][M][2] may lack all of B; an output and a state
 * have every extent of B. Strides are any, in elements; outputs and states map no two elements to
 * one address. Extents of 0 are legal. Every array is memory of the device: nothing of it is read
 * by check or plan.
 *
 * What makes no sense in an index, a length or a head is absent by the rules below, never an
 * access out of bounds. Outputs and states share no byte with another array or the workspace
 * (HEED_E_ALIAS); inputs may share memory.
 *
 * @section bits Numerics
 *
 * Of copy and push; of recur: docs/numerics.md, section 18.
 *
 * Where two element types are equal, the bits are copied: payloads of NaN, -0, subnormals.
 * Otherwise an element is widened exactly to binary32 and leaves as every result does: one
 * rounding to nearest even, NaN canonical, -0 as +0 (docs/numerics.md, section 4, step 11). Every
 * device has the same bits; there is no looser path.
 *
 * Rows of i8, and those of numbers of a byte (f8: HEED_F8...) beside an array of scales, are
 * **quantised** on the way in, each with a scale of its own, so that attention can read them
 * (heed_source in heed/attn.h). With a the largest |x[c]| of the row and m the largest number of
 * the type, 127 of i8:
 *
 *     scale = a / m           rounded to binary32, then to the type of the scale array
 *     byte  = x[c] / scale    rounded to nearest, ties to even, within [-m, m]
 *
 * by the operations that docs/numerics.md, section 5, names, the same on every device. Rows of f8
 * without scales are rounded as they are: what is beyond m, infinities too, becomes m. Of i8 then
 * |x[c] - byte * scale| <= scale * (1/2 + 2^-15), and at most 2^-143 more where an f32 scale is
 * below 2^-126, 2^-18 more where an f16 scale is below 2^-14. A row of zeros, or one whose scale is
 * rounded to 0, has the scale +0 and bytes of 0. A row that holds NaN or an infinity, or whose
 * scale leaves f16 (a of about 8.3e6), has the scale NaN and bytes of 0: all of it reads as NaN.
 *
 * Rows of types in blocks (HEED_Q8_0 and its kin) become f32, f16 or bf16, each element z * scale,
 * or that plus the minimum, rounded to binary32 and then to the type. Numbers become rows of q8_0
 * and q4_0, block by block, each with its scale rounded to f16:
 *
 *     q8_0   scale = a / 127     z = x[c] / scale, to nearest, within [-127, 127]
 *     q4_0   scale = -e / 8      likewise within [-8, 7]
 *
 * with a the largest |x[c]| of the block, e the first x[c] of that magnitude. Then, of q8_0,
 * |x[c] - z * scale| <= scale * (1/2 + 2^-15); of q4_0 |x[c] - z * scale| <= |scale| * (h + 2^-7),
 * where h is 1 where z is 7, else 1/2; and at most 2^-18 (q8_0) or 2^-21 (q4_0) more where the
 * scale is below 2^-14. A block of zeros, or one whose scale is rounded to 0, has the scale +0 and
 * integers of 0, one that holds NaN or an infinity or whose scale leaves f16 the scale NaN and
 * integers of 0. No other two types of which one has blocks go together (HEED_E_DTYPE).
 *
 * @section copy_example Example: the rows of 3 tokens
 *
 * @code
 * // x: float [n][64]; y: float [3][64]; queue: of the device to use
 * int32_t wanted[3] = { 7, 0, 7 };
 * int64_t three = 3;
 * heed_array x = heed_array4(HEED_F32, x_data, 1, 1, n, 64);
 * heed_array y = heed_array4(HEED_F32, y_data, 1, 1, 3, 64);
 * heed_array from = heed_array_dense(HEED_I32, wanted, 1, &three);
 * heed_report why = { .size = sizeof why };
 *
 * if (heed_copy_simple(queue, &x, &from, &y, &why) < 0)
 *     fprintf(stderr, "%s: %s\n", why.field, why.message);
 * @endcode
 */

/* ---- copy --------------------------------------------------------------- */

enum {
    HEED_COPY_ZERO = 1u                /**< Rows whose source is absent are written as +0. */
};

/**
 * One copy of rows. Zero is the default everywhere.
 *
 *     y[b][h][to(i)] = x[b][h][from(i)]      for i in 0 .. n - 1
 *
 *     x      [batch...][H][rows][d]     f32, f16, bf16, f8 or a type in blocks
 *     y      [batch...][H][rows][d]     f32, f16, bf16, f8, i8 or a type in blocks; with `table`
 *                                       [P][H][page][d], exactly, shared by all items
 *     from   [B][1 or H][n], i32        optional; without it from(i) = i
 *     to     [B][1 or H][n], i32        optional, not with `at`
 *     at     [B], i32 or i64            optional, not with `to`
 *     head   [B], i32 or i64            optional: y is a ring
 *     table  [B][pages], i32            optional, not with `head`: y is paged
 *     len    [B], i32 or i64            optional: n of an item, clamped to [0, n]
 *     y_scale [batch...][H][rows]       f32 or f16: of a y of i8, beside which it is required, or
 *                                       of f8, and of no other; with `table` [P][H][page]
 *
 * n is the extent of `from`, else of `to`, else the rows of x. A negative from(i), or one that x
 * has no row for, is absent: with HEED_COPY_ZERO its row becomes +0, else nothing is written.
 *
 * Where row i goes: t = to[i], or at + i with `at` clamped to +-2^60, or i. A negative t is not
 * written. Then
 * - **plain**: row t of y; a t that y has no row for is not written;
 * - **ring**, of capacity C = rows of y: row (head + t) mod C. With a head outside [0, C) the
 *   item is not written. More than C rows go round: see the last rule;
 * - **paged**: row t mod page of page table[t / page]; a page outside [0, P), or a t beyond the
 *   table, is not written.
 *
 * Rows of a y of i8, or with y_scale, are quantised (see Numerics). The scale of a row lies in
 * y_scale where the row lies in y, and is written whenever the row is, also where d is 0; a row
 * of +0 has the scale +0. Of a type in blocks a row of +0 has scales and minima of +0 and integers
 * of 0, or, of iq4_nl, of 1.
 *
 * y and y_scale are states: rows that are not named keep what they hold. Where two i have one
 * destination, each element is that of one of them, which one is not said, and of i8 and of blocks
 * the integers may be of one and the scale of another; so keep them apart (push does).
 * Two entries of `table` that are the same page, of one item or of two, are two i with one
 * destination. copy changes no length and no head. Cost: every row that is moved is read once and
 * written once.
 *
 * Pages as in Kwon et al. 2023 (PagedAttention), section 4.
 */
typedef struct heed_copy_desc {
    uint32_t size, flags;              /**< flags: HEED_COPY_*, HEED_PLAN_*. */
    uint32_t numerics, reserved;       /**< numerics: HEED_NUMERICS_*. */
    heed_tensor x, y;
    heed_tensor from, to, at, head, table, len;
    heed_tensor y_scale;
} heed_copy_desc;

/** Memory of one run: as heed_attn_args, one buf for each tensor of the descriptor. */
typedef struct heed_copy_args {
    uint32_t size, reserved;
    heed_run run;
    heed_buf x, y;
    heed_buf from, to, at, head, table, len;
    heed_buf y_scale;
} heed_copy_args;

/**
 * Says whether heed_copy_plan() would succeed, without making the plan. Structure first
 * (pointers, sizes, newer bytes); of several other faults one is named. Any thread.
 *
 * @param report may be NULL.
 * @return HEED_OK heed_copy_plan() would answer this;
 *   HEED_E_NULL device or desc is NULL, x or y is absent, or the y_scale of a y of i8;
 *   HEED_E_SIZE, HEED_E_NEWER the size of desc: use the library's own headers;
 *   HEED_E_FLAG an unknown flag;
 *   HEED_E_VALUE numerics, reserved, an extent or a number of axes out of range, two arrays that
 *     exclude each other: the report names the later one; or y_scale beside a y of floats;
 *   HEED_E_SHAPE two extents disagree: the report has both;
 *   HEED_E_DTYPE an element type that is not in the table above;
 *   HEED_E_STRIDE y or y_scale maps two elements to one address;
 *   HEED_E_OVERFLOW extents or strides leave 63 bits;
 *   HEED_E_UNSUPPORTED legal, but not on this device: the report names the part;
 *   HEED_E_NOMEM free memory and try again; the device's `usable` when that is negative.
 */
HEED_API HEED_MUST_CHECK heed_status heed_copy_check(heed_device *device,
                                                     const heed_copy_desc *desc,
                                                     heed_report *report);

/**
 * Checks and prepares a copy. The plan keeps nothing of the caller's. Any thread.
 *
 * @param out    receives the plan, which heed_plan_drop() gives up.
 * @param report may be NULL.
 * @return as heed_copy_check(), and HEED_E_NULL when `out` is NULL; HEED_E_INTERNAL a mistake in
 *   heed; device backends also HEED_E_DEVICE_NOMEM, HEED_E_KERNEL_BUILD, HEED_E_DEVICE,
 *   HEED_E_DEVICE_LOST.
 */
HEED_API HEED_MUST_CHECK heed_status heed_copy_plan(heed_device *device,
                                                    const heed_copy_desc *desc,
                                                    heed_plan **out, heed_report *report);

/** Runs a plan of heed_copy_plan(): all as heed_attn_run() says, statuses too. */
HEED_API HEED_MUST_CHECK heed_status heed_copy_run(const heed_plan *plan, heed_queue *queue,
                                                   const heed_copy_args *args,
                                                   heed_event **event, heed_report *report);

/* ---- push --------------------------------------------------------------- */

/**
 * A memory of at most C rows, first in, first out. Zero is the default everywhere.
 *
 *     rows     [batch...][H][C][d]      state; f32, f16, bf16, f8, i8 or a type in blocks
 *     head     [B], i64                 state: the place of the oldest row
 *     len      [B], i64                 state: how many rows there are
 *     x        [batch...][H][L][d]      the new rows, oldest first; the type of `rows`, for rows of
 *                                       i8, f8, q8_0 and q4_0 any of f32, f16, bf16 and f8
 *     x_len    [B], i32 or i64          optional: how many of them, clamped to [0, L]
 *     out      [batch...][H][L][d]      optional: what fell out; the type of `rows`
 *     out_len  [B], i64                 optional: how many rows fell out
 *     rows_scale [batch...][H][C]       state; f32 or f16: of rows of i8, beside which it is
 *                                       required, or of f8, and of no others
 *
 * Logical row g of the memory lies in row (head + g) mod C. The sequence is the memory, oldest
 * first, then x. Its last min(C, total) rows stay; the others go to `out`, oldest first. Then
 *
 *     out_len = max(0, len + x_len - C)     at most L
 *     head    = (head + out_len) mod C      0 when C is 0
 *     len     = min(C, len + x_len)
 *
 * A length outside [0, C] is clamped before it is used, a head outside [0, C) counts as 0. Rows of
 * `out` at or beyond out_len are written as +0. Rows of the memory that are not replaced keep
 * what they hold. Bits are copied. Rows that stay in a memory with scales, or of another type
 * than x, are quantised (see Numerics), each with its scale, if any, in rows_scale at the place
 * that it has in rows; what falls out of such a memory is lost, and `out` beside it is
 * HEED_E_UNSUPPORTED. An attention whose terms show all of a source may read `rows` as a DENSE
 * source with `len`, and rows_scale as its scales: the rows are those of the memory, in the
 * order of storage. C = 0 is legal: then everything falls out at once. Nothing is shifted: the
 * work is O(L), whatever C is, and the memory never grows. A zeroed head and len is the empty
 * memory.
 *
 * The memories of Transformer-XL (Dai et al. 2019, section 3.2), of the Compressive Transformer
 * (Rae et al. 2020, algorithm 1: push, compress `out`, push that) and of AWESOME (Cao and Wang
 * 2023, section 3.1).
 */
typedef struct heed_push_desc {
    uint32_t size, flags;              /**< flags: HEED_PLAN_*. */
    uint32_t numerics, reserved;       /**< numerics: HEED_NUMERICS_*. */
    heed_tensor rows, head, len;
    heed_tensor x, x_len;
    heed_tensor out, out_len;
    heed_tensor rows_scale;
} heed_push_desc;

/** Memory of one run: as heed_attn_args, one buf for each tensor of the descriptor. */
typedef struct heed_push_args {
    uint32_t size, reserved;
    heed_run run;
    heed_buf rows, head, len;
    heed_buf x, x_len;
    heed_buf out, out_len;
    heed_buf rows_scale;
} heed_push_args;

/** Says whether heed_push_plan() would succeed. Statuses as heed_copy_check(); HEED_E_NULL: rows,
 * head, len or x is absent, or the rows_scale of rows of i8; HEED_E_VALUE also rows_scale beside
 * rows of floats; HEED_E_DTYPE also where x (but numbers for rows of i8, f8, q8_0 and q4_0) or out
 * has another type than rows; HEED_E_STRIDE any of the states and outputs; HEED_E_UNSUPPORTED also
 * `out` beside rows that are quantised. Any thread. */
HEED_API HEED_MUST_CHECK heed_status heed_push_check(heed_device *device,
                                                     const heed_push_desc *desc,
                                                     heed_report *report);

/** Checks and prepares a push: as heed_copy_plan(). */
HEED_API HEED_MUST_CHECK heed_status heed_push_plan(heed_device *device,
                                                    const heed_push_desc *desc,
                                                    heed_plan **out, heed_report *report);

/** Runs a plan of heed_push_plan(): all as heed_attn_run() says, statuses too. */
HEED_API HEED_MUST_CHECK heed_status heed_push_run(const heed_plan *plan, heed_queue *queue,
                                                   const heed_push_args *args,
                                                   heed_event **event, heed_report *report);

/* ---- recur ---------------------------------------------------------------- */

enum {
    HEED_RECUR_DELTA = 1u,   /**< What the state already answers to k is taken off v. */
    HEED_RECUR_CHANNELS = 2u /**< `decay` has a factor for each channel of k. */
};

/**
 * A recurrent memory: a state of constant size that each token decays, writes to and reads. Zero is
 * the default everywhere.
 *
 *     q      [batch...][G][n][d_k]     f32, f16, bf16; there exactly where o is
 *     k      [batch...][G][n][d_k]     f32, f16, bf16
 *     v      [batch...][H][n][d_v]     f32, f16, bf16; H is a multiple of G
 *     decay  [B][H][n]                 f32, f16, bf16, or absent: 1; with HEED_RECUR_CHANNELS
 *                                      [batch...][H][n][d_k]
 *     beta   [B][H][n]                 f32, f16, bf16, or absent: 1
 *     len    [B], i32 or i64           optional: tokens of an item, clamped to [0, n]
 *     state  [batch...][H][d_k][d_v]   state; f32
 *     o      [batch...][H][n][d_v]     f32, f16, bf16, or absent: the state alone goes on
 *
 * For each item and head h, with k and q of head h / (H / G), the tokens t in order:
 *
 *     S = decay[t] * S                 each row c of S by decay[t][c] with HEED_RECUR_CHANNELS
 *     u = v[t]                         with HEED_RECUR_DELTA  v[t] - S^T k[t]
 *     S = S + k[t] (beta[t] * u)^T
 *     o[t] = scale * S^T q[t]
 *
 * S is `state`, as it is found and left. So a call goes on where the one before it ended: cut
 * anywhere into several calls, the tokens give the same bits. A zeroed state is the empty memory.
 * Rows of o at or beyond the length are written as +0, and the state of an item without tokens
 * keeps its bits. Decays are factors, not their logarithms, of any value; one for all tokens, as
 * RetNet has it, is an array whose stride along n is 0. A NaN or an infinity spreads as the
 * formulas say, and stays in the state. A normaliser (the sum of the keys, by which linear
 * attention divides) is one more column of v, of ones: the same column of o is the denominator.
 *
 * Linear attention (Katharopoulos et al. 2020) has no decay and no DELTA; RetNet (Sun et al. 2023)
 * and Mamba-2 (Dao and Gu 2024) decay by head, gated linear attention (Yang et al. 2024a) by
 * channel; the delta rule (Schlag et al. 2021, Yang et al. 2024b) is DELTA with beta, the gated one
 * (Yang et al. 2025) that with a decay by head.
 *
 * HEED_NUMERICS_EXACT promises the bits of docs/numerics.md, section 18.
 */
typedef struct heed_recur_desc {
    uint32_t size, flags;        /**< flags: HEED_PLAN_*, HEED_RECUR_*. */
    uint32_t numerics, reserved; /**< numerics: HEED_NUMERICS_*. */
    double scale;                /**< Of o; binary32 has it, rounded; 0: 1. */
    heed_tensor q, k, v;
    heed_tensor decay, beta, len;
    heed_tensor state;
    heed_tensor o;
} heed_recur_desc;

/** Memory of one run: as heed_attn_args, one buf for each tensor of the descriptor. */
typedef struct heed_recur_args {
    uint32_t size, reserved;
    heed_run run;
    heed_buf q, k, v;
    heed_buf decay, beta, len;
    heed_buf state;
    heed_buf o;
} heed_recur_args;

/**
 * Says whether heed_recur_plan() would succeed, without making the plan. Any thread.
 *
 * @param report may be NULL.
 * @return HEED_OK heed_recur_plan() would answer this;
 *   HEED_E_NULL device or desc is NULL; k, v or state is absent, or q beside o, or the decay of
 *     HEED_RECUR_CHANNELS;
 *   HEED_E_SIZE, HEED_E_NEWER the size of desc;
 *   HEED_E_FLAG an unknown flag;
 *   HEED_E_VALUE scale, numerics, reserved, an extent or a number of axes out of range; q without
 *     o;
 *   HEED_E_SHAPE two extents disagree, or H is no multiple of G: the report has both;
 *   HEED_E_DTYPE an element type that is not in the table above;
 *   HEED_E_STRIDE the state or o maps two elements to one address;
 *   HEED_E_OVERFLOW extents or strides leave 63 bits;
 *   HEED_E_UNSUPPORTED legal, but not on this device, or d_k above 2^40: the report names the part;
 *   HEED_E_NOMEM free memory and try again; the device's `usable` when that is negative.
 */
HEED_API HEED_MUST_CHECK heed_status heed_recur_check(heed_device *device,
                                                      const heed_recur_desc *desc,
                                                      heed_report *report);

/** Checks and prepares a recurrence: as heed_attn_plan(). The plan keeps nothing of the caller's.
 */
HEED_API HEED_MUST_CHECK heed_status heed_recur_plan(heed_device *device,
                                                     const heed_recur_desc *desc, heed_plan **out,
                                                     heed_report *report);

/** Runs a plan of heed_recur_plan(): all as heed_attn_run() says, statuses and threads too. */
HEED_API HEED_MUST_CHECK heed_status heed_recur_run(const heed_plan *plan, heed_queue *queue,
                                                    const heed_recur_args *args, heed_event **event,
                                                    heed_report *report);

/* ---- gate ----------------------------------------------------------------- */

enum {
    HEED_GATE_KEEPS = 1u /**< The gate says how much is kept, not how much is new (MART). */
};

/**
 * A gated update of a memory. Zero is the default everywhere.
 *
 *     memory  [batch...][H][n][d], f32, f16, bf16
 *     update  [batch...][H][n][d], f32, f16, bf16: before its tanh
 *     gate    [batch...][H][n][d], f32, f16, bf16: before its sigmoid
 *     y       [batch...][H][n][d], f32, f16, bf16
 *
 * Element by element, with u = tanh(update) and g = 1 / (1 + e^-gate):
 *
 *     y = g * u + (1 - g) * memory      Cao and Wang 2023 (AWESOME), equations 10 to 12
 *     KEEPS: y = g * memory + (1 - g) * u      Lei et al. 2020 (MART), equation 4
 *
 * y may be memory. `update` and `gate` are sums of two maps, of the memory and of what it saw:
 * heed_linear_run() twice, the second onto the first. A NaN makes its element NaN; an infinity of
 * update or gate is the limit of its function; one of the memory is an infinity or NaN.
 *
 * HEED_NUMERICS_EXACT promises the bits of docs/numerics.md, section 19.
 */
typedef struct heed_gate_desc {
    uint32_t size, flags;        /**< flags: HEED_PLAN_*, HEED_GATE_KEEPS. */
    uint32_t numerics, reserved; /**< HEED_NUMERICS_*. */
    heed_tensor memory, update, gate;
    heed_tensor y;
} heed_gate_desc;

/** Memory of one run: as heed_attn_args, one buf for each tensor of the descriptor. */
typedef struct heed_gate_args {
    uint32_t size, reserved;
    heed_run run;
    heed_buf memory, update, gate;
    heed_buf y;
} heed_gate_args;

/**
 * Says whether heed_gate_plan() would succeed, without making the plan. Any thread.
 *
 * @param report may be NULL.
 * @return HEED_OK heed_gate_plan() would answer this;
 *   HEED_E_NULL device or desc is NULL; an array is absent;
 *   HEED_E_SIZE, HEED_E_NEWER the size of desc;
 *   HEED_E_FLAG an unknown flag;
 *   HEED_E_VALUE numerics, reserved, an extent or a number of axes out of range;
 *   HEED_E_SHAPE two extents disagree: the report has both;
 *   HEED_E_DTYPE an element type that is not in the table above;
 *   HEED_E_STRIDE an output maps two elements to one address;
 *   HEED_E_OVERFLOW extents or strides leave 63 bits;
 *   HEED_E_UNSUPPORTED legal, but not on this device: the report names the part;
 *   HEED_E_NOMEM free memory and try again; the device's `usable` when that is negative.
 */
HEED_API HEED_MUST_CHECK heed_status heed_gate_check(heed_device *device,
                                                     const heed_gate_desc *desc,
                                                     heed_report *report);

/** Checks and prepares gate: as heed_attn_plan(). The plan keeps nothing of the caller's. */
HEED_API HEED_MUST_CHECK heed_status heed_gate_plan(heed_device *device, const heed_gate_desc *desc,
                                                    heed_plan **out, heed_report *report);

/** Runs a plan of heed_gate_plan(): all as heed_attn_run() says, statuses and threads too. */
HEED_API HEED_MUST_CHECK heed_status heed_gate_run(const heed_plan *plan, heed_queue *queue,
                                                   const heed_gate_args *args, heed_event **event,
                                                   heed_report *report);

/* ---- easy calls ------------------------------------------------------------ */

/**
 * The easy case: y[i] = x[from[i]], planned, run and waited for in one call. It allocates; to
 * run often, plan once.
 *
 * @param from   row numbers, or NULL: row i of x becomes row i of y.
 * @param report may be NULL; filled by the call that failed.
 * @return what heed_copy_plan(), heed_copy_run() or heed_event_wait() answers.
 */
HEED_API HEED_MUST_CHECK heed_status heed_copy_simple(heed_queue *queue, const heed_array *x,
                                                      const heed_array *from, const heed_array *y,
                                                      heed_report *report);

/**
 * The easy case of a memory: pushes x, and takes what fell out where `out` is not NULL.
 *
 * @param out_len NULL, or how many rows fell out, i64 [B].
 * @return what heed_push_plan(), heed_push_run() or heed_event_wait() answers.
 */
HEED_API HEED_MUST_CHECK heed_status heed_push_simple(heed_queue *queue, const heed_array *rows,
                                                      const heed_array *head,
                                                      const heed_array *len, const heed_array *x,
                                                      const heed_array *out,
                                                      const heed_array *out_len,
                                                      heed_report *report);

#ifdef __cplusplus
}
#endif
#endif
