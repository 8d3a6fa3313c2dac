/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A second opinion on the reference: attention in long double from the mathematical definition,
 * with an error bound per element (Higham 2002, chapter 3, for the dot products; Blanchard, Higham
 * and Higham 2021 for the shifted softmax). Nothing here is shared with the library but the
 * descriptor.
 */
#ifndef HEED_TESTS_SUPPORT_ORACLE_H
#define HEED_TESTS_SUPPORT_ORACLE_H

#include "arrays.h"

/* How often row `row` of the item sees key `key` of a source; biases of -Inf count as unseen. */
int64_t oracle_sees(const struct heed_checked *, const struct test_arrays *, int64_t item,
                    int64_t head, int64_t row, uint32_t source, int64_t key);

/* The item's query length, first row and the (cut) length and first key of a source. */
void oracle_query(const struct heed_checked *, const struct test_arrays *, int64_t item,
                  int64_t *begin, int64_t *length);
void oracle_keys(const struct heed_checked *, const struct test_arrays *, int64_t item,
                 uint32_t source, int64_t *begin, int64_t *length);

/* Value of element `at` of an array; the value an output holds. */
long double oracle_load(uint32_t dtype, const void *base, int64_t at);

struct oracle_row {
    int64_t keys;               /* with multiplicity; 0: empty row */
    long double *o, *tolerance; /* [d_v], the caller's */
    long double lse, lse_tolerance;
};
void oracle_row_find(const struct heed_checked *, const struct test_arrays *, int64_t item,
                     int64_t head, int64_t row, struct oracle_row *);

#endif
