/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the files of the family meta share.
 */
#ifndef HEED_TOOLS_CONFORM_OPS_ATTN_META_H
#define HEED_TOOLS_CONFORM_OPS_ATTN_META_H

#include "attn.h"
#include "conform/engine/subject.h"

/* Runs `other`, NULL: there was no memory for it, and compares. */
void cf_relate(const struct subject *, struct problem *other, const char *what);

/* meta_copies.c: a list of the case's keys against their gathered copy; */
void cf_meta_listed(const struct subject *, const struct problem *);
/* pages and rings against theirs, where the entries of slots do not share memory; */
void cf_meta_cached(const struct subject *, const struct problem *);
/* meta_states.c: some sources, or keys of one, up to a state and the others from there on, against
 * all at once; */
void cf_meta_continued(const struct subject *, const struct problem *);
void cf_meta_cut(const struct subject *, const struct problem *);
/* keys that all items share, of few rows each, against the reference; */
void cf_meta_shared(const struct subject *, const struct problem *);
/* bytes and scales against the f32 that they stand for. */
void cf_meta_quantised(const struct subject *, const struct problem *);

#endif
