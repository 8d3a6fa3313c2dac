/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The scheme. Salience follows the top-down scheme of Pang et al. 2023 (section 2)
 * without weights:
 *
 *   local    attention of the sentences among themselves: in windows, or as asked (encoder.c)
 *   pool     mean of the local vectors of each segment
 *   global   full attention of the segments among themselves
 *   return   sentences look at the segments and take the document's topics back
 *   probe    with local and returned vector as the query, how much attention does each
 *            sentence receive from all others (probe.c)?
 *
 * Sentences are expanded and taken to the device a block at a time; what stays there in
 * between are the segments. Sentences without a vector ("Yes.") take no part. Host code
 * between the calls only scales rows to unit length.
 */
#include "attend.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_ROWS = 2048 };        /* sentences on the device at a time, if segments allow */

/* ---- rows on the host ---------------------------------------------------- */

static void scale_to_unit(float *row)
{
    double square = 0;

    for (int k = 0; k < VECTOR_WIDTH; k++)
        square += (double)row[k] * (double)row[k];
    if (square > 0) {
        const double scale = 1 / sqrt(square);

        for (int k = 0; k < VECTOR_WIDTH; k++)
            row[k] = (float)((double)row[k] * scale);
    }
}

void views_expand(const struct views *s, int64_t at, int64_t rows, float *to)
{
    for (int64_t i = 0; i < rows; i++)
        vectors_expand(s->vectors, s->kept[at + i], to + i * VECTOR_WIDTH);
}

/* ---- state --------------------------------------------------------------- */

/* A run of whole segments, and of their rows. */
struct block {
    int64_t segment, n_segments, row, rows;
};

struct state {
    struct views views;            /* query: first the local vectors, then the views */
    int64_t *kept;                 /* sentence of each row: those that have a vector */
    int32_t *ranges;               /* rows of each segment that has some */
    int64_t n_segments;            /* ranges */
    int64_t block_rows;            /* of the largest block */
    struct matrix x, y;            /* a block and its neighbours; what attention makes of it */
    struct matrix pooled, topics;  /* segments */
    float *rows;                   /* host, as x */
};

/* Rows and ranges of the sentences that have a vector. */
static bool state_index(struct state *s, const struct document *doc, const struct vectors *v)
{
    int64_t n = 0;

    s->kept = malloc(((size_t)doc->n + 1) * sizeof(*s->kept));
    s->ranges = malloc(((size_t)doc->n_segments + 1) * 2 * sizeof(*s->ranges));
    if (!s->kept || !s->ranges)
        return false;
    for (int64_t i = 0; i < doc->n_segments; i++) {
        const int64_t first = n;

        for (int64_t j = doc->segments[i]; j < doc->segments[i + 1]; j++) {
            if (v->row[j + 1] > v->row[j])
                s->kept[n++] = j;
        }
        if (n > INT32_MAX)
            return false;
        if (n > first) {
            s->ranges[2 * s->n_segments] = (int32_t)first;
            s->ranges[2 * s->n_segments + 1] = (int32_t)n;
            s->n_segments++;
        }
    }
    s->views = (struct views){ .vectors = v, .kept = s->kept, .n = n };
    return true;
}

/* The block that begins with `segment`: at least that one. */
static struct block block_at(const struct state *s, int64_t segment)
{
    struct block b = { .segment = segment, .row = s->ranges[2 * segment] };

    for (int64_t i = segment; i < s->n_segments; i++) {
        const int64_t rows = s->ranges[2 * i + 1] - b.row;

        if (i > segment && rows > BLOCK_ROWS)
            break;
        b.rows = rows;
        b.n_segments++;
    }
    return b;
}

