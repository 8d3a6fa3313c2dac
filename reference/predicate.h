/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Is key j of source s visible to row i of head h in batch item b, and at which place of the order
 * of keys? Written per key from heed/attn.h and docs/numerics.md step 2; knows nothing of the
 * lowered form.
 */
#ifndef HEED_REFERENCE_PREDICATE_H
#define HEED_REFERENCE_PREDICATE_H

#include "layout.h"

#include <stdbool.h>

/* One query row of one batch item. */
struct heed_ref_row {
    const struct heed_checked *attn;
    const struct heed_launch *launch;
    int64_t batch[3];
    int64_t head;
    int64_t q_begin,
        q_length;  /* the item's rows are q_begin .. + q_length - 1 of the query tensor */
    int64_t o_begin; /* and as many from here on of o and lse */
    int64_t index; /* row within the item */
    int64_t position;
};

/* One source as that row's batch item and head have it. */
struct heed_ref_keys {
    const struct heed_checked_source *source;
    const void *k, *v;
    struct heed_ref_layout item; /* where its keys are, and how many */
    int64_t head;          /* key head */
    int64_t n_global;      /* entries in use of the GLOBAL KEYS list */
    bool row_sees_all;     /* named by a GLOBAL ROWS term */
};

/* A sub-source (step 2), named by its step and the first term that has it. */
struct heed_ref_place {
    int64_t step;
    uint32_t term;
};

/* Batch item and query side; index and position are set by heed_ref_row_set. */
void heed_ref_row_start(struct heed_ref_row *, const struct heed_checked *,
                        const struct heed_launch *, int64_t item);
void heed_ref_row_set(struct heed_ref_row *, int64_t head, int64_t index);
void heed_ref_keys_start(struct heed_ref_keys *, const struct heed_ref_row *, uint32_t source);

/* Element [0,...,0] of an operand; NULL: absent. */
void *heed_ref_memory(const struct heed_ref_row *, uint32_t operand);
/* Address and element of an auxiliary array; x, y, z count along the trailing three axes. */
const void *heed_ref_aux_data(const struct heed_ref_row *, const struct heed_aux *);
int64_t heed_ref_aux_offset(const struct heed_aux *, const int64_t batch[3], int64_t x, int64_t y,
                            int64_t z);
int64_t heed_ref_aux_int(const struct heed_ref_row *, const struct heed_aux *, int64_t x, int64_t y,
                         int64_t z);
/* Index along a head axis of extent 1, H_k or H. */
int64_t heed_ref_aux_head(int64_t extent, const struct heed_ref_row *, int64_t key_head);

int64_t heed_ref_clamp_position(int64_t position);
int64_t heed_ref_key_first(const struct heed_ref_keys *, int64_t key); /* first covered position */
int64_t heed_ref_key_last(const struct heed_ref_keys *, int64_t key);

int64_t heed_ref_floor_div(int64_t a, int64_t b); /* b > 0, toward -Inf */

/* Where the row of a key that is not cut lies in k or v, in elements beside [0,...,0]. */
int64_t heed_ref_key_at(const struct heed_ref_row *, const struct heed_ref_keys *,
                        const struct heed_view *, int64_t key);

/* The first element of that row's in an array of scales: the source's, for k or v. */
int64_t heed_ref_key_scale_at(const struct heed_ref_row *, const struct heed_ref_keys *,
                              const struct heed_aux *scale, int64_t key);

/* Cut by causality, length, masks or a page that is not there, whatever term or list names it?
 * key >= 0. */
bool heed_ref_key_cut(const struct heed_ref_row *, const struct heed_ref_keys *, int64_t key);
/* The key at a rank of the GLOBAL KEYS list, rank < n_global. */
int64_t heed_ref_global_key(const struct heed_ref_row *, const struct heed_ref_keys *,
                            int64_t rank);
/* ALL, WINDOW, SEGMENT. The GLOBAL kinds are the list above and row_sees_all. */
bool heed_ref_term_sees(const struct heed_ref_row *, const struct heed_ref_keys *, uint32_t term,
                        int64_t key);
bool heed_ref_unit_sees(const struct heed_ref_row *, const struct heed_ref_keys *, int64_t key);

/* Sub-sources with step > 1 in their order. First call: *place = {0}; false: there is no further
 * one. */
bool heed_ref_place_next(const struct heed_ref_keys *, struct heed_ref_place *place);
/* Does this sub-source hold the key: named by one of its terms and by no earlier sub-source but the
 * GLOBAL list? */
bool heed_ref_place_holds(const struct heed_ref_row *, const struct heed_ref_keys *,
                          const struct heed_ref_place *, int64_t key);

#endif
