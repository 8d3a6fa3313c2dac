/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Draws the cases: a 2-way covering array over the levels of all axes, grown greedily (a pair not yet covered is fixed,
 * the rest is drawn, the draw that covers most new pairs is kept; Cohen et al. 1997, AETG), then random cases. Which
 * pairs are legal is asked of heed_attn_check on the reference, not stated here.
 */
#include "conform.h"

#include <stdlib.h>
#include <string.h>

enum { NEW, PLANNED, ILLEGAL, EXCLUDED };       /* states of a pair of levels */
enum { TOO_BIG = 1000 };                        /* beside statuses: the draw would take too long */

static const int64_t limit_small = 1200000, limit_big = 9000000;

struct cover {
    heed_device *reference;
    struct rng r;
    int64_t n, room;
    struct cs *cases;
    unsigned char *state, *executed;            /* [level][level], lower number first */
    heed_status *why;                           /* of a pair that is ILLEGAL */
    heed_status *level_why;                     /* 0: the level occurs in a legal case */
    int *owner;                                 /* field of a level */
};

static size_t at(int a, int b)
{
    return a < b ? (size_t)a * (size_t)cf_n_levels + (size_t)b : (size_t)b * (size_t)cf_n_levels + (size_t)a;
}

static int64_t value_of(const struct cover *cover, int level)
{
    const struct field *f = &cf_fields[cover->owner[level]];

    return f->level[level - f->first];
}

static heed_status case_status(const struct cover *cover, const struct cs *c, int64_t limit, heed_report *report)
{
    struct problem *p;
    struct call *call;
    heed_status status = HEED_E_NOMEM;

    if (cf_case_work(c) > limit)
        return TOO_BIG;
    p = cf_problem_make(c, NULL, 0, false);
    call = calloc(1, sizeof *call);
    if (p && call && cf_call_describe(call, p, 0))
        status = heed_attn_check(cover->reference, &call->desc, report);
    if (call)
        cf_call_finish(call);
    free(call);
    cf_problem_free(p);
    return status;
}

/* Sets a field and whatever it needs to have a meaning. */
static void force(struct cover *cover, struct cs *c, int field, int64_t value)
{
    const struct field *f = &cf_fields[field];

    c->v[field] = value;
    for (int i = 0; i < 2 && f->parent[i] >= 0; i++) {
        const struct field *parent = &cf_fields[f->parent[i]];
        int level = cf_level_of(f->parent[i], c->v[f->parent[i]]);

        while (level < 0 || !(f->mask[i] >> level & 1))
            level = (int)rng_below(&cover->r, parent->n_levels);
        force(cover, c, f->parent[i], parent->level[level]);
    }
}

static bool pin(struct cover *cover, struct cs *c, const int *pins, int n)
{
    for (int i = 0; i < n; i++)
        force(cover, c, cover->owner[pins[i]], value_of(cover, pins[i]));
    cf_case_normalize(c);
    for (int i = 0; i < n; i++) {
        if (c->v[cover->owner[pins[i]]] != value_of(cover, pins[i]) || !cf_field_active(c, cover->owner[pins[i]]))
            return false;
    }
    return true;
}

static bool pinned(const struct cover *cover, const int *pins, int n, int field)
{
    for (int i = 0; i < n; i++) {
        if (cover->owner[pins[i]] == field)
            return true;
    }
    return false;
}

static void smallest(struct cs *c)
{
    cf_case_default(c);
    c->v[G_BATCH] = 1;
    c->v[G_H] = 1;
    c->v[G_NQ] = 7;
    c->v[G_D] = 8;
    c->v[G_DV] = 7;
}

