/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Operations in the kit. Of each the generator of cases (fields.c, line.c, cover.c, draw.c) knows a
 * struct cf_op; the axes in use are those of one operation at a time.
 */
#ifndef HEED_TOOLS_CONFORM_ENGINE_OPERATION_H
#define HEED_TOOLS_CONFORM_ENGINE_OPERATION_H

#include "fields.h"
#include "job.h"
#include "verdict.h"

enum { MAX_TIES = 2 };

struct cf_errors;
struct cf_families;
struct cover;
struct session;
struct subject;

/* `values`: words, or numbers if `number` is not 0: 1, or the most that a line may say where that
 * is not the operation's `most`, or LEVELS_ONLY; NULL: the words of the kinds. `need`: values of
 * field `parent` of the same group; NULL: the kinds that take the field. */
enum { LEVELS_ONLY = -1 };
struct cf_spec {
    const char *name, *values;
    int64_t number;
    int parent;
    const char *need;
};

/* An operation as the generator of cases sees it. What may be NULL says so. */
struct cf_op {
    const char *name;   /* of the public functions, and in the line of a case */
    int share;          /* of 100 cases drawn in all; 0: as the other operations without one */
    void (*axes)(void); /* adds the fields */
    int64_t (*work)(const struct cs *);     /* multiply-adds, roughly */
    void (*smallest)(struct cs *);          /* a small case that computes something */
    void (*shrink)(struct cs *);            /* makes a case that is too big smaller */
    /* Does the case say anything about the two fields together? */
    bool (*telling)(const struct cs *, int a, int b);
    bool (*empties)(int field, int64_t value); /* the value leaves nothing to compute */
    int fill;                               /* field of what arrays hold; 0: not drawn in turn */
    int numerics;                           /* field of what the descriptor wants of the bits */
    /* Is the field about places in memory, or about the plan? Dense arrays say nothing of it. */
    bool (*of_memory)(int field);
    bool (*idle)(const struct cs *);        /* NULL, or: there is next to nothing to compute */
    int (*first)(void);                     /* field whose pairs are tried first */
    /* NULL, or: one of the kinds of case that a kernel which does one thing may be made for, by
     * number; false: there is none. And how many there are; the first *simple are the simplest. */
    bool (*single)(int64_t number, struct cs *);
    int64_t (*singles)(int64_t *simple);
    /* NULL, or: up to MAX_TIES fields whose levels a kernel ties to those of this one. */
    int (*ties)(int field, int to[MAX_TIES]);
    bool (*vital)(int field);               /* NULL, or: must each level that is taken be judged? */
    int64_t most;                           /* that a number of a line may be */
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
    const struct cf_families *families; /* what is asked of a case at work (subject.h) */
    const struct cf_errors *errors;     /* what is asked of its errors (errors.h) */
    void (*named)(const struct target *, int n, struct tally *); /* NULL, or: cases by hand */
    const char *(*line)(int i); /* that once caught something; NULL: there are no more */
    /* NULL, or: says at the end of a run what the operation's judge noted; and why that is no
     * success, NULL: it may be one. */
    void (*summary)(const struct session *);
    const char *(*vain)(const struct session *);
    bool tabled;                /* it is the beginning of a struct fixed (table.h) */
};

/* operations.c: every operation, attention first. */
extern const struct cf_op *const cf_ops[];
extern const int cf_n_ops;
const struct cf_op *cf_op_find(const char *name); /* NULL: none */

/* fields.c */
extern const struct cf_op *cf_op; /* whose axes are in use */
void cf_op_use(const struct cf_op *);
/* case.c: what check says of a case of that operation. */
heed_status cf_check(heed_device *, const struct cs *, heed_report *);
/* Adds fields to those of the operation in use; returns the number of the first. */
int cf_axes_add(const struct cf_spec *, int n);
/* The kinds of a group: their words, and bit r of takers: row r takes the field. */
struct cf_kinds {
    char words[96];
    uint32_t takers[32];
};
void cf_kind_add(struct cf_kinds *, int row, const char *word, unsigned fields);
/* Adds a group of fields; all need field `parent`, -1: none, at a level above `above`. */
int cf_group_add(const char *prefix, const struct cf_spec *, int n, int parent, int64_t above,
                 const struct cf_kinds *);

#endif
