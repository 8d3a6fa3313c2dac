/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Two judges of a run that know the answer from the definition alone: one in double, with an
 * element-wise bound on the error derived from the data (the analysis follows Blanchard, Higham and
 * Higham 2021 and Higham, Accuracy and Stability, chapter 3), and one for data whose answer is
 * known to the last bit.
 */
#include "cell.h"
#include "kinds.h"
#include "product.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double u = 0x1p-24;

/* One key in the softmax of a row. */
struct seen {
    int source;           /* -1: the sink */
    int64_t at;           /* element [b][h][key][0] of the source's v */
    struct cf_scales scales; /* of that row */
    double y, size, tiny; /* logit with biases; sum of magnitudes that went into it; what underflow
                           * cost it */
    double weight, error; /* exp(y - max); how far the computed weight may be off */
    double v;             /* of the channel that is judged */
};

struct row {
    const struct problem *p;
    const struct item_view *view;
    int64_t head, row;
    struct seen *seen;
    int64_t n, room;
    double most, sum, reach; /* largest logit, sum of weights, largest size */
    double loss, gamma;      /* D and g of the bound */
    double slack;            /* error of an addition of products, in u: 4 where FAST is delivered */
    uint32_t weights;        /* type that weights may be rounded to; 0: they are not */
    bool flushes;            /* subnormal bf16 may count as zeros, subnormal sums may become such */
    bool nan, skip;
};

static double value(const struct array *a, int64_t index)
{
    return (double)cf_decode(a->dtype, cf_array_bits(a, index));
}

/* Where the row of a key lies in k or v, and its scales. */
static int64_t kv_at(const struct row *r, const struct array *a, bool is_key, int s, int64_t head,
                     int64_t key, struct cf_scales *scales)
{
    int64_t b;
    const int64_t row = cf_key_row(r->p, r->view, s, key, &b);

    *scales = cf_scales_at(r->p, s, is_key, b, head, row);
    return cf_array_at(a, b, head, row, 0);
}

/* Channel c of a key's v, the magnitudes that it is the sum of, and the number in it. */
static double seen_value(const struct row *r, const struct seen *k, int64_t c, double *size,
                         double *number)
{
    const struct source_data *src = &r->p->source[k->source];
    const struct cf_stored x = cf_stored_at(&src->v, k->at + c, &k->scales);
    const double product = x.number * x.scale;

    *size = fabs(product) + fabs(x.minimum);
    *number = x.channels ? fabs(x.number) : 0;
    return x.minima ? product + x.minimum : product;
}

static int64_t q_at(const struct row *r)
{
    return cf_array_at(&r->p->q, r->view->b, r->head, r->view->q_begin + r->row, 0);
}

static double scale_of(const struct problem *p)
{
    if (cf_g(&p->c, G_SCALE) != SCALE_DEFAULT)
        return p->scale;
    return p->d ? 1 / sqrt((double)p->d) : 0;
}

static bool key_add(struct row *r, int s, int64_t key)
{
    const struct problem *p = r->p;
    const struct source_data *src = &p->source[s];
    const int64_t head = r->head / (p->heads / src->heads);
    struct cf_scales k_scales, v_scales;
    const int64_t q = q_at(r), k = kv_at(r, &src->k, true, s, head, key, &k_scales);
    const int64_t v = kv_at(r, &src->v, false, s, head, key, &v_scales);
    struct cf_product dot = { 0 };
    double size, bias, bias_size, y;

    if (!cf_biases(p, r->view, r->head, r->row, s, key, &bias, &bias_size))
        return true;
    cf_joined(p, r->view, r->head, r->row, s, key, &dot.sum, &dot.size);
    cf_product_add(p, src, q, k, &k_scales, &dot);
    /* near the end of binary32 partial sums may leave it where the exact result does not */
    r->skip = r->skip || dot.unsure || (isfinite(dot.size) && dot.size > 0x1p120);
    y = dot.sum * scale_of(p);
    size = dot.size * fabs(scale_of(p));
    r->skip = r->skip || (isfinite(size) && size > 0x1p100);
    if (p->softcap > 0)
        y = isnan(y) ? y : p->softcap * tanh(y / p->softcap);
    y += bias;
    size += bias_size;
    if (y == -(double)INFINITY)
        return true;
    r->nan = r->nan || isnan(y) || y == (double)INFINITY;
    r->skip = r->skip || (isfinite(y) && fabs(y) > 0x1p100);
    if (r->n == r->room) {
        struct seen *more = realloc(r->seen, (size_t)(2 * r->room + 64) * sizeof *more);

        if (!more)
            return false;
        r->seen = more;
        r->room = 2 * r->room + 64;
    }
    r->seen[r->n++] = (struct seen){
        .source = s,
        .at = v,
        .scales = v_scales,
        .y = y,
        .size = size,
        .tiny = (dot.tiny + (r->flushes ? cf_product_flushed(p, src, q, k) : 0)) *
                fabs(scale_of(p)),
    };
    return true;
}

