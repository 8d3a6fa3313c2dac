/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A call becomes a shape; the mask becomes ranges, ranges and bits, or ranges and a bias; keys and
 * values that heed does not read become halves; then the plan of the shape runs. All loops are on
 * heed's own threads: a second pool would wait for the first one's processors.
 */
#include "context.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

enum { GRAIN = 1 << 15 }; /* elements that a task reads at least */

/* What one call has come to. */
struct job {
    struct heed_attend *attend;
    const struct heed_attend_call *call;
    struct heed_attend_shape shape;
    heed_kv_bufs kv;
    int32_t *ranges;   /* [mask items][n_q][2] */
    void *mask;        /* slot 2: bits, or what is added */
    void *slopes;      /* slot 3 */
    int64_t low, high; /* keys that some row sees lie in [low, high) */
    heed_report *report;
};

static heed_status no_memory(const struct job *job)
{
    return heed_attend_refuse(job->report, HEED_E_NOMEM, "memory",
                              "no memory for what a call needs beside it");
}

/* ---- from a call to a shape ---------------------------------------------------- */

/* Strides of batch, head and row in units of `unit` bytes; 0 if one is no multiple. */
static int strides(const struct heed_attend_tensor *t, int64_t unit, int64_t out[3])
{
    for (int i = 0; i < 3; i++) {
        if (t->nb[3 - i] % unit != 0)
            return 0;
        out[i] = t->nb[3 - i] / unit;
    }
    if (t->ne[3] == 1)
        out[0] = 0;
    return 1;
}

/* [items][H_k][n_k][d] of halves, dense. */
static void converted_strides(const struct heed_attend_tensor *t, int64_t out[3])
{
    out[2] = t->ne[0];
    out[1] = t->ne[0] * t->ne[1];
    out[0] = t->ne[3] == 1 ? 0 : out[1] * t->ne[2];
}

/* Does heed read the tensor as it lies? */
static int is_read(const struct heed_attend *attend, const struct heed_attend_tensor *t)
{
    const struct heed_attend_type *const type = attend->rows->type(t->type);
    int64_t out[3];

    return type->heed != 0 && strides(t, type->bytes, out);
}

/* Type and strides of keys or values, as heed will see them. */
static void shape_kv(const struct heed_attend *attend, const struct heed_attend_tensor *t,
                     uint32_t *type, int64_t out[3])
{
    if (is_read(attend, t)) {
        *type = attend->rows->type(t->type)->heed;
        (void)strides(t, attend->rows->type(t->type)->bytes, out);
    } else {
        *type = HEED_F16;
        converted_strides(t, out);
    }
}

struct rule {
    int kept;
    const char *field, *message;
};

/* Keys or values: a known type whose rows are whole blocks side by side, where heed reads them or
 * they can be converted. */
static int is_known(const struct heed_attend *attend, const struct heed_attend_tensor *t)
{
    const struct heed_attend_type *const type = attend->rows->type(t->type);

    return type != NULL && t->nb[0] == type->bytes && t->ne[0] % type->elements == 0 &&
           (type->unpack != NULL || is_read(attend, t));
}

static int is_dense_row(const struct heed_attend_tensor *t, uint32_t type, int64_t size)
{
    int64_t out[3];

    return t->type == type && t->nb[0] == size && strides(t, size, out);
}

static int is_item_axis(const struct heed_attend_tensor *t, int64_t batch)
{
    return t->ne[3] == batch || t->ne[3] == 1;
}

static int is_mask(const struct heed_attend_call *c)
{
    const struct heed_attend_tensor *const m = &c->mask;

    return m->data == NULL ||
           (is_dense_row(m, HEED_ATTEND_F16, 2) && m->ne[2] == 1 && m->ne[1] >= c->q.ne[1] &&
            m->ne[0] >= c->k.ne[1] && is_item_axis(m, c->q.ne[3]));
}

