/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Verdicts of runs, the families of cases that lead to them, and the tally of results.
 */
#ifndef HEED_TOOLS_CONFORM_ENGINE_VERDICT_H
#define HEED_TOOLS_CONFORM_ENGINE_VERDICT_H

#include <heed/heed.h>

#include <stdbool.h>
#include <stdint.h>

struct verdict {
    bool failed;
    char why[512];
    const char *word;        /* of what is judged or, if it failed, was: the verdict */
    double worst;            /* largest error / bound */
    int64_t judged, skipped; /* elements, by bound */
    int64_t exact;           /* elements known to the last bit */
    struct cf_cell *cells[2]; /* cell.h: NULL, or of o and lse, by element of the call's arrays */
    unsigned char *wrong; /* NULL, or 1 for what is beyond its bound: o [b][h][row][channel] */
};

void cf_fail(struct verdict *, const char *format, ...);
/* What is judged from now on; a verdict that has failed keeps its word. */
void cf_step(struct verdict *, const char *word);
/* The word of an element, and the number that it is where it is one. */
enum { WORD_TEXT = 64 };
void cf_word_print(uint32_t dtype, int64_t bits, char out[WORD_TEXT]);
/* Half a unit of a type in the last place, relative, and its smallest step. */
void cf_output_rounding(uint32_t dtype, double *relative, double *absolute);

/* What plan may say where check said yes: it makes something. */
bool cf_may_fail(heed_status);

enum {
    FAMILY_EXACT = 1,
    FAMILY_BITS = 2,
    FAMILY_BOUND = 4,
    FAMILY_META = 8,
    FAMILY_ERROR = 16,
    FAMILY_CHECK = 32,
    FAMILY_NAMED = 64,
    FAMILY_MECHANISMS = 128,
    FAMILY_ALL = 255,
    FAMILY_INVARIANCE = 256 /* is only judged where it is named */
};

struct listener;
struct tally {
    int64_t number, passed, failed, skipped;
    bool verbose, quiet; /* quiet: counts only */
    struct listener *listener; /* NULL, or who hears every result (tap.h) */
};
void cf_tap(struct tally *, bool ok, const char *skip, const char *device, const char *families,
            const char *line, const char *why);

#endif
