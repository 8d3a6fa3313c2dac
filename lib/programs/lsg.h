/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the kinds of sparse keys of LSG share.
 */
#ifndef HEED_LIB_PROGRAMS_LSG_H
#define HEED_LIB_PROGRAMS_LSG_H

#include "program.h"

struct heed_lsg {
    struct heed_composer *c;
    struct heed_builder b;              /* of the attention that is the result */
    heed_lsg_program_desc d;
    int64_t n, blocks, per_block;       /* per_block: c */
    int64_t unit;                       /* u: tokens that are chosen from, or hashed, at one time */
};

static inline bool heed_lsg_causal(const struct heed_lsg *l)
{
    return l->d.flags & HEED_LSG_CAUSAL;
}

/* Sources of the attention: first the globals, last the text. */
void heed_lsg_globals_add(struct heed_lsg *);
void heed_lsg_local_add(struct heed_lsg *);

/* Kinds with keys of their own, after all parameters were checked. */
HEED_MUST_CHECK
heed_status heed_lsg_pooling(struct heed_lsg *);
HEED_MUST_CHECK
heed_status heed_lsg_hashing(struct heed_lsg *);
HEED_MUST_CHECK
heed_status heed_lsg_bos_pooling(struct heed_lsg *);

#endif
