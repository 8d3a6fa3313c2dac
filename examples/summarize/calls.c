/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Everything this program asks of heed, in one place: a device, matrices on it, and the
 * operations. Each call plans, runs and waits.
 */
#include "attend.h"
#include "progress.h"

#include <heed/memory.h>
#include <heed/pool.h>

#include <stdlib.h>
#include <string.h>

bool attend_failed(const struct attend *a, const char *what, heed_status status,
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

/* ---- matrices ------------------------------------------------------------- */

static heed_tensor tensor_of(uint32_t dtype, uint32_t ndim, const int64_t *shape)
{
    return heed_array_dense(dtype, NULL, ndim, shape).t;
}

/* [1][1][rows][width]; absent for an absent matrix. */
static heed_array array_of(const struct matrix *m)
{
    heed_array array = heed_array4(HEED_F32, NULL, 1, 1, m->rows, m->width);

    array.buf = m->buf;
    return array;
}

static heed_tensor tensor4(const struct matrix *m)
{
    return array_of(m).t;
}

struct matrix matrix_rows(struct matrix m, int64_t begin, int64_t rows)
{
    m.buf.offset += (uint64_t)(begin * m.width) * sizeof(float);
    m.rows = rows;
    return m;
}

struct matrix matrix_no_channels(struct matrix m)
{
    m.width = 0;
    return m;
}

bool matrix_create(struct attend *a, struct matrix *m, int64_t rows, int64_t width,
                   struct failure *why)
{
    const heed_status status =
        heed_buf_create(a->device, (uint64_t)rows * (uint64_t)width * sizeof(float), &m->buf, NULL);

    if (status < 0)
        return attend_failed(a, "device memory", status, why);
    m->rows = rows;
    m->width = width;
    return true;
}

void matrix_destroy(struct attend *a, struct matrix *m)
{
    heed_buf_destroy(a->device, m->buf);
    *m = (struct matrix){ .rows = 0 };
}

static bool write_buf(struct attend *a, heed_buf to, const void *from, uint64_t bytes,
                      struct failure *why)
{
    const heed_status status = heed_buf_write(a->queue, to, from, bytes, NULL);

    return status >= 0 || attend_failed(a, "copy to the device", status, why);
}

static bool read_buf(struct attend *a, void *to, heed_buf from, uint64_t bytes,
                     struct failure *why)
{
    const heed_status status = heed_buf_read(a->queue, to, from, bytes, NULL);

    return status >= 0 || attend_failed(a, "copy from the device", status, why);
}

/* A new buffer with what is at `from`. On failure it may exist and has to be destroyed. */
static bool send(struct attend *a, heed_buf *to, const void *from, uint64_t bytes,
                 struct failure *why)
{
    const heed_status status = heed_buf_create(a->device, bytes, to, NULL);

    return status >= 0 ? write_buf(a, *to, from, bytes, why)
                       : attend_failed(a, "device memory", status, why);
}

bool matrix_write(struct attend *a, const struct matrix *m, const float *from,
                  struct failure *why)
{
    return write_buf(a, m->buf, from, (uint64_t)(m->rows * m->width) * sizeof(float), why);
}

bool matrix_read(struct attend *a, float *to, const struct matrix *m, struct failure *why)
{
    return read_buf(a, to, m->buf, (uint64_t)(m->rows * m->width) * sizeof(float), why);
}

/* ---- operations ----------------------------------------------------------- */

/* What is described to attention besides q, o and lse. */
struct described {
    heed_source source[MAX_KEYS];
    heed_kv_bufs kv[MAX_KEYS];
    heed_slot slot[2 * MAX_KEYS];
    heed_buf slot_buf[2 * MAX_KEYS];
    heed_bias bias[MAX_KEYS];
    uint32_t n_slots;
};

/* Binds an array of the device; the number of its slot. */
static uint32_t add_slot(struct described *d, heed_tensor t, heed_buf buf)
{
    d->slot[d->n_slots].t = t;
    d->slot_buf[d->n_slots] = buf;
    return ++d->n_slots;
}

static void describe(struct described *d, const struct attention *s)
{
    for (uint32_t i = 0; i < s->n_keys; i++) {
        const struct keys *const keys = &s->keys[i];
        heed_source *const source = &d->source[i];

        *source = (heed_source){
            .k = tensor4(&keys->k), .v = tensor4(&keys->v),
            .terms = &keys->term, .n_terms = 1, .term_size = sizeof(keys->term),
            .biases = &d->bias[i], .bias_size = sizeof(d->bias[i])
        };
        d->kv[i] = (heed_kv_bufs){ keys->k.buf, keys->v.buf };
        if (keys->bias.buf.handle) {
            const int64_t shape[] = { 1, 1, 1, keys->k.rows };

            d->bias[i].kind = HEED_BIAS_DENSE;
            d->bias[i].t = add_slot(d, tensor_of(HEED_F32, 4, shape), keys->bias.buf);
            source->n_biases = 1;
        }
        if (keys->len.handle)
            source->len_slot = add_slot(d, tensor_of(HEED_I64, 1, (const int64_t[]){ 1 }),
                                        keys->len);
    }
}

/* Drops the plan; what ended, ended well or is told. */
static bool finish(struct attend *a, const char *name, heed_plan *plan, heed_status status,
                   struct failure *why)
{
    if (status >= 0)
        status = heed_queue_wait(a->queue, NULL);
    heed_plan_drop(plan);
    return status >= 0 || attend_failed(a, name, status, why);
}

bool call_attention(struct attend *a, const struct attention *s, struct failure *why)
{
    struct described d = { .n_slots = 0 };
    heed_attn_desc desc = {
        .size = sizeof(desc),
        .flags = HEED_ATTN_ALIGN_START | HEED_ATTN_SCALE_GIVEN | HEED_PLAN_OWN_WORKSPACE,
        .q = tensor4(&s->q), .o = tensor4(&s->o), .q_pos0 = s->q_pos0,
        .sources = d.source, .n_sources = s->n_keys, .source_size = sizeof(*d.source),
        .slots = d.slot, .slot_size = sizeof(*d.slot), .scale = s->scale
    };
    heed_attn_args args = {
        .size = sizeof(args), .kv_size = sizeof(*d.kv),
        .q = s->q.buf, .o = s->o.buf, .lse = s->lse.buf, .kv = d.kv, .slots = d.slot_buf
    };
    heed_plan *plan = NULL;
    heed_status status;

    describe(&d, s);
    desc.n_slots = args.n_slots = d.n_slots;
    if (s->lse.buf.handle)
        desc.lse = tensor_of(HEED_F32, 3, (const int64_t[]){ 1, 1, s->q.rows });
    status = heed_attn_plan(a->device, &desc, &plan, &a->report);
    if (status >= 0)
        status = heed_attn_run(plan, a->queue, &args, NULL, &a->report);
    return finish(a, s->name, plan, status, why);
}

static bool pool(struct attend *a, const char *name, const heed_pool_desc *desc,
                 const heed_pool_args *args, struct failure *why)
{
    heed_plan *plan = NULL;
    heed_status status = heed_pool_plan(a->device, desc, &plan, &a->report);

    if (status >= 0)
        status = heed_pool_run(plan, a->queue, args, NULL, &a->report);
    return finish(a, name, plan, status, why);
}

bool call_pool_ranges(struct attend *a, const struct matrix *x, const int32_t *ranges,
                      const struct matrix *y, struct failure *why)
{
    const heed_pool_desc desc = {
        .size = sizeof(desc), .flags = HEED_PLAN_OWN_WORKSPACE, .kind = HEED_POOL_MEAN,
        .x = tensor4(x), .y = tensor4(y),
        .ranges = tensor_of(HEED_I32, 3, (const int64_t[]){ 1, y->rows, 2 })
    };
    heed_pool_args args = { .size = sizeof(args), .x = x->buf, .y = y->buf };
    bool good;

    good = send(a, &args.ranges, ranges, (uint64_t)y->rows * 2 * sizeof(*ranges), why) &&
           pool(a, "means of segments", &desc, &args, why);
    heed_buf_destroy(a->device, args.ranges);
    return good;
}

bool call_pool_groups(struct attend *a, const struct matrix *x, const struct matrix *bias,
                      int64_t group, const struct matrix *y, struct failure *why)
{
    const heed_pool_desc desc = {
        .size = sizeof(desc), .flags = HEED_PLAN_OWN_WORKSPACE, .kind = HEED_POOL_WEIGHTED,
        .tail = HEED_TAIL_END, .kernel = group, .stride = group,
        .x = tensor4(x), .y = tensor4(y),
        .weights = tensor_of(HEED_F32, 3, (const int64_t[]){ 1, 1, x->rows })
    };
    const heed_pool_args args = {
        .size = sizeof(args), .x = x->buf, .y = y->buf, .weights = bias->buf
    };

    return pool(a, "means of groups", &desc, &args, why);
}

bool call_merge(struct attend *a, const struct parts *parts, const struct matrix *lse,
                struct failure *why)
{
    heed_array from = heed_array_dense(HEED_F32, NULL, 4, (const int64_t[]){ parts->n, 1,
                                                                            lse->rows, 0 });
    heed_array from_lse = heed_array_dense(HEED_F32, NULL, 3, (const int64_t[]){ parts->n, 1,
                                                                                lse->rows });
    const heed_array o = heed_array_dense(HEED_F32, NULL, 3, (const int64_t[]){ 1, lse->rows, 0 });
    heed_array to = heed_array_dense(HEED_F32, NULL, 2, (const int64_t[]){ 1, lse->rows });
    heed_status status;

    from_lse.t.stride[0] = parts->part_stride;
    from_lse.t.stride[2] = parts->row_stride;
    from_lse.buf = parts->buf;
    to.buf = lse->buf;
    status = heed_merge_simple(a->queue, &from, &from_lse, &o, &to, &a->report);
    return status >= 0 || attend_failed(a, "merge", status, why);
}

bool attend_best(struct attend *a, const float *score, const bool *present, int64_t n,
                 int64_t count, int32_t *ids, struct failure *why)
{
    const int64_t items[] = { 1, n };
    const float one = 1;
    const heed_select_desc desc = {
        .size = sizeof(desc), .flags = HEED_PLAN_OWN_WORKSPACE, .kind = HEED_SELECT_TOPK,
        .count = count, .x = tensor_of(HEED_F32, 2, (const int64_t[]){ n, 1 }),
        .q = tensor_of(HEED_F32, 2, (const int64_t[]){ 1, 1 }),
        .mask = tensor_of(HEED_U8, 2, items),
        .y = tensor_of(HEED_I32, 2, (const int64_t[]){ 1, count })
    };
    heed_select_args args = { .size = sizeof(args) };
    heed_plan *plan = NULL;
    heed_status status;
    bool good = false;

    status = heed_buf_create(a->device, (uint64_t)count * sizeof(*ids), &args.y, NULL);
    if (status < 0) {
        attend_failed(a, "device memory", status, why);
        goto done;
    }
    if (!send(a, &args.x, score, (uint64_t)n * sizeof(*score), why) ||
        !send(a, &args.q, &one, sizeof(one), why) ||
        !send(a, &args.mask, present, (uint64_t)n * sizeof(*present), why))
        goto done;
    status = heed_select_plan(a->device, &desc, &plan, &a->report);
    if (status >= 0)
        status = heed_select_run(plan, a->queue, &args, NULL, &a->report);
    good = finish(a, "best scores", plan, status, why) &&
           read_buf(a, ids, args.y, (uint64_t)count * sizeof(*ids), why);
done:
    heed_buf_destroy(a->device, args.x);
    heed_buf_destroy(a->device, args.q);
    heed_buf_destroy(a->device, args.mask);
    heed_buf_destroy(a->device, args.y);
    return good;
}

/* ---- rings ---------------------------------------------------------------- */

bool ring_clear(struct attend *a, const struct ring *r, struct failure *why)
{
    const int64_t zero = 0;

    return write_buf(a, r->head, &zero, sizeof(zero), why) &&
           write_buf(a, r->len, &zero, sizeof(zero), why);
}

bool ring_create(struct attend *a, struct ring *r, int64_t rows, int64_t width,
                 struct failure *why)
{
    heed_status status = heed_buf_create(a->device, sizeof(int64_t), &r->head, NULL);

    if (status >= 0)
        status = heed_buf_create(a->device, sizeof(int64_t), &r->len, NULL);
    if (status < 0)
        return attend_failed(a, "device memory", status, why);
    return matrix_create(a, &r->rows, rows, width, why) && ring_clear(a, r, why);
}

void ring_destroy(struct attend *a, struct ring *r)
{
    matrix_destroy(a, &r->rows);
    heed_buf_destroy(a->device, r->head);
    heed_buf_destroy(a->device, r->len);
    *r = (struct ring){ .rows = { .rows = 0 } };
}

bool call_push(struct attend *a, const struct ring *r, const struct matrix *x,
               const struct matrix *out, struct failure *why)
{
    const heed_array rows = array_of(&r->rows), fresh = array_of(x), fallen = array_of(out);
    const int64_t one = 1;
    heed_array head = heed_array_dense(HEED_I64, NULL, 1, &one), len = head;
    heed_status status;

    head.buf = r->head;
    len.buf = r->len;
    status = heed_push_simple(a->queue, &rows, &head, &len, &fresh,
                              out->buf.handle ? &fallen : NULL, NULL, &a->report);
    return status >= 0 || attend_failed(a, "push", status, why);
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
    const heed_runtime_desc desc = {
        .size = sizeof(desc), .logger = progress_logger(), .cache_dir = cache_dir(room)
    };
    heed_status status;

    if (!a) {
        snprintf(why->text, sizeof(why->text), "not enough memory");
        return NULL;
    }
    a->width = VECTOR_WIDTH;
    a->limits = (struct limits){ .chunk = 1024, .capacity = 256, .candidates = 4096 };
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
    attend_failed(a, device ? device : "default device", status, why);
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

struct limits *attend_limits(struct attend *a)
{
    return &a->limits;
}