/* All keys of the row; false: no memory. */
static bool row_gather(struct row *r)
{
    r->n = 0;
    r->nan = r->skip = false;
    if (r->row >= r->view->q_n)
        return true;
    for (int s = 0; s < r->p->n_sources; s++) {
        if (cf_layout_of(&r->p->c, s)->lists) {
            for (int64_t i = 0, e; (e = cf_list_entry(r->p, r->view, r->head, r->row, s, i)) != -2;
                 i++) {
                if (e >= 0 && !key_add(r, s, e))
                    return false;
            }
            continue;
        }
        for (int64_t key = 0; key < r->view->k_n[s]; key++) {
            if (cf_sees(r->p, r->view, r->head, r->row, s, key) && !key_add(r, s, key))
                return false;
        }
    }
    return true;
}

static double sink_of(const struct row *r)
{
    return r->p->sinks.data ? value(&r->p->sinks, r->head) : -(double)INFINITY;
}

/* Roundings of q.k: one for each channel, of blocks one for each in a block and two for each block,
 * scale and minimum; so 2 more than there are channels at most. Roundings that biases add, of the
 * sum that a term is in: one each; two where one joins q.k, whose chains have as many as that of
 * q.k and are added one after the other. At least 2. */
static double most_biases(const struct problem *p)
{
    int64_t most = 2;

    for (int s = 0; s < p->n_sources; s++) {
        int64_t n = cf_s(&p->c, s, S_NB);

        for (int b = 0; b < cf_s(&p->c, s, S_NB); b++)
            n += cf_bias_kinds[cf_b(&p->c, s, b, B_KIND)].join != NULL;
        most = n > most ? n : most;
    }
    return (double)most;
}

/* Weights, their sum, and the parts of the bound that do not depend on the channel; with_sink:
 * counts it as a key. */
static void row_weigh(struct row *r, bool with_sink)
{
    const double sink = with_sink ? sink_of(r) : -(double)INFINITY;
    const double n = (double)r->n, rescales = n / 16 + 2, exp_error = 4;
    const double weight_error = r->flushes ? 0x1p-18 : 0; /* of weights that become bf16 */
    const double roundings = (double)r->p->d + 8 + most_biases(r->p);
    const double softcap = r->p->softcap > 0 ? 8 : 0;

    r->most = sink;
    r->reach = isfinite(sink) ? fabs(sink) : 0;
    r->sum = 0;
    r->loss = 0;
    for (int64_t i = 0; i < r->n; i++) {
        r->most = fmax(r->most, r->seen[i].y);
        r->reach = fmax(r->reach, r->seen[i].size);
    }
    if (sink > -(double)INFINITY)
        r->sum = exp(sink - r->most);
    for (int64_t i = 0; i < r->n; i++) {
        r->seen[i].weight = exp(r->seen[i].y - r->most);
        r->sum += r->seen[i].weight;
    }
    for (int64_t i = 0; i < r->n; i++) {
        const struct seen *k = &r->seen[i];
        const double eps = u * ((roundings + softcap + (r->slack - 1) * (double)r->p->d) * k->size +
                                3 * (r->most - k->y) + 2 * r->reach) +
                           k->tiny;
        const double all = eps + ((rescales + 1) * exp_error + rescales) * u + weight_error;

        /* not weight * expm1(all): the weight may have underflowed where the computed one does not
         */
        r->seen[i].error = all < 1 ? k->weight * expm1(all) : exp(k->y - r->most + all);
        r->loss += r->seen[i].error / r->sum;
    }
    if (sink > -(double)INFINITY)
        r->loss += exp(sink - r->most) / r->sum * expm1(u * (8 * r->reach + 8 * rescales));
    /* 2: the product of a weight and a scale, and the sum of a channel and of minima */
    r->gamma = (r->slack * n + rescales + 2) * u / (1 - (r->slack * n + rescales + 2) * u);
}

