/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Operations in the kit. Of each the generator of cases (axes.c, text.c, cover.c, draw.c) knows a
 * struct cf_op; the axes in use are those of one operation at a time.
 */
#ifndef HEED_TOOLS_CONFORM_OP_H
#define HEED_TOOLS_CONFORM_OP_H

#include "conform.h"

enum { MAX_TIES = 2 };

struct cover;
struct session;

/* `values`: words, or numbers if `number`; NULL: the words of the kinds. `need`: values of field
 * `parent` of the same group; NULL: the kinds that take the field. */
struct cf_spec {
    const char *name, *values;
    int number, parent;
    const char *need;
};

/* An operation as the generator of cases sees it. What may be NULL says so. */
struct cf_op {
    const char *name;   /* of the public functions, and in the line of a case */
    int share;          /* of 100 cases drawn in all; 0: as the other operations without one */
    void (*axes)(void); /* adds the fields */
    heed_status (*check)(heed_device *reference, const struct cs *, heed_report *);
    int64_t (*work)(const struct cs *);     /* multiply-adds, roughly */
    void (*smallest)(struct cs *);          /* a small case that computes something */
    void (*shrink)(struct cs *);            /* makes a case that is too big smaller */
    /* Does the case say anything about the two fields together? */
    bool (*telling)(const struct cs *, int a, int b);
    bool (*empties)(int field, int64_t value); /* the value leaves nothing to compute */
    int fill;                               /* field of what arrays hold; 0: not drawn in turn */
    bool (*idle)(const struct cs *);        /* NULL, or: there is next to nothing to compute */
    int (*first)(void);                     /* field whose pairs are tried first */
    /* NULL, or: one of the kinds of case that a kernel which does one thing may be made for, by
     * number; false: there is none. And how many there are; the first *simple are the simplest. */
    bool (*single)(int64_t number, struct cs *);
    int64_t (*singles)(int64_t *simple);
    /* NULL, or: up to MAX_TIES fields whose levels a kernel ties to those of this one. */
    int (*ties)(int field, int to[MAX_TIES]);
    bool (*vital)(int field);               /* NULL, or: must each level that is taken be judged? */
    bool (*sane)(int field, int64_t value); /* a number of a line, no level; NULL: by its name */
    /* NULL, or: takes what a value asks of fields that are not pinned. */
    void (*wishes)(struct cover *, struct cs *, const int *pins, int n);
    /* NULL, or: which fields, [from, to), a report is about. */
    void (*blame)(struct cover *, struct cs *, const int *pins, int n, const heed_report *,
                  int *from, int *to);
    void (*vary)(struct rng *, struct cs *); /* NULL, or: numbers between the levels */
    /* NULL, or: the case without its i-th part that it can do without; false: there is none. */
    bool (*without)(const struct cs *, int i, struct cs *out);
    /* NULL, or: numbers about the ends of blocks, in a case that has none too large for `limit`. */
    void (*edges)(struct rng *, struct cs *, int64_t limit);
};

extern const struct cf_op cf_op_attn;
void cf_attn_axes(void);

/* attn_single.c */
bool cf_attn_single(int64_t number, struct cs *);
int64_t cf_attn_singles(int64_t *simple);
int cf_attn_ties(int field, int to[MAX_TIES]);
bool cf_attn_vital(int field);
bool cf_attn_idle(const struct cs *);

/* op_table.c: every operation, attention first. */
extern const struct cf_op *const cf_ops[];
extern const int cf_n_ops;
const struct cf_op *cf_op_find(const char *name); /* NULL: none */

/* axes.c */
extern const struct cf_op *cf_op; /* whose axes are in use */
void cf_op_use(const struct cf_op *);
/* Adds fields to those of the operation in use; returns the number of the first. */
int cf_axes_add(const struct cf_spec *, int n);

#endif
