/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The product of a row of q and a row of k, which scales join block by block.
 */
#ifndef HEED_TOOLS_CONFORM_OPS_ATTN_PRODUCT_H
#define HEED_TOOLS_CONFORM_OPS_ATTN_PRODUCT_H

#include "attn.h"

struct cf_product {
    double sum, size, tiny; /* size: of magnitudes; tiny: what underflow may cost */
    bool unsure;            /* roundings decide about it */
};

/* Adds that of the rows of q and of a source's k whose channels 0 are elements q and k; scale: of
 * the row of k. */
void cf_product_add(const struct problem *, const struct source_data *, int64_t q, int64_t k,
                    const struct cf_scales *, struct cf_product *);

/* What the same product loses where subnormal halves count as zeros, and subnormal sums become such
 * (docs/numerics.md section 11). */
double cf_product_flushed(const struct problem *, const struct source_data *, int64_t q, int64_t k);

#endif
