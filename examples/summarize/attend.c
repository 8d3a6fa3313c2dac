/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Everything this program asks of heed, in one place. Salience follows the
 * top-down scheme of Pang et al. 2023 (section 2) without weights:
 *
 *   local    windowed attention of the sentences among themselves
 *   pool     mean of the local vectors of each segment: attention at scale 0
 *   global   full attention of the segments among themselves
 *   return   sentences look at the segments and take the document's topics back
 *   probe    with local and returned vector as the query, how much does sentence i
 *            attend to sentence j? The mass j receives is the sum over i of
 *            exp(q_i . x_j * scale - LSE_i), which is exp(LSE) of a second call
 *            with queries and keys exchanged and -LSE as the bias of the keys.
 *
 * No step holds an n x n matrix. The probe looks PROBE_REACH sentences to each
 * side, which is the whole document unless it is a very long one, so time is
 * linear in the end; it runs in chunks of rows to be able to tell how far it is.
 * Sentences without a vector ("Yes.") take no part. Host code between the calls only
 * scales rows to unit length.
 */
#include "summarize.h"

#include <heed/attn.h>
#include <heed/heed.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    LOCAL_REACH = 24,              /* sentences to each side */
    PROBE_REACH = 2048,
    PROBE_ROWS = 2048              /* rows of one call */
};
static const double sharpness = 8;     /* scale of a cosine before the softmax */

struct attend {
    heed_runtime *runtime;
    heed_device *device;
    heed_queue *queue;
    heed_device_props props;
    heed_report report;            /* of the last call */
};

/* A matrix of floats on the device; rows may repeat (row_stride 0). */
struct matrix {
    heed_buf buf;
    int64_t rows, width, row_stride;
};

/* One attention: o = softmax(q k^T * scale + bias) v, one head. */
struct step {
    const char *name;              /* for messages */
    struct matrix q, k, v, o;
    heed_buf lse;                  /* no handle: not wanted */
    double scale;
    int64_t q_pos0;                /* position of row 0 of q */
    heed_term term;                /* what a row sees; kind ALL: everything */
    const float *key_bias;         /* host, [k.rows], or NULL */
    const int32_t *ranges;         /* host, [q.rows][2], for SEGMENT, or NULL */
};

/* ---- helpers ------------------------------------------------------------- */

static bool failed(const struct attend *a, const char *what, heed_status status,
                   struct failure *why)
{
    const heed_report *const r = &a->report;
    const bool told = r->status == status && r->message[0] != '\0';

    snprintf(why->text, sizeof(why->text), "%s: %s%s%s%s%s", what, heed_status_name(status),
             told && r->field[0] ? ", " : "", told ? r->field : "", told ? ": " : "",
             told ? r->message : "");
    why->usage = status == HEED_E_NOT_FOUND || status == HEED_E_NOT_BUILT ||
                 status == HEED_E_UNSUPPORTED;
    return false;
}

/* A one-head tensor of rank 4, [1][1][rows][width]. */
static heed_tensor tensor4(const struct matrix *m)
{
    heed_tensor t = heed_array4(HEED_F32, NULL, 1, 1, m->rows, m->width).t;

    t.stride[2] = m->row_stride;
    return t;
}

static heed_tensor tensor_of(uint32_t dtype, uint32_t ndim, const int64_t *shape)
{
    heed_tensor t = { .dtype = dtype, .ndim = ndim };
    int64_t stride = 1;

    for (uint32_t i = ndim; i-- > 0; stride *= shape[i]) {
        t.shape[i] = shape[i];
        t.stride[i] = stride;
    }
    return t;
}

/* Rows [begin, begin + rows) of m. */
static struct matrix rows_of(struct matrix m, int64_t begin, int64_t rows)
{
    m.buf.offset += (uint64_t)(begin * m.row_stride) * sizeof(float);
    m.rows = rows;
    return m;
}

/* m with no channel: where only the LSE is wanted, nothing is summed. */
static struct matrix no_channels(struct matrix m)
{
    m.width = 0;
    return m;
}

static bool matrix_create(struct attend *a, struct matrix *m, int64_t rows, int64_t width,
                          struct failure *why)
{
    const heed_status status =
        heed_buf_create(a->device, (uint64_t)rows * (uint64_t)width * sizeof(float), &m->buf, NULL);

    if (status < 0)
        return failed(a, "device memory", status, why);
    m->rows = rows;
    m->width = m->row_stride = width;
    return true;
}

static void matrix_destroy(struct attend *a, struct matrix *m)
{
    heed_buf_destroy(a->device, m->buf);
}

