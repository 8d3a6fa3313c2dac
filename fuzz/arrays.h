/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The memory of a case: every array in a guarded place of its own, or an output in another's, and
 * what is in them before and after.
 */
#ifndef HEED_FUZZ_ARRAYS_H
#define HEED_FUZZ_ARRAYS_H

#include "memory.h"
#include "produce.h"

/** Numbers of arrays, and of their places. Of source i, k is KV + 2i and v the next. */
enum {
    FUZZ_Q, FUZZ_O, FUZZ_LSE, FUZZ_SINKS, FUZZ_KV, FUZZ_SLOT = FUZZ_KV + 2 * MAX_SOURCES,
    FUZZ_ARRAYS = FUZZ_SLOT + MAX_SLOTS, FUZZ_WORKSPACE = FUZZ_ARRAYS, FUZZ_PLACES_USED
};

enum { FUZZ_PATTERN = 0x5a };   /* bytes of outputs before the run, and of gaps */

struct fuzz_array {
    const heed_tensor *t;       /* NULL: absent */
    const struct place *from;   /* what the kit put into it */
    uint8_t *place, *origin;    /* the lowest of its bytes; element [0]...[0] */
    size_t size;                /* bytes looked after here; 0 in another's place */
    uint8_t *before, *written;  /* copy of place; 1 for bytes of o and lse */
};

struct fuzz_arrays {
    struct fuzz_case *c;
    bool placed;                /* every array has its memory; else nothing may run */
    struct fuzz_array at[FUZZ_ARRAYS];
};

/**
 * Places and fills the arrays of a case, and sets `data` of its constant slots: of those without a
 * place it stays NULL.
 */
void fuzz_arrays_make(struct fuzz_arrays *, struct fuzz_case *);
void fuzz_arrays_finish(struct fuzz_arrays *);

/** Nothing but elements of o and lse has changed; unless `outputs`, not these either. */
void fuzz_arrays_compare(const struct fuzz_arrays *, bool outputs, const char *after);

/** Everything as it was before the run. */
void fuzz_arrays_restore(struct fuzz_arrays *);

/** A copy of the elements of an output, last axis fastest; for free(). */
uint8_t *fuzz_arrays_take(const struct fuzz_arrays *, uint32_t number);

/** Memory for the target itself, zeroed, or a copy; never NULL. */
void *fuzz_copy(const void *from, size_t size);

#endif
