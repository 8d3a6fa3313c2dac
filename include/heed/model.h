/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Encoders and encoder-decoders from published checkpoints: a folder as transformers writes it
 * becomes states, logits and generated ids on any device of heed. Link with libheed-model
 * (pkg-config heed-model) beside libheed. Beside <heed/heed.h> it includes nothing.
 */
#ifndef HEED_MODEL_H
#define HEED_MODEL_H

#include <heed/heed.h>

#if defined _WIN32
#define HEED_MODEL_API
#elif defined __GNUC__
#define HEED_MODEL_API __attribute__((visibility("default")))
#else
#define HEED_MODEL_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @file model.h
 *
 * @section model_folder What a folder has
 *
 * config.json, generation_config.json (optional), tokenizer.json (for the functions of texts), and
 * the weights: model.safetensors, or shards model-N-of-M.safetensors that
 * model.safetensors.index.json names. F32, F16 and BF16 are read; weights stay in the type that
 * they have, or become another one (heed_model_options). Activations are binary32. The families are
 *
 *     encoder-decoders  bart (Lewis et al. 2020), mbart (Liu et al. 2020), led (Beltagy et al.
 *                       2020), pegasus (Zhang et al. 2020), t5 (Raffel et al. 2020), longt5 (Guo et
 *                       al. 2022; local and transient-global attention), pegasus_x (Phang et al.
 *                       2022), bigbird_pegasus (Zaheer et al. 2020)
 *     encoders          bert (Devlin et al. 2019), roberta (Liu et al. 2019), longformer, big_bird,
 *                       deberta-v2 (He et al. 2021)
 *     with LSG attention (Condevaux and Harispe 2022)  bart, bert, roberta
 *
 * as model_type of config.json says. The files are taken for hostile: whatever they hold, a
 * function answers a status, and memory beyond their size + 16 MiB is taken for nothing but what a
 * caller asks for.
 *
 * @section model_bits Numerics
 *
 * States and logits have the same bits on every device that offers HEED_NUMERICS_EXACT, for every
 * number of threads, with other sequences beside them, and however many tokens a call takes; so
 * have generated ids. They differ from those of other programs by rounding errors.
 *
 * @section model_example Example
 *
 * @code
 * static int32_t ids[16384], summary[142];
 * static char text[4096];
 * heed_model *model = NULL;
 * uint64_t bytes = 0;
 * int64_t n = 0;
 *
 * if (heed_model_open(queue, "led-base-16384", NULL, &model, &why) < 0 ||
 *     heed_model_tokens(model, document, document_bytes, 0, ids, 16384, &n, &why) < 0 ||
 *     heed_model_generate(model, queue, ids, n, NULL, summary, 142, &n, &why) < 0 ||
 *     heed_model_text(model, summary, n, 0, text, sizeof text, &bytes, &why) < 0)
 *     fprintf(stderr, "%s: %s\n", why.field, why.message);
 * heed_model_close(model);
 * @endcode
 */

#if defined _WIN32
#define HEED_MODEL_API
#elif defined __GNUC__
#define HEED_MODEL_API __attribute__((visibility("default")))
#else
#define HEED_MODEL_API
#endif

/** A checkpoint on a device. Immutable: any number of threads may use it, each with a queue of its
 * own of that device. */
typedef struct heed_model heed_model;

/** How a checkpoint is opened. Zero is the default everywhere. */
typedef struct heed_model_options {
    uint32_t size, flags;      /**< flags: 0, none exists yet. */
    /**
     * What rows of the encoder see. NULL: as the checkpoint says. Else, of a checkpoint that was
     * made for shorter texts, numbers that are left out being as here:
     *
     *     "full"                every key
     *     "block:512"           blocks of tokens (heed_pegasus_x_desc), every second layer's half a
     *                           block further on
     *     "longformer:512:1"    windows of so many tokens in all, and so many first tokens that see
     *                           all and are seen by all (heed_longformer_desc)
     *     "bigbird:64"          blocks of so many tokens, which see three in a row, the first and
     *                           the last one; these see all (heed_bigbird_desc, no random blocks)
     *     "lsg:norm:128:128:2:1" LSG by norm, pooling, bos_pooling, stride, block_stride or none:
     *                           block, sparse block, factor, and rows before the text, which are
     *                           the embeddings of the token that begins texts and then of the mask
     *                           token, at every 64th position (heed_lsg_desc,
     *                           heed_lsg_program_desc; Condevaux and Harispe 2022)
     *
     * A text may then have more tokens than there are positions: these begin anew (Beltagy et al.
     * 2020, section 5). The relative positions of t5, longt5 and deberta-v2 exclude it.
     */
    const char *attention;
    /** HEED_F32, HEED_F16, HEED_BF16, or a type in blocks (HEED_Q8_0, ...), which the matrices of
     * layers become; rows that blocks do not divide stay as they are. 0: all stay as they are. */
    uint32_t weights, reserved;
    /** Called as tensors are read; NULL: not. */
    void (*progress)(void *context, uint64_t done, uint64_t all);
    void *context;             /**< Passed through, never read. */
} heed_model_options;

