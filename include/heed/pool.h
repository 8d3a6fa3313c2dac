/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Many rows made one, and rows chosen: pool (sums, means, maxima and weighted means of windows,
 * ranges and buckets) and select (largest norms, best scores, hashes). Beside <heed/heed.h> it
 * includes <string.h>, as it always did.
 */
#ifndef HEED_POOL_H
#define HEED_POOL_H

#include <heed/heed.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @file pool.h
 *
 * @section pool_arrays Arrays
 *
 * As in heed/memory.h: tensors are [batch...][H][rows][d] with zero to three batch axes and
 * without a head axis one head; `[B]` has one to three batch axes; inputs are broadcast along
 * batch axes of extent 1, outputs are not; strides are any, outputs map no two elements to one
 * address and share no byte with another array or the workspace. Extents of 0 are legal. Every
 * array is memory of the device.
 *
 * A token is **present** if its index is below the item's length (`len`, clamped to [0, N]; without
 * it N) and its byte of `mask` is not 0. What is not present is never read: NaN there changes
 * nothing.
 *
 * @section pool_bits Numerics
 *
 * Sums are binary32 whatever the storage type, in the order of docs/numerics.md, sections 6 and 7.
 * HEED_NUMERICS_EXACT promises these bits on every device that offers it. MEAN, WEIGHTED, DYNAMIC
 * and BUCKET have the bits of an attention with d = 0 over the same tokens.
 *
 * @section pool_example Example: the mean of every 4 rows
 *
 * @code
 * // x: float [1][heads][n][64]; y: float [1][heads][n / 4][64]; queue: of the device to use
 * heed_array x = heed_array4(HEED_F32, x_data, 1, heads, n, 64);
 * heed_array y = heed_array4(HEED_F32, y_data, 1, heads, n / 4, 64);
 * heed_report why = { .size = sizeof why };
 *
 * if (heed_pool_simple(queue, HEED_POOL_MEAN, 4, 4, &x, &y, &why) < 0)
 *     fprintf(stderr, "%s: %s\n", why.field, why.message);
 * @endcode
 */

/* ---- pool --------------------------------------------------------------- */

/** What becomes of the present tokens of a row: x_t is a token's row, w_t its weight. */
enum {
    HEED_POOL_SUM = 0,  /**< sum of x_t. */
    HEED_POOL_MEAN,     /**< their sum, divided by how many are present. */
    HEED_POOL_MAX,      /**< the largest, channel by channel; a NaN wins. */
    HEED_POOL_LINEAR,   /**< sum of w_t * x_t, weights as they are. */
    HEED_POOL_WEIGHTED, /**< softmax of w_t over the row's present tokens (AdaPool, Pang et
                                    al. 2022); -Inf removes a token, so that weights
                                    0 and -Inf are the oracle's labels. */
    HEED_POOL_DYNAMIC,  /**< softmax of the row's own weights, one for each of its taps
                                    (LDConv of Poolingformer, Zhang et al. 2021). */
    HEED_POOL_BUCKET    /**< mean over the tokens of one id, in blocks (LSG with LSH,
                                    Condevaux and Harispe 2022, section 3.2); see
                                    HEED_SELECT_HASH. */
};

/**
 * Which windows an item of n tokens has. Without `ranges`, row j has the taps 0 .. kernel - 1,
 * tap i at token j*stride - left + i; END and JOIN say what is other.
 */
enum {
    HEED_TAIL_FLOOR = 0, /**< Whole windows only: n < kernel ? 0 : (n-kernel)/stride + 1. */
    HEED_TAIL_CEIL,      /**< And a last one that is cut: n = 0: 0; n <= kernel: 1; else
                                    ceil((n - kernel)/stride) + 1. stride <= kernel. */
    HEED_TAIL_CENTRE,    /**< Windows whose centre exists: with c = ceil((1 + kernel)/2) - 1 -
                                    left, which is at least 0, n <= c ? 0 : (n - 1 - c)/stride + 1.
                                    The centre of row j is token j*stride + c. */
    HEED_TAIL_JOIN,      /**< As FLOOR (n < kernel: no row), and the last window
                                    reaches to n. */
    HEED_TAIL_END        /**< ceil(n/stride) windows that end at n: window j begins at token
                                    n - (rows - j)*stride, so the first may be cut. */
};

