/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Descriptors of attention with extents up to 2^62, for the family check: inputs repeat by strides
 * of 0.
 */
#include "kinds.h"

#include <stdlib.h>
#include <string.h>

/* One descriptor: extents, and what else it has. */
struct vast {
    int64_t b, h, hk, nq, nk, d, dv, run, rows, reach, far;
    uint32_t dtype, features;
};

/* Features, bits. */
enum {
    V_LSE = 1,
    V_WINDOW = 2,
    V_GLOBAL = 4,
    V_STEP = 8,
    V_CAUSAL = 16,
    V_MASK = 32,
    V_DENSE = 64,
    V_LENGTHS = 128,
    V_RAGGED = 256,
    V_LISTED = 512,
    V_OWN = 1024,
    V_SINK = 2048,
    V_PAGED = 4096,
    V_RING = 8192,
    V_ALL = 16383
};

struct vast_call {
    struct job job;
    heed_attn_desc desc;
    heed_source source;
    heed_term terms[3];
    heed_bias bias;
    heed_slot slots[6];
};

static const int64_t vast_small[] = { 1, 2, 3, 0, 33, 64 };
static const int64_t vast_counts[] = {
    1,
    33,
    1 << 12,
    1 << 20,
    INT64_C(1) << 31,
    (INT64_C(1) << 31) + 1,
    INT64_C(1) << 33,
    INT64_C(1) << 40,
    INT64_C(1) << 60,
    INT64_C(1) << 62,
    INT64_MAX,
    0,
};
static const int64_t vast_widths[] = { 64, 8, 64, 1 << 12, 0, 1 << 20, INT64_C(1) << 40 };

#define PICK(r, table) (table)[rng_below(r, (int64_t)(sizeof(table) / sizeof *(table)))]

static struct vast vast_draw(struct rng *r)
{
    struct vast v = { .b = 1, .h = 1 };

    v.b = rng_below(r, 3) ? 1 + rng_below(r, 2) : PICK(r, vast_counts);
    v.h = rng_below(r, 4) ? 1 + rng_below(r, 4) : PICK(r, vast_counts);
    v.hk = rng_below(r, 2) ? 1 : v.h;
    v.nq = rng_below(r, 4) ? PICK(r, vast_counts) : PICK(r, vast_small);
    v.nk = rng_below(r, 4) ? PICK(r, vast_counts) : PICK(r, vast_small);
    v.d = rng_below(r, 3) ? 64 : PICK(r, vast_widths);
    v.dv = rng_below(r, 3) ? v.d : PICK(r, vast_widths);
    v.run = 1 + rng_below(r, 2) * (rng_below(r, 2) ? 15 : INT32_MAX - 1);
    v.rows = 1 + rng_below(r, 2) * (rng_below(r, 2) ? 63 : INT32_MAX - 1);
    v.reach = rng_below(r, 3) ? 128 : rng_below(r, 2) ? HEED_FAR : INT64_C(1) << 60;
    v.far = rng_below(r, 6) ? 0 : PICK(r, vast_counts);
    v.dtype = (uint32_t[]){ HEED_F32, HEED_F16, HEED_BF16 }[rng_below(r, 3)];
    v.features = (uint32_t)(rng_next(r) & rng_next(r)) & V_ALL;
    return v;
}

/* Extents right-aligned: of -1 there is no axis. Inputs have stride 0, but for a far one. */
static heed_tensor tensor(uint32_t dtype, const int64_t extent[4], bool output, int64_t far)
{
    heed_tensor t = { .dtype = dtype };
    int64_t stride = 1;

    for (int i = 0; i < 4; i++) {
        if (extent[i] >= 0)
            t.shape[t.ndim++] = extent[i];
    }
    for (uint32_t i = t.ndim; i-- > 0 && output;) {
        t.stride[i] = stride;
        if (t.shape[i] > 0)
            stride = stride > INT64_MAX / t.shape[i] ? INT64_MAX : stride * t.shape[i];
    }
    if (!output && t.ndim)
        t.stride[0] = far;
    return t;
}

/* A run-time slot. */
static uint32_t slot_add(struct vast_call *call, uint32_t dtype, int64_t x, int64_t y, int64_t z,
                         int64_t w)
{
    call->slots[call->desc.n_slots].t = tensor(dtype, (int64_t[4]){ x, y, z, w }, false, 0);
    return ++call->desc.n_slots;
}

static int64_t blocks_of(int64_t n, int64_t block)
{
    return n / block + (n % block != 0);
}

static const struct cf_layout *layout_of(const struct vast *v)
{
    static const struct {
        uint32_t feature;
        int row;
    } rows[] = { { V_LISTED, LAY_LISTED }, { V_PAGED, LAY_PAGED }, { V_RING, LAY_RING },
                 { V_RAGGED, LAY_RAGGED } };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (v->features & rows[i].feature)
            return &cf_layouts[rows[i].row];
    }
    return &cf_layouts[LAY_DENSE];
}