static bool matrix_write(struct attend *a, const struct matrix *m, const float *from,
                         struct failure *why)
{
    const uint64_t bytes = (uint64_t)m->rows * (uint64_t)m->width * sizeof(float);
    const heed_status status = heed_buf_write(a->queue, m->buf, from, bytes, NULL);

    return status >= 0 || failed(a, "copy to the device", status, why);
}

static bool matrix_read(struct attend *a, float *to, const struct matrix *m,
                        struct failure *why)
{
    const uint64_t bytes = (uint64_t)m->rows * (uint64_t)m->width * sizeof(float);
    const heed_status status = heed_buf_read(a->queue, to, m->buf, bytes, NULL);

    return status >= 0 || failed(a, "copy from the device", status, why);
}

/* Plans, runs and waits. The plan copies the slots' data and holds its workspace. */
static bool run(struct attend *a, const struct step *s, struct failure *why)
{
    const heed_bias bias = { .kind = HEED_BIAS_DENSE, .t = 1 };
    const heed_kv_bufs kv = { s->k.buf, s->v.buf };
    const heed_buf unbound = { 0 };
    heed_slot slot = { .data = s->ranges ? (const void *)s->ranges : s->key_bias };
    heed_source source = {
        .k = tensor4(&s->k), .v = tensor4(&s->v),
        .terms = &s->term, .n_terms = 1, .term_size = sizeof(s->term),
        .biases = &bias, .n_biases = s->key_bias ? 1 : 0, .bias_size = sizeof(bias)
    };
    heed_attn_desc desc = {
        .size = sizeof(desc),
        .flags = HEED_ATTN_ALIGN_START | HEED_ATTN_SCALE_GIVEN | HEED_PLAN_OWN_WORKSPACE,
        .q = tensor4(&s->q), .o = tensor4(&s->o), .q_pos0 = s->q_pos0,
        .sources = &source, .n_sources = 1, .source_size = sizeof(source),
        .slots = &slot, .n_slots = slot.data ? 1 : 0, .slot_size = sizeof(slot),
        .scale = s->scale
    };
    const heed_attn_args args = {
        .size = sizeof(args), .kv_size = sizeof(kv),
        .q = s->q.buf, .o = s->o.buf, .lse = s->lse,
        .kv = &kv, .slots = &unbound, .n_slots = desc.n_slots
    };
    heed_plan *plan = NULL;
    heed_status status;

    if (s->ranges)
        slot.t = tensor_of(HEED_I32, 3, (const int64_t[]){ 1, s->q.rows, 2 });
    else if (s->key_bias)
        slot.t = tensor_of(HEED_F32, 4, (const int64_t[]){ 1, 1, 1, s->k.rows });
    if (s->lse.handle)
        desc.lse = tensor_of(HEED_F32, 3, (const int64_t[]){ 1, 1, s->q.rows });

    status = heed_attn_plan(a->device, &desc, &plan, &a->report);
    if (status >= 0)
        status = heed_attn_run(plan, a->queue, &args, NULL, &a->report);
    if (status >= 0)
        status = heed_queue_wait(a->queue, NULL);
    heed_plan_drop(plan);
    return status >= 0 || failed(a, s->name, status, why);
}

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

/* ---- the scheme ---------------------------------------------------------- */

struct state {
    int64_t *kept;                 /* sentence of each row: those that have a vector */
    int32_t *ranges;               /* rows of each segment that has some */
    int64_t n, n_segments;         /* rows and ranges */
    struct matrix x;               /* sentences, unit rows */
    struct matrix local;           /* then the queries of the probe */
    struct matrix back;            /* what the segments give back */
    struct matrix pooled, topics;  /* segments */
    struct matrix lse;             /* [n][1] */
    float *rows;                   /* host, [n][VECTOR_WIDTH] */
    float *more;                   /* likewise */
};

/* Rows and ranges of the sentences that have a vector. */
static bool state_index(struct state *s, const struct document *doc, const struct vectors *v)
{
    s->kept = malloc(((size_t)doc->n + 1) * sizeof(*s->kept));
    s->ranges = malloc(((size_t)doc->n_segments + 1) * 2 * sizeof(*s->ranges));
    if (!s->kept || !s->ranges)
        return false;
    for (int64_t i = 0; i < doc->n_segments; i++) {
        const int64_t first = s->n;

        for (int64_t j = doc->segments[i]; j < doc->segments[i + 1]; j++) {
            if (v->row[j + 1] > v->row[j])
                s->kept[s->n++] = j;
        }
        if (s->n > INT32_MAX)
            return false;
        if (s->n > first) {
            s->ranges[2 * s->n_segments] = (int32_t)first;
            s->ranges[2 * s->n_segments + 1] = (int32_t)s->n;
            s->n_segments++;
        }
    }
    return true;
}