/**
 * One pooling. Zero is the default everywhere.
 *
 *     x        [batch...][H][N][d]       f32, f16, bf16 or f8 (HEED_F8...)
 *     y        [batch...][H][M][d]       f32, f16 or bf16
 *     mask     [B][1 or H][N], u8        optional: 0 where a token is not present
 *     len      [B], i32 or i64           optional: tokens of an item, clamped to [0, N]
 *     ranges   [B][M][2], i32 or i64     optional: begin and end of each row, instead of windows;
 *                                        cut to [0, len]
 *     weights  [B][1 or H][N]            LINEAR, WEIGHTED: f32, f16 or bf16
 *              [B][1 or H][M][kernel]    DYNAMIC: one for each tap
 *     ids      [B][1 or H][N], i32       BUCKET: the bucket of a token; outside [0, buckets): none
 *     y_mask   [B][1 or H][M], u8        optional output: 1 where the row exists, else 0
 *     y_len    [B], i32 or i64           optional output: rows of the item
 *
 * Offsets [M + 1] of adjoining segments are ranges with strides 1 and 1.
 *
 * **Rows.** With windows M is what the tail gives for n = N. BUCKET: block B' of `block` tokens has
 * the rows B'*buckets .. + buckets - 1, one for each id, so M = ceil(N/block)*buckets; an item of n
 * tokens has ceil(n/block)*buckets. With ranges all M rows are the item's. Rows beyond the item's
 * are +0 with mask byte 0, and so is every row without a present token.
 *
 * `y_mask`: with HEED_TAIL_CENTRE the row's centre token is present; else some token of it is. A
 * row with mask byte 0 is +0. Its head axis has H if that of `mask` or of `ids` has. A y_len of i32
 * wants M below 2^31 (HEED_E_UNSUPPORTED).
 *
 * Invariants: windows: kernel and stride at least 1; only CENTRE takes left, from 0 to
 * ceil((1 + kernel)/2) - 1;
 * JOIN and END want kernel = stride; DYNAMIC takes neither JOIN nor ranges. Ranges and BUCKET take
 * no kernel, stride, left or tail; BUCKET wants block and buckets at least 1 and no ranges, other
 * kinds take neither. Else HEED_E_VALUE. kernel above 2^24: HEED_E_UNSUPPORTED.
 *
 * Before the rounding to y's type, results are finite while the sum of |x| over a row's tokens is
 * (LINEAR: of |w * x|). WEIGHTED, DYNAMIC: a w of NaN, or whose product with log2 e is +Inf, makes
 * the row NaN; one whose product is -Inf removes the token.
 */
typedef struct heed_pool_desc {
    uint32_t size, flags;              /**< flags: HEED_PLAN_*. */
    uint32_t numerics, kind;           /**< HEED_NUMERICS_*, HEED_POOL_*. */
    uint32_t tail, reserved;           /**< HEED_TAIL_*. */
    int64_t kernel, stride, left;      /**< Tokens. */
    int64_t block, buckets;            /**< BUCKET: tokens of a block, rows it becomes. */
    heed_tensor x, y;
    heed_tensor mask, len, ranges;
    heed_tensor weights, ids;
    heed_tensor y_mask, y_len;
} heed_pool_desc;

/** Memory of one run: as heed_attn_args, one buf for each tensor of the descriptor. */
typedef struct heed_pool_args {
    uint32_t size, reserved;
    heed_run run;
    heed_buf x, y;
    heed_buf mask, len, ranges;
    heed_buf weights, ids;
    heed_buf y_mask, y_len;
} heed_pool_args;

/**
 * Says whether heed_pool_plan() would succeed, without making the plan. Structure first
 * (pointers, sizes, newer bytes); of several other faults one is named. Any thread.
 *
 * @param report may be NULL.
 * @return HEED_OK heed_pool_plan() would answer this;
 *   HEED_E_NULL device or desc is NULL; x, y, or an array that the kind needs, is absent;
 *   HEED_E_SIZE, HEED_E_NEWER the size of desc: use the library's own headers;
 *   HEED_E_FLAG an unknown flag;
 *   HEED_E_VALUE an enum, number, extent or number of axes out of range, a field or array that the
 *     kind does not take;
 *   HEED_E_SHAPE two extents disagree: the report has both;
 *   HEED_E_DTYPE an element type that is not in the table above;
 *   HEED_E_STRIDE an output maps two elements to one address;
 *   HEED_E_OVERFLOW extents or strides leave 63 bits;
 *   HEED_E_UNSUPPORTED legal, but not on this device: the report names the part;
 *   HEED_E_NOMEM free memory and try again; the device's `usable` when that is negative.
 */
HEED_API HEED_MUST_CHECK heed_status heed_pool_check(heed_device *device,
                                                     const heed_pool_desc *desc,
                                                     heed_report *report);

/**
 * Checks and prepares a pooling. The plan keeps nothing of the caller's. Any thread.
 *
 * @param out    receives the plan, which heed_plan_drop() gives up.
 * @param report may be NULL.
 * @return as heed_pool_check(), and HEED_E_NULL when `out` is NULL; HEED_E_INTERNAL a mistake in
 *   heed; device backends also HEED_E_DEVICE_NOMEM, HEED_E_KERNEL_BUILD, HEED_E_DEVICE,
 *   HEED_E_DEVICE_LOST.
 */
