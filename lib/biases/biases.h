/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Kinds of bias, one file each: the fields a kind takes, and its slots with their axes and element
 * types. Its value is computed in kernels and in the reference.
 */
#ifndef HEED_LIB_BIASES_BIASES_H
#define HEED_LIB_BIASES_BIASES_H

#include "../ops/attn/use.h"

struct heed_bias_kind {
    uint32_t kind;                  /* HEED_BIAS_* */
    const char *name;
    bool zero;                      /* takes `zero` */
    bool positional;                /* without q_coord it depends on where the queries lie */
    bool in_score;                  /* joins q.k; of t and u one must be there */
    struct heed_slot_rule slots[HEED_BIAS_SLOTS];
};

const struct heed_bias_kind *heed_bias_kind_find(uint32_t kind);    /* NULL: unknown */

/* The one list of kinds: each row is a struct heed_bias_kind heed_bias_NAME with its own file. */
#define HEED_BIAS_KINDS(ROW)                                                                       \
    ROW(dense)                                                                                     \
    ROW(alibi)                                                                                     \
    ROW(table)                                                                                     \
    ROW(dot)

#define HEED_DECLARE(name) extern const struct heed_bias_kind heed_bias_##name;
HEED_BIAS_KINDS(HEED_DECLARE)
#undef HEED_DECLARE

#endif
