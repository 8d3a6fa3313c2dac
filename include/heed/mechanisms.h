/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The attention patterns of the literature on long documents, by name: each function fills a
 * descriptor of heed/attn.h, which one heed_attn_plan() takes. Beside <heed/attn.h> it includes
 * nothing.
 */
#ifndef HEED_MECHANISMS_H
#define HEED_MECHANISMS_H

#include <heed/attn.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @file mechanisms.h
 *
 * @section builders What a builder does
 *
 * A builder takes projected arrays (the learnt maps before and after attention are the caller's)
 * and the parameters of a mechanism, and fills a struct of the caller's with sources, terms, biases
 * and slots. It computes nothing, keeps nothing, allocates nothing and knows no device. What it
 * fills is an ordinary descriptor: heed_attn_check() says what is wrong with the arrays in it, the
 * caller may change it before planning (lse, sinks, softcap, scale, numerics, flags; layouts other
 * than DENSE), and heed_attn_visible() shows what rows see. EXACT bits are those of the descriptor.
 *
 * @section notation Notation
 *
 * q [batch...][H][n_q][d], k [batch...][H_k][n_k][d], v [batch...][H_k][n_k][d_v],
 * o [batch...][H][n_q][d_v], as in heed/attn.h. Row i of head h gives
 *
 *     o_i = sum_j p_ij v_j,  p_i = softmax over the keys j it sees of (q_i . k_j / sqrt(d))
 *
 * and each builder says what row i sees. "Text" is the sequence that q, k and v come from; n is its
 * length, n_q = n_k = n unless the mechanism is a cross-attention. Keys beyond the length or with
 * mask byte 0 are removed, never merely made small; a row that sees nothing, or lies beyond the
 * length of the text, is +0. Windows count positions on **one** side. A parameter of 0 is its
 * default. **Pairs** are (row, key) that are computed for one head and item, borders neglected.
 *
 * @section use Use
 *
 * @code
 * heed_mechanism m = { .size = sizeof m };
 * heed_longformer_desc longformer = {
 *     .size = sizeof longformer, .q = q.t, .o = o.t, .text = { .k = k.t, .v = v.t },
 *     .window = 256, .n_globals = 1,
 * };
 * const heed_kv_bufs pairs[1] = { { k.buf, v.buf } };      // one for each heed_keys of the builder
 * heed_kv_bufs kv[HEED_MECHANISM_SOURCES];
 * heed_buf slots[HEED_MECHANISM_SLOTS] = { { 0 } };        // run-time slots, by number
 *
 * if (heed_longformer(&longformer, &m, &why) < 0 ||
 *     heed_attn_plan(device, &m.desc, &plan, &why) < 0)
 *     fprintf(stderr, "%s: %s\n", why.field, why.message);
 * heed_mechanism_kv(&m, pairs, kv);
 * // heed_attn_args: .kv = kv, .slots = slots, .n_slots = HEED_MECHANISM_SLOTS
 * @endcode
 *
 * @section statuses What every builder answers
 *
 *   HEED_OK;
 *   HEED_E_NULL the descriptor or `out` is NULL, or an array is absent that is required;
 *   HEED_E_SIZE, HEED_E_NEWER the size of either struct: use the library's own headers;
 *   HEED_E_FLAG an unknown flag; HEED_E_VALUE a parameter, reserved field or number of axes out of
 *     its range: the report has the bound and what was given;
 *   HEED_E_SHAPE n_q of a self-attention is not n_k: the report has both.
 *
 * On an error nothing is written but the report, which may be NULL. Any thread.
 */

enum {
    HEED_MECHANISM_SOURCES = 4,
    HEED_MECHANISM_TERMS = 8,
    HEED_MECHANISM_BIASES = 8,
    HEED_MECHANISM_KEYS = 3
};

/** Numbers of slots, the same in every mechanism. Those that are not in use are absent (ndim 0):
 * their place in heed_attn_args.slots is ignored. */
enum {
    HEED_MECHANISM_LEN = 1,     /**< Lengths and masks of the sets of keys, in the order in */
    HEED_MECHANISM_LEN_2,       /**< which the builder's descriptor has them. */
    HEED_MECHANISM_LEN_3,
    HEED_MECHANISM_MASK,
    HEED_MECHANISM_MASK_2,
    HEED_MECHANISM_MASK_3,
    HEED_MECHANISM_LIST,        /**< Global tokens; random or chosen blocks. */
    HEED_MECHANISM_TABLE,       /**< Tables of relative positions: LongT5's of text and side, */
    HEED_MECHANISM_TABLE_2,     /**< R and shift, Kr and Qr. */
    HEED_MECHANISM_MAP,
    HEED_MECHANISM_COORD,
    HEED_MECHANISM_HEAD,        /**< Oldest rows of memories that are rings: AWESOME's memory */
    HEED_MECHANISM_HEAD_2,      /**< and compressed memory. */
    HEED_MECHANISM_SLOTS = HEED_MECHANISM_HEAD_2,
    /** Tables of pairs with a global token, in numbers that such mechanisms have no use for. */
    HEED_MECHANISM_GLOBAL_TABLE = HEED_MECHANISM_COORD,
    HEED_MECHANISM_GLOBAL_TABLE_2 = HEED_MECHANISM_HEAD,
    HEED_MECHANISM_GLOBAL_MAP = HEED_MECHANISM_HEAD_2
};

/**
 * What a builder fills. The caller sets `size`, which names the layout of all that follows; the
 * rest is written whole, and only on success.
 *
 * desc.sources, desc.slots and the terms and biases of sources point **into the struct itself**.
 * After it was copied or moved, heed_mechanism_link() of the copy makes them point into the copy;
 * until then the copy leads to the original. Planning keeps nothing of it.
 */
typedef struct heed_mechanism {
    uint32_t size, reserved;
    heed_attn_desc desc;
    heed_source sources[HEED_MECHANISM_SOURCES];
    heed_term terms[HEED_MECHANISM_TERMS];
    heed_bias biases[HEED_MECHANISM_BIASES];
    heed_slot slots[HEED_MECHANISM_SLOTS];
    uint32_t first_term[HEED_MECHANISM_SOURCES];  /**< Of each source, in `terms`, */
    uint32_t first_bias[HEED_MECHANISM_SOURCES];  /**< and in `biases`. */
    uint32_t keys[HEED_MECHANISM_SOURCES];        /**< Of each source: the set of keys it reads. */
} heed_mechanism;

/** A set of keys and values, and what of it is there. Frozen: it never grows. */
typedef struct heed_keys {
    heed_tensor k, v;          /**< As heed_source has them. */
    heed_slot len, mask;       /**< Optional (ndim 0): lengths [B]; bytes [B][1, H_k or H][n_k]. */
} heed_keys;

/* ---- Longformer ---------------------------------------------------------- */

enum {
    /** Rows of global tokens are like all others here: for models whose global tokens have
     * projections of their own, heed_global_rows() computes them, and its rows replace these. */
    HEED_LONGFORMER_KEYS_ONLY = 1u
};

/**
 * Longformer, and the encoder of LED: a sliding window with global tokens.
 *
 *     row i sees { j : |i - j| <= window * dilation, (j - i) mod dilation = 0 } and all of G;
 *     rows of G see every key
 *
 * G is the list in `globals`, else the first n_globals tokens. A token of both counts once.
 * Beltagy, Peters and Cohan 2020, section 3.1. Its figures and the public models state the whole
 * window, 2 * window: 512 is window 256. Heads that differ in dilation are calls of their own, on
 * views. Pairs: n (2 window + 1 + 2 |G|).
 */
typedef struct heed_longformer_desc {
    uint32_t size, flags;      /**< HEED_LONGFORMER_*. */
    heed_tensor q, o;
    heed_keys text;
    heed_slot globals;         /**< Optional: i32 [B][entries], as HEED_TERM_GLOBAL takes it. */
    int64_t n_globals;         /**< 0 .. n; 0 with `globals`. Default: no global token. */
    int64_t window;            /**< 1 .. 2^40; default 256 (LED: 512). */
    int64_t dilation;          /**< 1 .. 2^20; default 1. */
} heed_longformer_desc;

/** Fills `out` for Longformer: "What every builder answers". */
HEED_API HEED_MUST_CHECK heed_status heed_longformer(const heed_longformer_desc *desc,
                                                     heed_mechanism *out, heed_report *report);

/* ---- global rows --------------------------------------------------------- */

/**
 * The rows of global tokens, where they have queries or projections of their own: full attention of
 * g rows over the global keys, if there are any, and the text, in one softmax.
 *
 *     every row sees every key of `globals` and of `text`
 *
 * Longformer: q, k and v of the global projections, no `globals`, then heed_copy_run() with `to`
 * puts the rows in place (Beltagy et al. 2020, section 3.1, linear projections for global
 * attention). LSG (Condevaux and Harispe 2022, section 3.3) and Pegasus-X (Phang, Zhao and Liu
 * 2022): the projections that all tokens have. Pairs: g (g + n).
 */
typedef struct heed_global_rows_desc {
    uint32_t size, flags;      /**< flags: 0. */
    heed_tensor q, o;          /**< [batch...][H][g][d] and [d_v]. */
    heed_keys text, globals;   /**< globals: optional (k of ndim 0). */
} heed_global_rows_desc;

/** Fills `out` for global rows: "What every builder answers". */
HEED_API HEED_MUST_CHECK heed_status heed_global_rows(const heed_global_rows_desc *desc,
                                                      heed_mechanism *out, heed_report *report);

/* ---- BigBird -------------------------------------------------------------- */

/**
 * BigBird: a window of three blocks, the first and the last block as global ones, random blocks.
 * With block = b, nb = ceil(n / b) and query block B = floor(i / b):
 *
 *     B = 0 or nb - 1: row i sees every key
 *     else: the keys of blocks 0, B - 1, B, B + 1, nb - 1, each once,
 *           and besides those of random[h][B][0 .. r - 1], as often as they stand there
 *
 * Zaheer et al. 2020, section 2 and appendix D. The lists are the caller's: -1 in the rows of B = 0
 * and nb - 1 and wherever no block is meant. The last block is by n, not by run-time lengths, as in
 * public code. Two sources read the text, so what the lists name is repeated and not united.
 * Pairs: n (7 + r) b, with the rows of both global blocks.
 */
typedef struct heed_bigbird_desc {
    uint32_t size, flags;      /**< flags: 0. */
    heed_tensor q, o;
    heed_keys text;            /**< n < 2^31. */
    heed_slot random;          /**< Optional: i32 [B][1, H_k or H][nb][r], numbers of blocks. */
    int64_t block;             /**< 1 .. 2^31 - 1; default 64. */
} heed_bigbird_desc;

/** Fills `out` for BigBird: "What every builder answers". */
HEED_API HEED_MUST_CHECK heed_status heed_bigbird(const heed_bigbird_desc *desc,
                                                  heed_mechanism *out, heed_report *report);

/* ---- LongT5 ---------------------------------------------------------------- */

/**
 * LongT5: local attention with relative biases, and with `side` transient-global attention.
 *
 *     row i sees { j : |i - j| <= radius } and every key of `side`, in one softmax of
 *     q_i . k_j + table[h][bucket(j - i)]                 text
 *     q_i . s_g + side_table[h][bucket(g - block_ids[i])]  side
 *
 * without 1 / sqrt(d): scale is 1. bucket(x) = map[clamp(x + zero, 0, entries - 1)]: what
 * heed_map_t5() writes. Guo et al. 2022, sections 3.1.1 and 3.1.2. Side keys are projected sums of
 * 16 tokens each (heed_pool_run() of HEED_POOL_SUM, kernel and stride 16, with the tail JOIN, then
 * RMSNorm and the projections); block_ids[i] is min(i / 16, number of sums - 1).
 * Pairs: n (2 radius + 1 + n / 16).
 */
typedef struct heed_longt5_desc {
    uint32_t size, flags;      /**< flags: 0. */
    heed_tensor q, o;
    heed_keys text, side;      /**< side: optional (k of ndim 0). */
    heed_slot table;           /**< Optional: [1 or H][buckets]. */
    heed_slot side_table;      /**< Optional, with `side` and `block_ids` only. */
    heed_slot map;             /**< Optional: i32 [entries]; absent: bucket(x) is that clamp. */
    heed_slot block_ids;       /**< i32 or i64 [B][n], if there is a side_table. */
    int64_t radius;            /**< 1 .. 2^40; default 127. */
    int64_t zero;              /**< Entry of distance 0. */
} heed_longt5_desc;

/** Fills `out` for LongT5: "What every builder answers"; HEED_E_VALUE also for a side_table, a map
 * or block_ids without what they belong to, HEED_E_NULL for a side_table without block_ids. */
HEED_API HEED_MUST_CHECK heed_status heed_longt5(const heed_longt5_desc *desc, heed_mechanism *out,
                                                 heed_report *report);

/* ---- LSG ------------------------------------------------------------------- */

/** Which tokens are sparse keys. */
enum {
    HEED_LSG_NONE = 0,         /**< None: local and global keys alone. */
    HEED_LSG_STRIDE,           /**< Every f-th token, by head. */
    HEED_LSG_BLOCK_STRIDE      /**< b / f tokens of a block on end, by head. */
};

enum {
    HEED_LSG_CAUSAL = 1u       /**< No key after the row, and no sparse key of a later block. */
};

/**
 * LSG: local, sparse and global keys. With block = b, factor = f, c = b / f, s = sparse_block and
 * query block B = floor(i / b), row i of head h sees
 *
 *     every key of `globals`
 *     local:  the tokens of blocks B - 1, B, B + 1
 *     sparse: those of the s f tokens before block B - 1 and of the s f after block B + 1 with
 *       STRIDE        j mod f = h mod f
 *       BLOCK_STRIDE  floor((j mod b) / c) = h mod f
 *
 * Condevaux and Harispe 2022, sections 3.1 to 3.3. Rows of the globals: heed_global_rows(). Norm,
 * pooling and LSH compute their keys: heed_lsg_program_plan().
 * CAUSAL: of the local keys those with j <= i, of the sparse ones those before block B - 1.
 * Pairs: n (g + 3 b + 2 s), without sparse keys n (g + 3 b); CAUSAL: n (g + 3 b / 2 + s).
 */
typedef struct heed_lsg_desc {
    uint32_t size, flags;      /**< HEED_LSG_CAUSAL. */
    heed_tensor q, o;          /**< Rows of the text alone. */
    heed_keys text, globals;   /**< globals: optional (k of ndim 0). n < 2^31. */
    uint32_t sparsity, reserved; /**< HEED_LSG_*. */
    int64_t block;             /**< 1 .. 2^31 - 1; default 128. */
    int64_t factor;            /**< Divides block; default 2. */
    int64_t sparse_block;      /**< 1 .. 2^28; default block. BLOCK_STRIDE: a multiple of c. */
    /** BLOCK_STRIDE: receives H * ceil(n / b) * 2 * s / c entries on success (CAUSAL: half as
     * many); keep it until the plan is made. Others: NULL and 0. */
    int32_t *list;
    int64_t list_room;         /**< Entries at `list`. */
} heed_lsg_desc;

/** Fills `out` for LSG: "What every builder answers"; HEED_E_NULL also for a list that is needed,
 * HEED_E_VALUE for one that is too short or not taken. */
HEED_API HEED_MUST_CHECK heed_status heed_lsg(const heed_lsg_desc *desc, heed_mechanism *out,
                                              heed_report *report);

/* ---- Hepos ----------------------------------------------------------------- */

/**
 * Hepos: cross-attention whose heads take turns. With stride s,
 *
 *     row i of head h sees { j : j mod s = h mod s }
 *
 * Huang et al. 2021, head-wise positional strides. Pairs: n_q n_k / s.
 */
typedef struct heed_hepos_desc {
    uint32_t size, flags;      /**< flags: 0. */
    heed_tensor q, o;
    heed_keys text;            /**< Of the encoder: n_k is free, its lengths are not the rows'. */
    int64_t stride;            /**< 1 .. 2^31 - 1; default 4. */
} heed_hepos_desc;

/** Fills `out` for Hepos: "What every builder answers", HEED_E_SHAPE excepted. */
HEED_API HEED_MUST_CHECK heed_status heed_hepos(const heed_hepos_desc *desc, heed_mechanism *out,
                                                heed_report *report);

/* ---- PageSum --------------------------------------------------------------- */

/**
 * PageSum: the decoder states of pages, averaged with weights of their own for each row.
 *
 *     o[b...][i] = sum over pages p of softmax_p(w . pages[p][b...][i]) pages[p][b...][i]
 *
 * Liu et al. 2022 (PageSum). A constant added to all scores of a row changes nothing, so the bias
 * of the paper's linear layer has no place. Rows are batch items and pages are keys: the arrays are
 * views with one head. heed_mechanism_kv(): `pages` is both k and v of the one pair.
 * Pairs: P for each row.
 */
typedef struct heed_pagesum_desc {
    uint32_t size, flags;      /**< flags: 0. */
    heed_tensor pages;         /**< [P][batch...][n][d], at most two batch axes. */
    heed_tensor w;             /**< [d]. */
    heed_tensor o;             /**< [batch...][n][d]. */
    heed_slot mask;            /**< Optional: u8 [batch...][P]; 0: the item has no such page. */
} heed_pagesum_desc;

/** Fills `out` for PageSum: "What every builder answers", HEED_E_SHAPE excepted. */
HEED_API HEED_MUST_CHECK heed_status heed_pagesum(const heed_pagesum_desc *desc,
                                                  heed_mechanism *out, heed_report *report);

/* ---- Pegasus-X ------------------------------------------------------------- */

enum {
    HEED_PEGASUS_X_STAGGERED = 1u /**< Borders of blocks lie half a block further on. */
};

/**
 * Pegasus-X, block-local attention: with block = b and shift = b / 2 if STAGGERED, else 0,
 *
 *     row i sees every key of `globals` and { j : floor((j + shift) / b) = floor((i + shift) / b) }
 *
 * Phang, Zhao and Liu 2022, global-local and staggered block-local attention. Rows of the globals:
 * heed_global_rows(). Every second layer is staggered. Pairs: n (g + b).
 */
typedef struct heed_pegasus_x_desc {
    uint32_t size, flags;      /**< HEED_PEGASUS_X_*. */
    heed_tensor q, o;          /**< Rows of the text alone. */
    heed_keys text, globals;   /**< globals: optional (k of ndim 0). */
    int64_t block;             /**< 1 .. 2^31 - 1, even if STAGGERED; default 512. */
} heed_pegasus_x_desc;

/** Fills `out` for Pegasus-X: "What every builder answers". */
HEED_API HEED_MUST_CHECK heed_status heed_pegasus_x(const heed_pegasus_x_desc *desc,
                                                    heed_mechanism *out, heed_report *report);

/* ---- salient keys and values ------------------------------------------------ */

/**
 * Key-value vectors of salient content (AWESOME): keys and values of chosen tokens of other
 * segments in front of those of the segment, in one softmax.
 *
 *     row i sees every key of `prefix` and of `text`
 *
 * Cao and Wang 2023, section 3.2, "Key-value Vectors". The prefix is projected already, by the
 * learnt map of the paper and the layer's own ones; its rows ask nothing. Pairs: n (P + n).
 */
typedef struct heed_salient_desc {
    uint32_t size, flags;      /**< flags: 0. */
    heed_tensor q, o;
    heed_keys text, prefix;
} heed_salient_desc;

/** Fills `out` for salient keys: "What every builder answers". */
HEED_API HEED_MUST_CHECK heed_status heed_salient(const heed_salient_desc *desc,
                                                  heed_mechanism *out, heed_report *report);

/* ---- Poolingformer ----------------------------------------------------------- */

/**
 * Poolingformer, level 1: a sliding window with global tokens, all by one set of projections.
 *
 *     row i sees { j : |i - j| <= window } and all of G; rows of G see every key
 *
 * Zhang et al. 2021 (Poolingformer), first level. Level 2: heed_poolingformer_level2_plan().
 * Pairs: n (2 window + 1 + 2 |G|).
 */
typedef struct heed_poolingformer_desc {
    uint32_t size, flags;      /**< flags: 0. */
    heed_tensor q, o;
    heed_keys text;
    heed_slot globals;         /**< As in heed_longformer_desc. */
    int64_t n_globals;
    int64_t window;            /**< 1 .. 2^40; default 128. */
} heed_poolingformer_desc;

/** Fills `out` for the Poolingformer's level 1: "What every builder answers". */
HEED_API HEED_MUST_CHECK heed_status heed_poolingformer_level1(const heed_poolingformer_desc *desc,
                                                               heed_mechanism *out,
                                                               heed_report *report);

/* ---- Transformer-XL, Compressive Transformer ---------------------------------- */

/**
 * Relative positions of Dai et al. 2019, section 3.3, whose scores are, with u and v learnt for
 * each head and R_x the projected encoding of distance x of a query from a key,
 *
 *     (q_i + u) . k_j + (q_i + v) . R_(i - j)
 *   = (q_i + u) . k_j + (q_i + u) . R_(i - j) + (v - u) . R_(i - j)
 *
 * So q of the descriptor holds q + u, and row y of both arrays below is of distance zero - y, the
 * farthest key first. Distances outside take the nearest row. Frozen: it never grows.
 */
typedef struct heed_relative {
    heed_slot r;               /**< [1 or H][len][d]: R. Absent (ndim 0): no relative positions. */
    heed_slot shift;           /**< Optional, with r: [1 or H][len]: scale * (v - u) . R. */
    int64_t zero;              /**< Row of distance 0; m + n - 1 with rows for all distances. */
} heed_relative;

/**
 * Transformer-XL: causal attention over a memory of earlier segments and the segment itself.
 *
 *     row i sees every key of `memory` and { j of the text : j <= n_k - n_q + i }
 *
 * The newest row of the memory is just before the text, at position -1, whatever its length.
 * Dai et al. 2019, sections 3.2 and 3.3. n_q = n_k is a segment at once; n_q < n_k the last n_q
 * rows of it, as in decoding (lengths of the text then say where the last row is, and rows have
 * none). The memory is updated by heed_push_run(). Pairs: n_q (m + n_k), of a whole segment
 * n (m + n / 2).
 */
typedef struct heed_transformer_xl_desc {
    uint32_t size, flags;      /**< flags: 0. */
    heed_tensor q, o;
    heed_keys text, memory;    /**< memory: oldest row first; its length, if given, is its fill. */
    heed_relative relative;
} heed_transformer_xl_desc;

/** Fills `out` for Transformer-XL: "What every builder answers"; HEED_E_SHAPE for n_q > n_k,
 * HEED_E_VALUE also for relative.shift without relative.r. */
HEED_API HEED_MUST_CHECK heed_status heed_transformer_xl(const heed_transformer_xl_desc *desc,
                                                         heed_mechanism *out, heed_report *report);

/**
 * Compressive Transformer: the same, with a memory of compressed rows behind the memory.
 *
 *     row i sees every key of `compressed`, of `memory`, and { j of the text : j <= n_k - n_q + i }
 *
 * Rae et al. 2020, section 3. What falls out of the memory (heed_push_run()) is compressed by
 * heed_pool_run() or a convolution of the caller's, and pushed to `compressed`. Relative positions
 * count places: the newest compressed row is at -1 - n_m, n_m being the rows that `memory` has room
 * for. Pairs: n_q (m_c + m + n_k).
 */
typedef struct heed_compressive_desc {
    uint32_t size, flags;      /**< flags: 0. */
    heed_tensor q, o;
    heed_keys text, memory, compressed; /**< As above; compressed rows oldest first. */
    heed_relative relative;
} heed_compressive_desc;

/** Fills `out` for the Compressive Transformer: as heed_transformer_xl(). */
HEED_API HEED_MUST_CHECK heed_status heed_compressive(const heed_compressive_desc *desc,
                                                      heed_mechanism *out, heed_report *report);

/* ---- DeBERTa ------------------------------------------------------------------ */

/**
 * DeBERTa, disentangled attention: scores of contents and of relative positions.
 *
 *     row i sees every key, or with a window { j : |i - j| <= window }
 *     score  (q_i . k_j + q_i . Kr[x] + k_j . Qr[x]) / sqrt(t d),  x = map[clamp(j - i + zero)]
 *
 * Kr (content to position) and Qr (position to content) are the projected tables, t is 1 and 1 more
 * for each of the two that is there. heed_map_log() and heed_map_even() with HEED_MAP_REVERSED
 * write maps for tables in the order of i - j; without a map x is the clamp itself.
 * He et al. 2021, section 3.1; both terms at the distance of i from j, as in their code. With a
 * window: level 1 of the Poolingformer's fusion with it. Pairs: n n, or n (2 window + 1).
 */
typedef struct heed_deberta_desc {
    uint32_t size, flags;      /**< flags: 0. */
    heed_tensor q, o;
    heed_keys text;
    heed_slot kr, qr;          /**< [1 or H][len][d], each optional. */
    heed_slot map;             /**< Optional: i32 [entries]. */
    int64_t zero;              /**< Entry (without map: row) of distance 0. */
    int64_t window;            /**< 0 .. 2^40; 0: none, every key. */
} heed_deberta_desc;

/** Fills `out` for DeBERTa: "What every builder answers"; HEED_E_VALUE also for a map without a
 * table. */
HEED_API HEED_MUST_CHECK heed_status heed_deberta(const heed_deberta_desc *desc,
                                                  heed_mechanism *out, heed_report *report);

/* ---- the Poolingformer's fusion with DeBERTa -------------------------------------- */

enum {
    /** The rows of the global tokens, which see every key: q and o have a row for each of them. */
    HEED_POOLINGFORMER_GLOBAL_ROWS = 1u
};

/**
 * Poolingformer with DeBERTa, level 1: a window whose scores are DeBERTa's, and global tokens in
 * front of the text, whose pairs have tables of their own.
 *
 *     row i sees every key of `globals` and { j of the text : |i - j| <= window }
 *     GLOBAL_ROWS: row i of the globals sees every key of both
 *     score  (q_i . k_j + q_i . Kr[x] + k_j . Qr[x]) / sqrt(t d),  x = map[clamp(j - i + zero)]
 *
 * with kr, qr, map and zero for two tokens of the text, and with the global ones where either end
 * is a global token; t is 1 and 1 more for each of the two tables that is there. Global token m of
 * g is at position m - g, just before the text. heed_map_even() with HEED_MAP_REVERSED writes the
 * map of global pairs, which shares distances out evenly.
 * Zhang et al. 2021 (Poolingformer); thesis on it, section 2.4, equations (2.19) and (2.25). Level
 * 2 has no position term: heed_poolingformer_level2_plan(). Pairs: n (2 window + 1 + g), and
 * g (g + n) of the global rows.
 */
typedef struct heed_poolingformer_deberta_desc {
    uint32_t size, flags;      /**< HEED_POOLINGFORMER_GLOBAL_ROWS. */
    heed_tensor q, o;          /**< Rows of the text alone, or of the globals alone. */
    heed_keys text, globals;
    heed_slot kr, qr;          /**< [1 or H][len][d], each optional. */
    heed_slot map;             /**< Optional: i32 [entries]. */
    heed_slot global_kr, global_qr; /**< Likewise; there where kr and qr are. */
    heed_slot global_map;      /**< Likewise: as `map`. */
    int64_t zero, global_zero; /**< Entry (without map: row) of distance 0. */
    int64_t window;            /**< 1 .. 2^40; default 128. */
} heed_poolingformer_deberta_desc;

/** Fills `out` for the fusion: "What every builder answers"; HEED_E_NULL also without global tables
 * that belong to those of the text, HEED_E_VALUE with such that belong to none and for a map
 * without a table, HEED_E_SHAPE with GLOBAL_ROWS for n_q that is not g. */
HEED_API HEED_MUST_CHECK heed_status
heed_poolingformer_deberta(const heed_poolingformer_deberta_desc *desc, heed_mechanism *out,
                           heed_report *report);

/* ---- top-down inference -------------------------------------------------------- */

/**
 * Top-down inference: rows of a fine level see every unit of a coarse one.
 *
 *     row i sees every key of `top`
 *
 * Pang et al. 2022 (Long document summarization with top-down and bottom-up inference). The units
 * are pooled from the rows of the fine level by heed_pool_run() with HEED_TAIL_CEIL, whose y_len
 * and y_mask are `top.len` and `top.mask`: HEED_POOL_MEAN is AvgPool, HEED_POOL_WEIGHTED AdaPool,
 * with weights 0 and -Inf OracleAdaPool. Where q comes from the units as well, this is the full
 * self-attention of the top level. Bottom-up windows: heed_longformer(). Pairs: n_q M.
 */
typedef struct heed_top_down_desc {
    uint32_t size, flags;      /**< flags: 0. */
    heed_tensor q, o;
    heed_keys top;             /**< The units, M of them. */
    /** Optional: lengths of the rows, i32 or i64 [B]; slot HEED_MECHANISM_LEN_2. */
    heed_slot rows;
} heed_top_down_desc;

/** Fills `out` for top-down inference: "What every builder answers", HEED_E_SHAPE excepted. */
HEED_API HEED_MUST_CHECK heed_status heed_top_down(const heed_top_down_desc *desc,
                                                   heed_mechanism *out, heed_report *report);

/* ---- AWESOME -------------------------------------------------------------------- */

enum {
    HEED_AWESOME_CAUSAL = 1u   /**< Of the text, no key after the row: the decoder's memory. */
};

/**
 * AWESOME, compressive memory: a segment sees what is kept of the segments before it.
 *
 *     row i sees every key of `compressed`, of `memory` and of `text`
 *     CAUSAL: of `text` only { j : j <= n_k - n_q + i }, as in heed_transformer_xl()
 *
 * Cao and Wang 2023 (AWESOME), section 3.1, equations 1 to 8. Both memories are updated after they
 * were read: heed_push_run() of the segment to the one, heed_pool_run() or a convolution over what
 * falls out of it, heed_push_run() of that to the other. With a head they are rings and lie as push
 * leaves them; the bits are those of the rows in the order of their age. The newest row of `memory`
 * is at -1, that of `compressed` at -1 - n_m, n_m being the rows that `memory` has room for.
 * Pairs: n_q (m_c + m_u + n_k).
 */
typedef struct heed_awesome_desc {
    uint32_t size, flags;      /**< HEED_AWESOME_*. */
    heed_tensor q, o;
    heed_keys text, memory, compressed; /**< len of a memory: how many of its rows are filled. */
    heed_slot memory_head;     /**< Optional, then memory.len is required: i32 or i64 [B]. */
    heed_slot compressed_head; /**< Optional, then compressed.len is required: i32 or i64 [B]. */
} heed_awesome_desc;

/** Fills `out` for AWESOME: "What every builder answers"; HEED_E_NULL also for a head without the
 * length that belongs to it, HEED_E_SHAPE with CAUSAL for n_q > n_k only. */
HEED_API HEED_MUST_CHECK heed_status heed_awesome(const heed_awesome_desc *desc,
                                                  heed_mechanism *out, heed_report *report);

/* ---- retrieval ------------------------------------------------------------------ */

/**
 * Attention to retrieved keys, and where there is a text to that besides, in one softmax.
 *
 *     row i of head h sees the keys of `memory` that list[h][i] names, as often as it names them,
 *     and { j of the text : j <= n_k - n_q + i } or, with window w, those of them with
 *     j >= n_k - n_q + i - w
 *
 * Without a text: Bertsch et al. 2023 (Unlimiformer), section 2, where a decoder asks all tokens of
 * a document. With one: Wu et al. 2022 (Memorizing Transformers), section 3, where the memory holds
 * keys of earlier segments. heed_select_run() of HEED_SELECT_TOPK writes the list on the device.
 * Pairs: n_q k, with a text n_q (k + n_k).
 */
typedef struct heed_retrieval_desc {
    uint32_t size, flags;      /**< flags: 0. */
    heed_tensor q, o;
    heed_keys text;            /**< Optional (k of ndim 0); n_q <= n_k. */
    heed_keys memory;
    heed_slot list;            /**< i32 [B][1, H_k or H][n_q][k]; -1: none. */
    int64_t window;            /**< 0 .. 2^40, with a text; 0: all of it. */
} heed_retrieval_desc;

/** Fills `out` for retrieval: "What every builder answers"; HEED_E_NULL without a list,
 * HEED_E_SHAPE for n_q > n_k of a text, HEED_E_VALUE also for a window without a text. */
HEED_API HEED_MUST_CHECK heed_status heed_retrieval(const heed_retrieval_desc *desc,
                                                    heed_mechanism *out, heed_report *report);

/** A window of heed_window_plan(), all in tokens of the document. Frozen: it never grows. */
typedef struct heed_window {
    int64_t begin, end;        /**< What is encoded. */
    int64_t keep, keep_end;    /**< What of it is kept: begin <= keep <= keep_end <= end. */
} heed_window;

/**
 * Windows in which a document of n tokens is encoded, so that every token is kept once and has
 * context on both sides. With margin = floor(overlap / 2), window t begins at t (length - 2 margin)
 * and keeps all but `margin` tokens at either end; the first one keeps its beginning; the last one
 * ends at n and keeps all that no other has. n <= length: one window; n = 0: none.
 *
 * Bertsch et al. 2023, section 2.1, as their code has it (a fraction f of overlap is
 * floor(length f) here). Pure: it touches nothing but its arrays. Any thread.
 *
 * @param length  tokens of a window, at least 1.
 * @param overlap tokens that neighbours share; 0 .. length - 1, an odd one counts as one less.
 * @param windows [room], or NULL with room 0: only to count.
 * @param count   receives the number of windows.
 * @return HEED_OK;
 *   HEED_E_NULL count is NULL, or windows is and room is not 0;
 *   HEED_E_VALUE n, length, overlap or room out of range, or windows is given and room is less than
 *     their number. Nothing is written on an error.
 */
HEED_API HEED_MUST_CHECK heed_status heed_window_plan(int64_t n, int64_t length, int64_t overlap,
                                                      heed_window *windows, int64_t room,
                                                      int64_t *count);

/* ---- conveniences: no symbols, no ABI ------------------------------------- */

/** Makes the pointers of a copy point into the copy. */
static inline void heed_mechanism_link(heed_mechanism *m)
{
    uint32_t i;

    m->desc.sources = m->sources;
    m->desc.slots = m->slots;
    for (i = 0; i < m->desc.n_sources && i < (uint32_t)HEED_MECHANISM_SOURCES; i++) {
        m->sources[i].terms = m->terms + m->first_term[i];
        m->sources[i].biases = m->biases + m->first_bias[i];
    }
}

/** Memory of the sources from that of the sets of keys: `pairs` has one entry for each heed_keys of
 * the builder's descriptor, in its order; `kv` receives HEED_MECHANISM_SOURCES at most. */
static inline void heed_mechanism_kv(const heed_mechanism *m, const heed_kv_bufs *pairs,
                                     heed_kv_bufs *kv)
{
    uint32_t i;

    for (i = 0; i < m->desc.n_sources && i < (uint32_t)HEED_MECHANISM_SOURCES; i++)
        kv[i] = pairs[m->keys[i]];
}

#ifdef __cplusplus
}
#endif
#endif