/** What a model is. The caller sets `size`; no more bytes than that are written. Ids that a model
 * does not have are -1. */
typedef struct heed_model_props {
    uint32_t size, decodes;    /**< decodes: 1, it has a decoder; 0. */
    int64_t layers;            /**< Of the encoder. */
    int64_t decoder_layers;    /**< 0 without a decoder. */
    int64_t channels;          /**< Of a state. */
    int64_t vocabulary;        /**< Ids are below it. */
    int64_t positions;         /**< The longest text, tokens; 2^31 - 1: any. */
    int64_t decoder_positions; /**< The longest generated sequence, at most 2^20; 0 without a
                                    decoder. */
    uint64_t bytes;            /**< Weights on the device. */
    int32_t pad, bos, eos, start; /**< Ids; start: what a generated sequence begins with. */
    char family[32];           /**< model_type. */
} heed_model_props;

/** When a beam search ends (transformers, 2018: early_stopping). */
enum {
    HEED_STOP_MODEL = 0,       /**< As generation_config.json says. */
    HEED_STOP_ESTIMATE,        /**< When the best running sequence, at its present length, is worse
                                    than a finished one. */
    HEED_STOP_FIRST,           /**< When there are as many finished sequences as beams. */
    HEED_STOP_NEVER            /**< When no length could make it better. */
};

/** Flags of heed_generate_options. */
enum {
    HEED_GENERATE_PENALTY_GIVEN = 1u, /**< Take length_penalty as it is, 0 included. */
    HEED_GENERATE_NO_REPEAT_GIVEN = 2u, /**< Take no_repeat as it is, 0 included. */
    HEED_GENERATE_MIN_GIVEN = 4u      /**< Take min_length as it is, 0 included. */
};

/** How ids are generated. Zero is what generation_config.json, or else config.json, says, and where
 * they say nothing 1 beam, 142 tokens or as many as there are positions, no penalty. Lengths count
 * the start token. */
typedef struct heed_generate_options {
    uint32_t size, flags;      /**< HEED_GENERATE_*. */
    uint32_t beams, stopping;  /**< 1: the largest logit goes on; HEED_STOP_*. */
    int64_t min_length;        /**< No end before. */
    int64_t max_length;        /**< An end at the latest. */
    int64_t no_repeat;         /**< Tokens of which no sequence stands twice; 0: any may. */
    double length_penalty;     /**< A score is the sum of logarithms over length^penalty; at most
                                    1000, either sign. */
    /** Called after each token; 0: stop, and give what there is. NULL: not. */
    int (*progress)(void *context, int64_t done, int64_t most);
    void *context;             /**< Passed through, never read. */
    /**
     * What the sequence looked at: weights receives [n_out][n_groups], memory of the host with room
     * for [room]; NULL: nothing. Row i is what the decoder's attention to the text gave to each
     * group of its tokens as it came to id i, the mean over layers and heads; row 0 is 0. Where
     * every token has a group a row's sum is 1, but for rounding, and for what rows of the
     * encoder's own got (LSG). It takes one more pass over the sequence, and of the device's memory
     * as of the host's 4 * n_groups * (n + heads * n_out) bytes.
     */
    float *weights;
    const int32_t *groups;     /**< [n], the group of each token, below n_groups; -1: of none. */
    int64_t n_groups;          /**< 1 to 2^20. */
} heed_generate_options;

/**
 * Opens a checkpoint on the device of a queue.
 *
 * @param queue   for copies to a device that is not the host's; any queue of the device serves.
 * @param folder  UTF-8, as open() takes it.
 * @param options NULL: all defaults.
 * @param out     receives the model, for heed_model_close().
 * @param report  may be NULL. Its field is the file, the key of config.json or the tensor.
 * @return HEED_OK;
 *   HEED_E_NULL queue, folder or out is NULL;
 *   HEED_E_SIZE, HEED_E_NEWER the size of options; HEED_E_FLAG an unknown flag;
 *   HEED_E_NOT_FOUND the folder has no config.json or no weights;
 *   HEED_E_VALUE a file makes no sense, lacks a tensor, or an option is out of its range;
 *   HEED_E_SHAPE, HEED_E_DTYPE a tensor is not as config.json wants it: the report has both;
 *   HEED_E_UNSUPPORTED a family, an activation or an attention that is not known;
 *   HEED_E_NOMEM, HEED_E_DEVICE_NOMEM, and what devices answer.
 */
