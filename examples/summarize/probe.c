/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * How much does sentence i attend to sentence j? With its view as the query, the mass j
 * receives is the sum over i of exp(q_i . x_j * scale - LSE_i), which is exp(LSE) of a
 * second attention with queries and keys exchanged and -LSE as the bias of the keys. No
 * n x n matrix is held.
 *
 * Both attentions run in chunks of rows over a memory (memory.c). A row sees its chunk and
 * the chunks beside it as they are, and what is further away compressed: a sweep forwards
 * has what lies behind in its memory, one backwards what lies ahead, and the LSE of the
 * three parts are merged. So the device holds a few chunks of sentences, however many there
 * are, and time is linear in their number. A document of at most two chunks is near as a
 * whole.
 */
#include "attend.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    NEAR_CHUNKS = 3,               /* the row's own and one to each side */
    MANY_CHUNKS = 16,              /* more than so many: less is near */
    NEAR = 0, BEHIND, AHEAD, PARTS
};

/* One attention of all rows, in chunks. */
struct pass {
    const struct views *views;
    bool give;                     /* views look at vectors; else the other way round */
    const float *bias;             /* of the keys, host, [n]; NULL: 0 */
    int64_t chunk, n_chunks;
    struct memory *memory;
    struct matrix query;           /* device, [chunk][width] */
    struct matrix lse;             /* device, [PARTS * n][1] */
    float *rows, *row_bias;        /* host, a chunk */
    struct meter *meter;
};

static int64_t rows_in(const struct pass *p, int64_t chunk)
{
    const int64_t left = p->views->n - chunk * p->chunk;

    return chunk < 0 || left < 0 ? 0 : left < p->chunk ? left : p->chunk;
}

/* Rows of a chunk: vectors or views. What is beyond the document is 0. */
static bool fetch(struct attend *a, const struct pass *p, bool vectors, int64_t chunk,
                  struct failure *why)
{
    const int64_t rows = rows_in(p, chunk), at = chunk * p->chunk, w = a->width;

    memset(p->rows + rows * w, 0, (size_t)((p->chunk - rows) * w) * sizeof(*p->rows));
    if (!vectors && rows > 0)
        return views_look(a, p->views, at, rows, p->rows, why);
    views_expand(p->views, at, rows, p->rows);
    return true;
}

/* A chunk becomes keys; one beside the document has none, but moves the others on. */
static bool feed(struct attend *a, const struct pass *p, int64_t chunk, struct failure *why)
{
    const int64_t rows = rows_in(p, chunk), at = chunk * p->chunk;

    if (!fetch(a, p, p->give, chunk, why))
        return false;
    for (int64_t i = 0; i < rows; i++)
        p->row_bias[i] = p->bias ? p->bias[at + i] : 0;
    for (int64_t i = rows; i < p->chunk; i++)
        p->row_bias[i] = -HUGE_VALF;
    return memory_push(a, p->memory, p->rows, p->row_bias, why);
}

/* What is near, forwards, while the chunk behind `chunk` is the newest. Biases are looked at
 * where there are some: scores alone are much faster. */
static struct keys near_keys(const struct pass *p, int64_t chunk)
{
    const int64_t n = p->views->n;
    struct keys keys = memory_near(p->memory);
    bool full = (chunk + 2) * p->chunk <= n;

    if (p->n_chunks < NEAR_CHUNKS) {       /* all of it, in its order */
        keys.k.rows = keys.v.rows = keys.bias.rows = n;
        keys.len = (heed_buf){ .handle = NULL };
        full = true;
    }
    if (full && !p->bias)
        keys.bias = (struct matrix){ .rows = 0 };
    return keys;
}

/* LSE of the rows at q, which begin with row `at`, against one part. */
static bool look_at(struct attend *a, const struct pass *p, const struct matrix *q, int64_t at,
                    int part, struct attention *s, struct failure *why)
{
    s->name = "probe";
    s->scale = SHARPNESS;
    s->q = *q;
    s->o = matrix_no_channels(*q);
    s->lse = matrix_rows(p->lse, part * p->views->n + at, q->rows);
    return call_attention(a, s, why);
}

/* LSE of a chunk's rows. What is near is seen on the way forwards. */
static bool look(struct attend *a, const struct pass *p, int64_t chunk, bool back,
                 struct failure *why)
{
    const int64_t at = chunk * p->chunk;
    const struct matrix q = matrix_rows(p->query, 0, rows_in(p, chunk));
    struct attention near = { .keys = { near_keys(p, chunk) }, .n_keys = 1 };
    struct attention far = { .n_keys = 0 };

