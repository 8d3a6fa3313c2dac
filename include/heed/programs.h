/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Several operations as one plan with one workspace, whose run does them one after another: a
 * caller's own list of them, and mechanisms by name. Beside <heed/mechanisms.h> and <heed/pool.h>
 * it includes nothing.
 */
#ifndef HEED_PROGRAMS_H
#define HEED_PROGRAMS_H

#include <heed/mechanisms.h>
#include <heed/pool.h>

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @file programs.h
 *
 * @section program What a program is
 *
 * The builders of heed/mechanisms.h fill one descriptor of attention. Where the keys of a mechanism
 * are themselves computed (chosen, pooled, hashed), it is a **program**: a plan over several
 * operations, its stages, on the caller's arrays and on temporaries in the workspace. Notation,
 * absent keys and the meaning of `heed_keys` are those of heed/mechanisms.h; docs/mechanisms.md
 * states the stages of each program.
 *
 * A program is a heed_plan: heed_plan_info() has its workspace (temporaries, and what the largest
 * stage needs for itself) and the sum of its work, heed_plan_operands() its arrays,
 * heed_plan_retain() and heed_plan_drop() its life. Nothing is allocated by a run. EXACT bits are
 * those of the stages, one after another; temporaries are f32.
 *
 * Every array is memory of the device, lengths and masks too: `data` of a slot is NULL
 * (HEED_E_VALUE). A mask has one head or those of the keys. f32, f16 and bf16 are legal; no
 * temporary grows with the product of rows and keys.
 *
 * @section program_use Use
 *
 * @code
 * const heed_lsg_program_desc desc = {
 *     .size = sizeof desc, .sparsity = HEED_LSG_NORM, .q = q.t, .o = o.t,
 *     .text = { .k = k.t, .v = v.t }, .globals = { .k = gk.t, .v = gv.t }, .factor = 4,
 * };
 * const heed_program_args args = {
 *     .size = sizeof args, .run = { .workspace = scratch, .workspace_size = bytes },
 *     .q = q.buf, .o = o.buf, .text = { .k = k.buf, .v = v.buf },
 *     .globals = { .k = gk.buf, .v = gv.buf },
 * };
 *
 * if (heed_lsg_program_plan(device, &desc, &plan, &why) < 0 ||
 *     heed_program_run(plan, queue, &args, NULL, &why) < 0)
 *     fprintf(stderr, "%s: %s\n", why.field, why.message);
 * @endcode
 *
 * @section program_statuses What the check of a program answers
 *
 *   HEED_OK heed_X_plan() would answer this;
 *   HEED_E_NULL device or desc is NULL, or an array is absent that is required;
 *   HEED_E_SIZE, HEED_E_NEWER the size of desc: use the library's own headers;
 *   HEED_E_FLAG an unknown flag;
 *   HEED_E_VALUE a parameter, reserved field or number of axes out of its range;
 *   HEED_E_SHAPE two extents disagree: the report has both;
 *   HEED_E_DTYPE an element type that a stage does not take;
 *   HEED_E_STRIDE o maps two elements to one address;
 *   HEED_E_OVERFLOW extents, strides or temporaries leave 63 bits;
 *   HEED_E_UNSUPPORTED legal, but not on this device: the report names the part;
 *   HEED_E_NOMEM free memory and try again; the device's `usable` when that is negative.
 *
 * What only a stage finds has the stage before its field: "select.mask", "attend.sources[0].k".
 * heed_X_plan() answers the same, and HEED_E_NULL when `out` is NULL; HEED_E_INTERNAL a mistake in
 * heed; device backends also HEED_E_DEVICE_NOMEM, HEED_E_KERNEL_BUILD, HEED_E_DEVICE,
 * HEED_E_DEVICE_LOST. Any thread.
 */

/** Memory of a heed_keys, `len` and `mask` where it has them. Frozen: it never grows. */
typedef struct heed_keys_bufs {
    heed_buf k, v, len, mask;
} heed_keys_bufs;

