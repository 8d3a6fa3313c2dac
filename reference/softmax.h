/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Steps 5 to 10 and 12 of numerics.md section 4: what becomes of weighted rows, whoever names them.
 * Keys come with their logit in units of log 2 and their ordinal, by ascending ordinal within a
 * sub-source.
 */
#ifndef HEED_REFERENCE_SOFTMAX_H
#define HEED_REFERENCE_SOFTMAX_H

#include "blocks.h"
#include "numerics.h"

/* Floats of scratch: the accumulators of a chunk and of the row, and the sums of minima. */
#define HEED_REF_SOFTMAX_SCRATCH 3 /* times d */

/* A partial softmax: weights are relative to 2^m. */
struct heed_ref_part {
    float m; /* integer-valued, or -Inf, +Inf */
    float l[HEED_REF_LANES];
    float *o;     /* [d] */
    float *n;     /* [d], of a chunk: weighted minima of value rows in blocks (step 7) */
    int64_t keys; /* remaining keys seen; 0: the part does not exist */
};

/* The remaining keys of the block being collected. */
struct heed_ref_block {
    int64_t number; /* ordinal div 64 */
    int count;
    float y[HEED_REF_BLOCK];
    int lane[HEED_REF_BLOCK];     /* ordinal mod 16 */
    int64_t v_at[HEED_REF_BLOCK]; /* element of the value row's channel 0 */
    int64_t scale_at[HEED_REF_BLOCK]; /* of its first scale, where there are any */
};

struct heed_ref_softmax {
    int64_t d;
    struct heed_ref_block block;
    struct heed_ref_part chunk, total;
    /* Where value rows lie: the same array until the next join. */
    const void *values;
    uint32_t dtype;
    int64_t stride; /* of channels */
    struct heed_ref_scales scales;
};

/* scratch: HEED_REF_SOFTMAX_SCRATCH * d floats. */
void heed_ref_softmax_start(struct heed_ref_softmax *, int64_t d, float *scratch);
/* A key; one with y = -Inf is removed, its value unread. scale_at: of the value row, or 0. */
void heed_ref_softmax_add(struct heed_ref_softmax *, float y, int64_t ordinal, int64_t v_at,
                          int64_t scale_at);
/* Ends a sub-source. */
void heed_ref_softmax_join(struct heed_ref_softmax *);
/* Steps 9, 10 and 12, for a row with a key: the output, before it is rounded, is total.o. Gives the
 * LSE, in which the sink counts if with_sink. sink -Inf: there is none. */
float heed_ref_softmax_end(struct heed_ref_softmax *, float sink, bool with_sink);

#endif