static heed_status obey(const struct heed_attend *attend, const struct heed_attend_call *c,
                        heed_report *report)
{
    const struct rule rules[] = {
        { is_dense_row(&c->q, HEED_ATTEND_F32, 4), "q", "is not f32 with channels side by side" },
        { is_dense_row(&c->o, HEED_ATTEND_F32, 4), "o", "is not f32 with channels side by side" },
        { is_known(attend, &c->k), "k", "has a type or rows that are not known here" },
        { is_known(attend, &c->v), "v", "has a type or rows that are not known here" },
        { c->k.ne[0] == c->q.ne[0], "k", "has other channels than q" },
        { c->k.ne[1] == c->v.ne[1] && c->k.ne[1] <= INT32_MAX, "v", "has not as many rows as k" },
        { c->k.ne[2] == c->v.ne[2], "v", "has not as many heads as k" },
        { c->k.ne[2] > 0 && c->q.ne[2] % c->k.ne[2] == 0, "k", "has heads that do not divide q's" },
        { is_item_axis(&c->k, c->q.ne[3]), "k", "has another batch than q" },
        { is_item_axis(&c->v, c->q.ne[3]), "v", "has another batch than q" },
        { is_mask(c), "mask", "is not f16 [>= n_k][>= n_q][1][B or 1]" },
        { c->mask.data != NULL || !(c->max_bias > 0), "mask", "is absent beside a max_bias" },
        { c->sinks.data == NULL || c->sinks.type == HEED_ATTEND_F32, "sinks", "are not f32" },
        { c->o.ne[0] == c->v.ne[0] && c->o.ne[1] == c->q.ne[1] && c->o.ne[2] == c->q.ne[2] &&
              c->o.ne[3] == c->q.ne[3],
          "o", "is not [d_v][n_q][H][B]" },
    };

    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        if (!rules[i].kept)
            return heed_attend_refuse(report, HEED_E_UNSUPPORTED, rules[i].field, rules[i].message);
    }
    return HEED_OK;
}

/* The shape with the most that its mask may turn out to be. */
static heed_status shape_of(const struct heed_attend *attend, const struct heed_attend_call *c,
                            struct heed_attend_shape *s, heed_report *report)
{
    const heed_status status = obey(attend, c, report);

    if (status < 0)
        return status;
    memset(s, 0, sizeof *s);
    s->batch = c->q.ne[3];
    s->heads = c->q.ne[2];
    s->kv_heads = c->k.ne[2];
    s->rows = c->q.ne[1];
    s->keys = c->k.ne[1];
    s->d = c->q.ne[0];
    s->d_v = c->v.ne[0];
    s->k_items = c->k.ne[3];
    s->v_items = c->v.ne[3];
    (void)strides(&c->q, 4, s->q);
    (void)strides(&c->o, 4, s->o);
    shape_kv(attend, &c->k, &s->k_type, s->k);
    shape_kv(attend, &c->v, &s->v_type, s->v);
    s->sinks = c->sinks.data != NULL;
    s->scale = c->scale;
    s->softcap = c->softcap;
    if (c->mask.data != NULL) {
        s->form = c->max_bias > 0 ? HEED_ATTEND_SLOPED : HEED_ATTEND_BIAS;
        s->mask_items = c->mask.ne[3];
        s->mask[0] = c->mask.ne[3] == 1 ? 0 : c->mask.nb[3] / 2;
        s->mask[1] = c->mask.nb[1] / 2;
    }
    return HEED_OK;
}

heed_status heed_attend_check(const struct heed_attend *attend, const struct heed_attend_call *call,
                              heed_report *report)
{
    struct heed_attend_described described;
    struct heed_attend_shape shape;
    const heed_status status = shape_of(attend, call, &shape, report);

    if (status < 0)
        return status;
    heed_attend_describe(&shape, &described);
    return heed_attn_check(attend->device, &described.desc, report);
}

/* ---- loops on heed's threads ------------------------------------------------------ */

/* Lines of a call, so many a task. */
struct loop {
    const struct job *job;
    int64_t lines, each;
    void (*line)(struct loop *, int64_t line);
    const struct heed_attend_tensor *from; /* of conversions */
    uint16_t *to;
    atomic_uint found; /* of scans: HEED_ATTEND_HOLES_IN and HEED_ATTEND_NUMBERS_IN, some row has */
};

static void loop_task(void *given, int64_t task)
{
    struct loop *const loop = given;
    const int64_t begin = task * loop->each;
    const int64_t end = begin + loop->each < loop->lines ? begin + loop->each : loop->lines;

    for (int64_t i = begin; i < end; i++)
        loop->line(loop, i);
}

/* Every line has `length` elements. */
static heed_status run_loop(struct loop *loop, int64_t length)
{
    loop->each = length < GRAIN ? GRAIN / (length > 0 ? length : 1) : 1;
    if (loop->lines <= loop->each) {
        loop_task(loop, 0);
        return HEED_OK;
    }
    return heed_parallel(loop->job->attend->queue, (loop->lines + loop->each - 1) / loop->each,
                         loop_task, loop, loop->job->report);
}

/* ---- the mask ---------------------------------------------------------------------- */