/* Some values ask for a certain kind of slot: gives them one where that is left open. */
static void wishes_grant(struct cover *cover, struct cs *c, const int *pins, int n)
{
    if (cf_g(c, G_QL) == LAY_RAGGED && cf_g(c, G_QLEN) == HAVE_NONE && !pinned(cover, pins, n, G_QLEN))
        c->v[G_QLEN] = 1 + rng_below(&cover->r, 3);
    for (int s = 0; s < MAX_SOURCES; s++) {
        const int len = cf_at_source(s) + S_LEN;

        if (cf_s(c, s, S_LAY) == LAY_RAGGED && c->v[len] == HAVE_NONE && !pinned(cover, pins, n, len))
            c->v[len] = 1 + rng_below(&cover->r, 3);
        if (cf_s(c, s, S_LAY) == LAY_LISTED && cf_s(c, s, S_LH) == HEADS_NONE &&
            !pinned(cover, pins, n, cf_at_source(s) + S_LH))
            c->v[cf_at_source(s) + S_LH] = 1 + rng_below(&cover->r, 3);
        for (int t = 0; t < MAX_TERMS && cf_at_term(s, t) >= 0; t++) {
            const int slot = cf_at_term(s, t) + T_SLOT;

            if (cf_t(c, s, t, T_KIND) == KIND_SEGMENT && c->v[slot] == HAVE_NONE && !pinned(cover, pins, n, slot))
                c->v[slot] = 1 + rng_below(&cover->r, 3);
        }
    }
}

/* Which fields a report is about: from the group its path names; all of them if it names none. */
static void report_fields(const heed_report *report, int *from, int *to)
{
    int s = 0, i = 0;

    *from = 0;
    *to = cf_n_fields;
    if (sscanf(report->field, "sources[%d].terms[%d]", &s, &i) == 2 && s < MAX_SOURCES && i < MAX_TERMS &&
        cf_at_term(s, i) >= 0) {
        *from = cf_at_term(s, i);
        *to = *from + T_COUNT;
    } else if (sscanf(report->field, "sources[%d].biases[%d]", &s, &i) == 2 && s < MAX_SOURCES && i < MAX_BIASES &&
               cf_at_bias(s, i) >= 0) {
        *from = cf_at_bias(s, i);
        *to = *from + B_COUNT;
    } else if (sscanf(report->field, "sources[%d]", &s) == 1 && s < MAX_SOURCES) {
        *from = cf_at_source(s);
        *to = *from + S_COUNT;
    }
}

/* Makes c legal by taking what the reports name back to defaults. false: it did not become so; *possible: the pins go
 * together at all; *status: of the last try. */
static bool repair(struct cover *cover, struct cs *c, const int *pins, int n, int64_t limit, heed_status *status,
                   bool *possible)
{
    for (int round = 0; round < 14; round++) {
        heed_report report = { .size = sizeof report };
        int from, to;

        if (!pin(cover, c, pins, n))
            return false;
        wishes_grant(cover, c, pins, n);
        *possible = true;
        *status = case_status(cover, c, limit, &report);
        if (*status >= 0 && *status != TOO_BIG)
            return true;
        if (*status == HEED_E_AMBIGUOUS && !pinned(cover, pins, n, G_ALIGN)) {
            c->v[G_ALIGN] = rng_below(&cover->r, 2) ? ALIGN_START : ALIGN_END;
            continue;
        }
        report_fields(&report, &from, &to);
        if (round > 9) {
            from = 0;
            to = cf_n_fields;
        }
        for (int i = from; i < to; i++) {
            if (rng_below(&cover->r, 2))
                c->v[i] = cf_fields[i].level[0];
        }
        if (*status == TOO_BIG)
            c->v[G_BATCH] = c->v[G_H] = 1;
    }
    return false;
}

/* New pairs that a level would add to the `n` chosen ones; -1: it is known not to go with one of them. */
static int level_gain(const struct cover *cover, const int *chosen, int n, int level)
{
    int sum = 0;

    for (int i = 0; i < n; i++) {
        const unsigned char state = cover->state[at(chosen[i], level)];

        if (state == ILLEGAL || state == EXCLUDED)
            return -1;
        sum += state == NEW;
    }
    return sum;
}

static bool is_nk(int field)
{
    for (int s = 0; s < MAX_SOURCES; s++) {
        if (field == cf_at_source(s) + S_NK)
            return true;
    }
    return false;
}