static bool state_create(struct attend *a, struct state *s, const struct document *doc,
                         const struct vectors *v, struct failure *why)
{
    if (!state_index(s, doc, v))
        goto no_memory;
    s->rows = malloc(((size_t)s->n + 1) * VECTOR_WIDTH * sizeof(float));
    s->more = malloc(((size_t)s->n + 1) * VECTOR_WIDTH * sizeof(float));
    if (!s->rows || !s->more)
        goto no_memory;
    for (int64_t i = 0; i < s->n; i++)
        vectors_expand(v, s->kept[i], s->rows + i * VECTOR_WIDTH);
    return matrix_create(a, &s->x, s->n, VECTOR_WIDTH, why) &&
           matrix_create(a, &s->local, s->n, VECTOR_WIDTH, why) &&
           matrix_create(a, &s->back, s->n, VECTOR_WIDTH, why) &&
           matrix_create(a, &s->pooled, s->n_segments, VECTOR_WIDTH, why) &&
           matrix_create(a, &s->topics, s->n_segments, VECTOR_WIDTH, why) &&
           matrix_create(a, &s->lse, s->n, 1, why) && matrix_write(a, &s->x, s->rows, why);
no_memory:
    snprintf(why->text, sizeof(why->text), "not enough memory for %lld sentences",
             (long long)doc->n);
    return false;
}

static void state_destroy(struct attend *a, struct state *s)
{
    matrix_destroy(a, &s->x);
    matrix_destroy(a, &s->local);
    matrix_destroy(a, &s->back);
    matrix_destroy(a, &s->pooled);
    matrix_destroy(a, &s->topics);
    matrix_destroy(a, &s->lse);
    free(s->kept);
    free(s->ranges);
    free(s->rows);
    free(s->more);
}

/* local: every sentence takes in its neighbours. */
static bool look_around(struct attend *a, struct state *s, struct failure *why)
{
    const struct step step = {
        .name = "local attention", .q = s->x, .k = s->x, .v = s->x, .o = s->local,
        .scale = sharpness,
        .term = { .kind = HEED_TERM_WINDOW, .left = LOCAL_REACH, .right = LOCAL_REACH }
    };

    return run(a, &step, why);
}

/* pool: at scale 0 all weights are equal; the mean of a range needs no query. */
static bool pool_segments(struct attend *a, struct state *s, struct failure *why)
{
    struct step step = {
        .name = "pooling", .q = s->x, .k = s->x, .v = s->local, .o = s->pooled,
        .scale = 0, .term = { .kind = HEED_TERM_SEGMENT, .slot = 1 }, .ranges = s->ranges
    };

    step.q.rows = s->n_segments;
    step.q.row_stride = 0;
    if (!run(a, &step, why) || !matrix_read(a, s->rows, &s->pooled, why))
        return false;
    for (int64_t i = 0; i < s->n_segments; i++)
        scale_to_unit(s->rows + i * VECTOR_WIDTH);
    return matrix_write(a, &s->pooled, s->rows, why);
}

/* global and return: from segments to topics, and from topics to sentences. */
static bool look_from_above(struct attend *a, struct state *s, struct failure *why)
{
    const struct step global = {
        .name = "attention of segments", .q = s->pooled, .k = s->pooled, .v = s->pooled,
        .o = s->topics, .scale = sharpness
    };
    const struct step back = {
        .name = "attention to segments", .q = s->x, .k = s->pooled, .v = s->topics,
        .o = s->back, .scale = sharpness
    };

    return run(a, &global, why) && run(a, &back, why);
}

/* The queries of the probe: local and returned vector in equal parts. */
static bool join_views(struct attend *a, struct state *s, struct failure *why)
{
    if (!matrix_read(a, s->rows, &s->local, why) || !matrix_read(a, s->more, &s->back, why))
        return false;
    for (int64_t i = 0; i < s->n; i++) {
        float *const row = s->rows + i * VECTOR_WIDTH, *const more = s->more + i * VECTOR_WIDTH;

        scale_to_unit(row);
        scale_to_unit(more);
        for (int k = 0; k < VECTOR_WIDTH; k++)
            row[k] += more[k];
        scale_to_unit(row);
    }
    return matrix_write(a, &s->local, s->rows, why);
}

