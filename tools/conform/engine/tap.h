/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What is told of each case: a line of TAP, and whoever listens to the tally hears it, too.
 */
#ifndef HEED_TOOLS_CONFORM_ENGINE_TAP_H
#define HEED_TOOLS_CONFORM_ENGINE_TAP_H

#include "verdict.h"

enum { TOLD_WORD = 24 };

/* One result. `line`: what was tested, of what = "case" or "mechanism" as --case takes it. */
struct told {
    bool ok;
    const char *skip; /* NULL: it was judged */
    const char *device, *what, *line;
    const char *why;       /* of a failure */
    char word[TOLD_WORD];  /* of a failure, its verdict, as docs/testing-kernels.md lists them */
    double worst;          /* largest error / bound; negative: no bound was looked at */
};

/* Hears every result when its line of TAP is written. What it points to is gone afterwards. */
struct listener {
    void (*hear)(struct listener *, struct tally *, const struct told *);
};

/* With a verdict; skip "": it was judged. */
void cf_tell_case(struct tally *, const char *device, const char *what, const char *line,
                  const char *skip, const struct verdict *);

#endif
