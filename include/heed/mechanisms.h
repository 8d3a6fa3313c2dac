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
 * @section what What a builder does
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
    HEED_MECHANISM_BIASES = 4,
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
    HEED_MECHANISM_RANGES,      /**< The mechanism's own constants. */
    HEED_MECHANISM_TABLE,       /**< Tables of relative biases, of the first set of keys */
    HEED_MECHANISM_TABLE_2,     /**< and of the second. */
    HEED_MECHANISM_MAP,
    HEED_MECHANISM_COORD,
    HEED_MECHANISM_SLOTS = HEED_MECHANISM_COORD
};

/**
 * What a builder fills. The caller sets `size`, which names the layout of all that follows; the
 * rest is written whole, and only on success.
 *
 * desc.sources, the terms and biases of sources, desc.slots and one constant slot point **into the
 * struct itself**. After it was copied or moved, heed_mechanism_link() of the copy makes them point
 * into the copy; until then the copy leads to the original. Planning keeps nothing of it.
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
    int32_t ranges[2][2];                         /**< What HEED_MECHANISM_RANGES holds. */
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
 * Longformer: q, k and v of the global projections, no `globals`, then heed_copy() with `to` puts
 * the rows in place (Beltagy et al. 2020, section 3.1, "linear projections for global attention").
 * LSG (Condevaux and Harispe 2022, section 3.3) and Pegasus-X (Phang et al. 2022, section 3.2): the
 * projections that all tokens have. Pairs: g (g + n).
 */
typedef struct heed_global_rows_desc {
    uint32_t size, flags;      /**< flags: 0. */
    heed_tensor q, o;          /**< [batch...][H][g][d] and [d_v]. */
    heed_keys text, globals;   /**< globals: optional (k of ndim 0). */
} heed_global_rows_desc;

/** Fills `out` for global rows: "What every builder answers". */
HEED_API HEED_MUST_CHECK heed_status heed_global_rows(const heed_global_rows_desc *desc,
                                                      heed_mechanism *out, heed_report *report);

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
    if (m->slots[HEED_MECHANISM_RANGES - 1].t.ndim)
        m->slots[HEED_MECHANISM_RANGES - 1].data = m->ranges;
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