HEED_MODEL_API HEED_MUST_CHECK heed_status
heed_model_open(heed_queue *queue, const char *folder, const heed_model_options *options,
                heed_model **out, heed_report *report);

/** Ends a model that nobody uses any more. NULL: does nothing. */
HEED_MODEL_API void heed_model_close(heed_model *model);

/* ---- texts ---- */

/** Flags of heed_model_tokens() and heed_model_text(). */
enum {
    HEED_TOKENS_PLAIN = 1u     /**< Without the tokens that begin and end texts. */
};

/**
 * The ids of a text, by tokenizer.json, or by vocab.json and merges.txt where there is none: those
 * of the public library `tokenizers` 0.23. Bytes that are no UTF-8 count as U+FFFD. Any thread.
 *
 * @param text  `bytes` bytes of UTF-8.
 * @param flags HEED_TOKENS_*.
 * @param ids   receives them where `room` is enough; NULL with a room of 0.
 * @param n     receives how many there are, also where the room is too small.
 * @return HEED_OK; HEED_E_NULL; HEED_E_FLAG; HEED_E_NOT_FOUND the folder has no tokenizer;
 *   HEED_E_VALUE, HEED_E_UNSUPPORTED its files make no sense, or want what is not known here: the
 *   report's field is the place; HEED_E_SHAPE the room is too small: `n` has been written;
 *   HEED_E_OVERFLOW a text beyond 2^31 bytes; HEED_E_NOMEM.
 */
HEED_MODEL_API HEED_MUST_CHECK heed_status
heed_model_tokens(const heed_model *model, const char *text, uint64_t bytes, uint32_t flags,
                  int32_t *ids, int64_t room, int64_t *n, heed_report *report);

/**
 * The text of ids, without the special tokens; ids that the tokenizer does not have are left out.
 * Any thread.
 *
 * @param flags 0.
 * @param text  receives it with a NUL behind it where `room` bytes are enough; NULL with a room of
 *   0.
 * @param bytes receives how many bytes it has without the NUL, also where the room is too small.
 * @return as heed_model_tokens().
 */
HEED_MODEL_API HEED_MUST_CHECK heed_status
heed_model_text(const heed_model *model, const int32_t *ids, int64_t n, uint32_t flags, char *text,
                uint64_t room, uint64_t *bytes, heed_report *report);

/* ---- states and sequences ---- */

/** Describes a model. HEED_OK; HEED_E_NULL; HEED_E_SIZE `size` is below the first version's. */
HEED_MODEL_API HEED_MUST_CHECK heed_status
heed_model_info(const heed_model *model, heed_model_props *props);

/**
 * States of a text: what the encoder has behind its last layer. Rows that an encoder has before the
 * text (Pegasus-X, LSG) are none of them; the decoder sees LSG's, and of an encoder alone the first
 * one takes the place of the text's first, where the checkpoint says so.
 *
 * @param ids    [n], from the first token of the text to its last, those that begin and end texts
 *   included. No padding.
 * @param states receives [n][channels], memory of the host.
 * @return HEED_OK; HEED_E_NULL; HEED_E_MISMATCH a queue of another device; HEED_E_VALUE n, or an
 *   id, is none of the model's: the report has the bound; HEED_E_NOMEM, HEED_E_DEVICE_NOMEM, and
 *   what devices answer. On an error states are unspecified.
 */
HEED_MODEL_API HEED_MUST_CHECK heed_status
heed_model_encode(const heed_model *model, heed_queue *queue, const int32_t *ids, int64_t n,
                  float *states, heed_report *report);

/**
 * Logits of given tokens after a text: row i is of the token that follows next[0] .. next[i].
 *
 * @param next   [m], beginning with the start token.
 * @param logits receives [m][vocabulary], memory of the host.
 * @return as heed_model_encode(); HEED_E_UNSUPPORTED the model has no decoder.
 */
HEED_MODEL_API HEED_MUST_CHECK heed_status
heed_model_logits(const heed_model *model, heed_queue *queue, const int32_t *ids, int64_t n,
                  const int32_t *next, int64_t m, float *logits, heed_report *report);

