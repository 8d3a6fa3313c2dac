/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * pool against attention on the same device: heed/pool.h promises that MEAN, WEIGHTED, DYNAMIC and
 * BUCKET have the bits of an attention without channels over the same tokens, whose biases are the
 * weights.
 */
#include "pool.h"
#include "conform/engine/refusals.h"

#include <stdlib.h>
#include <string.h>

/* One row of an item as an attention. */
struct one_row {
    const struct target *on;
    unsigned char *mask; /* [N] */
    float *weight;       /* [N], NULL: none */
    unsigned char *v;    /* [N][d], in the type of x */
    int64_t n, d;
    uint32_t x_dtype, y_dtype;
};

static heed_tensor tensor2(uint32_t dtype, int64_t rows, int64_t columns)
{
    return (heed_tensor){ dtype, 2, { rows, columns }, { columns, 1 } };
}

/* o: [d] in the type of y. */
static heed_status attend(const struct one_row *r, heed_buf v, heed_buf o, heed_report *report)
{
    heed_bias bias = { .kind = HEED_BIAS_DENSE, .t = 2 };
    heed_slot slots[2] = { { .t = tensor2(HEED_U8, 1, r->n), .data = r->mask },
                           { .t = tensor2(HEED_F32, 1, r->n), .data = r->weight } };
    heed_source source = { .k = tensor2(HEED_F32, r->n, 0), .v = tensor2(r->x_dtype, r->n, r->d),
                           .mask_slot = 1 };
    heed_kv_bufs kv = { .v = v };
    heed_buf none[2] = { { 0 } };
    const heed_attn_args args = { .size = sizeof args, .kv_size = sizeof kv, .o = o, .kv = &kv,
                                  .slots = none, .n_slots = r->weight ? 2 : 1 };
    const heed_attn_desc desc = {
        .size = sizeof desc,
        .flags = HEED_PLAN_OWN_WORKSPACE,
        .q = tensor2(HEED_F32, 1, 0),
        .o = tensor2(r->y_dtype, 1, r->d),
        .sources = &source,
        .n_sources = 1,
        .source_size = sizeof source,
        .slots = slots,
        .n_slots = args.n_slots,
        .slot_size = sizeof slots[0],
    };
    heed_plan *plan = NULL;
    heed_status status;

    source.biases = &bias;
    source.n_biases = r->weight ? 1 : 0;
    source.bias_size = sizeof bias;
    status = heed_attn_plan(r->on->device, &desc, &plan, report);
    if (status >= 0)
        status = heed_attn_run(plan, r->on->queue, &args, NULL, report);
    if (status >= 0)
        status = heed_queue_wait(r->on->queue, report);
    heed_plan_drop(plan);
    return status;
}

/* The same with memory of the device; `out` has room for d elements. */
static heed_status attend_there(const struct one_row *r, unsigned char *out, heed_report *report)
{
    const uint64_t v_bytes = (uint64_t)(r->n * r->d) * cf_dtype_size(r->x_dtype);
    const uint64_t o_bytes = (uint64_t)r->d * cf_dtype_size(r->y_dtype);
    heed_buf v = { 0 }, o = { 0 };
    heed_status status = heed_buf_create(r->on->device, v_bytes + 1, &v, report);

    if (status >= 0)
        status = heed_buf_create(r->on->device, o_bytes + 1, &o, report);
    if (status >= 0)
        status = heed_buf_write(r->on->queue, v, r->v, v_bytes, report);
    if (status >= 0)
        status = attend(r, v, o, report);
    if (status >= 0)
        status = heed_buf_read(r->on->queue, out, o, o_bytes, report);
    heed_buf_destroy(r->on->device, v);
    heed_buf_destroy(r->on->device, o);
    return status;
}

static void tokens_gather(const struct fixed_problem *p, struct one_row *r, int64_t b, int64_t h)
{
    const struct part *x = &p->part[X];
    const size_t size = cf_dtype_size(r->x_dtype);

    for (int64_t t = 0; t < r->n; t++) {
        for (int64_t c = 0; c < r->d; c++)
            memcpy(r->v + (size_t)(t * r->d + c) * size,
                   (const char *)x->a.data + (size_t)part_at(x, b, h, t, c) * size, size);
    }
}

static void row_compare(const struct fixed_problem *p, const struct one_row *r,
                        const unsigned char *out, const struct fixed_call *got, int64_t b,
                        int64_t h, int64_t j, struct verdict *v)
{
    const struct part *y = &p->part[Y];
    const size_t size = cf_dtype_size(r->y_dtype);

    for (int64_t c = 0; c < r->d && !v->failed; c++) {
        const size_t at = (size_t)part_at(y, b, h, j, c) * size;

        v->exact++;
        if (memcmp(out + (size_t)c * size, (const char *)got->out[Y].data + at, size) != 0)
            cf_fail(v, "attention over the tokens of y[%lld][%lld][%lld] differs at channel %lld",
                    (long long)b, (long long)h, (long long)j, (long long)c);
    }
}

static void row_relate(const struct fixed_problem *p, struct one_row *r,
                       const struct fixed_call *got, uint64_t hash, struct verdict *v)
{
    const int64_t b = (int64_t)(hash % (uint64_t)p->n_items),
                  h = (int64_t)(hash >> 8) % p->heads, j = (int64_t)(hash >> 16) % p->n[N_M];
    unsigned char *out = malloc((size_t)r->d * 4 + 1);
    heed_report report = { .size = sizeof report };
    heed_status status;

    if (out && pool_row(p, b, h, j, r->mask, r->weight)) {
        tokens_gather(p, r, b, h);
        status = attend_there(r, out, &report);
        if (status < 0 && !cf_refused(r->on, status, &report))
            cf_fail(v, "attention over the tokens of a row: %s: %s", heed_status_name(status),
                    report.message);
        else if (status >= 0)
            row_compare(p, r, out, got, b, h, j, v);
    }
    free(out);
}

void pool_relate(const struct target *on, const struct fixed_problem *p,
                 const struct fixed_call *got, struct verdict *v)
{
    const int64_t kind = p->c.v[C_KIND], rows = p->n[N_M];
    const bool weighted = kind == KIND_WEIGHTED || kind == KIND_DYNAMIC;
    struct one_row r = { .on = on, .n = p->n[N_N], .d = p->part[X].a.shape[3],
                         .x_dtype = p->part[X].a.dtype, .y_dtype = p->part[Y].a.dtype };

    if (kind == KIND_SUM || kind == KIND_MAX || kind == KIND_LINEAR || rows == 0 || p->heads == 0)
        return;
    r.mask = calloc((size_t)r.n + 1, 1);
    r.weight = weighted ? calloc((size_t)r.n + 1, sizeof *r.weight) : NULL;
    r.v = calloc((size_t)(r.n * r.d) + 1, cf_dtype_size(r.x_dtype));
    for (int i = 0; i < 3 && r.mask && r.v && (r.weight || !weighted) && !v->failed; i++)
        row_relate(p, &r, got, cf_mix2(p->c.seed, (uint64_t)i + 71) >> 20, v);
    free(r.mask);
    free(r.weight);
    free(r.v);
}