HEED_API HEED_MUST_CHECK heed_status heed_pool_plan(heed_device *device,
                                                    const heed_pool_desc *desc,
                                                    heed_plan **out, heed_report *report);

/** Runs a plan of heed_pool_plan(): all as heed_attn_run() says, statuses too. */
HEED_API HEED_MUST_CHECK heed_status heed_pool_run(const heed_plan *plan, heed_queue *queue,
                                                   const heed_pool_args *args,
                                                   heed_event **event, heed_report *report);

/* ---- select ------------------------------------------------------------- */

enum {
    HEED_SELECT_NORM = 0, /**< Tokens with the largest square norm, block by block (LSG with
                                    norm, Condevaux and Harispe 2022, section 3.2). */
    HEED_SELECT_TOPK,     /**< Tokens with the largest scores q.x, query by query
                                    (Unlimiformer, Bertsch et al. 2023, section 2). */
    HEED_SELECT_HASH      /**< The bucket of each token: an angular hash (Andoni et al. 2015;
                                    Kitaev et al. 2020, Reformer, section 2); further rounds hash
                                    the buckets' sums (LSG with LSH, section 3.2). */
};

enum { HEED_SELECT_ROUNDS = 4 };       /**< Rounds of HASH at most. */

/**
 * One selection. Zero is the default everywhere.
 *
 *     x       [batch...][G][N][d]        f32, f16, bf16 or f8: the rows that are chosen from
 *     q       [batch...][H][n_q][d]      TOPK: f32, f16 or bf16; H a multiple of G, head h
 *                                        chooses from head h / (H / G)
 *     mask    [B][1 or G][N], u8         optional: 0 where a token is not present
 *     len     [B], i32 or i64            optional: tokens of an item, clamped to [0, N]
 *     rounds  [1 or G][d][m], f32        HASH: one to HEED_SELECT_ROUNDS matrices, without gaps
 *     y       [B][G][T], i32             NORM: T = ceil(N/block)*count + pad_front + pad_back
 *             [B][H][n_q][count], i32    TOPK
 *             [B][G][N], i32             HASH
 *
 * Order of both choices: NaN above everything, then the larger, then the lower index; +0 and -0
 * are equal.
 *
 * **NORM**: for each block of `block` tokens (the last may be short), the `count` present tokens
 * with the largest square norm, at the places block number * count on behind pad_front places; by
 * ascending token index, then -1 where fewer are present. The pads are -1: a view that begins some
 * places earlier or later gives every block its neighbours.
 *
 * **TOPK**: for each query row the `count` present tokens with the largest scores q.x, unscaled;
 * by ascending token index, then -1.
 *
 * **HASH**: a row has the candidates s_0 .. s_{m-1}, -s_0 .. -s_{m-1}, with s_j = x.rounds[j]; its
 * id is the first of the largest ones, or 0 where s_0 is NaN; other NaN do not count. Round 0
 * hashes the present tokens of each block of `block`. Its buckets hold the sums of their tokens,
 * and each later round hashes the sums of the round before, whose empty buckets drop out. A token's
 * id is that of the last round, so it is below 2*m of the last matrix; an absent token has -1.
 * Nothing is normalised: a positive factor changes no id.
 *
 * Invariants: NORM: block, count >= 1, pads >= 0; TOPK: count >= 1; HASH: block >= 1; count and
 * pads below 2^31; fields that a kind does not name are 0 (HEED_E_VALUE), its arrays absent. N is
 * below 2^31, m at most 2^19 (HEED_E_UNSUPPORTED); a matrix without columns is HEED_E_SHAPE.
 */
typedef struct heed_select_desc {
    uint32_t size, flags;              /**< flags: HEED_PLAN_*. */
    uint32_t numerics, kind;           /**< HEED_NUMERICS_*, HEED_SELECT_*. */
    int64_t block, count;
    int64_t pad_front, pad_back;       /**< NORM: places. */
    heed_tensor x, q, y;
    heed_tensor mask, len;
    heed_tensor rounds[HEED_SELECT_ROUNDS];
} heed_select_desc;

/** Memory of one run: as heed_attn_args, one buf for each tensor of the descriptor. */
typedef struct heed_select_args {
    uint32_t size, reserved;
    heed_run run;
    heed_buf x, q, y;
    heed_buf mask, len;
    heed_buf rounds[HEED_SELECT_ROUNDS];
} heed_select_args;

