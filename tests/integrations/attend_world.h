/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Calls of integrations/ggml/attend.h, drawn from a seed, and what they must give, in binary64 from
 * the definition: element by element, with decoders of the tests' own.
 */
#ifndef HEED_TESTS_INTEGRATIONS_ATTEND_WORLD_H
#define HEED_TESTS_INTEGRATIONS_ATTEND_WORLD_H

#include "integrations/ggml/attend.h"

#include <stdbool.h>

enum mask_kind {
    MASK_ABSENT,
    MASK_ZEROS, /* of both signs */
    MASK_CAUSAL,
    MASK_WINDOW,     /* of 9 keys */
    MASK_SEQUENCES,  /* two, one behind the other in the cache */
    MASK_HOLES,      /* two, key by key in turns */
    MASK_TREE,       /* causal, of the later keys some rows see every third */
    MASK_VALUES,     /* numbers, causal */
    MASK_EMPTY_ROWS, /* every third row sees nothing */
    MASK_KINDS
};

/* What a call is drawn from; zeros of later fields are plain choices. */
struct draw {
    int64_t batch, heads, kv_heads, rows, keys, d, d_v;
    uint32_t k_type, v_type;
    enum mask_kind mask;
    float max_bias, softcap;
    bool sinks, permuted, padded, v_in_k, one_mask, one_kv;
};

struct drawn {
    struct draw draw;
    struct heed_attend_call call;
    void *memory[6]; /* q, k, v, mask, sinks, o */
    size_t o_bytes;
};

void world_make(struct drawn *, const struct draw *, uint64_t seed);
void world_free(struct drawn *);

/* Fills o with a pattern, padding too. */
void world_forget(struct drawn *);

/* Squared error of o over the squared size of what it should be, for the keys and values that heed
 * gets: halves, where it does not read their blocks itself. */
double world_error(const struct drawn *);

/* Element j of a row, by the published layout of its type. */
double world_element(uint32_t type, const unsigned char *row, int64_t j);

/* The half nearest to a number, ties to even, as a number. */
double world_half(double x);
double world_half_value(unsigned half);
unsigned world_half_bits(double x);

/* Elements and bytes of a block. */
void world_block(uint32_t type, int64_t *elements, int64_t *bytes);

extern const uint32_t world_types[11];

#endif