/**
 * Generates the most likely sequence after a text, greedily or by a beam search; lengths, repeated
 * sequences and ends count as in generate() of transformers 5.
 *
 * @param options NULL: all defaults.
 * @param out     receives the ids, the start token and the end token included.
 * @param room    how many fit; max_length of the search is cut to it.
 * @param n_out   receives how many there are.
 * @return as heed_model_logits(); HEED_E_SIZE, HEED_E_NEWER, HEED_E_FLAG of options; HEED_E_VALUE
 *   an option, or an id of config.json, out of its range. On an error nothing is written.
 */
HEED_MODEL_API HEED_MUST_CHECK heed_status
heed_model_generate(const heed_model *model, heed_queue *queue, const int32_t *ids, int64_t n,
                    const heed_generate_options *options, int32_t *out, int64_t room,
                    int64_t *n_out, heed_report *report);

/**
 * Vectors of texts, whose cosines say how much texts are about the same: the mean of a text's
 * states, or its first one where 1_Pooling/config.json says so, at unit length (Reimers and
 * Gurevych 2019, sections 3 and 6.5). Any encoder has some; those of one that was trained for it
 * are good. Of a text that has more tokens than the model has positions, or than max_seq_length of
 * sentence_bert_config.json, the first ones and the last one count. A text without tokens has
 * zeros.
 *
 * The bits of a vector are those that the text has alone, however many there are beside it.
 *
 * @param texts   [n], UTF-8; one of 0 bytes may be NULL.
 * @param bytes   [n], of each.
 * @param n       0 or more. Memory of the device grows with the longest text, not with n.
 * @param vectors receives [n][channels], memory of the host.
 * @return HEED_OK; HEED_E_NULL; HEED_E_MISMATCH a queue of another device; HEED_E_VALUE n is
 *   negative, or a file about vectors makes no sense; HEED_E_UNSUPPORTED modules.json or
 *   1_Pooling/config.json want more than that; HEED_E_OVERFLOW 2^31 tokens or more at a time; of
 *   the tokenizer as heed_model_tokens(); HEED_E_NOMEM, HEED_E_DEVICE_NOMEM, and what devices
 *   answer. On an error vectors are unspecified.
 */
HEED_MODEL_API HEED_MUST_CHECK heed_status
heed_model_vectors(const heed_model *model, heed_queue *queue, const char *const *texts,
                   const uint64_t *bytes, int64_t n, float *vectors, heed_report *report);

/* ---- documents, segment by segment ---- */

/**
 * What an encoder keeps of other segments of a document: of constant size, however long the
 * document is. The last layers see it while they encode a segment (Cao and Wang 2023, AWESOME). It
 * belongs to a model, and is destroyed before the model is closed. One call at a time uses it, on
 * any thread.
 */
typedef struct heed_model_memory heed_model_memory;

/**
 * What is kept. H [n][channels] are the rows of a segment that a layer's attention reads, behind
 * the norm where that comes first; d is `channels`, h the layer's heads.
 *
 *     COMPRESSIVE  M_u, the rows - rows / 2 newest rows H of the segments before, and M_c, rows / 2
 *                  means of `ratio` rows each that fell out of M_u. Keys and values of the layer
 *                  are the maps of M_c, M_u and H, in one softmax (equations 7 and 8). Then H goes
 *                  to M_u, and what falls out of M_u, in means, to M_c; means are formed from the
 *                  newest row on, so the oldest one may be of fewer rows (equations 2 to 6).
 *     ATTENTIVE    M [m][d], m <= rows. Behind its attention and the norm of that a layer has the
 *                  rows X, and goes on with X + A(X, M), A(Q, K) being attention with h heads, keys
 *                  K and values K, and scale 1 / sqrt(d / h). Then, with S = A(M, H_self), H_self
 *                  what the layer's attention adds to its rows: M = G tanh(M + S) + (1 - G) M,
 *                  G = sigmoid(M + S) (equations 9 to 12). The first segment of n rows sees no M;
 *                  M begins as the means of every ceil(n / rows) rows of its H_self.
 *     SALIENT      P [p][d], p <= rows: states of chosen tokens of other segments, as
 *                  heed_model_encode() gives them. heed_model_memory_set() puts them there, and no
 *                  segment changes them. Keys and values of the layer are the maps of P and H, in
 *                  one softmax (section 3.2, key-value vectors).
 *
 * The first two are of section 3.1: what segments were read before. No checkpoint has weights for
 * any of this, so what the paper learns is fixed: compression is the mean, and the maps of the
 * attentive memory, of its attention and of salient states are the identity. The decoder keeps
 * nothing.
 */
