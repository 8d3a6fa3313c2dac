/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Refusals of who takes only some of the legal cases, a partial device or a plug-in, and answers
 * the others with HEED_E_UNSUPPORTED and the field that it does not take. They are counted by that
 * field.
 */
#ifndef HEED_TOOLS_CONFORM_ENGINE_REFUSALS_H
#define HEED_TOOLS_CONFORM_ENGINE_REFUSALS_H

#include "fields.h"
#include "target.h"

enum { REFUSAL_FIELDS = 64 };

struct refusal {
    char field[64]; /* without numbers: "sources.k.dtype" */
    int64_t times;
};
struct refusals {
    int64_t accepted, refused; /* cases */
    int n;
    struct refusal of[REFUSAL_FIELDS]; /* by first appearance */
};

/* Who takes only some of the legal cases. */
struct taker {
    const char *name;
    /* Does it refuse the legal case? Then the report has the field. */
    bool (*refuses)(void *who, const struct cs *, heed_report *);
    void *who;
};

/* A partial device as a taker: `who` is its struct target. */
bool cf_target_refuses(void *who, const struct cs *, heed_report *);

/* Is the answer a refusal as a partial device may give it? Never of a device that is not one. */
bool cf_refused(const struct target *, heed_status, const heed_report *);
void cf_refusal_add(struct refusals *, const heed_report *);
/* How often for that field, numbers in it or not. */
int64_t cf_refusals_of(const struct refusals *, const char *field);
/* One line: how many cases were accepted, how many refused, and those by field, most first. */
void cf_refusals_print(const struct refusals *, const char *name, FILE *);

#endif
