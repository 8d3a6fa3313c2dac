/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A selection at one batch item. The kinds stand in select.c and hash.c.
 */
#ifndef HEED_REFERENCE_SELECT_H
#define HEED_REFERENCE_SELECT_H

#include "array.h"

struct heed_ref_selection {
    struct heed_ref_arrays arrays;
    const struct hk_select *numbers;
    int64_t length;     /* tokens of the item */
    void *workspace;
};

int64_t heed_ref_select_blocks(const struct heed_ref_selection *);
/* Tokens of a block, present or not: the last may have fewer than others. */
int64_t heed_ref_block_tokens(const struct heed_ref_selection *, int64_t block);
bool heed_ref_select_present(const struct heed_ref_selection *, int64_t group, int64_t at);

/* All of y that belongs to one head. */
void heed_ref_select_norm(const struct heed_ref_selection *, int64_t group);
void heed_ref_select_topk(const struct heed_ref_selection *, int64_t head);
void heed_ref_select_hash(const struct heed_ref_selection *, int64_t group);

/* Bytes of workspace of HASH. */
int64_t heed_ref_hash_bytes(const struct hk_select *);

#endif