enum {
    HEED_MODEL_COMPRESSIVE = 0,
    HEED_MODEL_ATTENTIVE,
    HEED_MODEL_SALIENT
};

/** How a memory is made. Zero is the default everywhere. */
typedef struct heed_model_memory_options {
    uint32_t size, flags;      /**< flags: 0, none exists yet. */
    uint32_t kind, reserved;   /**< HEED_MODEL_COMPRESSIVE, _ATTENTIVE or _SALIENT. */
    int64_t rows;              /**< 2 to 2^20; 0: 1024. */
    int64_t ratio;             /**< COMPRESSIVE: rows of a mean, 1 to 2^20; 0: 5. Else 0. */
    int64_t layers;            /**< The last ones of the encoder; 0: 3, or all of fewer. */
} heed_model_memory_options;

/**
 * Makes a memory that has seen nothing: rows * channels numbers for each of its layers (SALIENT:
 * once) in memory of the device.
 *
 * @param queue   of the model's device.
 * @param options NULL: all defaults.
 * @param out     receives the memory, for heed_model_memory_destroy().
 * @param report  may be NULL.
 * @return HEED_OK; HEED_E_NULL model, queue or out is NULL; HEED_E_MISMATCH a queue of another
 *   device; HEED_E_SIZE, HEED_E_NEWER the size of options; HEED_E_FLAG an unknown flag;
 *   HEED_E_VALUE an option is out of its range: the report has the bound; HEED_E_UNSUPPORTED some
 *   rows of the encoder do not see every key of the text, or the model has the relative positions
 *   of T5; HEED_E_NOMEM, HEED_E_DEVICE_NOMEM, and what devices answer.
 */
HEED_MODEL_API HEED_MUST_CHECK heed_status
heed_model_memory_create(const heed_model *model, heed_queue *queue,
                         const heed_model_memory_options *options, heed_model_memory **out,
                         heed_report *report);

/** Ends a memory that no call uses. NULL: does nothing. */
HEED_MODEL_API void heed_model_memory_destroy(heed_model_memory *memory);

/** The memory has seen nothing again: for the next document. HEED_OK; HEED_E_NULL;
 * HEED_E_MISMATCH a queue of another device; HEED_E_NOMEM, and what devices answer. */
HEED_MODEL_API HEED_MUST_CHECK heed_status
heed_model_memory_reset(heed_model_memory *memory, heed_queue *queue, heed_report *report);

/**
 * Puts states into a memory of HEED_MODEL_SALIENT, instead of those that were there.
 *
 * @param states [n][channels], memory of the host, copied.
 * @param n      0 to `rows`.
 * @return HEED_OK; HEED_E_NULL; HEED_E_MISMATCH a queue of another device; HEED_E_UNSUPPORTED a
 *   memory of another kind; HEED_E_VALUE n is out of its range, and what devices answer.
 */
HEED_MODEL_API HEED_MUST_CHECK heed_status
heed_model_memory_set(heed_model_memory *memory, heed_queue *queue, const float *states, int64_t n,
                      heed_report *report);

/**
 * heed_model_encode() of the next segment of a document. With a memory that has seen nothing the
 * states have the bits of heed_model_encode(); all have the same bits on every device, as above.
 *
 * @param memory NULL: as heed_model_encode(). It takes the segment up, but with SALIENT.
 * @return as heed_model_encode(); HEED_E_MISMATCH also for a memory of another model. HEED_E_NULL,
 *   HEED_E_MISMATCH and HEED_E_VALUE leave the memory as it was; what it holds after another error
 *   is unspecified until heed_model_memory_reset().
 */
HEED_MODEL_API HEED_MUST_CHECK heed_status
heed_model_encode_with(const heed_model *model, heed_queue *queue, heed_model_memory *memory,
                       const int32_t *ids, int64_t n, float *states, heed_report *report);

/**
 * heed_model_generate() after the next segment of a document. The generated ids do not go into the
 * memory.
 *
 * @param memory as heed_model_encode_with() has it.
 * @return as heed_model_generate(), and as heed_model_encode_with() about the memory.
 */
HEED_MODEL_API HEED_MUST_CHECK heed_status
heed_model_generate_with(const heed_model *model, heed_queue *queue, heed_model_memory *memory,
                         const int32_t *ids, int64_t n, const heed_generate_options *options,
                         int32_t *out, int64_t room, int64_t *n_out, heed_report *report);

#ifdef __cplusplus
}
#endif
#endif
