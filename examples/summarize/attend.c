/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The scheme. Salience follows the top-down scheme of Pang et al. 2023 (section 2)
 * without weights:
 *
 *   local    attention of the sentences among themselves: in windows, or as asked (encoder.c)
 *   pool     mean of the local vectors of each segment
 *   global   full attention of the segments among themselves
 *   return   sentences look at the segments and take the document's topics back: their views
 *   probe    with views as queries, how much attention does each
 *            sentence receive from all others (probe.c)?
 *
 * Sentences are expanded and taken to the device a block at a time; what stays there in
 * between are the segments, at most MOST_TOPICS runs of them, so that memory has a bound and time
 * is linear. Views take more room than the text that they are of: those of a few blocks are held,
 * others are made again whenever the probe asks. Sentences without a vector ("Yes.") take no part.
 * Host code between the calls only adds rows up and scales them to unit length.
 */
#include "attend.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    BLOCK_ROWS = 2048,             /* sentences on the device at a time, if segments allow */
    HELD_BLOCKS = 2,               /* whose views are not made again */
    MOST_TOPICS = 256              /* in longer documents, a topic is that of several segments */
};

/* ---- rows on the host ---------------------------------------------------- */

/* One sum waits for itself at each addition; many sums do not. */
enum { UNIT_PARTS = VECTOR_STEP };

static void scale_to_unit(float *row, int64_t width)
{
    double part[UNIT_PARTS] = { 0 }, square = 0;

    for (int64_t k = 0; k < width; k += UNIT_PARTS) {
        for (int i = 0; i < UNIT_PARTS; i++)
            part[i] += (double)row[k + i] * (double)row[k + i];
    }
    for (int i = 0; i < UNIT_PARTS; i++)
        square += part[i];
    if (square > 0) {
        const double scale = 1 / sqrt(square);

        for (int64_t k = 0; k < width; k++)
            row[k] = (float)((double)row[k] * scale);
    }
}

/* ---- state --------------------------------------------------------------- */

/* A run of whole segments, and of their rows. */
struct block {
    int64_t segment, n_segments, row, rows;
};

/* Views of a block, while they are held. */
struct held {
    float *rows;                   /* [block_rows][width] */
    int64_t block;                 /* -1: of none */
};

struct state {
    struct views views;
    int32_t *kept;                 /* sentence of each row: those that have a vector */
    int32_t *ranges;               /* rows of each segment that has some */
    int64_t n_segments;            /* ranges */
    struct block *blocks;
    int64_t n_blocks;
    int64_t block_rows, block_segments;    /* of the largest block */
    int64_t n_topics;              /* runs of segments */
    struct held held[HELD_BLOCKS]; /* block i at i % HELD_BLOCKS */
    struct matrix x, y;            /* a block and its neighbours; what attention makes of it */
    struct matrix means;           /* segments of a block */
    struct matrix pooled, topics;  /* runs of segments; what attention makes of them */
    float *rows;                   /* host, as x */
};

