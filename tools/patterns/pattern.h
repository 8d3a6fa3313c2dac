/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The mechanisms of heed/mechanisms.h by name, with numbers in place of arrays: for pictures and
 * for measurements. PageSum is none of them: each row sees the pages of its own, all of them.
 */
#ifndef HEED_TOOLS_PATTERNS_PATTERN_H
#define HEED_TOOLS_PATTERNS_PATTERN_H

#include <heed/mechanisms.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Numbers that patterns take; each takes n, h, hk, d and b, and some of the others. */
enum pattern_number {
    PATTERN_N, PATTERN_H, PATTERN_HK, PATTERN_D, PATTERN_B,
    PATTERN_QUERIES, PATTERN_WINDOW, PATTERN_DILATION, PATTERN_BLOCK, PATTERN_FACTOR,
    PATTERN_SPARSE, PATTERN_RANDOM, PATTERN_STRIDE, PATTERN_GLOBALS, PATTERN_SIDE, PATTERN_PREFIX,
    PATTERN_MEMORY, PATTERN_COMPRESSED, PATTERN_BEST,
    PATTERN_NUMBERS
};

/* Numbers that are asked for nowhere: those of the papers, or some that a picture has room for. */
enum pattern_size { PATTERN_OF_PAPER, PATTERN_OF_PICTURE };
enum { PATTERN_PICTURE_EDGE = 2048 };   /* most rows, and most keys, of a picture */

struct pattern_choice {
    uint32_t kind, dtype;               /* dtype: HEED_F32, ... of q, k, v and o */
    int64_t v[PATTERN_NUMBERS];
    char text[160];                     /* canonical: reads back to the same choice */
};

/* What pattern `index` is called, and its title; NULL behind the last one. */
const char *pattern_name(uint32_t index);
const char *pattern_title(uint32_t index);
/* The numbers that it takes, with what they are by default: "n=4096,h=1,window=256". */
void pattern_keys(uint32_t index, enum pattern_size size, char *to, size_t room);
/* The pattern whose name the text begins with; false: there is none. */
bool pattern_find(const char *text, uint32_t *index);
/* Reads "NAME[:key=value,...]". False: `error` holds one line that says why not. */
bool pattern_parse(const char *text, enum pattern_size, struct pattern_choice *, char *error,
                   size_t room);
/* The number `index` of those that the choice has, and its key; NULL behind the last one. */
const char *pattern_number(const struct pattern_choice *, size_t index, int64_t *value);

/* A pattern made: the mechanism, the sets of keys that its sources read, memory of constants. */
struct pattern {
    heed_mechanism m;
    uint32_t n_sets;
    heed_tensor sets[HEED_MECHANISM_KEYS];      /* k and v alike */
    const char *labels[HEED_MECHANISM_KEYS];
    void *own[8];
    uint32_t n_own;
};

/* The builder's status. Until pattern_free() the struct is not to be moved. */
heed_status pattern_make(const struct pattern_choice *, struct pattern *, heed_report *);
void pattern_free(struct pattern *);

#endif
