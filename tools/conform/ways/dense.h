/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A case of attention in plain words, for those who do not read heed's descriptor: dense arrays
 * with names, what each row sees as an array of its own, and all else as JSON.
 * docs/testing-kernels.md says what every name means.
 */
#ifndef HEED_TOOLS_CONFORM_WAYS_DENSE_H
#define HEED_TOOLS_CONFORM_WAYS_DENSE_H

#include "npy.h"
#include "conform/engine/table.h"
#include "conform/ops/attn/attn.h"

enum { PLAIN_NAME = 24 };

/* What the rows see, if that has a name: key j of row i where low <= j - i <= high. */
enum { SEES_EVERYTHING, SEES_CAUSAL, SEES_CAUSAL_END, SEES_BAND, SEES_OTHER };

struct plain_array {
    char name[PLAIN_NAME];
    struct npy npy;
    bool output;
    void *owned; /* the elements, where they are not the problem's */
};

struct plain {
    struct job *job;
    const char *line, *form; /* what is said of them instead; NULL: the job's own line, none */
    int n;
    struct plain_array array[4 + 5 * MAX_SOURCES + MAX_SLOTS];
    const struct problem *p; /* from here on attention's alone */
    const heed_attn_desc *desc;
    const struct call *call; /* of the descriptor, and with the outputs */
    char slot[MAX_SLOTS][PLAIN_NAME]; /* names of the arrays in them */
    int sees;
    int64_t low, high; /* -HEED_FAR, HEED_FAR: no limit */
    bool blank;        /* some row sees no key */
};

/* The job is a case of the operation in use. Of a state, what it held is an input, NAME_before.
 * false: no memory. */
bool plain_make(struct plain *, struct job *);
void plain_finish(struct plain *);
/* One object of JSON without a line's end. folder: where the arrays' files lie, NULL: there are
 * none. ask: the question whether the case would be taken. */
void plain_print(const struct plain *, const char *folder, bool ask, FILE *);
/* Writes the arrays, inputs or outputs, as NAME.npy. */
bool plain_write(const struct plain *, const char *folder, bool outputs);
/* Reads what somebody made of the outputs. false: why begins with a verdict. */
bool plain_read(const struct plain *, const char *folder, char *why, size_t size);
/* Are the files of the inputs as they were written? */
bool plain_inputs_same(const struct plain *, const char *folder, char *why, size_t size);

#endif
