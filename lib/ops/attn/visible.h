/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What one query row sees of one source, key by key. Written from the text of the contract and from
 * nothing else, so that it can disagree with the lowered form and with the reference.
 */
#ifndef HEED_LIB_OPS_ATTN_VISIBLE_H
#define HEED_LIB_OPS_ATTN_VISIBLE_H

#include "../../backend.h"

/* The row that looks, as kinds of term and of layout see it. */
struct heed_look {
    const struct heed_checked *attn;
    const void *const *slots;
    const struct heed_checked_source *source;
    int64_t at[3];                  /* batch coordinates */
    int64_t head, row;
    int64_t n_rows, n_keys;         /* lengths of the item */
    int64_t position;               /* of the query */
};

/* An entry of an array, for the row's batch item. */
int64_t heed_look_entry(const struct heed_look *, const struct heed_aux *, int64_t x, int64_t y,
                        int64_t z);
/* The row's place on an axis of heads, whose extent is 1, H_k or H. */
int64_t heed_look_head(const struct heed_look *, int64_t extent);
/* The first position that a key covers. */
int64_t heed_look_first(const struct heed_look *, int64_t key);

/* The position of row `row` of the item. */
int64_t heed_look_position(const struct heed_look *);
/* Makes the look of an item at a source: coordinates and lengths, without a row. The slots that
 * heed_look_require() asks for are bound. */
void heed_look_item(struct heed_look *, const struct heed_checked *, const void *const *slots,
                    uint32_t source, int64_t item);
/* HEED_E_NULL: a slot that says what rows see of the source has no memory. */
HEED_MUST_CHECK
heed_status heed_look_require(const struct heed_checked *, const void *const *slots,
                              uint32_t source, heed_report *);
/* Keys of the source's tensor, of packed ones all that there are. */
int64_t heed_look_room(const struct heed_checked_source *);
/* Rows of q's tensor, of packed ones all that there are. */
int64_t heed_look_rows(const struct heed_checked *);

/* seen[0 .. keys of the source's tensor): how often the row sees each key; 255 stands for more.
 * Terms, lengths, CAUSAL, the masks and lists count, biases do not. Only slots is read (slots
 * may be NULL when every slot is constant). HEED_E_VALUE: no such batch item, head, row or source;
 * HEED_E_NULL: seen, or a slot that is not bound. */
HEED_MUST_CHECK
heed_status heed_visible_row(const struct heed_checked *, const void *const *, int64_t batch,
                             int64_t head, int64_t row, uint32_t source, uint8_t *seen,
                             heed_report *);

#endif
