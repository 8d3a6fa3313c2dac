/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Attention as an engine with tensors of byte strides calls it, done by heed: a mask of halves is
 * read into ranges or bits, block types that heed does not read are converted, plans are kept by
 * shape, threads sleep between calls. No header of an engine is needed.
 *
 * The call computes, for batch item b, query head h and query row i,
 *
 *     y[j] = scale * q . k[j]                  softcap > 0: softcap * tanh(y / softcap)
 *     y[j] = y[j] + slope(h) * mask[b][i][j]   max_bias 0: slope 1
 *     o    = sum exp(y) v[j] / (sum exp(y) + exp(sinks[h]))
 *
 * with slope(h) = 2^(-max_bias * (h + 1) / m) for h < m, else
 * 2^(-max_bias / 2 * (2 (h - m) + 1) / m), and m the largest power of two that is at most the
 * number of heads: ALiBi, Press et al. 2022, section 3, as GGUF models have it. A mask entry of
 * -Inf removes the key.
 *
 * Results have the same bits for every number of threads, every split of the rows into calls and
 * every place of an item in the batch.
 */
#ifndef HEED_INTEGRATIONS_GGML_ATTEND_H
#define HEED_INTEGRATIONS_GGML_ATTEND_H

#include <heed/heed.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Element types, by their numbers in GGUF files. */
enum {
    HEED_ATTEND_F32 = 0,
    HEED_ATTEND_F16 = 1,
    HEED_ATTEND_Q4_0 = 2,
    HEED_ATTEND_Q4_1 = 3,
    HEED_ATTEND_Q5_0 = 6,
    HEED_ATTEND_Q5_1 = 7,
    HEED_ATTEND_Q8_0 = 8,
    HEED_ATTEND_IQ4_NL = 20,
    HEED_ATTEND_BF16 = 30,
    HEED_ATTEND_Q1_0 = 41,
    HEED_ATTEND_Q2_0 = 42
};

/** An array of the engine's. Axes: channel, row (query or key), head, batch. */
struct heed_attend_tensor {
    void *data;              /**< NULL: absent. For heed_attend_check() any address will do. */
    uint32_t type, reserved; /**< HEED_ATTEND_*; reserved: 0. */
    int64_t ne[4];           /**< Elements. */
    int64_t nb[4];           /**< Bytes from one to the next; nb[0]: of an element or block. */
};

/**
 * One call. q [d][n_q][H][B], f32; k [d][n_k][H_k][B or 1] and v [d_v][n_k][H_k][B or 1] of any
 * type above, v may lie within k; mask [>= n_k][>= n_q][1][B or 1], f16, or absent; sinks [H], f32,
 * or absent; o [d_v][n_q][H][B], f32, shares no byte with the others. H_k divides H: query head h
 * reads key head h / (H / H_k). Channels of a row lie side by side.
 */
struct heed_attend_call {
    struct heed_attend_tensor q, k, v, mask, sinks, o;
    float scale, max_bias, softcap;
};

/** What attention of one engine's context needs; everything of it is freed by destroy. */
struct heed_attend;

/** What a context has done and holds. */
struct heed_attend_usage {
    uint64_t runs, plans; /**< Calls done, and plans made for them. */
    uint64_t converted;   /**< Calls that had to convert keys or values first. */
    uint64_t biased;      /**< Calls whose mask has other numbers than 0 and -Inf. */
    uint64_t bytes;       /**< Memory held: workspace, masks, converted rows, kept plans. */
    uint64_t growths;     /**< How often an array grew: none in a steady run. */
};

enum {
    /** The threads of OpenMP, where heed is built with it, in place of threads that sleep between
     * calls: for an engine whose own threads are those of the same OpenMP runtime. Beside any other
     * engine they would spin against its threads. */
    HEED_ATTEND_OPENMP = 1u
};

/** What a context is made of; zeros are the defaults. */
struct heed_attend_options {
    const char *device;              /**< A host device, such as "cpu:avx2"; NULL: "cpu". */
    const heed_allocator *allocator; /**< NULL: malloc. It must live as long as the context. */
    uint32_t flags, reserved;        /**< HEED_ATTEND_OPENMP; reserved: 0. */
};

/**
 * Makes a context. One thread at a time may use it; several contexts share nothing.
 *
 * @param options   read during the call; NULL: every default.
 * @param out       receives the context, which heed_attend_destroy() ends.
 * @param report    may be NULL.
 * @return HEED_OK; HEED_E_NULL `out` is NULL; else what heed_executor_create(),
 *   heed_runtime_create(), heed_device_find() or heed_queue_create() answers.
 */
heed_status heed_attend_create(const struct heed_attend_options *options, struct heed_attend **out,
                               heed_report *report);

/** Ends a context, its threads and its memory. NULL: does nothing. */
void heed_attend_destroy(struct heed_attend *);

/**
 * How many threads calls have from now on, the caller's among them; 0 counts as 1, more than 512
 * as 512. Threads are made by the next call, and only where it needs more than there are.
 */
void heed_attend_threads(struct heed_attend *, uint32_t threads);

/**
 * Says whether heed_attend_run() can do such a call. Memory is not looked at. Any number of threads
 * at once, while none runs anything with the same context.
 *
 * @return HEED_OK; HEED_E_UNSUPPORTED, or a status of heed_attn_check(): the report says what is
 *   in the way.
 */
heed_status heed_attend_check(const struct heed_attend *, const struct heed_attend_call *,
                              heed_report *report);

/**
 * Computes a call; done when it returns. Asks for no memory once shapes repeat.
 *
 * @return as heed_attend_check(); HEED_E_NOMEM no memory, or the system makes no more threads;
 *   else a status of heed_attn_plan() or heed_attn_run(). On an error nothing is written.
 */
heed_status heed_attend_run(struct heed_attend *, const struct heed_attend_call *,
                            heed_report *report);

/** What the context has done and holds. */
void heed_attend_used(const struct heed_attend *, struct heed_attend_usage *);

#ifdef __cplusplus
}
#endif
#endif