    far.n_keys = memory_far(p->memory, far.keys);
    if (!fetch(a, p, !p->give, chunk, why) || !matrix_write(a, &q, p->rows, why) ||
        (!back && !look_at(a, p, &q, at, NEAR, &near, why)) ||
        (p->n_chunks >= NEAR_CHUNKS &&
         !look_at(a, p, &q, at, back ? AHEAD : BEHIND, &far, why)))
        return false;
    meter_add(p->meter, q.rows);
    return true;
}

static bool sweep(struct attend *a, const struct pass *p, bool back, struct failure *why)
{
    const int64_t last = p->n_chunks - 1;

    if (!memory_clear(a, p->memory, why) || !feed(a, p, back ? last : 0, why))
        return false;
    for (int64_t i = 0; i <= last; i++) {
        const int64_t chunk = back ? last - i : i;

        if ((i < last || p->n_chunks >= NEAR_CHUNKS) &&
            !feed(a, p, back ? chunk - 1 : chunk + 1, why))
            return false;
        if (!look(a, p, chunk, back, why))
            return false;
    }
    return true;
}

/* LSE of all rows, to the host. */
static bool run(struct attend *a, const struct pass *p, float *to, struct failure *why)
{
    const struct matrix lse = matrix_rows(p->lse, 0, p->views->n);
    const struct parts parts = {
        .buf = p->lse.buf, .n = PARTS, .part_stride = p->views->n, .row_stride = 1
    };
    struct matrix all = { .rows = 0 };
    bool good;

    if (!sweep(a, p, false, why))
        return false;
    if (p->n_chunks < NEAR_CHUNKS)
        return matrix_read(a, to, &lse, why);
    good = sweep(a, p, true, why) && matrix_create(a, &all, p->views->n, 1, why) &&
           call_merge(a, &parts, &all, why) && matrix_read(a, to, &all, why);
    matrix_destroy(a, &all);
    return good;
}

/* The largest chunk that is not larger than needed, a power of two; a quarter of it for many. */
static int64_t chunk_rows(const struct attend *a, int64_t n)
{
    const bool many = n > MANY_CHUNKS * a->limits.chunk;
    const int64_t most = many && a->limits.chunk >= 4 * GROUP ? a->limits.chunk / 4
                                                              : a->limits.chunk;
    int64_t rows = GROUP;

    while (rows < most && rows < n)
        rows *= 2;
    return rows;
}

static int64_t chunks_of(const struct attend *a, int64_t n)
{
    const int64_t rows = chunk_rows(a, n);

    return (n + rows - 1) / rows;
}

int64_t probe_steps(const struct attend *a, int64_t n)
{
    return (chunks_of(a, n) < NEAR_CHUNKS ? 2 : 4) * n;
}

static bool pass_create(struct attend *a, struct pass *p, struct failure *why)
{
    const int64_t near = p->n_chunks < NEAR_CHUNKS ? p->n_chunks : NEAR_CHUNKS;

    p->rows = malloc((size_t)(p->chunk * a->width) * sizeof(*p->rows));
    p->row_bias = malloc((size_t)p->chunk * sizeof(*p->row_bias));
    if (!p->rows || !p->row_bias) {
        snprintf(why->text, sizeof(why->text), "not enough memory for the probe");
        return false;
    }
    return memory_create(a, p->memory, p->chunk, near * p->chunk, a->limits.capacity, why) &&
           matrix_create(a, &p->query, p->chunk, a->width, why) &&
           matrix_create(a, &p->lse, PARTS * p->views->n, 1, why);
}

static void pass_destroy(struct attend *a, struct pass *p)
{
    memory_destroy(a, p->memory);
    matrix_destroy(a, &p->query);
    matrix_destroy(a, &p->lse);
    free(p->rows);
    free(p->row_bias);
}

bool probe(struct attend *a, const struct views *s, struct meter *meter, float *mass,
           struct failure *why)
{
    struct memory memory = { 0 };
    struct pass pass = {
        .views = s, .give = true, .chunk = chunk_rows(a, s->n), .memory = &memory,
        .meter = meter
    };
    bool good;

    pass.n_chunks = chunks_of(a, s->n);
    good = pass_create(a, &pass, why) && run(a, &pass, mass, why);
    for (int64_t i = 0; good && i < s->n; i++)
        mass[i] = -mass[i];
    pass.give = false;
    pass.bias = mass;
    good = good && run(a, &pass, mass, why);
    for (int64_t i = 0; good && i < s->n; i++)
        mass[i] = expf(mass[i]);
    pass_destroy(a, &pass);
    return good;
}