/** Says whether heed_select_plan() would succeed. Statuses as heed_pool_check(). Any thread. */
HEED_API HEED_MUST_CHECK heed_status heed_select_check(heed_device *device,
                                                       const heed_select_desc *desc,
                                                       heed_report *report);

/** Checks and prepares a selection: as heed_pool_plan(). */
HEED_API HEED_MUST_CHECK heed_status heed_select_plan(heed_device *device,
                                                      const heed_select_desc *desc,
                                                      heed_plan **out, heed_report *report);

/** Runs a plan of heed_select_plan(): all as heed_attn_run() says, statuses too. */
HEED_API HEED_MUST_CHECK heed_status heed_select_run(const heed_plan *plan, heed_queue *queue,
                                                     const heed_select_args *args,
                                                     heed_event **event, heed_report *report);

/* ---- order -------------------------------------------------------------- */

/**
 * Tokens sorted by an id, those of one id in the order of tokens: a stable counting sort. It brings
 * the tokens of a bucket (Kitaev et al. 2020, Reformer, section 2) or of a cluster (Roy et al.
 * 2021, Routing Transformer) together. Zero is the default everywhere.
 *
 *     ids     [B][1 or H][n], i32 or i64     0 .. count - 1
 *     len     [B], i32 or i64                optional: tokens of an item, clamped to [0, n]
 *     order   [B][H][n], i32 or i64          optional output: the token at each place
 *     place   [B][H][n], i32 or i64          optional output: the place of each token
 *     starts  [B][H][count + 1], i32 or i64  optional output: the first place of each id
 *
 * Tokens with an id outside [0, count) come behind all others, in the order of tokens, from place
 * starts[count] on. So place[order[j]] = j, the tokens of id k stand at the places starts[k] ..
 * starts[k + 1] - 1, and order, as i32, is the `from` of heed_copy_run() that sorts rows, place the
 * one that puts them back. Places and tokens from len on have -1.
 *
 * Of the outputs one is there at least (HEED_E_NULL). count is from 1 to 2^30 (HEED_E_VALUE), n
 * below 2^31 (HEED_E_UNSUPPORTED). All is integers, so the results are the same on every device and
 * with any profile of numerics (docs/numerics.md, section 17).
 */
typedef struct heed_order_desc {
    uint32_t size, flags;        /**< flags: HEED_PLAN_*. */
    uint32_t numerics, reserved; /**< HEED_NUMERICS_*. */
    int64_t count;               /**< How many ids there are. */
    heed_tensor ids, len;
    heed_tensor order, place, starts;
} heed_order_desc;

/** Memory of one run: as heed_attn_args, one buf for each tensor of the descriptor. */
typedef struct heed_order_args {
    uint32_t size, reserved;
    heed_run run;
    heed_buf ids, len;
    heed_buf order, place, starts;
} heed_order_args;

/** Says whether heed_order_plan() would succeed. Statuses as heed_pool_check(). Any thread. */
HEED_API HEED_MUST_CHECK heed_status heed_order_check(heed_device *device,
                                                      const heed_order_desc *desc,
                                                      heed_report *report);

/** Checks and prepares a sort: as heed_pool_plan(). */
HEED_API HEED_MUST_CHECK heed_status heed_order_plan(heed_device *device,
                                                     const heed_order_desc *desc, heed_plan **out,
                                                     heed_report *report);

/** Runs a plan of heed_order_plan(): all as heed_attn_run() says, statuses too. */
HEED_API HEED_MUST_CHECK heed_status heed_order_run(const heed_plan *plan, heed_queue *queue,
                                                    const heed_order_args *args, heed_event **event,
                                                    heed_report *report);

/* ---- easy calls ------------------------------------------------------------ */

/**
 * The easy case: windows of `kernel` tokens, `stride` apart, whole ones only, without weights. It
 * allocates; to run often, plan once.
 *
 * @param kind   HEED_POOL_SUM, HEED_POOL_MEAN or HEED_POOL_MAX.
 * @param report may be NULL; filled by the call that failed.
 * @return what heed_pool_plan(), heed_pool_run() or heed_event_wait() answers.
 */
HEED_API HEED_MUST_CHECK heed_status heed_pool_simple(heed_queue *queue, uint32_t kind,
                                                      int64_t kernel, int64_t stride,
                                                      const heed_array *x, const heed_array *y,
                                                      heed_report *report);

/**
 * The easy case of TOPK: for each row of q the best rows of x, as many as y has places.
 *
 * @return what heed_select_plan(), heed_select_run() or heed_event_wait() answers.
 */
HEED_API HEED_MUST_CHECK heed_status heed_select_simple(heed_queue *queue, const heed_array *q,
                                                        const heed_array *x, const heed_array *y,
                                                        heed_report *report);

#ifdef __cplusplus
}
#endif
#endif