static void choose_level(struct cover *cover, struct cs *c, int field, const int *chosen, int n, int64_t limit)
{
    const struct field *f = &cf_fields[field];
    const int64_t old = c->v[field], start = rng_below(&cover->r, f->n_levels);
    int best = 0, best_gain = -2;

    for (int i = 0; i < f->n_levels; i++) {
        const int l = (int)((start + i) % f->n_levels);
        const bool nothing = f->level[l] == 0 && (field == G_NQ || is_nk(field));
        const bool vain = nothing || (field == G_BATCH && l == 3);
        const int gain = vain || cover->level_why[f->first + l] ? -1
            : level_gain(cover, chosen, n, f->first + l);

        if (gain <= best_gain)
            continue;
        c->v[field] = f->level[l];
        if (cf_case_work(c) > limit)
            continue;
        best = l;
        best_gain = gain;
    }
    c->v[field] = best_gain == -2 ? old : best_gain <= 0 && rng_below(&cover->r, 100) < 40 ? f->level[0]
        : f->level[best];
}

/* Chooses all that the pins leave open, in random order but never before what gives it a meaning. */
static bool grow(struct cover *cover, struct cs *c, const int *pins, int n_pins, int64_t limit)
{
    int order[MAX_FIELDS], chosen[MAX_FIELDS], n = 0;
    bool done[MAX_FIELDS] = { false };

    smallest(c);
    c->seed = rng_next(&cover->r) >> 24;
    if (!pin(cover, c, pins, n_pins))
        return false;
    for (int i = 0; i < cf_n_fields; i++) {
        const int j = (int)rng_below(&cover->r, i + 1);

        order[i] = order[j];
        order[j] = i;
    }
    for (int i = 0; i < n_pins; i++) {          /* the pins and what they need stay */
        for (int f = cover->owner[pins[i]]; f >= 0; f = cf_fields[f].parent[0]) {
            done[f] = true;
            if (cf_fields[f].parent[1] >= 0)
                done[cf_fields[f].parent[1]] = true;
        }
    }
    for (int pass = 0; pass < 6; pass++) {
        for (int i = 0; i < cf_n_fields; i++) {
            const int field = order[i];
            int level;

            if (!cf_field_active(c, field) || (pass && done[field]))
                continue;
            if (!done[field])
                choose_level(cover, c, field, chosen, n, limit);
            else if (pass)
                continue;
            done[field] = true;
            level = cf_level_of(field, c->v[field]);
            if (level >= 0 && cf_fields[field].n_levels > 1)
                chosen[n++] = cf_fields[field].first + level;
        }
    }
    return true;
}

/* Draws everything at random: each field with a chance of `dense` in 100, else its default. */
static void draw(struct cover *cover, struct cs *c, int64_t dense)
{
    if (dense)
        cf_case_default(c);
    else
        smallest(c);
    for (int i = 0; i < cf_n_fields; i++) {
        if (rng_below(&cover->r, 100) < dense)
            c->v[i] = cf_fields[i].level[rng_below(&cover->r, cf_fields[i].n_levels)];
    }
    c->seed = rng_next(&cover->r) >> 24;
}

/* A legal case with the pins, the rest mostly default. */
static bool plain_case(struct cover *cover, struct cs *c, const int *pins, int n, heed_status *why, bool *possible)
{
    *why = 0;
    for (int i = 0; i < 24; i++) {
        heed_status status = 0;

        draw(cover, c, i < 4 ? 0 : i % 3 * 15);
        if (repair(cover, c, pins, n, limit_big, &status, possible))
            return true;
        if (i == 0 || *why == TOO_BIG || *why == 0)
            *why = status;
    }
    return false;
}

static int active_levels(const struct cs *c, int levels[MAX_FIELDS])
{
    int n = 0;

    for (int i = 0; i < cf_n_fields; i++) {
        const int level = cf_level_of(i, c->v[i]);

        if (level >= 0 && cf_fields[i].n_levels > 1 && cf_field_active(c, i))
            levels[n++] = cf_fields[i].first + level;
    }
    return n;
}

static int source_of(int field)
{
    int s = -1;

    for (int i = 0; i < MAX_SOURCES; i++)
        s = field >= cf_at_source(i) ? i : s;
    return s;
}

/* Does the case say anything about the two fields together? Without a row to compute it says something only about
 * there being none; a source without keys likewise. */
