/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The covering array's own parts: the state of each pair of levels (cover.c), and drawing legal
 * cases (draw.c).
 */
#ifndef HEED_TOOLS_CONFORM_ENGINE_COVER_H
#define HEED_TOOLS_CONFORM_ENGINE_COVER_H

#include "operation.h"
#include "refusals.h"

enum {
    NEW,
    PLANNED,
    ILLEGAL,
    EXCLUDED,
    FOLLOWS
};                       /* states of a pair of levels; FOLLOWS: from an illegal one */
/* Beside statuses: the draw would take too long; it has a level that is not to be drawn. */
enum { TOO_BIG = 1000, OUTSIDE };

/* Draws in a row, each repaired several times, before it is said that there are no more cases. */
enum { TRIES_RANDOM = 400 };

enum { EDGE_MOST = 258 }; /* rows and keys: about two blocks of 128 */
/* One case in so many of an operation with edges is kept for them; with a taker one in two, about
 * cases that it takes. */
enum { EDGE_SHARE = 5 };

static const int64_t cf_limit_small = 1200000, cf_limit_big = 9000000;

struct cover {
    heed_device *reference;
    const struct taker *taker; /* NULL, or: takes every case, too */
    struct refusals *refusals; /* what it refused */
    /* Cases that the taker takes, and the one that a draw begins with; none: with the defaults. */
    struct cs *homes;
    int n_homes;
    const struct cs *home;
    unsigned char *taken;      /* by level: some case with it is taken */
    struct rng r;
    int64_t n, room;
    struct cs *cases;
    unsigned char *state, *executed; /* [level][level], lower number first */
    heed_status *why;                /* of a pair that is ILLEGAL */
    heed_status *level_why;          /* 0: the level occurs in a legal case */
    int *owner;                      /* field of a level */
    int64_t *open;                   /* new pairs of a level, counted now and then */
    unsigned char *judged;           /* by level: some executed case has it */
};

static inline size_t cf_pair(int a, int b)
{
    return a < b ? (size_t)a * (size_t)cf_n_levels + (size_t)b
                 : (size_t)b * (size_t)cf_n_levels + (size_t)a;
}

/* Cases that the reference takes and `taker`, if it is not NULL; what that refuses is counted.
 * There may be fewer than `cases` of those. NULL: no memory. */
struct cover *cf_cover_make(heed_device *reference, const struct taker *taker,
                            struct refusals *, int64_t cases, uint64_t seed);
int64_t cf_cover_value(const struct cover *, int level);
/* Counts the new pairs of every level. */
void cf_cover_open(struct cover *);

/* Begins with a case that is taken and has as many of the pins as any does; with the smallest case
 * where none is known. */
void cf_draw_home(struct cover *, struct cs *, const int *pins, int n);
/* Draws everything at random: each field with a chance of `dense` in 100, else its default. */
void cf_draw_random(struct cover *, struct cs *, int64_t dense);
/* Takes the numbers of a legal case to the ends of blocks, where that is legal, too. */
void cf_draw_edges(struct cover *, struct cs *, int64_t limit);
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

/* subset.c: the levels that may be drawn, a bit each in cf_fields[].allowed. */
void cf_subset_all(void);
bool cf_subset_has(int field, int64_t value);
bool cf_subset_reaches(int field); /* may it have a meaning? */
bool cf_subset_holds(const struct cs *);
/* Takes fields at other levels to such levels. */
void cf_subset_clamp(struct rng *, struct cs *);
/* One of the levels with a bit in `among`, which may be drawn if any of them may. */
int cf_subset_pick(struct rng *, int field, uint32_t among);
/* "q=f32,f16 ns=1" narrows the axes of the operation in use. false: why has one line. */
bool cf_subset_parse(const char *text, char *why, size_t size);
/* As --only takes it, each axis that is narrowed with a blank before it; or " every level". */
void cf_subset_print(FILE *);

/* edges.c: puts numbers about the ends of blocks into a case of attention; where that would be too
 * much work, other numbers become smaller. */
void cf_attn_edges(struct rng *, struct cs *, int64_t limit);

/* learn.c: finds cases that the taker takes, which become the homes of draws, and leaves out the
 * levels that no such case has. false: no memory. */
enum { MAX_HOMES = 768 };
bool cf_learn(struct cover *, const struct taker *);
/* eliminate.c: leaves out levels that are refused whatever goes with them. */
void cf_eliminate(struct cover *, const struct taker *);
/* Numbers of the levels of the case's fields that have a meaning and are at a level. */
int cf_levels_of(const struct cs *, int levels[MAX_FIELDS]);

/* ---- for those who walk the cases ---- */

int64_t cf_cover_count(const struct cover *);
const struct cs *cf_cover_case(const struct cover *, int64_t i);
void cf_cover_executed(struct cover *, const struct cs *);
/* Levels of the fields that matter most (cf_op->vital) which the taker takes and no executed case
 * has, each with a blank before it if there is a file; returns how many. */
int cf_cover_unjudged(const struct cover *, FILE *);
/* Says how many pairs are what, and, if `list`, which; else pairs that there was no room for are
 * looked into only where they are few. */
void cf_cover_report(struct cover *, FILE *, bool list);
void cf_cover_free(struct cover *);

#endif