/** Memory of one run of any program: one buf for each array of its descriptor; those of arrays
 * that the descriptor does not have are not looked at. */
typedef struct heed_program_args {
    uint32_t size, reserved;
    heed_run run;
    heed_buf q, o;
    heed_keys_bufs text, globals;
    heed_buf taps_k, taps_v;
    heed_buf rounds[HEED_SELECT_ROUNDS];
} heed_program_args;

/** Runs a plan of a program with names, all below but heed_program_plan()'s: all as heed_attn_run()
 * says, statuses too; HEED_E_MISMATCH, field "plan", for one whose arrays have numbers. */
HEED_API HEED_MUST_CHECK heed_status heed_program_run(const heed_plan *plan, heed_queue *queue,
                                                      const heed_program_args *args,
                                                      heed_event **event, heed_report *report);

/* ---- any operations -------------------------------------------------------- */

/** One operation of a program: what heed_X_plan() and heed_X_run() take of it. */
typedef struct heed_program_step {
    const char *op;            /**< The X of heed_X_plan(): "linear", "norm", "attn", ... */
    const void *desc;          /**< heed_X_desc. Its HEED_PLAN_OWN_WORKSPACE is not looked at. */
    const void *args;          /**< heed_X_args with heed_program_array() for memory; `run` is not
                                * looked at. */
} heed_program_step;

/** Array number `array` of a program, from byte `offset` on, as the memory of a step. */
static inline heed_buf heed_program_array(uint32_t array, uint64_t offset)
{
    heed_buf buf;

    buf.handle = (void *)((uintptr_t)array + 1);
    buf.offset = offset;
    return buf;
}

/**
 * Operations one after another as one plan: a layer of an encoder, a recurrent memory with its
 * gates, several layers. Arrays have numbers. Those below n_args are arguments, which a run brings;
 * the n_temps behind them are temporaries, which lie in the workspace from the first to the last
 * step that uses them, in as many bytes as their uses reach, and share them with those that live at
 * another time. Steps see an array each as their descriptors say: several may use parts of one, by
 * offset, stride or type.
 *
 * The plan is run by heed_plan_run(): `at` has one heed_buf for each argument, whose bytes
 * heed_plan_operands() says (as HEED_U8; `low` is 0). Two arguments share no byte if a step writes
 * one of them. heed_plan_info() has the workspace; nothing is allocated by a run, and no step waits
 * for another thread but as the queue does. Bits are those of the steps' own runs.
 *
 * Everything that a step reads is copied by the plan; `steps` and what they point to may go.
 */
typedef struct heed_program_desc {
    uint32_t size, flags;      /**< flags: HEED_PLAN_OWN_WORKSPACE. */
    uint32_t n_args, n_temps;  /**< 1 .. 101; 0 .. 256. */
    const heed_program_step *steps;
    uint32_t n_steps, step_size; /**< 1 .. 4096; sizeof (heed_program_step). */
} heed_program_desc;

/** Says whether heed_program_plan() would succeed. */
HEED_API HEED_MUST_CHECK heed_status heed_program_check(heed_device *device,
                                                        const heed_program_desc *desc,
                                                        heed_report *report);