static const uint16_t *mask_row(const struct job *job, int64_t line)
{
    const struct heed_attend_tensor *const m = &job->call->mask;
    const int64_t item = line / job->shape.rows, row = line % job->shape.rows;
    const char *const at = (const char *)m->data + item * m->nb[3] + row * m->nb[1];

    return (const uint16_t *)(const void *)at;
}

static void scan_line(struct loop *loop, int64_t line)
{
    const struct job *const job = loop->job;
    const unsigned found =
        job->attend->rows->scan(mask_row(job, line), job->shape.keys, job->ranges + 2 * line);

    if (found != 0)
        atomic_fetch_or_explicit(&loop->found, found, memory_order_relaxed);
}

/* Where keys are seen at all; 1 if every row sees all of them. */
static int reach_of(struct job *job, int64_t lines)
{
    int full = 1;

    job->low = job->shape.keys;
    job->high = 0;
    for (int64_t i = 0; i < lines; i++) {
        const int32_t begin = job->ranges[2 * i], end = job->ranges[2 * i + 1];

        full = full && begin == 0 && end == job->shape.keys;
        job->low = begin < end && begin < job->low ? begin : job->low;
        job->high = end > job->high ? end : job->high;
    }
    return full;
}

static float slope_of(const struct job *job, int64_t head)
{
    const double most = (double)job->call->max_bias;
    int64_t power = 1;

    while (2 * power <= job->shape.heads)
        power *= 2;
    if (head < power)
        return (float)exp2(-most * (double)(head + 1) / (double)power);
    return (float)exp2(-most / 2 * (double)(2 * (head - power) + 1) / (double)power);
}

/* One for each head, which the sum multiplies the mask by. */
static heed_status write_slopes(struct job *job)
{
    float *const slopes = heed_attend_need(job->attend, &job->attend->slopes,
                                           (size_t)job->shape.heads * sizeof(float));

    if (slopes == NULL)
        return no_memory(job);
    for (int64_t head = 0; head < job->shape.heads; head++)
        slopes[head] = slope_of(job, head);
    job->slopes = slopes;
    return HEED_OK;
}

static void bits_line(struct loop *loop, int64_t line)
{
    const struct job *const job = loop->job;
    const int64_t words = (job->shape.keys + 31) / 32;

    job->attend->rows->bits(mask_row(job, line), job->shape.keys,
                            (uint32_t *)job->mask + line * words);
}

/* The mask as a bit for each key: all that is added is 0. */
static heed_status write_bits(struct job *job)
{
    struct heed_attend_shape *const s = &job->shape;
    struct loop loop = { .job = job, .lines = s->mask_items * s->rows, .line = bits_line };

    s->form = HEED_ATTEND_BITS;
    s->mask[0] = s->mask[1] = 0;
    job->mask = heed_attend_need(job->attend, &job->attend->bits,
                                 (size_t)loop.lines * (size_t)((s->keys + 31) / 32) * 4);
    return job->mask != NULL ? run_loop(&loop, s->keys) : no_memory(job);
}

/* What the plan need not know of is left out of the shape, so that fewer plans serve. */
static void as_ranges(struct job *job, int full)
{
    job->shape.form = full ? HEED_ATTEND_ALL : HEED_ATTEND_RANGES;
    job->shape.mask[0] = job->shape.mask[1] = 0;
    if (full)
        job->shape.mask_items = 0;
}

static heed_status read_mask(struct job *job)
{
    struct heed_attend_shape *const s = &job->shape;
    struct loop loop = { .job = job, .lines = s->mask_items * s->rows, .line = scan_line };
    heed_status status;
    unsigned found;
    int full;

    job->low = 0;
    job->high = s->keys;
    if (job->call->mask.data == NULL)
        return HEED_OK;
    job->ranges = heed_attend_need(job->attend, &job->attend->ranges,
                                   (size_t)loop.lines * 2 * sizeof(int32_t));
    if (job->ranges == NULL)
        return no_memory(job);
    status = run_loop(&loop, s->keys);
    if (status < 0)
        return status;
    full = reach_of(job, loop.lines);
    found = atomic_load(&loop.found);
    if (found == 0) {
        as_ranges(job, full);
        return HEED_OK;
    }
    if ((found & HEED_ATTEND_NUMBERS_IN) == 0)
        return write_bits(job);
    job->attend->usage.biased++;
    job->mask = job->call->mask.data;
    return s->form == HEED_ATTEND_SLOPED ? write_slopes(job) : HEED_OK;
}

/* ---- keys and values ------------------------------------------------------------------ */

