/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Turns bytes into a small structured attention: the conformance kit's generator of cases, with the
 * bytes as its source of randomness, and then what no drawn case has, field by field. Every byte is
 * a choice, so that a mutation of the bytes stays an attention, and an input that ends early goes
 * on with zeros, the plain choices.
 */
#ifndef HEED_FUZZ_PRODUCE_H
#define HEED_FUZZ_PRODUCE_H

#include "conform/engine/devices.h"
#include "conform/ops/attn/attn.h"

uint8_t fuzz_byte(struct rng *);
/** True for one byte in n; never for byte 0. */
bool fuzz_rarely(struct rng *, uint32_t n);
/** n <= 8 bytes, least significant first. */
uint64_t fuzz_word(struct rng *, uint32_t n);

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

/** An attention without memory of its own, but for the images in call. Points into itself. */
struct fuzz_case {
    struct problem *p;
    struct call call;           /* desc and all it points to, but for `data` of constant slots */

    uint64_t at_end;            /* bit i: place i ends at a page */
    uint32_t alias, alias_at;   /* enum fuzz_alias; elements */
    uint32_t trouble;           /* enum fuzz_trouble */
    uint32_t rounding, lanes;   /* 0 .. 3; 1 .. 4 */
    uint32_t row, head, item;   /* what heed_attn_visible() is asked for, modulo what there is */
};

void fuzz_case_make(struct fuzz_case *c, heed_device *reference, const uint8_t *data,
                    size_t size);
void fuzz_case_finish(struct fuzz_case *c);

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

/** What the kit put into an array, from its lowest byte on, and again where `size` is more. */
void fuzz_fill(uint8_t *to, size_t size, const struct place *from);

/** The outputs of a run, dense, must be within the bound of the kit's oracle, where it has one. */
void fuzz_judge(const heed_attn_desc *desc, const heed_attn_args *args, const uint8_t *o,
                const uint8_t *lse);

#endif