static void source_set(struct vast_call *call, const struct vast *v)
{
    heed_source *s = &call->source;
    const struct cf_layout *layout = layout_of(v);
    const int64_t rows = layout->pages ? v->run : v->nk;
    const int64_t first = layout->pages ? v->rows : layout->packed ? 1 : v->b;
    uint32_t n = 0;

    s->k = tensor(v->dtype, (int64_t[4]){ first, v->hk, rows, v->d }, false, v->far);
    s->v = tensor(v->dtype, (int64_t[4]){ first, v->hk, rows, v->dv }, false, 0);
    s->layout = layout->kind;
    if (layout->lists) {
        s->run = (int32_t)v->run;
        s->rows = (int32_t)v->rows;
        s->slot = slot_add(call, HEED_I32, v->b, 1, blocks_of(v->nq, v->rows), 4);
    }
    if (layout->axes == 0)
        s->slot = slot_add(call, HEED_I64, -1, -1, -1, v->b);
    if (layout->pages)
        s->slot = slot_add(call, HEED_I32, -1, -1, v->b, blocks_of(v->nk, v->run));
    if (layout->needs_len || v->features & V_LENGTHS)
        s->len_slot = slot_add(call, HEED_I64, -1, -1, -1, v->b);
    if (v->features & V_MASK)
        s->mask_slot = slot_add(call, HEED_U8, -1, v->b, 1, v->nk);
    s->flags = v->features & V_CAUSAL ? HEED_SOURCE_CAUSAL : 0;
    if (v->features & V_WINDOW && !layout->lists)
        call->terms[n++] =
            (heed_term){ .kind = HEED_TERM_WINDOW, .left = v->reach, .right = v->reach };
    if (v->features & V_GLOBAL && !layout->lists)
        call->terms[n++] = (heed_term){ .kind = HEED_TERM_GLOBAL,
                                        .flags = HEED_TERM_KEYS | HEED_TERM_ROWS,
                                        .block = 64 };
    if (v->features & V_STEP && !layout->lists)
        call->terms[n++] = (heed_term){ .kind = HEED_TERM_ALL, .step = v->reach };
    s->terms = call->terms;
    s->n_terms = n;
    s->term_size = sizeof call->terms[0];
    if (v->features & V_DENSE) {
        call->bias = (heed_bias){ .kind = HEED_BIAS_DENSE,
                                  .t = slot_add(call, HEED_F16, v->b, 1, v->nq, v->nk) };
        s->biases = &call->bias;
        s->n_biases = 1;
        s->bias_size = sizeof call->bias;
    }
}

/* Only what the runtime's allocator gives may be the plan's own. */
static void vast_set(struct vast_call *call, const struct vast *v, bool host)
{
    call->job = (struct job){ .desc = &call->desc, .check = cf_attn_check, .plan = cf_attn_plan };
    call->desc = (heed_attn_desc){
        .size = sizeof call->desc,
        .flags = HEED_ATTN_ALIGN_END |
                 (v->features & V_OWN && host ? (uint32_t)HEED_PLAN_OWN_WORKSPACE : 0),
        .q = tensor(v->dtype, (int64_t[4]){ v->b, v->h, v->nq, v->d }, false, 0),
        .o = tensor(v->dtype, (int64_t[4]){ v->b, v->h, v->nq, v->dv }, true, 0),
        .sources = &call->source,
        .n_sources = 1,
        .source_size = sizeof call->source,
        .slots = call->slots,
        .slot_size = sizeof call->slots[0],
    };
    if (v->features & V_LSE)
        call->desc.lse = tensor(HEED_F32, (int64_t[4]){ -1, v->b, v->h, v->nq }, true, 0);
    if (v->features & V_SINK)
        call->desc.sinks = tensor(HEED_F32, (int64_t[4]){ -1, -1, -1, v->h }, false, 0);
    source_set(call, v);
}

static void vast_print(const struct vast *v, char line[LINE])
{
    snprintf(line, LINE,
             "b=%lld h=%lld hk=%lld nq=%lld nk=%lld d=%lld dv=%lld run=%lld rows=%lld reach=%lld "
             "far=%lld dtype=%u features=0x%x",
             (long long)v->b, (long long)v->h, (long long)v->hk, (long long)v->nq,
             (long long)v->nk, (long long)v->d, (long long)v->dv, (long long)v->run,
             (long long)v->rows, (long long)v->reach, (long long)v->far, (unsigned)v->dtype,
             (unsigned)v->features);
}

/* The size for which check once said yes and plan no, and the largest ones. */
static const struct vast vast_known[] = {
    { 1, 1, 1, 1 << 20, 1 << 12, 64, 64, 1, 1, 128, 0, HEED_F32, 0 },
    { 1, 1, 1, INT64_C(1) << 31, INT64_C(1) << 31, 64, 64, 1, 1, 128, 0, HEED_BF16, V_WINDOW },
    { 1, 1, 1, INT64_C(1) << 40, 33, 8, 8, 1, 1, 128, 0, HEED_F16, V_LSE },
    { 1, 1, 1, 33, INT64_C(1) << 40, 8, 8, 1, 1, 128, 0, HEED_F16, V_GLOBAL | V_WINDOW },
    { 1, 1, 1, INT64_C(1) << 62, INT64_C(1) << 62, 64, 64, 1, 1, 128, 0, HEED_F32, V_CAUSAL },
    { 1, 1, 1, 33, INT64_C(1) << 62, 0, 0, 1, 1, 128, 0, HEED_F32, V_MASK },
    { 1, 1, 1, 33, INT64_MAX, 8, 8, INT32_MAX, 5, 128, 0, HEED_F32, V_PAGED },
    { 1, 1, 1, 33, INT64_C(1) << 62, 8, 8, 16, 5, 128, 0, HEED_BF16, V_PAGED | V_STEP },
    { 2, 1, 1, 1 << 20, INT64_C(1) << 40, 64, 64, 1, 1, 128, 0, HEED_F16, V_RING | V_GLOBAL },
};
enum { VAST_KNOWN = sizeof vast_known / sizeof *vast_known };

struct job *cf_attn_vast(struct rng *r, int64_t number, bool host, char line[LINE])
{
    const struct vast v = number < VAST_KNOWN ? vast_known[number] : vast_draw(r);
    struct vast_call *const call = calloc(1, sizeof *call);

    vast_print(&v, line);
    if (!call)
        return NULL;
    vast_set(call, &v, host);
    return &call->job;
}
