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

/* ---- forms.c: other forms of a problem with the same results ---------------------- */

int64_t cf_attn_rows(const void *problem);
void *cf_attn_cut(const void *problem, int64_t from, int64_t n);
bool cf_attn_repeats(const void *problem);
extern const struct cf_alike cf_attn_alikes[];
/* Of which the files above have parts. Appends keys beyond the lengths; false: it cannot. */
bool cf_cache_longer(struct cs *);
/* Rows that lie apart or are packed in one piece; NULL: there are none, or there is no memory. */
struct problem *cf_cache_gathered(const struct problem *);
/* Lengths less `from`, and at most n: constant ones may be no more. */
void cf_lengths_keep(struct problem *, int slot, int64_t from, int64_t n);

#endif
