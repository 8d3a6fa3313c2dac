/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A kernel as a plug-in: dense attention in f32, causal if wanted, with any strides, batch axes and
 * grouped heads. It refuses everything else by name. To put an own kernel under heed-conform, keep
 * this file and replace row_attend().
 */
#include <heed/plugin.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What run needs of a descriptor, which is gone by then; [0] q, [1] k, [2] v, [3] o, [4] lse. */
enum { Q, K, V, O, LSE, N };
struct state {
    heed_tensor t[N];
    int64_t batch[3], heads, group, n_q, n_k, d, d_v;
    int64_t shift; /* row i sees the keys up to i + shift */
    float scale;
};

static heed_status refuse(heed_report *report, const char *field, const char *message)
{
    report->status = HEED_E_UNSUPPORTED;
    strncpy(report->field, field, sizeof report->field - 1);
    strncpy(report->message, message, sizeof report->message - 1);
    return report->status;
}

static heed_status query(void *self, const char *op, const void *descriptor, heed_report *report)
{
    const heed_attn_desc *desc = descriptor;
    const heed_source *s = desc->sources;

    (void)self;
    if (strcmp(op, "attn") != 0)
        return refuse(report, "op", "attention only");
    if (desc->n_sources != 1)
        return refuse(report, "sources", "one source only");
    if (desc->flags & HEED_PLAN_OWN_WORKSPACE)
        return refuse(report, "flags", "no workspace of its own");
    if (desc->state_in.ndim || desc->state_out.ndim)
        return refuse(report, "state_in", "no states");
    if (desc->q.dtype != HEED_F32 || desc->o.dtype != HEED_F32 || s->k.dtype != HEED_F32 ||
        s->v.dtype != HEED_F32)
        return refuse(report, "q.dtype", "f32 only");
    if (desc->q.ndim < 3 || desc->o.ndim < 3 || s->k.ndim < 3 || s->v.ndim < 3)
        return refuse(report, "q.ndim", "a head axis is needed");
    if (desc->n_slots || desc->q_layout || s->layout)
        return refuse(report, "slots", "dense arrays without lengths and masks only");
    if (s->n_terms || s->n_biases)
        return refuse(report, "sources[0].terms", "no terms and no biases");
    if (desc->sinks.ndim || desc->softcap > 0)
        return refuse(report, "softcap", "neither softcap nor sinks");
    if (s->flags & HEED_SOURCE_END || s->pos_step > 1 || s->pos_span > 1 || desc->q_pos_step > 1)
        return refuse(report, "sources[0].pos_step", "one position a key, one a row");
    return HEED_OK;
}

/* Row i sees the keys up to i + this. */
static int64_t shift_of(const struct state *s, const heed_attn_desc *desc)
{
    if (!(desc->sources->flags & HEED_SOURCE_CAUSAL))
        return s->n_k;
    if (desc->flags & HEED_ATTN_ALIGN_END)
        return s->n_k - s->n_q + desc->q_pos0;
    return desc->q_pos0 - desc->sources->pos0;
}

static heed_status prepare(void *self, const char *op, const void *descriptor, void **out,
                           heed_plan_props *props)
{
    const heed_attn_desc *desc = descriptor;
    const heed_source *source = desc->sources;
    struct state *s = calloc(1, sizeof *s);

    (void)self;
    (void)op;
    if (!s)
        return HEED_E_NOMEM;
    const heed_tensor t[N] = { desc->q, source->k, source->v, desc->o, desc->lse };

    memcpy(s->t, t, sizeof t);
    for (uint32_t i = 0; i < 3; i++)
        s->batch[i] = desc->o.ndim > 3 + i ? desc->o.shape[desc->o.ndim - 4 - i] : 1;
    s->heads = desc->q.shape[desc->q.ndim - 3];
    s->group = s->heads / source->k.shape[source->k.ndim - 3];
    s->n_q = desc->q.shape[desc->q.ndim - 2];
    s->d = desc->q.shape[desc->q.ndim - 1];
    s->n_k = source->k.shape[source->k.ndim - 2];
    s->d_v = source->v.shape[source->v.ndim - 1];
    s->shift = shift_of(s, desc);
    s->scale = desc->scale != 0 || desc->flags & HEED_ATTN_SCALE_GIVEN ? (float)desc->scale
               : s->d > 0                                              ? 1 / sqrtf((float)s->d)
                                                                       : 0;
    props->workspace_size = (uint64_t)s->n_k * sizeof(float); /* weights of a row */
    props->workspace_align = sizeof(float);
    *out = s;
    return HEED_OK;
}