/**
 * Checks and prepares a program of steps.
 *
 * @param device the device of all steps.
 * @param desc   see heed_program_desc.
 * @param out    receives the plan, for heed_plan_drop(). The caller's.
 * @param report may be NULL. What a step finds has the step before its field: "steps[3].x".
 * @return HEED_OK;
 *   HEED_E_NULL device, desc, out, steps or a member of a step is NULL, or an array of a step has
 *     no memory;
 *   HEED_E_SIZE, HEED_E_NEWER a size, of a step's descriptor or arguments too;
 *   HEED_E_FLAG an unknown flag;
 *   HEED_E_VALUE a count outside its range, an unknown operation, an array that the program does
 *     not have, a temporary that is read before a step has written it;
 *   HEED_E_ALIGN, HEED_E_OVERFLOW, HEED_E_ALIAS what heed_plan_run() would say of the step's
 *     memory; HEED_E_OVERFLOW also for an element that lies before its array;
 *   what the plan of a step's operation answers;
 *   HEED_E_NOMEM, HEED_E_INTERNAL, and of devices HEED_E_DEVICE_NOMEM, HEED_E_KERNEL_BUILD,
 *     HEED_E_DEVICE, HEED_E_DEVICE_LOST, as "What the check of a program answers" says. Any thread.
 */
HEED_API HEED_MUST_CHECK heed_status heed_program_plan(heed_device *device,
                                                       const heed_program_desc *desc,
                                                       heed_plan **out, heed_report *report);

/* ---- LSG ------------------------------------------------------------------- */

/** Sparse keys that are computed; those that are chosen by place are heed_lsg()'s. */
enum {
    HEED_LSG_NORM = 3,         /**< The tokens of a block with the largest keys. */
    HEED_LSG_POOLING,          /**< Means of tokens on end. */
    HEED_LSG_LSH,              /**< Means of tokens with one hash. */
    HEED_LSG_BOS_POOLING       /**< Means weighted by the attention of the first row. */
};

/**
 * LSG with sparse keys that are computed. With block = b, factor = f, c = b / f, s = sparse_block
 * and query block B = floor(i / b), row i sees
 *
 *     every key of `globals`
 *     local:  the tokens of blocks B - 1, B, B + 1
 *     sparse: of the sequence of sparse keys, which has c for every b tokens, those at places
 *             (B - 1) c - s .. (B - 1) c - 1 and (B + 2) c .. (B + 2) c + s - 1
 *
 * The sequence of sparse keys is, for each key head,
 *
 *     NORM     of every u = min(b, s) tokens the u / f with the largest norm of k, by index
 *     POOLING  the means of f tokens each, of K and of V
 *     LSH      of every u tokens the means of K and of V over those of one hash, u / f of them:
 *              HEED_SELECT_HASH of k by `rounds`, whose last one has u / f / 2 columns
 *     BOS_POOLING  of f tokens each the means of K and of V by the weights softmax(q_0 . k), q_0
 *              being the first row of the item, for each query head
 *
 * Absent tokens are never chosen and have no part in a mean; a mean of no token is absent.
 * CAUSAL: of the local keys those with j <= i, of the sparse ones those of the left side.
 * Condevaux and Harispe 2022, sections 3.1 to 3.3. Rows of the globals: heed_global_rows().
 * Pairs: n (g + 3 b + 2 s); CAUSAL: n (g + 3 b / 2 + s). Workspace: NORM 4 H_k n / f bytes for each
 * item, the others H_k (n / f) (4 d + 4 d_v + 1), LSH 4 H_k n more, BOS_POOLING with H for H_k;
 * besides what the stages need.
 */
typedef struct heed_lsg_program_desc {
    uint32_t size, flags;      /**< flags: HEED_LSG_CAUSAL, HEED_PLAN_*. */
    uint32_t numerics, sparsity; /**< HEED_NUMERICS_*, HEED_LSG_NORM or above. */
    heed_tensor q, o;          /**< Rows of the text alone. */
    heed_keys text, globals;   /**< globals: optional (k of ndim 0). n < 2^31. */
    int64_t block;             /**< 1 .. 2^31 - 1; default 128. */
    int64_t factor;            /**< Divides block, NORM and LSH: u too; default 2. */
    int64_t sparse_block;      /**< 1 .. 2^28; default block. NORM, LSH: u divides block; NORM:
                                * u / f divides sparse_block. */
    heed_tensor rounds[HEED_SELECT_ROUNDS]; /**< LSH: [1 or H_k][d][m], without gaps. */
} heed_lsg_program_desc;

