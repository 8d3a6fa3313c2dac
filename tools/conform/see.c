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

/* A row before a key of a source, and their positions. */
struct meeting {
    const struct problem *p;
    const struct item_view *view;
    int64_t head, row, key, q_pos, k_pos;
    int s;
};

static bool stepped(const struct meeting *m, int t)
{
    const struct cs *c = &m->p->c;
    const int64_t step = cf_t(c, m->s, t, T_STEP), ph = cf_t(c, m->s, t, T_PH);
    const bool by_head = ph == PH_HEAD || ph == PH_BOTH, by_query = ph == PH_QUERY || ph == PH_BOTH;
    const int64_t phase = cf_t(c, m->s, t, T_PHASE) + (by_head ? m->head : 0);

    return step <= 1 || floor_mod((by_query ? m->k_pos - m->q_pos : m->key) - phase, step) == 0;
}

static bool all_sees(const struct meeting *m, int t)
{
    return stepped(m, t);
}

static bool window_sees(const struct meeting *m, int t)
{
    const struct cs *c = &m->p->c;
    const int64_t left = cf_t(c, m->s, t, T_LEFT), right = cf_t(c, m->s, t, T_RIGHT);
    const int64_t block = cf_t(c, m->s, t, T_BLOCK), a = m->q_pos - floor_mod(m->q_pos, block);
    const int64_t last = m->k_pos + cf_s(c, m->s, S_PSPAN) - 1;

    /* a range whose ends cross holds no position, so nothing meets it */
    if (left != HEED_FAR && right != HEED_FAR && a - left > a + block - 1 + right)
        return false;
    return (left == HEED_FAR || last >= a - left) &&
           (right == HEED_FAR || m->k_pos <= a + block - 1 + right) && stepped(m, t);
}

static bool global_sees(const struct meeting *m, int t)
{
    const struct problem *p = m->p;
    const int64_t gf = cf_t(&p->c, m->s, t, T_GF), block = cf_t(&p->c, m->s, t, T_BLOCK);
    const int number = p->source[m->s].term[t];

    if (gf != GF_ROWS &&
        (number ? list_has(p, number, m->view->b, m->key, p->source[m->s].n_k) : m->key < block))
        return true;
    return (gf == GF_ROWS || gf == GF_BOTH) &&
           (number ? list_has(p, number, m->view->b, m->row, p->n_q) : m->row < block);
}

static bool segment_sees(const struct meeting *m, int t)
{
    const int64_t y = m->row / cf_t(&m->p->c, m->s, t, T_BLOCK);
    const int number = m->p->source[m->s].term[t];

    return m->key >= slot_get(m->p, number, m->view->b, 0, y, 0) &&
           m->key < slot_get(m->p, number, m->view->b, 0, y, 1);
}

/* A kind of term is a row here. */
static bool (*const predicates[])(const struct meeting *, int t) = {
    [KIND_ALL] = all_sees,
    [KIND_WINDOW] = window_sees,
    [KIND_GLOBAL] = global_sees,
    [KIND_SEGMENT] = segment_sees,
};

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
    const struct meeting m = { p,
                               view,
                               head,
                               row,
                               key,
                               cf_query_position(p, view, row),
                               key_position(p, view, s, key),
                               s };

    for (int t = 0; t < nt && !seen; t++)
        seen = predicates[cf_t(&p->c, s, t, T_KIND)](&m, t);
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

int64_t cf_times_seen(const struct problem *p, const struct item_view *view, int64_t head,
                      int64_t row, int s, int64_t key)
{
    int64_t times = 0;

    if (row >= view->q_n)
        return 0;
    if (cf_s(&p->c, s, S_LAY) != LAY_LISTED)
        return cf_sees(p, view, head, row, s, key);
    for (int64_t i = 0, e; (e = cf_list_entry(p, view, head, row, s, i)) != -2; i++)
        times += e == key;
    return times;
}

/* ---- biases -------------------------------------------------------------- */

static int64_t coordinate(const struct problem *p, int number, int64_t b, int64_t i,
                          int64_t position)
{
    return number ? clamp(slot_get(p, number, b, 0, 0, i), -far_away, far_away) : position;
}

static int64_t delta_of(const struct meeting *m, int b)
{
    const struct bias_data *bias = &m->p->source[m->s].bias[b];

    return coordinate(m->p, bias->k_coord, m->view->b, m->key, m->k_pos) -
           coordinate(m->p, bias->q_coord, m->view->b, m->row, m->q_pos);
}

static double table_at(const struct array *t, int64_t index)
{
    return (double)cf_decode(t->dtype, cf_array_bits(t, index));
}

static bool dense_value(const struct meeting *m, int b, double *value)
{
    const struct array *t = slot(m->p, m->p->source[m->s].bias[b].t);

    *value = table_at(t, cf_array_at(t, m->view->b, m->head, m->row, m->key));
    return true;
}

static bool alibi_value(const struct meeting *m, int b, double *value)
{
    const double slope = table_at(slot(m->p, m->p->source[m->s].bias[b].t), m->head);

    *value = -slope * fabs((double)delta_of(m, b));
    return true;
}

/* A table without an entry, or with a map without one, adds nothing. */
static bool table_value(const struct meeting *m, int b, double *value)
{
    const struct bias_data *bias = &m->p->source[m->s].bias[b];
    const struct array *t = slot(m->p, bias->t);
    const int64_t n = bias->map ? slot(m->p, bias->map)->shape[3] : t->shape[3];
    int64_t index = clamp(delta_of(m, b) + cf_b(&m->p->c, m->s, b, B_ZERO), 0, n - 1);

    if (n == 0)
        return false;
    if (bias->map)
        index = slot_get(m->p, bias->map, 0, 0, 0, index);
    if (index < 0 || index >= t->shape[3])
        return false;
    *value = table_at(t, cf_array_at(t, 0, 0, m->head, index));
    return true;
}

/* A kind of bias is a row here. DOT is refused by every device, so that nothing asks for it. */
static const struct {
    bool (*value)(const struct meeting *, int b, double *value); /* false: it adds nothing */
    bool removes;                                                 /* -Inf removes the key */
} bias_kinds[] = {
    [BIAS_DENSE] = { dense_value, true },
    [BIAS_ALIBI] = { alibi_value, false },
    [BIAS_TABLE] = { table_value, true },
    [BIAS_DOT] = { NULL, false },
};

bool cf_biases(const struct problem *p, const struct item_view *view, int64_t head, int64_t row,
               int s, int64_t key, double *total, double *size)
{
    const struct meeting m = { p,
                               view,
                               head,
                               row,
                               key,
                               cf_query_position(p, view, row),
                               key_position(p, view, s, key),
                               s };

    *total = *size = 0;
    for (int b = 0; b < cf_s(&p->c, s, S_NB); b++) {
        const int64_t kind = cf_b(&p->c, s, b, B_KIND);
        double value;

        if (!bias_kinds[kind].value(&m, b, &value))
            continue;
        if (value == -(double)INFINITY && bias_kinds[kind].removes)
            return false;
        *total += value;
        *size += fabs(value);
    }
    return true;
}
