/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the program of families (case.c) works with, and what it asks of an operation. A problem is
 * an operation's own: what a case says, in memory.
 */
#ifndef HEED_TOOLS_CONFORM_ENGINE_SUBJECT_H
#define HEED_TOOLS_CONFORM_ENGINE_SUBJECT_H

#include "operation.h"
#include "target.h"

/* A case that is judged. */
struct subject {
    struct session *session;
    const struct bench *bench;
    const struct cf_op *op;
    const void *problem, *answer; /* answer: what the oracle says, of operations that keep that */
    uint64_t seed;
    uint32_t families;            /* that are wanted */
    struct job *got;              /* the case's own run */
    const struct job *ref;        /* that on the reference; NULL: there is none */
    struct verdict *v;
};

/* How a problem that must have the same results was made of the case's own one. */
struct relation {
    const char *what;
    const int64_t *items;      /* NULL: all, in order */
    bool turned;               /* heads reversed, where the operation can do that */
    const unsigned char *skip; /* rows that may differ, as the operation has them; NULL: none */
    int64_t row, n_rows;       /* the case's rows that the other one has; n_rows 0: all */
    heed_status may_refuse;    /* what check may answer instead; 0: it is legal */
};

/* Another problem with the same results, item by item and row by row, for a property of
 * invariance.h. make: NULL where the problem has none, or there is no memory. */
struct cf_alike {
    const char *property, *what; /* NULL: the end of a list */
    void *(*make)(const void *problem);
};

struct cf_families {
    /* data false: without contents. NULL: no memory. */
    void *(*problem)(const struct cs *, bool data);
    void (*problem_free)(void *);
    int64_t (*items)(const void *problem);
    /* Do items write to places of their own? Else they cannot be picked apart. */
    bool (*apart)(const void *problem);
    /* The same with the items named, in that order; items NULL: as they are. */
    void *(*pick)(const void *problem, const int64_t *items, int64_t n, bool turned);
    /* A job of its own memory, described; nothing is on a device. NULL: no memory. */
    struct job *(*describe)(const void *problem, unsigned flags);
    /* NULL, or: what the oracle says, once for all runs. */
    void *(*answer)(const void *problem);
    void (*answer_free)(void *);
    /* A kernel claims those numerics, and rounds weights to that type. */
    void (*claim)(void *problem, void *answer, uint32_t numerics, uint32_t weights);
    /* Fails the verdict where the job's outputs are not what the oracle says. */
    void (*judge)(const struct subject *, struct job *, uint32_t families);
    /* Where those of a run of `other` are not those of `got`, bit for bit, as the relation says. */
    void (*same)(const struct subject *, const void *other, const struct job *,
                 const struct relation *);
    /* Where elements were written in neither of two runs, or such as must not be. */
    void (*unwritten)(const struct subject *, const struct job *again);
    void (*relate)(const struct subject *); /* relations of its own between runs */
    /* May an item be named more than once? NULL: no. */
    bool (*repeats)(const void *problem);
    /* How many rows can be computed apart from each other, and the problem of n of them. NULL: the
     * operation has no such rows; cut gives NULL where this problem has not, or for want of
     * memory. */
    int64_t (*rows)(const void *problem);
    void *(*cut)(const void *problem, int64_t row, int64_t n);
    const struct cf_alike *alikes; /* NULL: none */
    /* NULL, or: notes a case that was judged; says more of why one failed. */
    void (*note)(const struct subject *);
    void (*explain)(const struct subject *);
};

/* A job on a device, outputs of a pattern made from `poison`. NULL: no memory, or the device
 * refused it. */
struct job *cf_job_make(const struct cf_families *, const void *problem, const struct target *,
                        unsigned flags, uint64_t poison);
/* The case as a job that owns its problem, with memory for the elements of outputs, nothing on a
 * device. flags: CALL_*; data: with contents. NULL: no memory. And its end, also of NULL. */
struct job *cf_open(const struct cs *, unsigned flags, bool data);
void cf_close(struct job *);

/* Runs; fails the verdict when that does not work, or memory it must not touch changed. It may be
 * false without a failure: a partial device refuses. */
bool cf_run_ok(struct job *, struct verdict *, const char *what);
/* Runs another problem, which may be NULL for want of memory, and compares. */
void cf_compare(const struct subject *, const struct target *, const void *other, unsigned flags,
                const struct relation *);
/* The case's own run against that on the reference, where it has the exact numerics. */
void cf_against_reference(const struct subject *, const char *what);
/* Fails the verdict unless plan answers what check does: the same status and the same field, but
 * for what making a plan takes. */
void cf_check_and_plan(const struct job *, heed_device *, struct verdict *);

/* A case of the operation in use on the reference and on every device, with the families wanted:
 * against the oracle, against the reference, in another layout, with more threads, item by item,
 * and its relations. false: every device refused it, as partial ones may. */
bool cf_case(struct session *, const struct cs *);
/* A problem, by whatever way it was made. `what`: of what `line` is (tap.h). */
bool cf_problem_case(struct session *, const void *problem, uint64_t seed, uint32_t families,
                     const char *what, const char *line);

#endif
