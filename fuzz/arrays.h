/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The memory of a case: every operand of its job in a guarded place of its own, or one in
 * another's, and what is in them before and after.
 */
#ifndef HEED_FUZZ_ARRAYS_H
#define HEED_FUZZ_ARRAYS_H

#include "memory.h"
#include "produce.h"

enum { FUZZ_WORKSPACE = JOB_OPERANDS, FUZZ_PLACES_USED }; /* the place of number i is i */
enum { FUZZ_PATTERN = 0x5a };   /* bytes of outputs before the run, and of gaps */

/** Of an operand, whose tensor is the descriptor's. */
struct fuzz_array {
    const struct operand *x;
    const heed_tensor *t;
    bool there, writes;         /* the descriptor has it; it is an output or a state */
    uint8_t *place, *origin;    /* the lowest of its bytes; element [0]...[0] */
    size_t size;                /* bytes looked after here; 0 in another's place */
    uint8_t *before, *written;  /* copy of place; 1 for bytes of what is written */
    uint8_t *wanted, *loose;    /* elements of the first device; those that others may differ in */
};

struct fuzz_arrays {
    const struct fuzz_case *c;
    bool placed;                /* every array has its memory; else nothing may run */
    struct fuzz_array at[JOB_OPERANDS];
};

/**
 * Places and fills the arrays of a case, and sets `data` of its constant ones: of those without a
 * place it becomes NULL.
 */
void fuzz_arrays_make(struct fuzz_arrays *, const struct fuzz_case *);
void fuzz_arrays_finish(struct fuzz_arrays *);

/** Tells the job where its arrays lie. */
void fuzz_arrays_bind(const struct fuzz_arrays *);

/** Nothing but elements of outputs and states has changed; unless `outputs`, not these either. */
void fuzz_arrays_compare(const struct fuzz_arrays *, bool outputs, const char *after);

/** Everything as it was before the run. */
void fuzz_arrays_restore(struct fuzz_arrays *);

/** The elements of an array as they lie in `origin` now, last axis fastest. */
void fuzz_elements_take(const heed_tensor *, const uint8_t *origin, void *to);

/** The same of every array that is written become those that are wanted, or are compared. */
void fuzz_arrays_keep(struct fuzz_arrays *);
void fuzz_arrays_judge(const struct fuzz_arrays *, uint32_t device);

/** Elements; none where the array is absent. */
int64_t fuzz_elements(const struct fuzz_array *);

/** Memory for the target itself, zeroed, or a copy; never NULL. */
void *fuzz_copy(const void *from, size_t size);

#endif