struct meter {
    attend_progress *progress;
    void *context;
    int64_t done, all;
};

/* LSE of every row of q against the rows of k within reach, into s->lse. */
static bool probe(struct attend *a, struct state *s, struct matrix q, struct matrix k,
                  const float *key_bias, struct meter *meter, struct failure *why)
{
    for (int64_t at = 0; at < q.rows; at += PROBE_ROWS) {
        const int64_t rows = q.rows - at < PROBE_ROWS ? q.rows - at : PROBE_ROWS;
        const int64_t before = at < PROBE_REACH ? at : PROBE_REACH;
        const int64_t end = at + rows + PROBE_REACH;
        const int64_t first = at - before;
        const int64_t keys = (end < k.rows ? end : k.rows) - first;
        const struct matrix near = rows_of(k, first, keys);
        const struct step step = {
            .name = "probe", .q = rows_of(q, at, rows), .k = near, .v = no_channels(near),
            .o = no_channels(rows_of(s->back, at, rows)),
            .lse = rows_of(s->lse, at, rows).buf, .scale = sharpness, .q_pos0 = before,
            .term = { .kind = HEED_TERM_WINDOW, .left = PROBE_REACH, .right = PROBE_REACH },
            .key_bias = key_bias ? key_bias + first : NULL
        };

        if (!run(a, &step, why))
            return false;
        meter->done += rows;
        if (meter->progress)
            meter->progress(meter->context, meter->done, meter->all);
    }
    return true;
}

bool attend_mass(struct attend *a, const struct document *doc, const struct vectors *v,
                 attend_progress *progress, void *context, float *mass, struct failure *why)
{
    struct meter meter = { progress, context, 0, 0 };
    struct state s = { 0 };
    bool good = false;

    for (int64_t i = 0; i < doc->n; i++)
        mass[i] = 0;
    if (v->row[v->n] == 0)               /* no sentence has a vector */
        return true;
    if (!state_create(a, &s, doc, v, why))
        goto done;
    meter.all = 2 * s.n;
    if (!look_around(a, &s, why) || !pool_segments(a, &s, why) ||
        !look_from_above(a, &s, why) || !join_views(a, &s, why))
        goto done;

    if (!probe(a, &s, s.local, s.x, NULL, &meter, why) ||
        !matrix_read(a, s.more, &s.lse, why))
        goto done;
    for (int64_t i = 0; i < s.n; i++)
        s.more[i] = -s.more[i];
    if (!probe(a, &s, s.x, s.local, s.more, &meter, why) ||
        !matrix_read(a, s.more, &s.lse, why))
        goto done;
    for (int64_t i = 0; i < s.n; i++)
        mass[s.kept[i]] = expf(s.more[i]);
    good = true;
done:
    state_destroy(a, &s);
    return good;
}

/* ---- opening a device ---------------------------------------------------- */

/* Where devices may keep kernels that they compile; NULL: nowhere. */
static const char *cache_dir(char room[1024])
{
    const char *own = getenv("HEED_CACHE_DIR"), *all = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    int n = -1;

    if (own)
        n = snprintf(room, 1024, "%s", own);
    else if (all && all[0] == '/')
        n = snprintf(room, 1024, "%s/heed", all);
    else if (home && home[0] == '/')
        n = snprintf(room, 1024, "%s/.cache/heed", home);
    return n > 0 && n < 1024 ? room : NULL;
}

struct attend *attend_open(const char *device, struct failure *why)
{
    struct attend *const a = calloc(1, sizeof(*a));
    char room[1024];
    const heed_runtime_desc desc = { .size = sizeof(desc), .cache_dir = cache_dir(room) };
    heed_status status;

    if (!a) {
        snprintf(why->text, sizeof(why->text), "not enough memory");
        return NULL;
    }
    a->report.size = sizeof(a->report);
    a->props.size = sizeof(a->props);
    status = heed_runtime_create(&desc, &a->runtime, &a->report);
    if (status >= 0)
        status = heed_device_find(a->runtime, device, &a->device, &a->report);
    if (status >= 0)
        status = heed_device_info(a->device, &a->props);
    if (status >= 0)
        status = heed_queue_create(a->device, 0, &a->queue, &a->report);
    if (status >= 0)
        return a;
    failed(a, device ? device : "default device", status, why);
    attend_close(a);
    return NULL;
}

void attend_close(struct attend *a)
{
    if (!a)
        return;
    heed_queue_destroy(a->queue);
    heed_runtime_destroy(a->runtime);
    free(a);
}

const char *attend_device(const struct attend *a)
{
    return a->props.name;
}
