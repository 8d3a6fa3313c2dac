/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Slots at their places of use. A use says what an array must look like where it stands: its axes,
 * its element types and what its entries must be. Every struct that names slots has a list of the
 * fields that do; what each of these fields takes is said by the layout or the kind. Check,
 * validate and visible are loops over these tables.
 */
#ifndef HEED_LIB_OPS_ATTN_USE_H
#define HEED_LIB_OPS_ATTN_USE_H

#include "../../types/types.h"
#include "../../plan.h"

#include <stdbool.h>
#include <stddef.h>

/* What the extent of a trailing axis may be: any of these. For packed queries or keys ROWS, BLOCKS
 * and KEYS may be anything, and bound the lengths. */
enum {
    HEED_AXIS_ONE = 1,
    HEED_AXIS_TWO = 2,              /* begin and end */
    HEED_AXIS_ANY = 4,
    HEED_AXIS_HEADS = 8,            /* H */
    HEED_AXIS_KEY_HEADS = 16,       /* H_k */
    HEED_AXIS_ROWS = 32,
    HEED_AXIS_BLOCKS = 64,          /* of rows: a SEGMENT's block, rows that share a list */
    HEED_AXIS_KEYS = 128,
    HEED_AXIS_CHANNELS = 256,       /* of q and k */
    HEED_AXIS_STORED = 512,         /* rows of k, whatever keys they hold */
    HEED_AXIS_PAGES = 1024,         /* pages of k */
    HEED_AXIS_KEYS_OR_WORDS = 2048, /* keys; of I32 arrays words of 32 of them */
    HEED_AXIS_SCALE_HEADS = HEED_AXIS_ONE | HEED_AXIS_KEY_HEADS,
    HEED_AXIS_GROUPS = HEED_AXIS_HEADS | HEED_AXIS_SCALE_HEADS
};

/* What the batch axes may be. */
enum { HEED_BATCH_ONE, HEED_BATCH_MAY, HEED_BATCH_ALL };

struct heed_entries;
struct heed_entry;
struct heed_fault;

struct heed_use {
    uint32_t batch;                 /* HEED_BATCH_* */
    uint32_t set;                   /* HEED_SET_*: element types */
    uint32_t trailing;              /* axes after those of the batch */
    uint32_t axes[3];               /* HEED_AXIS_* of x, y, z: view axes 3, 4, 5 */
    /* What is asked of each entry (validate.h); NULL: any will do. */
    heed_status (*entry)(const struct heed_entries *, const struct heed_entry *,
                         struct heed_fault *);
};

/* May, must or may not a field name a slot? */
enum heed_need { HEED_NEED_NONE, HEED_NEED_MAY, HEED_NEED_MUST };

/* What a layout or kind says of one field. */
struct heed_slot_rule {
    enum heed_need need;
    const struct heed_use *use;
};

/* A field that may name a slot. */
struct heed_slot_field {
    const char *name;               /* "len_slot" */
    size_t given;                   /* offset of the number in the public struct */
    size_t kept;                    /* offset of the heed_aux in the checked struct */
};

/* The structs that name slots. */
enum heed_level { HEED_LEVEL_DESC, HEED_LEVEL_SOURCE, HEED_LEVEL_TERM, HEED_LEVEL_BIAS,
                  HEED_LEVELS };
enum { HEED_DESC_Q_POS, HEED_DESC_BEGIN, HEED_DESC_LEN, HEED_DESC_O_BEGIN, HEED_DESC_SLOTS };
enum { HEED_SOURCE_SLOT, HEED_SOURCE_LEN, HEED_SOURCE_MASK, HEED_SOURCE_ROW_MASK,
       HEED_SOURCE_K_SCALE, HEED_SOURCE_V_SCALE, HEED_SOURCE_SLOTS };
enum { HEED_TERM_SLOT, HEED_TERM_SLOTS };
enum { HEED_BIAS_T, HEED_BIAS_U, HEED_BIAS_MAP, HEED_BIAS_Q_COORD, HEED_BIAS_K_COORD,
       HEED_BIAS_SLOTS };

struct heed_slot_fields {
    const struct heed_slot_field *rows;
    uint32_t n;
};
extern const struct heed_slot_fields heed_slot_fields[HEED_LEVELS];

/* One place of use: heed_checked.sites. */
struct heed_site {
    const struct heed_use *use;
    const struct heed_aux *aux;     /* slot is never 0 */
    const char *name;               /* of the field */
    enum heed_level level;
    uint32_t source, index;         /* source; term or bias in it */
    uint32_t inner, reserved;       /* 1: the array has an axis more than its use, of scales */
};

enum { HEED_SITE_PATH = 64 };
/* "sources[0].terms[1].slot" */
const char *heed_site_path(const struct heed_site *, char path[HEED_SITE_PATH]);

/* What several layouts take, and coordinates and maps, which kinds of bias share. */
extern const struct heed_use heed_use_lengths, heed_use_q_pos, heed_use_mask, heed_use_row_mask,
    heed_use_scales, heed_use_q_coord, heed_use_k_coord, heed_use_map;

#endif