/* Element [item][head][row][0]; lse has no channels. */
static float *at(const struct state *s, int which, heed_buf buf, int64_t item, int64_t head,
                 int64_t row)
{
    const heed_tensor *t = &s->t[which];
    const uint32_t trailing = which == LSE ? 2 : 3;
    int64_t place = head * t->stride[t->ndim - trailing] + row * t->stride[t->ndim - trailing + 1];

    for (uint32_t i = 0; i < 3; i++) {
        if (t->ndim > trailing + i && t->shape[t->ndim - trailing - 1 - i] > 1)
            place += item % s->batch[i] * t->stride[t->ndim - trailing - 1 - i];
        item /= s->batch[i];
    }
    return (float *)((char *)buf.handle + buf.offset) + place;
}

static int64_t step(const struct state *s, int which)
{
    return s->t[which].stride[s->t[which].ndim - 1];
}

/* NaN has one form in outputs. */
static float clean(double x)
{
    return isnan(x) ? NAN : (float)x + 0.0f;
}

static float score(const struct state *s, const heed_attn_args *args, const float *q, int64_t item,
                   int64_t head, int64_t key)
{
    const float *k = at(s, K, args->kv->k, item, head / s->group, key);
    float sum = 0;

    for (int64_t c = 0; c < s->d; c++)
        sum = fmaf(q[c * step(s, Q)], k[c * step(s, K)], sum);
    return sum * s->scale;
}

/* One query row: scores, their largest, weights, sums. A key with a score of -Inf is removed: its
 * weight is marked by -1, and its v is not read. */
static void row_attend(const struct state *s, const heed_attn_args *args, int64_t item,
                       int64_t head, int64_t row)
{
    float *w = (float *)((char *)args->workspace.handle + args->workspace.offset);
    const float *q = at(s, Q, args->q, item, head, row);
    const int64_t keys = row + s->shift < s->n_k ? row + s->shift + 1 : s->n_k;
    float *o = at(s, O, args->o, item, head, row), most = -INFINITY;
    double sum = 0, total;

    for (int64_t j = 0; j < keys; j++) {
        w[j] = score(s, args, q, item, head, j);
        most = isnan(w[j]) || w[j] > most ? w[j] : most; /* NaN stays: nothing is above it */
    }
    if (most == INFINITY)
        most = NAN;
    for (int64_t j = 0; j < keys && most > -INFINITY; j++) {
        w[j] = w[j] > -INFINITY ? expf(w[j] - most) : -1;
        sum += w[j] > 0 ? (double)w[j] : 0;
    }
    for (int64_t c = 0; c < s->d_v; c++) {
        total = 0;
        for (int64_t j = 0; j < keys && most > -INFINITY; j++) {
            if (w[j] >= 0)
                total += (double)w[j] *
                         (double)at(s, V, args->kv->v, item, head / s->group, j)[c * step(s, V)];
        }
        o[c * step(s, O)] = isnan(most) ? NAN : sum > 0 ? clean(total / sum) : 0;
    }
    if (s->t[LSE].ndim)
        *at(s, LSE, args->lse, item, head, row) = clean((double)most + (sum > 0 ? log(sum) : 0));
}

static heed_status run(void *state, const heed_buf *at_all, uint32_t n, const heed_run *how)
{
    const struct state *s = state;
    const heed_attn_args args = heed_attn_args_of(at_all, n, 1, how);

    for (int64_t item = 0; item < s->batch[0] * s->batch[1] * s->batch[2]; item++) {
        for (int64_t head = 0; head < s->heads; head++) {
            for (int64_t row = 0; row < s->n_q; row++)
                row_attend(s, &args, item, head, row);
        }
    }
    return HEED_OK;
}

heed_status heed_kernel_entry(uint32_t host_major, const heed_host_api *host, heed_kernel_api *out)
{
    const heed_kernel_api api = {
        .size = sizeof api,
        .major = HEED_PLUGIN_MAJOR,
        .minor = HEED_PLUGIN_MINOR,
        .numerics = HEED_NUMERICS_REPEAT,
        .name = "example: dense f32",
        .build = __DATE__,
        .query = query,
        .prepare = prepare,
        .run = run,
        .release = free,
    };

    (void)host;
    if (host_major != HEED_PLUGIN_MAJOR)
        return HEED_E_NEWER;
    if (out->size < sizeof api)
        return HEED_E_SIZE;
    *out = api;
    return HEED_OK;
}
