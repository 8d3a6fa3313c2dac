/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Kinds of layout, one file each: how the keys of a source, or query rows, lie in memory. A layout
 * says which slots and numbers it takes and what their entries must be, where an item lies, which
 * keys an item has, and how kernels find the row of a key. A new kind is one file and one row of
 * the list below.
 */
#ifndef HEED_LIB_LAYOUTS_LAYOUTS_H
#define HEED_LIB_LAYOUTS_LAYOUTS_H

#include "../ops/attn/use.h"
#include "../ops/attn/validate.h"
#include "../ops/attn/visible.h"
#include "../spans.h"

struct heed_check;                  /* ops/attn/check_state.h */

struct heed_layout {
    uint32_t kind;                  /* HEED_LAYOUT_* */
    const char *name;
    enum heed_items items;
    uint32_t lowered;               /* HK_LAYOUT_*: how kernels find the row of a key */
    bool for_queries;
    bool lists;                     /* `slot` lists the keys: lowers to one GATHER over them; takes
                                     * no term but ALL without step */
    bool takes_run, takes_rows;     /* may the numbers of these names be other than 0? */
    struct heed_slot_rule desc[HEED_DESC_SLOTS], source[HEED_SOURCE_SLOTS];
    /* What it asks of a source whose slots are known, and what follows; NULL: nothing. */
    heed_status (*check)(struct heed_check *, uint32_t source);
    /* Of an item with n keys, or rows, those that are in the tensor with so many rows; index: what
     * is in `slot`. NULL: n. */
    int64_t (*cut)(const struct heed_look *, const struct heed_aux *index, int64_t rows, int64_t n);
    /* Is a key, which is within the length, there? NULL: always. */
    bool (*there)(const struct heed_look *, int64_t key);
    /* How often does the row see the key? NULL: terms say it. */
    int64_t (*times)(const struct heed_look *, int64_t key);
};

const struct heed_layout *heed_layout_find(uint32_t kind);  /* NULL: unknown */
/* The kinds are 0 to this one. */
uint32_t heed_layout_last(void);
/* Those that query rows may have: the last one, and all names as the end of a message. */
uint32_t heed_layout_queries(char names[64]);
/* Are items cut out of one tensor? The kind is known. */
bool heed_layout_packed(uint32_t kind);

/* What sources of all layouts take beside `slot`. */
#define HEED_SOURCE_SLOTS_OF(need_len, scales)                                                     \
    [HEED_SOURCE_LEN] = { need_len, &heed_use_lengths },                                           \
    [HEED_SOURCE_MASK] = { HEED_NEED_MAY, &heed_use_mask },                                        \
    [HEED_SOURCE_ROW_MASK] = { HEED_NEED_MAY, &heed_use_row_mask },                                \
    [HEED_SOURCE_K_SCALE] = { HEED_NEED_MAY, scales },                                             \
    [HEED_SOURCE_V_SCALE] = { HEED_NEED_MAY, scales }

/* The one list of kinds: each row is a struct heed_layout heed_layout_NAME with its own file. */
#define HEED_LAYOUTS(ROW)                                                                          \
    ROW(dense)                                                                                     \
    ROW(ragged)                                                                                    \
    ROW(paged)                                                                                     \
    ROW(ring)                                                                                      \
    ROW(listed)

#define HEED_DECLARE(name) extern const struct heed_layout heed_layout_##name;
HEED_LAYOUTS(HEED_DECLARE)
#undef HEED_DECLARE

#endif
