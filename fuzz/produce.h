/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Turns bytes into a small problem of any operation: the conformance kit's generator of cases, with
 * the bytes as its source of randomness, and then what no drawn case has, field by field. Every
 * byte is a choice, so that a mutation of the bytes stays a problem, and an input that ends early
 * goes on with zeros, the plain choices.
 */
#ifndef HEED_FUZZ_PRODUCE_H
#define HEED_FUZZ_PRODUCE_H

#include "conform/engine/devices.h"
#include "conform/engine/subject.h"

uint8_t fuzz_byte(struct rng *);
/** True for one byte in n; never for byte 0. */
bool fuzz_rarely(struct rng *, uint32_t n);
/** n <= 8 bytes, least significant first. */
uint64_t fuzz_word(struct rng *, uint32_t n);
/** Small, or at an end of what integers hold. */
int64_t fuzz_number(struct rng *);

/** What is wrong with the arguments of run; from BY_NAME on with those by name alone. OWN: with
 * what the operation adds. */
enum fuzz_trouble {
    FUZZ_SOUND,
    FUZZ_NO_HANDLE,
    FUZZ_ODD_OFFSET,
    FUZZ_FAR_OFFSET,
    FUZZ_SHORT_WORKSPACE,
    FUZZ_NO_EVENTS,
    FUZZ_BY_NAME,
    FUZZ_SHORT_SIZE = FUZZ_BY_NAME,
    FUZZ_LONG_SIZE,
    FUZZ_TAIL_SET,
    FUZZ_OWN,
    FUZZ_TROUBLES
};

struct fuzz_own;

/** A problem without memory of its own, but for the images of its arrays. */
struct fuzz_case {
    const struct fuzz_own *own;
    struct cs cs;
    struct job *job;
    bool strange; /* the descriptor is not that of a legal case */

    uint64_t at_end;            /* bit i: place i ends at a page */
    int guest, host;            /* operands: the place of one is within the other's; alike: none */
    uint32_t distance;          /* there */
    uint32_t trouble, which;    /* enum fuzz_trouble; which operand has it */
    uint32_t by_operands;       /* bit i: device i runs by heed_plan_run() */
    uint32_t rounding, workers; /* 0 .. 3; 1 .. 4 */
    uint32_t fail_at;           /* which allocation of a plan fails; 0: none */
    uint32_t pick;              /* which element an operation looks at, modulo what there is */
};

void fuzz_case_make(struct fuzz_case *c, heed_device *reference, const uint8_t *data,
                    size_t size);
void fuzz_case_finish(struct fuzz_case *c);

/** Bytes of an element, or of a block of them; 0 for an unknown type. */
uint32_t fuzz_dtype_size(uint32_t dtype);

/**
 * Where the bytes of an array lie beside its element [0]...[0]: [low, high), both 0 when it is
 * empty. false: an absurd shape or type, or beyond 63 bits.
 */
bool fuzz_extent(const heed_tensor *t, int64_t *low, int64_t *high);

/** The number of elements or blocks, or -1 beyond `most`. */
int64_t fuzz_count(const heed_tensor *t, int64_t most);

/** Offset, in elements or blocks, of the one that comes i-th when the last axis is fastest. */
int64_t fuzz_offset(const heed_tensor *t, int64_t i);

/** What the kit put into an array, from its lowest byte on, and again where `size` is more. */
void fuzz_fill(uint8_t *to, size_t size, const struct place *from);

#endif
