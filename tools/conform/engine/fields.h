/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A case: a line of fields. Each field is an axis of the covering array, each of its values a
 * level (fields.c); its text (line.c); drawing legal ones (draw.c).
 */
#ifndef HEED_TOOLS_CONFORM_ENGINE_FIELDS_H
#define HEED_TOOLS_CONFORM_ENGINE_FIELDS_H

#include "random.h"

#include <heed/attn.h>

#include <stdio.h>

enum { MAX_FIELDS = 448, MAX_LEVELS = 16, LINE = 4096 };

struct field {
    char name[16];
    const char *words;         /* names of the values 0, 1, ...; NULL: a number */
    int64_t level[MAX_LEVELS]; /* values that are drawn; [0] the default */
    int n_levels, first;       /* first: number of (field, level[0]) among all levels */
    int64_t low, high;         /* what a number may be beside its levels */
    int parent[2];             /* -1: none; else the field has a meaning only if ... */
    uint32_t mask[2];          /* ... the parent's level is in here */
    uint32_t allowed;          /* bit l: level l may be drawn (subset.c) */
};

struct cs {
    int64_t v[MAX_FIELDS];
    uint64_t seed;
};

extern struct field cf_fields[MAX_FIELDS];
extern int cf_n_fields, cf_n_levels;

int cf_level_of(int field, int64_t value); /* -1: not a level */
void cf_case_default(struct cs *);
void cf_case_normalize(struct cs *); /* fields without meaning take their default */
bool cf_field_active(const struct cs *, int field);
void cf_case_print(const struct cs *, char line[LINE]);
bool cf_case_parse(const char *line, struct cs *, char why[128]);
void cf_value_print(int field, int64_t value, char *out, size_t size);
void cf_axes_print(FILE *);

/* Takes fields of an illegal or large case back to defaults until it is legal; false: it is not. */
bool cf_case_mend(struct rng *, heed_device *reference, int64_t limit, struct cs *);
/* A legal case at random, of at most `limit` work (cf_case_work): each field with a chance of
 * `dense` in 100 takes a level, and numbers also values between the levels. */
void cf_case_draw(struct rng *, heed_device *reference, int64_t dense, int64_t limit, struct cs *);

#endif