/* Line: item, head, row. Rows that nobody sees are left out. */
static void convert_line(struct loop *loop, int64_t line)
{
    const struct heed_attend_tensor *const t = loop->from;
    const struct heed_attend_rows *const rows = loop->job->attend->rows;
    const int64_t row = line % t->ne[1], head = line / t->ne[1] % t->ne[2];
    const int64_t item = line / t->ne[1] / t->ne[2];
    const char *const at =
        (const char *)t->data + item * t->nb[3] + head * t->nb[2] + row * t->nb[1];

    if (row >= loop->job->low && row < loop->job->high) {
        rows->convert(rows->type(t->type), (const uint8_t *)at, loop->to + line * t->ne[0],
                      t->ne[0]);
    }
}

static heed_status convert(struct job *job, const struct heed_attend_tensor *t,
                           struct heed_attend_array *array, heed_buf *to)
{
    struct loop loop = {
        .job = job, .lines = t->ne[1] * t->ne[2] * t->ne[3], .line = convert_line, .from = t
    };

    loop.to =
        heed_attend_need(job->attend, array, (size_t)(loop.lines * t->ne[0]) * sizeof *loop.to);
    if (loop.to == NULL)
        return no_memory(job);
    to->handle = loop.to;
    return run_loop(&loop, t->ne[0]);
}

/* Is v the first channels of k? */
static int is_within(const struct heed_attend_tensor *v, const struct heed_attend_tensor *k)
{
    return v->data == k->data && v->type == k->type && v->ne[0] <= k->ne[0] &&
           memcmp(v->nb, k->nb, sizeof v->nb) == 0 &&
           memcmp(v->ne + 1, k->ne + 1, 3 * sizeof v->ne[0]) == 0;
}

static heed_status read_kv(struct job *job)
{
    struct heed_attend *const attend = job->attend;
    const struct heed_attend_call *const c = job->call;
    const int k_read = is_read(attend, &c->k), v_read = is_read(attend, &c->v);
    heed_status status = HEED_OK;

    job->kv = (heed_kv_bufs){ .k = { .handle = c->k.data }, .v = { .handle = c->v.data } };
    if (!k_read || !v_read)
        attend->usage.converted++;
    if (!k_read)
        status = convert(job, &c->k, &attend->k, &job->kv.k);
    if (status < 0 || v_read)
        return status;
    if (is_within(&c->v, &c->k)) {
        job->kv.v = job->kv.k;
        memcpy(job->shape.v, job->shape.k, sizeof job->shape.v);
        return HEED_OK;
    }
    return convert(job, &c->v, &attend->v, &job->kv.v);
}

/* ---- the run --------------------------------------------------------------------------- */

static heed_status run_plan(struct job *job)
{
    static const uint32_t slots_of[] = { [HEED_ATTEND_ALL] = 0,
                                         [HEED_ATTEND_RANGES] = 1,
                                         [HEED_ATTEND_BITS] = 2,
                                         [HEED_ATTEND_BIAS] = 2,
                                         [HEED_ATTEND_SLOPED] = 3 };
    struct heed_attend *const attend = job->attend;
    const struct heed_attend_call *const c = job->call;
    const heed_buf slots[3] = { { .handle = job->ranges },
                                { .handle = job->mask },
                                { .handle = job->slopes } };
    const struct heed_attend_planned *planned;
    heed_attn_args args = { .size = sizeof args, .kv_size = sizeof job->kv };
    heed_status status =
        heed_attend_plan(&attend->plans, attend->device, &job->shape, &planned, job->report);

    if (status < 0)
        return status;
    args.workspace.handle = heed_attend_need(attend, &attend->work, planned->props.workspace_size);
    if (args.workspace.handle == NULL)
        return no_memory(job);
    args.workspace_size = planned->props.workspace_size;
    args.q.handle = c->q.data;
    args.o.handle = c->o.data;
    args.sinks.handle = c->sinks.data;
    args.kv = &job->kv;
    args.slots = slots;
    args.n_slots = slots_of[job->shape.form];
    status = heed_attn_run(planned->plan, attend->queue, &args, NULL, job->report);
    if (status >= 0)
        attend->usage.runs++;
    return status;
}

heed_status heed_attend_run(struct heed_attend *attend, const struct heed_attend_call *call,
                            heed_report *report)
{
    struct job job = { .attend = attend, .call = call, .report = report };
    heed_status status = shape_of(attend, call, &job.shape, report);

    if (status >= 0)
        status = heed_attend_ready(attend, report);
    if (status >= 0)
        status = read_mask(&job);
    if (status >= 0)
        status = read_kv(&job);
    return status >= 0 ? run_plan(&job) : status;
}