static bool telling(const struct cs *c, int a, int b)
{
    const bool no_batch = cf_batch_count(c) == 0, no_rows = cf_g(c, G_NQ) == 0;
    const int sources[2] = { source_of(a), source_of(b) };

    if ((no_batch || no_rows) && !(no_batch && (a == G_BATCH || b == G_BATCH)) && !(no_rows && (a == G_NQ || b == G_NQ)))
        return false;
    for (int i = 0; i < 2; i++) {
        const int s = sources[i], nk = s < 0 ? -1 : cf_at_source(s) + S_NK;

        if (s >= 0 && c->v[nk] == 0 && a != nk && b != nk)
            return false;
    }
    return true;
}

static void add(struct cover *cover, const struct cs *c)
{
    int levels[MAX_FIELDS];
    const int n = active_levels(c, levels);

    cover->cases[cover->n++] = *c;
    for (int i = 0; i < n; i++) {
        for (int j = i + 1; j < n; j++) {
            if (telling(c, cover->owner[levels[i]], cover->owner[levels[j]]))
                cover->state[at(levels[i], levels[j])] = PLANNED;
        }
    }
}

static void add_random(struct cover *cover)
{
    static const int64_t densities[] = { 8, 15, 25, 45 };
    const int64_t limit = rng_below(&cover->r, 12) == 0 ? limit_big : limit_small;
    struct cs c;
    heed_status status;
    bool possible;

    do
        draw(cover, &c, densities[rng_below(&cover->r, 4)]);
    while (!repair(cover, &c, NULL, 0, limit, &status, &possible));
    add(cover, &c);
}

/* Legal alone? A level that is not takes all its pairs along. */
static void judge_level(struct cover *cover, int level)
{
    struct cs c;
    heed_status status;
    bool possible = false;

    if (plain_case(cover, &c, &level, 1, &status, &possible))
        return;
    cover->level_why[level] = status ? status : HEED_E_INTERNAL;
    for (int other = 0; other < cf_n_levels; other++) {
        cover->state[at(level, other)] = ILLEGAL;
        cover->why[at(level, other)] = status;
    }
}

/* Covers the pair with a new case, or finds out why there is none. */
static void cover_pair(struct cover *cover, int a, int b)
{
    const int pins[2] = { a, b };
    struct cs c;
    heed_status status;
    bool possible = false;

    for (int i = 0; i < 4; i++) {
        const int64_t limit = i < 2 && rng_below(&cover->r, 8) ? limit_small : limit_big;

        if (grow(cover, &c, pins, 2, limit) && repair(cover, &c, pins, 2, limit, &status, &possible)) {
            add(cover, &c);
            return;
        }
    }
    if (plain_case(cover, &c, pins, 2, &status, &possible)) {
        add(cover, &c);
        return;
    }
    cover->state[at(a, b)] = possible ? ILLEGAL : EXCLUDED;
    cover->why[at(a, b)] = status;
}

static struct cover *cover_alloc(int64_t cases)
{
    struct cover *cover = calloc(1, sizeof *cover);
    const size_t levels = (size_t)cf_n_levels;

    if (!cover)
        return NULL;
    cover->cases = calloc((size_t)cases + 1, sizeof *cover->cases);
    cover->state = calloc(levels * levels, 1);
    cover->executed = calloc(levels * levels, 1);
    cover->why = calloc(levels * levels, sizeof *cover->why);
    cover->level_why = calloc(levels, sizeof *cover->level_why);
    cover->owner = calloc(levels, sizeof *cover->owner);
    if (cover->cases && cover->state && cover->executed && cover->why && cover->level_why && cover->owner)
        return cover;
    cf_cover_free(cover);
    return NULL;
}

/* Levels of fields with one level, and pairs within a field, are nothing to cover. */
static void mark_trivial(struct cover *cover)
{
    for (int i = 0; i < cf_n_fields; i++) {
        for (int l = 0; l < cf_fields[i].n_levels; l++) {
            const int level = cf_fields[i].first + l;

            cover->owner[level] = i;
            for (int other = 0; other < cf_n_levels; other++) {
                if (cf_fields[i].n_levels < 2 ||
                    (other >= cf_fields[i].first && other < cf_fields[i].first + cf_fields[i].n_levels))
                    cover->state[at(level, other)] = EXCLUDED;
            }
        }
    }
}

