/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Turns bytes into a small structured attention: every byte is a choice, so that a mutation of the
 * bytes stays an attention, and an input that ends early goes on with zeros, the plain choices.
 */
#ifndef HEED_FUZZ_PRODUCE_H
#define HEED_FUZZ_PRODUCE_H

#include <heed/attn.h>

#include <stdbool.h>

struct fuzz_bytes {
    const uint8_t *at, *end;
};

/** The next byte, or 0 when there is none left. */
uint8_t fuzz_byte(struct fuzz_bytes *);

/** Of one byte: 0 .. n - 1, n <= 256. */
uint32_t fuzz_pick(struct fuzz_bytes *, uint32_t n);

/** True for one byte in n; never for byte 0. */
bool fuzz_rarely(struct fuzz_bytes *, uint32_t n);

/** n <= 8 bytes, least significant first. */
uint64_t fuzz_word(struct fuzz_bytes *, uint32_t n);

/** What an array holds; how is fuzz_recipe.mode. */
enum fuzz_content {
    FUZZ_NUMBERS,               /* q, k, v, sinks */
    FUZZ_BIASES,                /* like it, with -Inf */
    FUZZ_BYTES,                 /* masks */
    FUZZ_ASCENDING,             /* GLOBAL lists below bound */
    FUZZ_RANGES,                /* [begin, end) in [0, bound] */
    FUZZ_BELOW,                 /* 0 .. bound: lengths, runs */
    FUZZ_BEGINS,                /* of items that lie one after another in bound */
    FUZZ_POSITIONS              /* around 0 */
};

/** How an array is filled, see fuzz_fill(). */
struct fuzz_recipe {
    uint32_t content, mode, seed;
    int64_t bound;
};

enum {
    FUZZ_SOURCES = 3, FUZZ_TERMS = 5, FUZZ_BIASES_MOST = 3, FUZZ_SLOTS = 48,
    FUZZ_ELEMENTS = 1 << 14     /* of one array as made, at most */
};

/** Which other array o or lse is put into, at a distance of the input's choice. */
enum fuzz_alias {
    FUZZ_APART, FUZZ_O_IN_Q, FUZZ_O_IN_K, FUZZ_O_IN_V, FUZZ_LSE_IN_O, FUZZ_LSE_IN_Q, FUZZ_ALIASES
};

/** What is wrong with the arguments of run. */
enum fuzz_trouble {
    FUZZ_SOUND, FUZZ_O_NULL, FUZZ_Q_ODD, FUZZ_KV_NULL, FUZZ_SLOTS_NULL, FUZZ_COUNT_OFF,
    FUZZ_SIZE_SHORT, FUZZ_SIZE_LONG, FUZZ_TAIL_SET, FUZZ_KV_SHORT, FUZZ_WORKSPACE_SHORT,
    FUZZ_O_FAR, FUZZ_TROUBLES
};

/** An attention without memory. Points into itself: do not copy. */
struct fuzz_case {
    heed_attn_desc desc;        /* complete but for `data` of constant slots */
    heed_source sources[FUZZ_SOURCES];
    heed_term terms[FUZZ_SOURCES][FUZZ_TERMS];
    heed_bias biases[FUZZ_SOURCES][FUZZ_BIASES_MOST];
    heed_slot slots[FUZZ_SLOTS];
    bool constant[FUZZ_SLOTS];
    struct fuzz_recipe q, sinks, k[FUZZ_SOURCES], v[FUZZ_SOURCES], slot[FUZZ_SLOTS];

    uint64_t at_end;            /* bit i: place i ends at a page */
    uint32_t alias, alias_at;   /* enum fuzz_alias; elements */
    uint32_t trouble;           /* enum fuzz_trouble */
    uint32_t rounding, lanes;   /* 0 .. 3; 1 .. 4 */
    uint32_t row, head, item;   /* what heed_attn_visible() is asked for, modulo what there is */

    /* while it is made */
    struct fuzz_bytes bytes;
    int64_t batch[3], heads, key_heads, n_q, d, d_v, work;
    uint32_t n_batch;           /* batch axes */
};

void fuzz_case_make(struct fuzz_case *c, const uint8_t *data, size_t size);

/** Bytes of an element, 0 for an unknown type. */
uint32_t fuzz_dtype_size(uint32_t dtype);

/**
 * Where the bytes of an array lie beside its element [0]...[0]: [low, high), both 0 when it is
 * empty. false: an absurd shape or type, or beyond 63 bits.
 */
bool fuzz_extent(const heed_tensor *t, int64_t *low, int64_t *high);

/** The number of elements, or -1 beyond `most`. */
int64_t fuzz_count(const heed_tensor *t, int64_t most);

/** Offset in elements of the element that comes i-th when the last axis is fastest. */
int64_t fuzz_offset(const heed_tensor *t, int64_t i);

/** Fills the elements of a small array, in order; `origin` is element [0]...[0]. */
void fuzz_fill(uint8_t *origin, const heed_tensor *t, const struct fuzz_recipe *recipe);

#endif
