/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Visibility by enumeration, logits and weights in long double. Slow on purpose.
 */
#include "oracle.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct at {
    const struct heed_checked *attn;
    const struct test_arrays *bound;
    int64_t b[3], head, row;
};

struct key_sum {
    long double s, size, weight; /* logit, sum of magnitudes, multiplicity */
    int64_t v;                   /* storage row */
    uint32_t source;
};

long double oracle_load(uint32_t dtype, const void *base, int64_t at)
{
    uint16_t half;
    int exponent;

    if (dtype == HEED_F32)
        return ((const float *)base)[at];
    half = ((const uint16_t *)base)[at];
    if (dtype == HEED_BF16) {
        exponent = half >> 7 & 255;
        if (exponent == 255)
            return half & 127 ? NAN : half >> 15 ? -INFINITY : INFINITY;
        return ldexpl((half >> 15 ? -1 : 1) * ((half & 127) + (exponent ? 128 : 0)),
                      (exponent ? exponent : 1) - 134);
    }
    exponent = half >> 10 & 31;
    if (exponent == 31)
        return half & 1023 ? NAN : half >> 15 ? -INFINITY : INFINITY;
    return ldexpl((half >> 15 ? -1 : 1) * ((half & 1023) + (exponent ? 1024 : 0)),
                  (exponent ? exponent : 1) - 25);
}