struct cover *cf_cover_make(heed_device *reference, int64_t cases, uint64_t seed)
{
    struct cover *cover = cover_alloc(cases);

    if (!cover)
        return NULL;
    cover->reference = reference;
    cover->r.state = seed;
    cover->room = cases;
    mark_trivial(cover);
    for (int l = 0; l < cf_n_levels; l++) {
        if (cf_fields[cover->owner[l]].n_levels > 1)
            judge_level(cover, l);
    }
    for (int a = 0; a < cf_n_levels && cover->n < cases; a++) {
        for (int b = a + 1; b < cf_n_levels && cover->n < cases; b++) {
            if (cover->state[at(a, b)] == NEW)
                cover_pair(cover, a, b);
        }
    }
    while (cover->n < cases)
        add_random(cover);
    return cover;
}

int64_t cf_cover_count(const struct cover *cover)
{
    return cover->n;
}

const struct cs *cf_cover_case(const struct cover *cover, int64_t i)
{
    return &cover->cases[i];
}

void cf_cover_executed(struct cover *cover, const struct cs *c)
{
    int levels[MAX_FIELDS];
    const int n = active_levels(c, levels);

    for (int i = 0; i < n; i++) {
        for (int j = i + 1; j < n; j++) {
            if (telling(c, cover->owner[levels[i]], cover->owner[levels[j]]))
                cover->executed[at(levels[i], levels[j])] = 1;
        }
    }
}

static void level_name(const struct cover *cover, int level, char name[64])
{
    char value[32];

    cf_value_print(cover->owner[level], value_of(cover, level), value, sizeof value);
    snprintf(name, 64, "%s=%s", cf_fields[cover->owner[level]].name, value);
}

/* Not executed and not yet judged: is there a legal case at all? */
static bool pair_legal(struct cover *cover, int a, int b)
{
    const int pins[2] = { a, b };
    struct cs c;
    heed_status status;
    bool possible = false;

    if (plain_case(cover, &c, pins, 2, &status, &possible))
        return true;
    cover->state[at(a, b)] = possible ? ILLEGAL : EXCLUDED;
    cover->why[at(a, b)] = status;
    return false;
}

int64_t cf_cover_report(struct cover *cover, FILE *to, bool all)
{
    int64_t covered = 0, illegal = 0, excluded = 0, uncovered = 0;
    char one[64], two[64];

    for (int l = 0; l < cf_n_levels; l++) {
        if (!cover->level_why[l])
            continue;
        level_name(cover, l, one);
        fprintf(to, "# pair %s with anything: %s\n", one, heed_status_name(cover->level_why[l]));
    }
    for (int a = 0; a < cf_n_levels; a++) {
        for (int b = a + 1; b < cf_n_levels; b++) {
            const unsigned char state = cover->state[at(a, b)];

            if (cf_fields[cover->owner[a]].n_levels < 2 || cf_fields[cover->owner[b]].n_levels < 2 ||
                cover->owner[a] == cover->owner[b])
                continue;
            level_name(cover, a, one);
            level_name(cover, b, two);
            if (cover->executed[at(a, b)]) {
                covered++;
            } else if (state == PLANNED || (state == NEW && pair_legal(cover, a, b))) {
                uncovered++;
                fprintf(to, "# pair %s %s: legal but not covered\n", one, two);
            } else if (cover->state[at(a, b)] == EXCLUDED) {
                excluded++;
                if (all)
                    fprintf(to, "# pair %s %s: cannot go together\n", one, two);
            } else {
                illegal++;
                if (!cover->level_why[a] && !cover->level_why[b])
                    fprintf(to, "# pair %s %s: %s\n", one, two, heed_status_name(cover->why[at(a, b)]));
            }
        }
    }
    fprintf(to, "# pairs of levels: %lld covered, %lld illegal or unsupported, %lld that cannot go together\n",
            (long long)covered, (long long)illegal, (long long)excluded);
    fprintf(to, "# uncovered legal pairs: %lld\n", (long long)uncovered);
    return uncovered;
}

void cf_cover_free(struct cover *cover)
{
    if (!cover)
        return;
    free(cover->cases);
    free(cover->state);
    free(cover->executed);
    free(cover->why);
    free(cover->level_why);
    free(cover->owner);
    free(cover);
}
