/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Cases that a peer takes: it is asked about plain cases of every type and width, then about each
 * level of each field on top of those that it takes, and cases are drawn from these.
 */
#include "peer.h"
#include "conform/engine/cover.h"

#include <stdlib.h>
#include <string.h>

/* Plain cases: one element type or f32 outputs, one width, one head or groups of two, causal or
 * not. */
enum { BASES_A_WIDTH = 3 * 2 * 2 * 2, BASES_ASKED = 4 };

/* Of operations beside attention: the smallest case, then random ones. */
enum { BASES_FIXED = 48 };

static int bases_count(void)
{
    return fixed_of(cf_op) ? BASES_FIXED : BASES_A_WIDTH * cf_fields[G_D].n_levels;
}

static void fixed_base_make(int number, struct cs *c)
{
    struct rng r = rng_of((uint64_t)number);

    cf_op->smallest(c);
    for (int i = 0; i < cf_n_fields; i++) {
        if (!cf_op->of_memory(i) && rng_below(&r, 48) < number)
            c->v[i] = cf_fields[i].level[rng_below(&r, cf_fields[i].n_levels)];
    }
    cf_case_normalize(c);
}

static bool base_make(int number, struct cs *c)
{
    const int64_t type = number % 3, out = number / 3 % 2, causal = number / 6 % 2,
                  groups = number / 12 % 2;
    int64_t *source;

    if (fixed_of(cf_op)) {
        fixed_base_make(number, c);
        return true;
    }
    source = &c->v[cf_at_source(0)];
    cf_op->smallest(c);
    c->v[G_Q] = source[S_K] = source[S_V] = type;
    c->v[G_O] = out ? DT_F32 : type;
    c->v[G_H] = groups ? 4 : 1;
    source[S_HK] = groups ? 2 : 0; /* as the words have it: half, h */
    source[S_CAUSAL] = causal;
    c->v[G_ALIGN] = causal ? ALIGN_END : ALIGN_START;
    c->v[G_D] = c->v[G_DV] = cf_fields[G_D].level[number / BASES_A_WIDTH];
    cf_case_normalize(c);
    return !(out && type == DT_F32);
}

static bool legal(struct session *session, const struct cs *c)
{
    return cf_subset_holds(c) && cf_op->work(c) <= cf_limit_small &&
           cf_check(session->reference.device, c, NULL) >= 0;
}

static void bases_find(struct session *session, struct peer_taken *taken)
{
    struct rng r = rng_of(2);

    for (int i = 0; i < bases_count() && !taken->stop(taken->context); i++) {
        struct cs c;

        if (!base_make(i, &c))
            continue;
        cf_subset_clamp(&r, &c);
        if (legal(session, &c) && taken->takes(taken->context, &c))
            taken->base[taken->n_bases++] = c;
    }
}

static bool level_taken(struct session *session, struct peer_taken *taken, struct cover *cover,
                        int level)
{
    const struct field *f = &cf_fields[cover->owner[level]];

    if (level == f->first && cf_subset_has(cover->owner[level], f->level[0]))
        return true; /* the default, which bases have */
    if (cf_op->of_memory(cover->owner[level]) || !(f->allowed >> (level - f->first) & 1))
        return false;
    for (int i = 0; i < BASES_ASKED && !taken->stop(taken->context); i++) {
        struct cs c = taken->base[i * taken->n_bases / BASES_ASKED];
        heed_status status = 0;
        bool possible = false;

        if (cf_draw_repair(cover, &c, &level, 1, cf_limit_small, &status, &possible) &&
            legal(session, &c) && taken->takes(taken->context, &c))
            return true;
    }
    return false;
}

bool peer_learn(struct session *session, struct peer_taken *taken)
{
    struct cover cover = { .reference = session->reference.device, .r = rng_of(1) };
    int n = 0;

    taken->n_bases = 0;
    taken->base = calloc((size_t)bases_count(), sizeof *taken->base);
    taken->level = calloc((size_t)cf_n_levels, 1);
    cover.owner = calloc((size_t)cf_n_levels, sizeof *cover.owner);
    if (taken->base && taken->level && cover.owner) {
        for (int f = 0; f < cf_n_fields; f++) {
            for (int l = 0; l < cf_fields[f].n_levels; l++)
                cover.owner[cf_fields[f].first + l] = f;
        }
        bases_find(session, taken);
        for (int i = 0; i < cf_n_levels && taken->n_bases > 0; i++)
            n += taken->level[i] = level_taken(session, taken, &cover, i);
    }
    free(cover.owner);
    if (taken->n_bases == 0 || !taken->stop(taken->context))
        printf("# takes %d of %d plain cases, %d of %d values of fields\n", taken->n_bases,
               bases_count(), n, cf_n_levels);
    return taken->n_bases > 0;
}

void peer_taken_free(struct peer_taken *taken)
{
    free(taken->base);
    free(taken->level);
}

/* Bases and contents in turn, all else at random. */
static void draw_one(const struct peer_taken *taken, struct rng *r, int64_t number, int64_t dense,
                     struct cs *c)
{
    const int filling = fixed_of(cf_op) ? F_FILL : G_FILL;
    const struct field *fill = &cf_fields[filling];
    const int64_t filled = number % fill->n_levels;

    *c = taken->base[(number + number / fill->n_levels) % taken->n_bases];
    c->seed = rng_next(r) >> 24;
    for (int i = 0; i < cf_n_fields; i++) {
        const struct field *f = &cf_fields[i];
        const int64_t level = rng_below(r, f->n_levels);

        if (rng_below(r, 100) < dense && taken->level[f->first + level])
            c->v[i] = f->level[level];
    }
    if (taken->level[fill->first + filled])
        c->v[filling] = fill->level[filled];
    cf_case_normalize(c);
}

bool peer_draw(struct session *session, const struct peer_taken *taken, struct rng *r,
               int64_t number, struct cs *c)
{
    for (int i = 0; i < 64; i++) {
        struct cs varied;

        draw_one(taken, r, number, i < 48 ? 10 + 10 * rng_below(r, 8) : 0, c);
        varied = *c;
        if (cf_op->vary)
            cf_op->vary(r, &varied);
        if (legal(session, &varied)) {
            *c = varied;
            return true;
        }
        if (legal(session, c))
            return true;
    }
    return false;
}

/* Fields of element types: most kernels know one at a time. */
static bool says_type(int field)
{
    bool type = field == G_Q || field == G_O;

    if (fixed_of(cf_op))
        return false;
    for (int s = 0; s < MAX_SOURCES; s++)
        type = type || field == cf_at_source(s) + S_K || field == cf_at_source(s) + S_V;
    return type;
}

bool peer_draw_any(struct session *session, struct rng *r, int64_t number, struct cs *c)
{
    const bool mixed = number % 8 == 7;

    for (int i = 0; i < 64; i++) {
        const int64_t dense = 4 * rng_below(r, 6);

        if (!base_make((int)((number * 7 + i) % bases_count()), c) ||
            (!mixed && !fixed_of(cf_op) && c->v[G_O] != c->v[G_Q]))
            continue;
        c->seed = rng_next(r) >> 24;
        for (int f = 0; f < cf_n_fields; f++) {
            if (!cf_op->of_memory(f) && rng_below(r, 100) < dense && (mixed || !says_type(f)))
                c->v[f] = cf_fields[f].level[rng_below(r, cf_fields[f].n_levels)];
        }
        cf_subset_clamp(r, c);
        cf_case_normalize(c);
        if (legal(session, c))
            return true;
    }
    return false;
}