static bool state_create(struct attend *a, struct state *s, const struct document *doc,
                         const struct vectors *v, struct failure *why)
{
    struct block b;
    int64_t most = 0;

    if (!state_index(s, doc, v))
        goto no_memory;
    for (int64_t i = 0; i < s->n_segments; i += b.n_segments) {
        b = block_at(s, i);
        if (b.rows > most)
            most = b.rows;
    }
    s->block_rows = most;
    most += (most < s->views.n) * 2 * encoder_reach(a);
    s->views.query = malloc(((size_t)s->views.n + 1) * VECTOR_WIDTH * sizeof(float));
    s->rows = malloc((size_t)most * VECTOR_WIDTH * sizeof(float));
    if (!s->views.query || !s->rows)
        goto no_memory;
    return matrix_create(a, &s->x, most, VECTOR_WIDTH, why) &&
           matrix_create(a, &s->y, most, VECTOR_WIDTH, why) &&
           matrix_create(a, &s->pooled, s->n_segments, VECTOR_WIDTH, why) &&
           matrix_create(a, &s->topics, s->n_segments, VECTOR_WIDTH, why);
no_memory:
    snprintf(why->text, sizeof(why->text), "not enough memory for %lld sentences",
             (long long)doc->n);
    return false;
}

/* What the probe needs no more; the rest goes with state_destroy(). */
static void state_shrink(struct attend *a, struct state *s)
{
    matrix_destroy(a, &s->x);
    matrix_destroy(a, &s->y);
    matrix_destroy(a, &s->pooled);
    matrix_destroy(a, &s->topics);
    free(s->rows);
    s->rows = NULL;
}

static void state_destroy(struct attend *a, struct state *s)
{
    state_shrink(a, s);
    free(s->kept);
    free(s->ranges);
    free(s->views.query);
}

/* Rows [at, at + rows) of the vectors into the first rows of x. */
static bool load(struct attend *a, const struct state *s, int64_t at, int64_t rows,
                 struct failure *why)
{
    const struct matrix x = matrix_rows(s->x, 0, rows);

    views_expand(&s->views, at, rows, s->rows);
    return matrix_write(a, &x, s->rows, why);
}

/* ---- the scheme ---------------------------------------------------------- */

/* Which sentences the block's rows, from row `first` of x on, gave most weight to. x is on the host
 * still. */
static bool tell_looks(struct attend *a, const struct state *s, const struct block *b,
                       int64_t first, int64_t rows, struct failure *why)
{
    int64_t(*const best)[LOOKS] = malloc((size_t)b->rows * sizeof(*best));
    bool good;

    if (!best) {
        snprintf(why->text, sizeof(why->text), "not enough memory for what sentences look at");
        return false;
    }
    good = encoder_look(a, s->rows, rows, b->row - first, b->rows, best, why);
    for (int64_t i = 0; good && i < b->rows; i++) {
        for (int k = 0; k < LOOKS; k++)
            a->looks[s->kept[b->row + i]][k] = best[i][k] < 0 ? -1 : s->kept[first + best[i][k]];
    }
    free(best);
    return good;
}

/* local: every sentence of the block takes in its neighbours. */
static bool look_around(struct attend *a, const struct state *s, const struct block *b,
                        struct matrix *local, struct failure *why)
{
    const int64_t reach = encoder_reach(a), before = b->row < reach ? b->row : reach;
    const int64_t end = b->row + b->rows + reach;
    const int64_t first = b->row - before;
    const int64_t rows = (end < s->views.n ? end : s->views.n) - first;
    const struct matrix x = matrix_rows(s->x, 0, rows), y = matrix_rows(s->y, 0, rows);

    *local = matrix_rows(y, before, b->rows);
    return load(a, s, first, rows, why) && encoder_run(a, &x, &x, &y, NULL, why) &&
           (!a->pattern ||
            pattern_take(a, &x, s->rows, s->kept + first, before, b->rows, why)) &&
           (!a->looks || tell_looks(a, s, b, first, rows, why));
}

/* pool: the means of the block's segments. */
static bool pool_segments(struct attend *a, const struct state *s, const struct block *b,
                          const struct matrix *local, struct failure *why)
{
    const struct matrix means = matrix_rows(s->pooled, b->segment, b->n_segments);
    int32_t *const ranges = malloc((size_t)b->n_segments * 2 * sizeof(*ranges));
    bool good = false;

    if (!ranges) {
        snprintf(why->text, sizeof(why->text), "not enough memory for segments");
        return false;
    }
    for (int64_t i = 0; i < 2 * b->n_segments; i++)
        ranges[i] = s->ranges[2 * b->segment + i] - (int32_t)b->row;
    good = call_pool_ranges(a, local, ranges, &means, why);
    free(ranges);
    return good;
}