struct cell {
    double want, bound;
    bool nan, infinite, skip; /* must be NaN; must not be finite */
};

static struct cell channel_want(struct row *r, const struct array *out, int64_t c)
{
    struct cell cell = { 0 };
    double sum = 0, size = 0, spread = 0, all = 0, tiny = 0, relative, absolute;
    const double n = (double)r->n;

    for (int64_t i = 0; i < r->n; i++) {
        struct seen *k = &r->seen[i];
        double v_size, number;
        const double v = seen_value(r, k, c, &v_size, &number);

        k->v = v;
        cell.nan = cell.nan || isnan(v);
        cell.infinite = cell.infinite || isinf(v);
        sum += k->weight * v;
        size += (k->weight + k->error) * v_size;
        all += v_size;
        tiny += number * 0x1p-149; /* of the product of a weight and a scale */
    }
    cell.skip = r->skip || all > 0x1p126;
    if (cell.nan || cell.infinite)
        return cell;
    cell.want = sum / r->sum;
    if (!(r->loss + r->gamma < 0.5)) {
        cell.skip = true;
        return cell;
    }
    for (int64_t i = 0; i < r->n; i++) {
        const struct seen *k = &r->seen[i];

        spread += k->error * fabs(k->v - cell.want);
    }
    spread += sink_of(r) > -(double)INFINITY ? r->loss * r->sum * fabs(cell.want) : 0;
    cell.bound = spread / r->sum + r->gamma * size / r->sum + (r->gamma + 4 * u) * fabs(cell.want) +
                 (0x1p-98 * (all + n * fabs(cell.want)) + 8 * ((n + 2) * 0x1p-149 + tiny)) / r->sum;
    if (r->weights) { /* in the products, in their sum or in both */
        cf_output_rounding(r->weights, &relative, &absolute);
        if (r->flushes) /* of a weight, of a V, of a sum; the largest weight is 2^-1.5 or more */
            cell.bound += 0x1p-124 * (all + n * fabs(cell.want) + 2 * n) / r->sum;
        cell.bound += (relative * (size + r->sum * fabs(cell.want)) +
                       absolute * (all + n * fabs(cell.want))) / r->sum;
    }
    cell.bound /= 1 - r->loss - r->gamma;
    cf_output_rounding(out->dtype, &relative, &absolute);
    cell.bound += relative * (fabs(cell.want) + cell.bound) + absolute;
    if (fabs(cell.want) + cell.bound > (out->dtype == HEED_F16 ? 65500 : 0x1p126))
        cell.skip = true; /* the output type may not hold it */
    return cell;
}

static void blame(struct verdict *v, const struct row *r, int64_t channel, const char *what,
                  double want, const struct array *a, int64_t index, double q)
{
    const struct problem *p = r->p;
    const uint32_t bits = cf_array_bits(a, index);

    if (v->wrong && channel >= 0)
        v->wrong[((r->view->b * p->heads + r->head) * p->n_q + r->row) * p->dv + channel] = 1;
    cf_fail(v,
            "bound: %s at b=%lld h=%lld row=%lld channel=%lld: wanted %g (%a) got %g (0x%x), "
            "error/bound %.3g",
            what, (long long)r->view->b, (long long)r->head, (long long)r->row, (long long)channel,
            want, want, (double)cf_decode(a->dtype, bits), (unsigned)bits, q);
}

