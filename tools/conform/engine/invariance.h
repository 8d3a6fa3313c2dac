/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Invariance: a case is computed again in other forms whose results must have the same words. A
 * property is a row of a table (invariance.c): a name, a sentence, and its forms. Whoever computes
 * (a device, a plug-in, a peer) is a struct runner.
 */
#ifndef HEED_TOOLS_CONFORM_ENGINE_INVARIANCE_H
#define HEED_TOOLS_CONFORM_ENGINE_INVARIANCE_H

#include "subject.h"
#include "workers.h"

/* How a form is computed. */
struct conditions {
    uint32_t width;  /* workers of the executor, */
    int order;       /* and how they follow each other: WORKERS_* */
    bool again;      /* a run of the same state before, on other data in the same places */
    bool other_ends; /* arrays touch the page before them instead of the one behind, or so */
    uint64_t poison; /* what outputs and free memory hold */
};

/* One form of a case. */
struct form {
    char what[120];            /* in reports, as "a batch item alone" */
    char name[32];             /* property and number, as "batch-0"; "": the case itself */
    const void *problem;       /* the case's own, or */
    void *own;                 /* one that goes with the form; NULL: there is none */
    unsigned flags;            /* CALL_* */
    struct relation relation;  /* of its results to the case's */
    int64_t items[MAX_BATCH];  /* relation.items, where it names some */
    struct conditions how;
};

/* Property i is bit 1 << i of a set. */
struct property {
    const char *name; /* of the option, and the verdict */
    const char *says;
    /* The i-th form of the case; FORM_NONE: the case has not got that one. */
    int (*form)(const struct subject *, int i, struct form *);
};
enum { FORM_END, FORM_NONE, FORM_MADE };

extern const struct property cf_properties[];
extern const int cf_n_properties;

struct runner {
    uint32_t properties; /* that it can be asked about */
    bool claims;         /* it claims its bits itself: FAST says nothing else */
    const char *absent;  /* why there may be no results of a case; NULL: it was refused */
    bool dense;          /* it gets dense arrays wherever they lie, and keeps no state */
    /* Computes the form on memory of its own. NULL: what it does not take, or a failure, which is
     * in the verdict, whose reason begins with a word. */
    struct job *(*compute)(struct runner *, const struct form *, struct verdict *);
};

/* Computes the case of the subject and its forms, and fails the verdict where their words differ;
 * counts what was judged. Returns why nothing was, NULL: something was. */
const char *cf_invariance(const struct subject *, struct runner *);
/* All properties but `threads`: of who has workers of its own, or none. */
uint32_t cf_properties_without_workers(void);
/* The runner of devices. */
const char *cf_invariance_of_device(const struct subject *);
/* At the end of a run: a line a property. And which one that was asked for by name was in no case
 * judged; NULL: none. */
void cf_invariance_summary(const struct session *);
const char *cf_invariance_vain(const struct session *);

#endif