/* Local vectors to the host, their means to the device. */
static bool take_blocks(struct attend *a, const struct state *s, struct failure *why)
{
    struct block b;

    for (int64_t i = 0; i < s->n_segments; i += b.n_segments) {
        struct matrix local;

        b = block_at(s, i);
        if (!look_around(a, s, &b, &local, why) || !pool_segments(a, s, &b, &local, why) ||
            !matrix_read(a, s->views.query + b.row * VECTOR_WIDTH, &local, why))
            return false;
    }
    return true;
}

/* global: from segments, of unit length, to topics. */
static bool look_from_above(struct attend *a, const struct state *s, struct failure *why)
{
    const struct attention step = {
        .name = "attention of segments", .q = s->pooled, .o = s->topics,
        .keys = { { .k = s->pooled, .v = s->pooled } }, .n_keys = 1, .scale = SHARPNESS
    };
    float *const rows = malloc((size_t)s->n_segments * VECTOR_WIDTH * sizeof(*rows));
    bool good;

    if (!rows) {
        snprintf(why->text, sizeof(why->text), "not enough memory for segments");
        return false;
    }
    good = matrix_read(a, rows, &s->pooled, why);
    for (int64_t i = 0; good && i < s->n_segments; i++)
        scale_to_unit(rows + i * VECTOR_WIDTH);
    good = good && matrix_write(a, &s->pooled, rows, why) && call_attention(a, &step, why);
    free(rows);
    return good;
}

/* return: the views of the probe are local and returned vector in equal parts. */
static bool take_back(struct attend *a, const struct state *s, struct failure *why)
{
    for (int64_t at = 0; at < s->views.n; at += s->block_rows) {
        const int64_t left = s->views.n - at;
        const int64_t rows = left < s->block_rows ? left : s->block_rows;
        const struct attention step = {
            .name = "attention to segments", .q = matrix_rows(s->x, 0, rows),
            .o = matrix_rows(s->y, 0, rows),
            .keys = { { .k = s->pooled, .v = s->topics } }, .n_keys = 1, .scale = SHARPNESS
        };

        if (!load(a, s, at, rows, why) || !call_attention(a, &step, why) ||
            !matrix_read(a, s->rows, &step.o, why))
            return false;
        for (int64_t i = 0; i < rows; i++) {
            float *const row = s->views.query + (at + i) * VECTOR_WIDTH;
            float *const more = s->rows + i * VECTOR_WIDTH;

            scale_to_unit(row);
            scale_to_unit(more);
            for (int k = 0; k < VECTOR_WIDTH; k++)
                row[k] += more[k];
            scale_to_unit(row);
        }
    }
    return true;
}

void attend_tell_looks(struct attend *a, int64_t (*looks)[LOOKS])
{
    a->looks = looks;
}

bool attend_mass(struct attend *a, const struct document *doc, const struct vectors *v,
                 attend_progress *progress, void *context, float *mass, struct failure *why)
{
    struct meter meter = { progress, context, 0, 0 };
    struct state s = { .n_segments = 0 };
    float *received = NULL;
    bool good = false;

    for (int64_t i = 0; i < doc->n; i++) {
        mass[i] = 0;
        for (int k = 0; a->looks && k < LOOKS; k++)
            a->looks[i][k] = -1;
    }
    if (v->row[v->n] == 0)               /* no sentence has a vector */
        return true;
    if (!state_create(a, &s, doc, v, why) || !take_blocks(a, &s, why) ||
        !look_from_above(a, &s, why) || !take_back(a, &s, why))
        goto done;
    state_shrink(a, &s);
    received = malloc((size_t)s.views.n * sizeof(*received));
    if (!received) {
        snprintf(why->text, sizeof(why->text), "not enough memory for the probe");
        goto done;
    }
    good = probe(a, &s.views, &meter, received, why);
    for (int64_t i = 0; good && i < s.views.n; i++)
        mass[s.kept[i]] = received[i];
done:
    free(received);
    state_destroy(a, &s);
    return good;
}
