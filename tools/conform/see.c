/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a query row sees and what is added to its scores, written from the definitions in
 * heed/attn.h key by key. It shares nothing with the library: it is what the library is judged by.
 */
#include "conform.h"

#include <math.h>

static const int64_t far_away = INT64_C(1) << 60;

static int64_t clamp(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

static int64_t floor_mod(int64_t a, int64_t b)
{
    const int64_t r = a % b;

    return r < 0 ? r + b : r;
}

static const struct array *slot(const struct problem *p, int number)
{
    return &p->slot[number - 1].a;
}

static int64_t slot_get(const struct problem *p, int number, int64_t b, int64_t x, int64_t y,
                        int64_t z)
{
    const struct array *a = slot(p, number);

    return cf_array_int(a, cf_array_at(a, b, x, y, z));
}

/* A sequence: begin (0 unless packed) and length within [0, bound]. */
static void sequence(const struct problem *p, int64_t b, int begins, int lengths, int64_t bound,
                     int64_t total, int64_t *begin, int64_t *length)
{
    *begin = begins ? slot_get(p, begins, b, 0, 0, 0) : 0;
    *length = lengths ? clamp(slot_get(p, lengths, b, 0, 0, 0), 0, bound) : bound;
    if (!begins)
        return;
    if (*begin < 0 || *begin > total)
        *begin = *length = 0;
    if (*length > total - *begin)
        *length = total - *begin;
}

void cf_item_view(const struct problem *p, int64_t b, struct item_view *view)
{
    *view = (struct item_view){ .b = b };
    sequence(p, b, p->q_begin, p->q_len, p->n_q, p->q_total, &view->q_begin, &view->q_n);
    for (int s = 0; s < p->n_sources; s++) {
        const struct source_data *src = &p->source[s];

        sequence(p, b, cf_s(&p->c, s, S_LAY) == LAY_RAGGED ? src->index : 0, src->len, src->n_k,
                 src->total, &view->k_begin[s], &view->k_n[s]);
    }
}

static int64_t key_position(const struct problem *p, const struct item_view *view, int s,
                            int64_t key)
{
    const struct cs *c = &p->c;
    const int64_t i = cf_s(c, s, S_END) ? key - view->k_n[s] : key;

    return cf_s(c, s, S_POS0) + i * cf_s(c, s, S_PSTEP);
}

int64_t cf_key_position(const struct problem *p, const struct item_view *view, int s, int64_t key)
{
    return key_position(p, view, s, key);
}

int64_t cf_query_position(const struct problem *p, const struct item_view *view, int64_t row)
{
    const struct cs *c = &p->c;
    const int64_t step = cf_g(c, G_QSTEP), last = p->n_sources - 1;
    int64_t at = cf_g(c, G_QPOS0);

    if (cf_g(c, G_ALIGN) == ALIGN_END && last >= 0)
        at += key_position(p, view, (int)last, view->k_n[last] - 1) + cf_s(c, (int)last, S_PSPAN) -
              1 - (view->q_n - 1 - row) * step;
    else if (cf_g(c, G_ALIGN) == ALIGN_END)
        at += -(view->q_n - 1 - row) * step;
    else
        at += row * step;
    if (p->q_pos)
        at += clamp(slot_get(p, p->q_pos, view->b, 0, 0, 0), -far_away, far_away);
    return clamp(at, -far_away, far_away);
}

/* Does the GLOBAL list of a term hold index `wanted`? n: what the list's entries must stay below.
 */
static bool list_has(const struct problem *p, int number, int64_t b, int64_t wanted, int64_t n)
{
    const struct array *a = slot(p, number);
    int64_t last = -1;

    for (int64_t i = 0; i < a->shape[3]; i++) {
        const int64_t e = cf_array_int(a, cf_array_at(a, b, 0, 0, i));

        if (e < 0 || e >= n || e <= last)
            return false;
        if (e == wanted)
            return true;
        last = e;
    }
    return false;
}

static bool global_sees(const struct problem *p, const struct item_view *view, int64_t row, int s,
                        int t, int64_t key)
{
    const int64_t gf = cf_t(&p->c, s, t, T_GF), block = cf_t(&p->c, s, t, T_BLOCK);
    const int number = p->source[s].term[t];

    if (gf != GF_ROWS &&
        (number ? list_has(p, number, view->b, key, p->source[s].n_k) : key < block))
        return true;
    return (gf == GF_ROWS || gf == GF_BOTH) &&
           (number ? list_has(p, number, view->b, row, p->n_q) : row < block);
}

static bool stepped(const struct problem *p, int64_t head, int s, int t, int64_t key, int64_t k_pos,
                    int64_t q_pos)
{
    const int64_t step = cf_t(&p->c, s, t, T_STEP), ph = cf_t(&p->c, s, t, T_PH);
    int64_t phase = cf_t(&p->c, s, t, T_PHASE);

    if (step <= 1)
        return true;
    if (ph == PH_HEAD || ph == PH_BOTH)
        phase += head;
    return floor_mod((ph == PH_QUERY || ph == PH_BOTH ? k_pos - q_pos : key) - phase, step) == 0;
}

static bool window_sees(const struct problem *p, int s, int t, int64_t k_pos, int64_t q_pos)
{
    const int64_t left = cf_t(&p->c, s, t, T_LEFT), right = cf_t(&p->c, s, t, T_RIGHT);
    const int64_t block = cf_t(&p->c, s, t, T_BLOCK), a = q_pos - floor_mod(q_pos, block);
    const int64_t last = k_pos + cf_s(&p->c, s, S_PSPAN) - 1;

    /* a range whose ends cross holds no position, so nothing meets it */
    if (left != HEED_FAR && right != HEED_FAR && a - left > a + block - 1 + right)
        return false;
    return (left == HEED_FAR || last >= a - left) &&
           (right == HEED_FAR || k_pos <= a + block - 1 + right);
}

static bool term_sees(const struct problem *p, const struct item_view *view, int64_t head,
                      int64_t row, int s, int t, int64_t key)
{
    const int64_t k_pos = key_position(p, view, s, key), q_pos = cf_query_position(p, view, row);
    const int number = p->source[s].term[t];

    switch (cf_t(&p->c, s, t, T_KIND)) {
    case KIND_ALL:
        return stepped(p, head, s, t, key, k_pos, q_pos);
    case KIND_WINDOW:
        return window_sees(p, s, t, k_pos, q_pos) && stepped(p, head, s, t, key, k_pos, q_pos);
    case KIND_GLOBAL:
        return global_sees(p, view, row, s, t, key);
    default: {
        const int64_t y = row / cf_t(&p->c, s, t, T_BLOCK);

        return key >= slot_get(p, number, view->b, 0, y, 0) &&
               key < slot_get(p, number, view->b, 0, y, 1);
    }
    }
}

/* What cuts every term: length, CAUSAL, byte mask. */
static bool admitted(const struct problem *p, const struct item_view *view, int64_t head,
                     int64_t row, int s, int64_t key)
{
    const struct source_data *src = &p->source[s];

    if (key < 0 || key >= view->k_n[s])
        return false;
    if (cf_s(&p->c, s, S_CAUSAL) && key_position(p, view, s, key) + cf_s(&p->c, s, S_PSPAN) - 1 >
                                        cf_query_position(p, view, row))
        return false;
    if (!src->mask)
        return true;
    const struct array *a = slot(p, src->mask);
    const int64_t h = a->shape[2] == p->heads ? head
                      : a->shape[2] == 1      ? 0
                                              : head / (p->heads / src->heads);

    return cf_array_bits(a, cf_array_at(a, view->b, 0, h, key)) != 0;
}

bool cf_sees(const struct problem *p, const struct item_view *view, int64_t head, int64_t row,
             int s, int64_t key)
{
    const int64_t nt = cf_s(&p->c, s, S_NT);
    bool seen = nt == 0;

    if (!admitted(p, view, head, row, s, key))
        return false;
    for (int t = 0; t < nt && !seen; t++)
        seen = term_sees(p, view, head, row, s, t, key);
    return seen;
}

int64_t cf_list_entry(const struct problem *p, const struct item_view *view, int64_t head,
                      int64_t row, int s, int64_t i)
{
    const struct source_data *src = &p->source[s];
    const struct array *a = slot(p, src->index);
    const int64_t run = cf_s(&p->c, s, S_RUN), rows = cf_s(&p->c, s, S_ROWS);
    const int64_t x = a->shape[1] == p->heads ? head
                      : a->shape[1] == 1      ? 0
                                              : head / (p->heads / src->heads);
    int64_t e;

    if (i / run >= a->shape[3])
        return -2;
    e = cf_array_int(a, cf_array_at(a, view->b, x, row / rows, i / run));
    if (e < 0 || e > src->n_k / run)
        return -1;
    e = e * run + i % run;
    return admitted(p, view, head, row, s, e) ? e : -1;
}

/* ---- biases -------------------------------------------------------------- */

static int64_t coordinate(const struct problem *p, int number, int64_t b, int64_t i,
                          int64_t position)
{
    return number ? clamp(slot_get(p, number, b, 0, 0, i), -far_away, far_away) : position;
}

/* Value of one bias; false: it adds nothing. */
static bool bias_value(const struct problem *p, const struct item_view *view, int64_t head,
                       int64_t row, int s, int b, int64_t key, double *value)
{
    const struct bias_data *bias = &p->source[s].bias[b];
    const struct array *t = slot(p, bias->t);
    const int64_t kind = cf_b(&p->c, s, b, B_KIND);
    int64_t delta, index, n;

    if (kind == BIAS_DENSE) {
        *value =
            (double)cf_decode(t->dtype, cf_array_bits(t, cf_array_at(t, view->b, head, row, key)));
        return true;
    }
    delta = coordinate(p, bias->k_coord, view->b, key, key_position(p, view, s, key)) -
            coordinate(p, bias->q_coord, view->b, row, cf_query_position(p, view, row));
    if (kind == BIAS_ALIBI) {
        const double slope = (double)cf_decode(t->dtype, cf_array_bits(t, head));

        *value = -slope * fabs((double)delta);
        return true;
    }
    n = bias->map ? slot(p, bias->map)->shape[3] : t->shape[3];
    index = clamp(delta + cf_b(&p->c, s, b, B_ZERO), 0, n - 1);
    if (bias->map) {
        index = slot_get(p, bias->map, 0, 0, 0, index);
        if (index < 0 || index >= t->shape[3])
            return false;
    }
    *value = (double)cf_decode(t->dtype, cf_array_bits(t, cf_array_at(t, 0, 0, head, index)));
    return true;
}

bool cf_biases(const struct problem *p, const struct item_view *view, int64_t head, int64_t row,
               int s, int64_t key, double *total, double *size)
{
    *total = *size = 0;
    for (int b = 0; b < cf_s(&p->c, s, S_NB); b++) {
        double value;

        if (!bias_value(p, view, head, row, s, b, key, &value))
            continue;
        if (value == -(double)INFINITY && cf_b(&p->c, s, b, B_KIND) != BIAS_ALIBI)
            return false;
        *total += value;
        *size += fabs(value);
    }
    return true;
}
