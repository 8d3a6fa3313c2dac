/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The covering array's own parts: the state of each pair of levels (cover.c), and drawing legal
 * cases (draw.c).
 */
#ifndef HEED_TOOLS_CONFORM_COVER_H
#define HEED_TOOLS_CONFORM_COVER_H

#include "op.h"

enum {
    NEW,
    PLANNED,
    ILLEGAL,
    EXCLUDED,
    FOLLOWS
};                       /* states of a pair of levels; FOLLOWS: from an illegal one */
enum { TOO_BIG = 1000 }; /* beside statuses: the draw would take too long */

static const int64_t cf_limit_small = 1200000, cf_limit_big = 9000000;

struct cover {
    heed_device *reference;
    struct rng r;
    int64_t n, room;
    struct cs *cases;
    unsigned char *state, *executed; /* [level][level], lower number first */
    heed_status *why;                /* of a pair that is ILLEGAL */
    heed_status *level_why;          /* 0: the level occurs in a legal case */
    int *owner;                      /* field of a level */
    int64_t *open;                   /* new pairs of a level, counted now and then */
};

static inline size_t cf_pair(int a, int b)
{
    return a < b ? (size_t)a * (size_t)cf_n_levels + (size_t)b
                 : (size_t)b * (size_t)cf_n_levels + (size_t)a;
}

int64_t cf_cover_value(const struct cover *, int level);
/* Counts the new pairs of every level. */
void cf_cover_open(struct cover *);

/* Draws everything at random: each field with a chance of `dense` in 100, else its default. */
void cf_draw_random(struct cover *, struct cs *, int64_t dense);
/* Chooses all that the n pinned levels leave open so that many new pairs come along. */
bool cf_draw_greedy(struct cover *, struct cs *, const int *pins, int n, int64_t limit);
/* Makes c legal by taking what the reports name back to defaults. false: it did not become so;
 * *possible: the pins go together at all; *status: of the last try. */
bool cf_draw_repair(struct cover *, struct cs *, const int *pins, int n, int64_t limit,
                    heed_status *status, bool *possible);
/* Is the field one of the pins', or one that gives such a field its meaning? */
bool cf_draw_pinned(const struct cover *, const int *pins, int n, int field);
/* A legal case with the pins, the rest mostly default; else why there is none. */
bool cf_draw_plain(struct cover *, struct cs *, const int *pins, int n, heed_status *why,
                   bool *possible);

#endif