static void cell_keep(const struct cell *cell, int64_t index, int64_t c, struct verdict *v)
{
    struct cf_cell *const cells = v->cells[c < 0];

    if (cells)
        cells[index] = (struct cf_cell){ .kind = cell->skip       ? CELL_ANYTHING
                                                 : cell->nan      ? CELL_NAN
                                                 : cell->infinite ? CELL_NOT_FINITE
                                                                  : CELL_WITHIN,
                                         .want = cell->want, .bound = cell->bound };
}

static void cell_judge(const struct row *r, const struct cell *cell, const struct array *a,
                       int64_t index, int64_t c, const char *what, struct verdict *v)
{
    const uint32_t bits = cf_array_bits(a, index);
    const double got = (double)cf_decode(a->dtype, bits);

    v->judged++;
    cell_keep(cell, index, c, v);
    if (cell->skip) {
        v->skipped++;
    } else if (cell->nan) {
        if (bits != cf_encode(a->dtype, (float)NAN))
            blame(v, r, c, what, (double)NAN, a, index, 0);
    } else if (cell->infinite) {
        if (isfinite(got))
            blame(v, r, c, what, (double)INFINITY, a, index, 0);
    } else {
        const double q = fabs(got - cell->want) / cell->bound;

        if (!(q <= 1) || (got == 0 && signbit(got)))
            blame(v, r, c, what, cell->want, a, index, q);
        v->worst = q > v->worst ? q : v->worst;
    }
}

static void lse_judge(struct row *r, const struct call *call, int64_t place, struct verdict *v)
{
    const bool with = cf_g(&r->p->c, G_LSE) == LSE_SINK;
    const double sink = with ? sink_of(r) : -(double)INFINITY;
    struct cell cell = { .nan = r->nan || isnan(sink), .skip = r->skip };

    if (r->n == 0) {
        const uint32_t want = cf_encode(HEED_F32, (float)sink),
                       got = cf_array_bits(&call->out_lse, place);

        v->judged++;
        cell_keep(&(struct cell){ .nan = isnan(sink), .want = sink }, place, -1, v);
        if (want != got && !(sink == 0 && got == 0))
            blame(v, r, -1, "lse of an empty row", sink, &call->out_lse, place, 0);
        return;
    }
    if (sink == (double)INFINITY)
        cell.nan = true;
    if (!cell.nan) {
        row_weigh(r, with);
        cell.want = r->most + log(r->sum);
        cell.skip = cell.skip || !(r->loss + r->gamma < 0.5);
        cell.bound = -log1p(-fmin(r->loss + r->gamma, 0.9)) +
                     4 * u * (fabs(r->most) + fabs(log(r->sum)) + fabs(cell.want) + 1);
    }
    cell_judge(r, &cell, &call->out_lse, place, -1, "lse", v);
}

static void row_judge(struct row *r, const struct call *call, struct verdict *v)
{
    const struct array *o = &call->out;
    const int64_t y = r->view->o_begin + r->row,
                  sink_nan = isnan(sink_of(r)) || sink_of(r) == (double)INFINITY;
    const int64_t at = cf_array_at(o, r->view->b, r->head, y, 0);

    if (r->n && !r->nan && !sink_nan)
        row_weigh(r, true);
    for (int64_t c = 0; c < r->p->dv; c++) {
        struct cell cell = { 0 };

        if (r->n == 0)
            cell.bound = 0x1p-149;
        else if (r->nan || sink_nan)
            cell = (struct cell){ .nan = true, .skip = r->skip };
        else
            cell = channel_want(r, o, c);
        if (r->n == 0 && cf_array_bits(o, at + c) != 0)
            blame(v, r, c, "an empty row", 0, o, at + c, 0);
        cell_judge(r, &cell, o, at + c, c, "o", v);
    }
    if (call->has_lse)
        lse_judge(r, call, cf_array_at(&call->out_lse, r->view->b, 0, r->head, y), v);
}

/* Rows of halves may go through matrix units where FAST is delivered, and weights with them
 * (docs/numerics.md section 11). */