static int64_t dot3(const int64_t *a, const int64_t *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* Auxiliary arrays, indices taken modulo extent 1. */
static int64_t aux_at(const struct at *at, const struct heed_aux *aux, int64_t x, int64_t y,
                      int64_t z)
{
    int64_t index[3] = { aux->shape[3] == 1 ? 0 : x, aux->shape[4] == 1 ? 0 : y, z };

    return dot3(at->b, aux->stride) + dot3(index, aux->stride + 3);
}

static const void *aux_base(const struct at *at, const struct heed_aux *aux)
{
    return aux->data ? aux->data : at->bound->slots[aux->slot - 1];
}

static int64_t aux_int(const struct at *at, const struct heed_aux *aux, int64_t x, int64_t y,
                       int64_t z)
{
    const void *base = aux_base(at, aux);
    int64_t i = aux_at(at, aux, x, y, z);

    switch (aux->dtype) {
    case HEED_U8:
        return ((const uint8_t *)base)[i];
    case HEED_I32:
        return ((const int32_t *)base)[i];
    default:
        return ((const int64_t *)base)[i];
    }
}

static int64_t between(int64_t x, int64_t lo, int64_t hi)
{
    return x < lo ? lo : x > hi ? hi : x;
}

static int64_t position_limit(int64_t x)
{
    return between(x, -HEED_POSITION_MAX, HEED_POSITION_MAX);
}

static void item_cut(const struct at *at, bool ragged, const struct heed_aux *begins,
                     const struct heed_aux *lengths, int64_t bound, int64_t total, int64_t *begin,
                     int64_t *length)
{
    *begin = ragged ? aux_int(at, begins, 0, 0, 0) : 0;
    *length = lengths->slot ? between(aux_int(at, lengths, 0, 0, 0), 0, bound) : bound;
    if (ragged && (*begin < 0 || *begin > total))
        *begin = *length = 0;
    if (ragged && *begin + *length > total)
        *length = total - *begin;
}

static struct at place(const struct heed_checked *attn, const struct test_arrays *bound,
                       int64_t item)
{
    struct at at = { .attn = attn, .bound = bound };

    at.b[2] = item % attn->batch[2];
    item /= attn->batch[2];
    at.b[1] = item % attn->batch[1];
    at.b[0] = item / attn->batch[1];
    return at;
}

void oracle_query(const struct heed_checked *attn, const struct test_arrays *bound, int64_t item,
                  int64_t *begin, int64_t *length)
{
    struct at at = place(attn, bound, item);

    item_cut(&at, attn->q_layout == HEED_LAYOUT_RAGGED, &attn->q_begin, &attn->q_len, attn->n_q,
             attn->q.shape[4], begin, length);
}

void oracle_keys(const struct heed_checked *attn, const struct test_arrays *bound, int64_t item,
                 uint32_t source, int64_t *begin, int64_t *length)
{
    const struct heed_checked_source *s = &attn->sources[source];
    struct at at = place(attn, bound, item);

    item_cut(&at, s->layout == HEED_LAYOUT_RAGGED, &s->index, &s->len, s->n_k, s->k.shape[4], begin,
             length);
}

static int64_t key_position(const struct heed_checked_source *s, int64_t key, int64_t length)
{
    return s->pos0 + (s->flags & HEED_SOURCE_END ? key - length : key) * s->pos_step;
}

static int64_t query_position(const struct at *at, int64_t item)
{
    const struct heed_checked *attn = at->attn;
    int64_t begin, n, length, q = attn->q_pos0;

    if (attn->q_pos.slot)
        q += position_limit(aux_int(at, &attn->q_pos, 0, 0, 0));
    if (attn->flags & HEED_ATTN_ALIGN_START) {
        q += at->row * attn->q_pos_step;
    } else {
        const struct heed_checked_source *s = &attn->sources[attn->n_sources - 1];

        oracle_query(attn, at->bound, item, &begin, &n);
        oracle_keys(attn, at->bound, item, attn->n_sources - 1, &begin, &length);
        q += key_position(s, length - 1, length) + s->pos_span - 1;
        q -= (n - 1 - at->row) * attn->q_pos_step;
    }
    return position_limit(q);
}

static int64_t modulo(int64_t a, int64_t b)
{
    return (a % b + b) % b;
}

static bool in_list(const struct at *at, const struct heed_checked_term *t, int64_t bound,
                    int64_t wanted)
{
    int64_t before = -1;

    if (!t->slot.slot)
        return wanted < t->block;
    for (int64_t r = 0; r < t->slot.shape[5]; r++) {
        int64_t entry = aux_int(at, &t->slot, 0, 0, r);

        if (entry < 0 || entry >= bound || entry <= before)
            return false;
        if (entry == wanted)
            return true;
        before = entry;
    }
    return false;
}

static bool term_sees(const struct at *at, const struct heed_checked_source *s,
                      const struct heed_checked_term *t, int64_t key, int64_t p, int64_t q)
{
    int64_t anchor = q - modulo(q, t->block), phase = t->phase;
    bool near = t->kind == HEED_TERM_ALL;

    if (t->kind == HEED_TERM_GLOBAL)
        return ((t->flags & HEED_TERM_KEYS) && in_list(at, t, s->n_k, key)) ||
               ((t->flags & HEED_TERM_ROWS) && in_list(at, t, at->attn->n_q, at->row));
    if (t->kind == HEED_TERM_SEGMENT)
        return aux_int(at, &t->slot, 0, at->row / t->block, 0) <= key &&
               key < aux_int(at, &t->slot, 0, at->row / t->block, 1);
    for (int64_t x = p; !near && x < p + s->pos_span; x++) {
        near = (t->left == HEED_FAR || x >= anchor - t->left) &&
               (t->right == HEED_FAR || x < anchor + t->block + t->right);
    }
    phase += t->flags & HEED_TERM_PHASE_HEAD ? at->head : 0;
    return near && modulo((t->flags & HEED_TERM_PHASE_QUERY ? p - q : key) - phase, t->step) == 0;
}

static int64_t head_index(int64_t extent, const struct at *at, int64_t key_heads)
{
    return extent == at->attn->heads ? at->head : at->head * key_heads / at->attn->heads;
}

/* The sum of a source's biases, its magnitudes in *size; false: the key is removed. */
static bool bias_sum(const struct at *at, const struct heed_checked_source *s, int64_t key,
                     int64_t p, int64_t q, long double *sum, long double *size)
{
    *sum = *size = 0;
    for (uint32_t i = 0; i < s->n_biases; i++) {
        const struct heed_checked_bias *bias = &s->biases[i];
        int64_t delta, z = key, n;
        long double value;

        delta = bias->k_coord.slot ? position_limit(aux_int(at, &bias->k_coord, 0, 0, key)) : p;
        delta -=
            bias->q_coord.slot ? position_limit(aux_int(at, &bias->q_coord, 0, 0, at->row)) : q;
        if (bias->kind == HEED_BIAS_TABLE) {
            n = bias->map.slot ? bias->map.shape[5] : bias->t.shape[5];
            z = between(delta + bias->zero, 0, n - 1);
            if (bias->map.slot)
                z = aux_int(at, &bias->map, 0, 0, z);
            if (z < 0 || z >= bias->t.shape[5])
                continue;
        } else if (bias->kind == HEED_BIAS_ALIBI) {
            z = at->head;
        } else if (bias->t.shape[5] == 1) {
            z = 0;
        }
        value = bias->kind == HEED_BIAS_DENSE
                    ? oracle_load(bias->t.dtype, aux_base(at, &bias->t),
                                  aux_at(at, &bias->t, at->head, at->row, z))
                    : oracle_load(bias->t.dtype, aux_base(at, &bias->t),
                                  aux_at(at, &bias->t, 0, at->head, z));
        if (bias->kind == HEED_BIAS_ALIBI)
            value *= -(long double)(delta < 0 ? -delta : delta);
        else if (value == -INFINITY)
            return false;
        *sum += value;
        *size += fabsl(value);
    }
    return true;
}

int64_t oracle_sees(const struct heed_checked *attn, const struct test_arrays *bound, int64_t item,
                    int64_t head, int64_t row, uint32_t source, int64_t key)
{
    const struct heed_checked_source *s = &attn->sources[source];
    struct at at = place(attn, bound, item);
    int64_t begin, length, p, q, count = 0;
    long double sum, size;

    at.head = head;
    at.row = row;
    oracle_keys(attn, bound, item, source, &begin, &length);
    if (key >= length)
        return 0;
    p = key_position(s, key, length);
    q = query_position(&at, item);
    if ((s->flags & HEED_SOURCE_CAUSAL) && p + s->pos_span - 1 > q)
        return 0;
    if (s->mask.slot &&
        !aux_int(&at, &s->mask, 0, head_index(s->mask.shape[4], &at, s->heads), key))
        return 0;
    if (!bias_sum(&at, s, key, p, q, &sum, &size))
        return 0;
    if (s->layout != HEED_LAYOUT_LISTED) {
        for (uint32_t t = 0; t < s->n_terms; t++)
            count |= term_sees(&at, s, &s->terms[t], key, p, q);
        return count;
    }
    for (int64_t r = 0; r < s->index.shape[5]; r++)
        count += aux_int(&at, &s->index, head_index(s->index.shape[3], &at, s->heads),
                         row / s->rows, r) == key / s->run;
    return count;
}

static long double row_element(const struct at *at, const struct heed_view *view, const void *base,
                               int64_t head, int64_t row, int64_t channel)
{
    int64_t index[3] = { head, row, channel };

    return oracle_load(view->dtype, base,
                       dot3(at->b, view->stride) + dot3(index, view->stride + 3));
}

static void logit_find(const struct at *at, int64_t item, int64_t q_begin, uint32_t source,
                       int64_t key, struct key_sum *out)
{
    const struct heed_checked *attn = at->attn;
    const struct heed_checked_source *s = &attn->sources[source];
    int64_t begin, length, h = at->head * s->heads / attn->heads;
    long double scale = attn->scale, bias, size;

    oracle_keys(attn, at->bound, item, source, &begin, &length);
    if (scale == 0 && !(attn->flags & HEED_ATTN_SCALE_GIVEN) && attn->d)
        scale = 1 / sqrtl(attn->d);
    out->s = out->size = 0;
    for (int64_t t = 0; t < attn->d; t++) {
        long double a = row_element(at, &attn->q, at->bound->q, at->head, q_begin + at->row, t);
        long double b = row_element(at, &s->k, at->bound->k[source], h, begin + key, t);

        out->s += a * b;
        out->size += fabsl(a * b);
    }
    out->s *= scale;
    out->size *= fabsl(scale);
    if (attn->softcap != 0)
        out->s = attn->softcap * tanhl(out->s / attn->softcap);
    bias_sum(at, s, key, key_position(s, key, length), query_position(at, item), &bias, &size);
    out->s += bias;
    out->size += size;
    out->v = begin + key;
    out->source = source;
}

static long double gamma_of(long double k)
{
    return k * 0x1p-24L / (1 - k * 0x1p-24L);
}

/* What all channels of a row share. u: unit roundoff of binary32. */
struct row_sums {
    const struct key_sum *keys;
    int64_t n;
    long double u, sink, m, top, l, lse_l, count, rescales, g, spread, lse_spread;
};

/* Bound of the relative error of a key's weight. */
static long double weight_error(const struct at *at, const struct row_sums *r,
                                const struct key_sum *key)
{
    const struct heed_checked *attn = at->attn;
    long double roundings = 3 + 2 * attn->sources[key->source].n_biases;

    roundings += attn->softcap != 0 ? 5 : 0;
    return expl(gamma_of(attn->d + roundings) * key->size + 3 * r->u * (r->m - key->s) +
                2 * r->u * r->top + (5 * r->rescales + 4) * r->u) -
           1;
}

static long double weight_of(const struct row_sums *r, const struct key_sum *key)
{
    return key->weight * expl(key->s - r->m);
}

static void sums_find(const struct at *at, struct row_sums *r)
{
    const int with_sink = (at->attn->flags & HEED_ATTN_LSE_WITH_SINK) != 0;
    const int no_sink = r->sink == -INFINITY;

    r->m = r->sink;
    r->top = no_sink ? 0 : fabsl(r->sink);
    for (int64_t j = 0; j < r->n; j++) {
        r->m = r->keys[j].s > r->m ? r->keys[j].s : r->m;
        r->top = r->keys[j].size > r->top ? r->keys[j].size : r->top;
        r->count += r->keys[j].weight;
    }
    r->rescales = ceill(r->count / 16) + 1;
    r->g = gamma_of(r->count + 1 + r->rescales);
    for (int64_t j = 0; j < r->n; j++)
        r->lse_l += weight_of(r, &r->keys[j]);
    r->l = r->lse_l + (no_sink ? 0 : expl(r->sink - r->m));
    r->lse_l = with_sink ? r->l : r->lse_l;
    for (int64_t j = 0; j < r->n; j++)
        r->spread += weight_of(r, &r->keys[j]) / r->l * weight_error(at, r, &r->keys[j]);
    r->lse_spread = r->spread;
    if (!no_sink) { /* a key whose value is zero */
        r->spread += expl(r->sink - r->m) / r->l *
                     (expl(8 * r->u * (r->top + r->m - r->sink) + 9 * r->rescales * r->u) - 1);
    }
    r->lse_spread = with_sink ? r->spread : r->lse_spread;
}

static long double value_of(const struct at *at, const struct key_sum *key, int64_t channel)
{
    const struct heed_checked_source *s = &at->attn->sources[key->source];

    return row_element(at, &s->v, at->bound->v[key->source], at->head * s->heads / at->attn->heads,
                       key->v, channel);
}

/* One output and its bound. */
static void channel_find(const struct at *at, const struct row_sums *r, int64_t channel,
                         long double *out, long double *tolerance)
{
    static const long double unit[] = { 0, 0x1p-24L, 0x1p-11L, 0x1p-8L };
    static const long double tiny[] = { 0, 0x1p-150L, 0x1p-25L, 0x1p-134L };
    const uint32_t dtype = at->attn->o.dtype;
    long double o = 0, bound = 0;

    for (int64_t j = 0; j < r->n; j++)
        o += weight_of(r, &r->keys[j]) / r->l * value_of(at, &r->keys[j], channel);
    for (int64_t j = 0; j < r->n; j++) {
        const struct key_sum *key = &r->keys[j];
        long double v = value_of(at, key, channel), p = weight_of(r, key) / r->l;
        long double rho = weight_error(at, r, key);

        bound += p * rho * fabsl(v - o) + r->g * p * (1 + rho) * fabsl(v);
        bound += key->weight * 0x1p-99L * fabsl(v) / r->l; /* weights below 2^-100 are dropped */
    }
    bound += (r->count + r->rescales + 4) * 0x1p-147L / r->l; /* sums may be subnormal */
    bound += r->sink == -INFINITY ? 0 : r->spread * fabsl(o);
    bound += (r->g + 3 * r->u + r->count * 0x1p-99L / r->l) * fabsl(o);
    bound = r->spread + r->g < 1 ? bound / (1 - r->spread - r->g) : INFINITY; /* says nothing */
    *out = o;
    *tolerance = bound + unit[dtype] * (fabsl(o) + bound) + tiny[dtype];
}

/* The row from its keys. */
static void row_sum(const struct at *at, const struct key_sum *keys, int64_t n, long double sink,
                    struct oracle_row *out)
{
    struct row_sums r = { .keys = keys, .n = n, .u = 0x1p-24L, .sink = sink };
    long double slack;

    sums_find(at, &r);
    for (int64_t t = 0; t < at->attn->d_v; t++)
        channel_find(at, &r, t, &out->o[t], &out->tolerance[t]);
    out->lse = r.m + logl(r.lse_l);
    slack = 1 - r.lse_spread * r.l / r.lse_l - r.g;
    out->lse_tolerance = (slack > 0 ? -logl(slack) : INFINITY) +
                         4 * r.u * (fabsl(r.m) + 2 + 5 * fabsl(logl(r.lse_l)) + fabsl(out->lse));
}

void oracle_row_find(const struct heed_checked *attn, const struct test_arrays *bound, int64_t item,
                     int64_t head, int64_t row, struct oracle_row *out)
{
    struct at at = place(attn, bound, item);
    int64_t begin, length, n = 0, most = 0;
    long double sink = -INFINITY;
    struct key_sum *keys;

    at.head = head;
    at.row = row;
    out->keys = 0;
    for (uint32_t s = 0; s < attn->n_sources; s++)
        most += attn->sources[s].n_k;
    keys = malloc(sizeof(*keys) * (size_t)(most + 1));
    if (!keys)
        abort();
    oracle_query(attn, bound, item, &begin, &length);
    for (uint32_t s = 0; s < attn->n_sources && row < length; s++) {
        for (int64_t key = 0; key < attn->sources[s].n_k; key++) {
            int64_t times = oracle_sees(attn, bound, item, head, row, s, key);

            if (times == 0)
                continue;
            logit_find(&at, item, begin, s, key, &keys[n]);
            keys[n++].weight = times;
            out->keys += times;
        }
    }
    if (attn->sinks.dtype)
        sink = ((const float *)bound->sinks)[head * attn->sinks.stride[5]];
    if (n > 0) {
        row_sum(&at, keys, n, sink, out);
    } else {
        for (int64_t t = 0; t < attn->d_v; t++)
            out->o[t] = out->tolerance[t] = 0;
        out->lse = attn->flags & HEED_ATTN_LSE_WITH_SINK ? sink : -INFINITY;
        out->lse_tolerance = 0;
    }
    free(keys);
}
