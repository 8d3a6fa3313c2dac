/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A failed case made smaller. Whoever can run a case and say whether and how it fails can have it
 * shrunk: devices, plug-ins and other programs alike.
 */
#ifndef HEED_TOOLS_CONFORM_ENGINE_SHRINK_H
#define HEED_TOOLS_CONFORM_ENGINE_SHRINK_H

#include "operation.h"
#include "tap.h"

struct failure {
    char word[TOLD_WORD]; /* the verdict */
    char why[512];
    double worst;
};

struct shrink {
    /* Runs the case. true: it fails, and in *failure is how. */
    bool (*fails)(void *context, const struct cs *, struct failure *);
    void *context;
    heed_device *reference; /* its check says what is legal */
    int64_t most;           /* tries, */
    double seconds;         /* and time for them */
    bool luck;              /* roundings decide whether it fails: steps try other seeds, too */
    /* What came of it. */
    struct cs best;
    struct failure failure;
    int64_t tries;
};

/* Makes `from`, a normalized case that fails as `failure` says, smaller in `best` for as long as it
 * fails with the same word; a legal case stays legal. What `best` says is a line that parses to it.
 * The operation in use is the case's. */
void cf_shrink(struct shrink *, const struct cs *from, const struct failure *);

#endif