static uint32_t fast_weights(const struct problem *p)
{
    const uint32_t q = p->q.dtype;

    for (int s = 0; s < p->n_sources; s++) {
        if (p->source[s].k.dtype != q || p->source[s].v.dtype != q)
            return 0;
    }
    return q == HEED_F32 ? 0 : q;
}

static void each_row(const struct problem *p, const struct call *call, struct verdict *v,
                     void (*judge)(struct row *, const struct call *, struct verdict *))
{
    struct item_view views[MAX_BATCH];
    struct row r = { .p = p, .slack = call->job.loose ? 4 : 1,
                     .weights = call->job.loose ? fast_weights(p) : p->weights,
                     .flushes = call->job.loose && fast_weights(p) == HEED_BF16 };

    for (int64_t b = 0; b < p->n_items; b++)
        cf_item_view(p, b, &views[b]);
    for (int64_t b = 0; b < p->n_items; b++) {
        r.view = &views[b];
        for (r.head = 0; r.head < p->heads; r.head++) {
            for (r.row = 0; r.row < cf_rows_of(p, r.view) &&
                            (!v->failed || v->wrong || v->cells[0]);
                 r.row++) {
                if (cf_row_shared(p, views, b, r.view->o_begin + r.row))
                    continue;
                if (!row_gather(&r))
                    cf_fail(v, "no memory for the oracle");
                else
                    judge(&r, call, v);
            }
        }
    }
    free(r.seen);
}

void cf_judge_bound(const struct problem *p, const struct call *call, struct verdict *v)
{
    each_row(p, call, v, row_judge);
}

/* ---- known to the last bit ------------------------------------------------ */

static void exact_blame(struct verdict *v, const struct row *r, int64_t c, const char *what,
                        uint32_t want, uint32_t got)
{
    cf_fail(v, "exact: %s at b=%lld h=%lld row=%lld channel=%lld: wanted 0x%x got 0x%x", what,
            (long long)r->view->b, (long long)r->head, (long long)r->row, (long long)c,
            (unsigned)want, (unsigned)got);
}

/* Keys with logit 0 weigh the same, all others nothing; V are small integers: the sums are exact in
 * any order, the quotient is one correctly rounded reciprocal and one product. */
static void exact_row(struct row *r, const struct call *call, struct verdict *v)
{
    const struct array *o = &call->out;
    const int64_t y = r->view->o_begin + r->row, at = cf_array_at(o, r->view->b, r->head, y, 0);
    const double sink = sink_of(r);
    int64_t wanted = 0, weight;

    for (int64_t i = 0; i < r->n; i++) {
        if (r->seen[i].y != 0 && !(r->seen[i].y <= -110))
            return;
        wanted += r->seen[i].y == 0;
    }
    if (r->n && (wanted == 0 || (sink != 0 && !(sink <= -110))))
        return;
    weight = wanted + (sink == 0);
    for (int64_t c = 0; c < r->p->dv; c++) {
        int64_t sum = 0;
        float x = 0;

        for (int64_t i = 0; i < r->n; i++) {
            double v_size, number;

            if (r->seen[i].y == 0)
                sum += (int64_t)seen_value(r, &r->seen[i], c, &v_size, &number);
        }
        if (r->n)
            x = (float)sum * (1.0f / (float)weight);
        const uint32_t want = cf_encode(o->dtype, x == 0 ? 0.0f : x),
                       got = cf_array_bits(o, at + c);

        v->exact++;
        if (want != got)
            exact_blame(v, r, c, "o", want, got);
    }
    if (!call->has_lse || r->n == 0)
        return;
    if (cf_g(&r->p->c, G_LSE) == LSE_PLAIN)
        weight = wanted;
    if ((weight & (weight - 1)) == 0) {
        const uint32_t got =
            cf_array_bits(&call->out_lse, cf_array_at(&call->out_lse, r->view->b, 0, r->head, y));
        const uint32_t want = cf_encode(HEED_F32, (float)log2((double)weight) * 0x1.62e43p-1f);

        v->exact++;
        if (want != got)
            exact_blame(v, r, -1, "lse", want, got);
    }
}

void cf_judge_exact(const struct problem *p, const struct call *call, struct verdict *v)
{
    each_row(p, call, v, exact_row);
}