/** Says whether heed_lsg_program_plan() would succeed: "What the check of a program answers";
 * HEED_E_SHAPE also for rounds that do not end with u / f hashes, HEED_E_UNSUPPORTED for LSH with
 * u = f and for BOS_POOLING with a mask by key heads that are not as many as those of q. */
HEED_API HEED_MUST_CHECK heed_status heed_lsg_program_check(heed_device *device,
                                                            const heed_lsg_program_desc *desc,
                                                            heed_report *report);

/** Checks and prepares LSG: "What the check of a program answers". */
HEED_API HEED_MUST_CHECK heed_status heed_lsg_program_plan(heed_device *device,
                                                           const heed_lsg_program_desc *desc,
                                                           heed_plan **out, heed_report *report);

/* ---- Poolingformer ----------------------------------------------------------- */

enum {
    HEED_POOLINGFORMER_MEAN = 0, /**< Of the present tokens of a pooling window. */
    HEED_POOLINGFORMER_MAX,      /**< Channel by channel. */
    HEED_POOLINGFORMER_LDCONV    /**< Their sum, weighted by the softmax of taps_k and taps_v. */
};

enum {
    /** One grid of pooling windows for all rows, instead of one for each that begins where the
     * row's window does. */
    HEED_POOLINGFORMER_FIXED_GRID = 1u
};

/**
 * Poolingformer, level 2: attention to pooled keys of a window. With w = window, kernel x, stride
 * z and m = ceil((1 + x) / 2) - 1, a pooling window of x tokens has its centre at its token m, and
 * row i sees the pooled keys and values of those with the centres
 *
 *     i - w + m + z p, p = 0 .. floor((2 w + 1 - x) / z)
 *     FIXED_GRID: j z + m, j = 0, 1, .., if i - w <= j z and j z + x - 1 <= i + w
 *
 * Tokens that are absent, or outside the text, have no part in a pooled key; one whose centre is
 * absent is absent. Row j of taps_k and taps_v has the weights of the window with centre j,
 * FIXED_GRID j z + m: the paper's W_p times the centre's key, or value.
 * Zhang et al. 2021 (Poolingformer), second level; q, k and v are its second projections, and the
 * sum with level 1 is the caller's. Pairs: n ((2 w + 1 - x) / z + 1). Workspace:
 * H_k r (4 d + 4 d_v + 1) bytes for each item, r = n, FIXED_GRID n / z, besides what the stages
 * need.
 */
typedef struct heed_poolingformer_level2_desc {
    uint32_t size, flags;      /**< flags: HEED_POOLINGFORMER_FIXED_GRID, HEED_PLAN_*. */
    uint32_t numerics, pooling; /**< HEED_NUMERICS_*, HEED_POOLINGFORMER_*. */
    heed_tensor q, o;
    heed_keys text;
    heed_tensor taps_k, taps_v; /**< LDCONV: [batch...][1 or H_k][r][x]; else absent. */
    int64_t window;            /**< 1 .. 2^40; default 512. */
    int64_t kernel;            /**< 1 .. 2^24, 2 w + 1 at most; default 5. */
    int64_t stride;            /**< 1 .. 2^31 - 1; default 4. */
} heed_poolingformer_level2_desc;

/** Says whether heed_poolingformer_level2_plan() would succeed: "What the check of a program
 * answers". */
HEED_API HEED_MUST_CHECK heed_status
heed_poolingformer_level2_check(heed_device *device, const heed_poolingformer_level2_desc *desc,
                                heed_report *report);

/** Checks and prepares level 2: "What the check of a program answers". */
HEED_API HEED_MUST_CHECK heed_status
heed_poolingformer_level2_plan(heed_device *device, const heed_poolingformer_level2_desc *desc,
                               heed_plan **out, heed_report *report);

#ifdef __cplusplus
}
#endif
#endif
