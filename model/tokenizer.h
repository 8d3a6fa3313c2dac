/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Text to ids and back, as the file tokenizer.json says that lies beside published weights:
 * byte-level BPE, WordPiece, Unigram. The file is hostile: whatever its bytes are, there is a
 * status, no memory beyond 1.2 times its size + 16 MiB is taken, and texts of n bytes take
 * n log n steps.
 */
#ifndef MODEL_TOKENIZER_H
#define MODEL_TOKENIZER_H

#include <heed/heed.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tokenizer;

/**
 * Reads `bytes` bytes of a tokenizer.json, which are not looked at after it. Truncation and padding
 * that the file asks for are left out. Ids are those of the public library `tokenizers` 0.23: where
 * the ids that a file gives added tokens are others than the library gives them, so are these.
 * @return HEED_OK; HEED_E_VALUE what the file says makes no sense: the report's field is the place
 *   ("model.vocab", "pre_tokenizer.type"), its message says what is wrong; HEED_E_UNSUPPORTED a
 *   kind of model, normalizer, pre-tokenizer, post-processor or decoder, or a regular expression,
 *   that is not known here, more than 2^21 tokens, 2^20 merges, 2^16 added tokens or 64 steps of
 *   a kind, a token of more than 1024 bytes, or a file that would take more memory than 1.2 times
 *   its size and 16 MiB; HEED_E_NOMEM. On an error nothing is written but the report.
 */
heed_status tokenizer_create(const char *json, size_t bytes, struct tokenizer **out,
                             heed_report *report);

/**
 * Reads what was published before there was a tokenizer.json: vocab.json, an object of tokens and
 * their ids, and merges.txt, a merge in a line. What it makes is what the file would say: of a
 * vocabulary with <s> and </s> BART's and RoBERTa's, which stand around a text, of another one
 * GPT-2's. The special tokens are those of <s>, <pad>, </s>, <unk>, <mask> and <|endoftext|> that
 * the vocabulary has; <mask> takes white characters before it along.
 * @return as tokenizer_create(), of which the two together are the file.
 */
heed_status tokenizer_create_bpe(const char *vocab, size_t vocab_bytes, const char *merges,
                                 size_t merges_bytes, struct tokenizer **out,
                                 heed_report *report);
void tokenizer_destroy(struct tokenizer *tokenizer);

/* One more than the largest id. */
int64_t tokenizer_ids(const struct tokenizer *tokenizer);

/* The id of a token by its text, as "</s>"; -1: there is none. */
int32_t tokenizer_id(const struct tokenizer *tokenizer, const char *token);

/**
 * The ids of a text: `special` with the tokens that the post-processor adds. Bytes that are no
 * UTF-8 count as U+FFFD. Any thread.
 * @param ids receives them, malloc'd, for free(); NULL with 0 of them.
 * @return HEED_OK; HEED_E_OVERFLOW a text beyond 2^31 bytes; HEED_E_NOMEM. On an error nothing is
 *   written but the report.
 */
heed_status tokenizer_encode(const struct tokenizer *tokenizer, const char *text, size_t bytes,
                             bool special, int32_t **ids, size_t *n, heed_report *report);

/**
 * The text of ids, malloc'd, with a NUL behind it that `bytes` does not count; ids that the file
 * does not have are left out, and unless `special` those of special tokens. Any thread.
 */
heed_status tokenizer_decode(const struct tokenizer *tokenizer, const int32_t *ids, size_t n,
                             bool special, char **text, size_t *bytes, heed_report *report);

#endif
