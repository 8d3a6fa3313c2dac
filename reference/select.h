/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * One batch item of a selection. The kinds stand in select.c and hash.c.
 */
#ifndef HEED_REFERENCE_SELECT_H
#define HEED_REFERENCE_SELECT_H

#include "array.h"

struct heed_ref_select {
    struct heed_ref_arrays arrays;
    const struct hk_select *numbers;
    int64_t length;             /* tokens of the item */
    uint64_t *keys;             /* NORM, TOPK: one for each token of a block, or of the item */
    int32_t *buckets;           /* HASH: one for each token of a block, -1: not present */
    struct heed_ref_level *levels;      /* HASH: one for each round but the last */
};

/* The sums that round r + 1 hashes. */
struct heed_ref_level {
    float *sums;                /* [candidates of round r][d] */
    int32_t *buckets;           /* of each sum, in round r + 1; -1: it has no token */
};

int64_t heed_ref_block_tokens(const struct heed_ref_select *, int64_t block);
bool heed_ref_select_present(const struct heed_ref_select *, int64_t group, int64_t at);

/* All rows of y of one head. */
void heed_ref_select_norm(const struct heed_ref_select *, int64_t group);
void heed_ref_select_topk(const struct heed_ref_select *, int64_t head);
void heed_ref_select_hash(const struct heed_ref_select *, int64_t group);

#endif