/* Rows and ranges of the sentences that have a vector. */
static bool state_index(struct state *s, const struct document *doc, const struct vectors *v)
{
    int64_t n = 0;

    s->kept = malloc(((size_t)doc->n + 1) * sizeof(*s->kept));
    s->ranges = malloc(((size_t)doc->n_segments + 1) * 2 * sizeof(*s->ranges));
    if (!s->kept || !s->ranges || doc->n > INT32_MAX)
        return false;
    for (int64_t i = 0; i < doc->n_segments; i++) {
        const int64_t first = n;

        for (int64_t j = doc->segments[i]; j < doc->segments[i + 1]; j++) {
            if (vectors_has(v, j))
                s->kept[n++] = (int32_t)j;
        }
        if (n > first) {
            s->ranges[2 * s->n_segments] = (int32_t)first;
            s->ranges[2 * s->n_segments + 1] = (int32_t)n;
            s->n_segments++;
        }
    }
    s->views = (struct views){ .vectors = v, .kept = s->kept, .n = n, .state = s };
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

static bool state_block(struct state *s)
{
    struct block b;

    s->blocks = malloc((size_t)s->n_segments * sizeof(*s->blocks));
    if (!s->blocks)
        return false;
    for (int64_t i = 0; i < s->n_segments; i += b.n_segments) {
        b = block_at(s, i);
        if (b.rows > s->block_rows)
            s->block_rows = b.rows;
        if (b.n_segments > s->block_segments)
            s->block_segments = b.n_segments;
        s->blocks[s->n_blocks++] = b;
    }
    return true;
}

/* Room for the views of a few blocks. */
static bool state_hold(struct state *s, int64_t width)
{
    for (int64_t i = 0; i < HELD_BLOCKS && i < s->n_blocks; i++) {
        s->held[i].block = -1;
        s->held[i].rows = malloc((size_t)s->block_rows * (size_t)width * sizeof(float));
        if (!s->held[i].rows)
            return false;
    }
    return true;
}

static bool state_create(struct attend *a, struct state *s, const struct document *doc,
                         const struct vectors *v, struct failure *why)
{
    int64_t most;

    if (!state_index(s, doc, v) || !state_block(s) || !state_hold(s, a->width))
        goto no_memory;
    s->n_topics = s->n_segments < MOST_TOPICS ? s->n_segments : MOST_TOPICS;
    most = s->block_rows + (s->block_rows < s->views.n ? 2 * encoder_reach(a) : 0);
    s->rows = malloc((size_t)most * (size_t)a->width * sizeof(float));
    if (!s->rows)
        goto no_memory;
    return matrix_create(a, &s->x, most, a->width, why) &&
           matrix_create(a, &s->y, most, a->width, why) &&
           matrix_create(a, &s->means, s->block_segments, a->width, why) &&
           matrix_create(a, &s->pooled, s->n_topics, a->width, why) &&
           matrix_create(a, &s->topics, s->n_topics, a->width, why);
no_memory:
    snprintf(why->text, sizeof(why->text), "not enough memory for %lld sentences",
             (long long)doc->n);
    return false;
}

static void state_destroy(struct attend *a, struct state *s)
{
    matrix_destroy(a, &s->x);
    matrix_destroy(a, &s->y);
    matrix_destroy(a, &s->means);
    matrix_destroy(a, &s->pooled);
    matrix_destroy(a, &s->topics);
    for (int i = 0; i < HELD_BLOCKS; i++)
        free(s->held[i].rows);
    free(s->rows);
    free(s->kept);
    free(s->ranges);
    free(s->blocks);
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

/* local: every sentence of the block takes in its neighbours. `own`: its rows of x; `tell`:
 * who asks what they look at is told. */
static bool look_around(struct attend *a, const struct state *s, const struct block *b, bool tell,
                        struct matrix *own, struct matrix *local, struct failure *why)
{
    const int64_t reach = encoder_reach(a), before = b->row < reach ? b->row : reach;
    const int64_t end = b->row + b->rows + reach;
    const int64_t first = b->row - before;
    const int64_t rows = (end < s->views.n ? end : s->views.n) - first;
    const struct matrix x = matrix_rows(s->x, 0, rows), y = matrix_rows(s->y, 0, rows);

    *own = matrix_rows(x, before, b->rows);
    *local = matrix_rows(y, before, b->rows);
    views_expand(&s->views, first, rows, s->rows);
    return matrix_write(a, &x, s->rows, why) && encoder_run(a, &x, &x, &y, NULL, why) &&
           (!tell || !a->pattern ||
            pattern_take(a, &x, s->rows, s->kept + first, before, b->rows, why)) &&
           (!tell || !a->looks || tell_looks(a, s, b, first, rows, why));
}

/* pool: the means of the block's segments, added to the rows of their topics. */
static bool pool_segments(struct attend *a, const struct state *s, const struct block *b,
                          const struct matrix *local, float *sums, struct failure *why)
{
    const struct matrix means = matrix_rows(s->means, 0, b->n_segments);
    int32_t *const ranges = malloc((size_t)b->n_segments * 2 * sizeof(*ranges));
    float *const rows = malloc((size_t)(b->n_segments * a->width) * sizeof(*rows));
    bool good = ranges && rows;

    if (!good)
        snprintf(why->text, sizeof(why->text), "not enough memory for segments");
    for (int64_t i = 0; good && i < 2 * b->n_segments; i++)
        ranges[i] = s->ranges[2 * b->segment + i] - (int32_t)b->row;
    good = good && call_pool_ranges(a, local, ranges, &means, why) &&
           matrix_read(a, rows, &means, why);
    for (int64_t i = 0; good && i < b->n_segments; i++) {
        const int64_t topic = (b->segment + i) * s->n_topics / s->n_segments;

        for (int64_t k = 0; k < a->width; k++)
            sums[topic * a->width + k] += rows[i * a->width + k];
    }
    free(ranges);
    free(rows);
    return good;
}

/* Local vectors, a block at a time, to runs of segments, of unit length. */
static bool take_blocks(struct attend *a, const struct state *s, struct meter *meter,
                        struct failure *why)
{
    float *const sums = calloc((size_t)(s->n_topics * a->width), sizeof(*sums));
    bool good = sums != NULL;

    if (!good)
        snprintf(why->text, sizeof(why->text), "not enough memory for segments");
    for (int64_t i = 0; good && i < s->n_blocks; i++) {
        const struct block *const b = &s->blocks[i];
        struct matrix own, local;

        good = look_around(a, s, b, true, &own, &local, why) &&
               pool_segments(a, s, b, &local, sums, why);
        meter_add(meter, b->rows);
    }
    for (int64_t i = 0; good && i < s->n_topics; i++)
        scale_to_unit(sums + i * a->width, a->width);
    good = good && matrix_write(a, &s->pooled, sums, why);
    free(sums);
    return good;
}

/* global: from runs of segments to topics. */
static bool look_from_above(struct attend *a, const struct state *s, struct failure *why)
{
    const struct attention step = {
        .name = "attention of segments", .q = s->pooled, .o = s->topics,
        .keys = { { .k = s->pooled, .v = s->pooled } }, .n_keys = 1, .scale = SHARPNESS
    };

    return call_attention(a, &step, why);
}

/* return: views are local and returned vector in equal parts. */
static bool look_back(struct attend *a, const struct state *s, const struct block *b, float *to,
                      struct failure *why)
{
    struct attention step = {
        .name = "attention to segments",
        .keys = { { .k = s->pooled, .v = s->topics } }, .n_keys = 1, .scale = SHARPNESS
    };
    struct matrix local;

    if (!look_around(a, s, b, false, &step.q, &local, why) || !matrix_read(a, to, &local, why))
        return false;
    step.o = matrix_rows(s->y, 0, b->rows);
    if (!call_attention(a, &step, why) || !matrix_read(a, s->rows, &step.o, why))
        return false;
    for (int64_t i = 0; i < b->rows; i++) {
        float *const row = to + i * a->width, *const more = s->rows + i * a->width;

        scale_to_unit(row, a->width);
        scale_to_unit(more, a->width);
        for (int64_t k = 0; k < a->width; k++)
            row[k] += more[k];
        scale_to_unit(row, a->width);
    }
    return true;
}

/* ---- rows for the probe --------------------------------------------------- */

void views_expand(const struct views *s, int64_t at, int64_t rows, float *to)
{
    for (int64_t i = 0; i < rows; i++)
        vectors_expand(s->vectors, s->kept[at + i], to + i * s->vectors->width);
}

/* The block that has row `at`. */
static int64_t find_block(const struct state *s, int64_t at)
{
    int64_t low = 0, high = s->n_blocks;   /* it is in [low, high) */

    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;

        if (s->blocks[middle].row <= at)
            low = middle;
        else
            high = middle;
    }
    return low;
}

bool views_look(struct attend *a, const struct views *v, int64_t at, int64_t rows, float *to,
                struct failure *why)
{
    struct state *const s = v->state;
    const int64_t end = at + rows;

    for (int64_t i = find_block(s, at); at < end; i++) {
        const struct block *const b = &s->blocks[i];
        struct held *const held = &s->held[i % HELD_BLOCKS];
        const int64_t stop = end < b->row + b->rows ? end : b->row + b->rows;

        if (held->block != i) {
            held->block = -1;
            if (!look_back(a, s, b, held->rows, why))
                return false;
            held->block = i;
        }
        memcpy(to, held->rows + (at - b->row) * a->width,
               (size_t)((stop - at) * a->width) * sizeof(*to));
        to += (stop - at) * a->width;
        at = stop;
    }
    return true;
}

void meter_add(struct meter *meter, int64_t rows)
{
    meter->done += rows;
    if (meter->progress)
        meter->progress(meter->context, meter->done, meter->all);
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
    a->width = v->width;
    if (v->row[v->n] == 0)               /* no sentence has a vector */
        return true;
    if (!state_create(a, &s, doc, v, why))
        goto done;
    meter.all = s.views.n + probe_steps(a, s.views.n);
    if (!take_blocks(a, &s, &meter, why) || !look_from_above(a, &s, why))
        goto done;
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
