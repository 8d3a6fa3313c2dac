/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a query row sees and what is added to its scores, written from the definitions in
 * heed/attn.h key by key. It shares nothing with the library: it is what the library is judged by.
 */
#include "kinds.h"

#include <math.h>

static int64_t clamp(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

static const struct array *slot(const struct problem *p, int number)
{
    return &p->slot[number - 1].a;
}

int64_t cf_slot_get(const struct problem *p, int number, int64_t b, int64_t x, int64_t y, int64_t z)
{
    const struct array *a = slot(p, number);

    return cf_array_int(a, cf_array_at(a, b, x, y, z));
}

int64_t cf_position_clamp(int64_t x)
{
    const int64_t far_away = INT64_C(1) << 60;

    return clamp(x, -far_away, far_away);
}

/* A sequence: begin (0 unless packed) and length within [0, bound]. */
static void sequence(const struct problem *p, int64_t b, int begins, int lengths, int64_t bound,
                     int64_t total, int64_t *begin, int64_t *length)
{
    *begin = begins ? cf_slot_get(p, begins, b, 0, 0, 0) : 0;
    *length = lengths ? clamp(cf_slot_get(p, lengths, b, 0, 0, 0), 0, bound) : bound;
    if (!begins)
        return;
    if (*begin < 0 || *begin > total)
        *begin = *length = 0;
    if (*length > total - *begin)
        *length = total - *begin;
}

void cf_item_view(const struct problem *p, int64_t b, struct item_view *view)
{
    int64_t n = INT64_MAX;

    *view = (struct item_view){ .b = b };
    sequence(p, b, p->q_begin, p->q_len, p->n_q, p->q_total, &view->q_begin, &view->q_n);
    view->o_begin = view->q_begin;
    if (p->o_begin)
        sequence(p, b, p->o_begin, p->q_len, view->q_n, p->o_total, &view->o_begin, &n);
    if (n < view->q_n)
        view->q_n = n;
    for (int s = 0; s < p->n_sources; s++) {
        const struct cf_layout *layout = cf_layout_of(&p->c, s);
        const struct source_data *src = &p->source[s];

        sequence(p, b, layout->packed ? src->index : 0, src->len, src->n_k, src->total,
                 &view->k_begin[s], &view->k_n[s]);
        if (layout->axes == 0 && !layout->packed) {     /* the row of key 0 */
            view->k_begin[s] = cf_slot_get(p, src->index, b, 0, 0, 0);
            if (view->k_begin[s] < 0 || view->k_begin[s] >= src->total)
                view->k_begin[s] = view->k_n[s] = 0;
        }
    }
}

bool cf_key_there(const struct problem *p, const struct item_view *view, int s, int64_t key)
{
    const struct cf_layout *layout = cf_layout_of(&p->c, s);
    int64_t page, row;

    return !layout->find || layout->find(p, view, s, key, &page, &row);
}

int64_t cf_key_row(const struct problem *p, const struct item_view *view, int s, int64_t key,
                   int64_t *b)
{
    const struct cf_layout *layout = cf_layout_of(&p->c, s);
    int64_t row = view->k_begin[s] + key;

    *b = view->b;
    if (layout->find)
        layout->find(p, view, s, key, b, &row);
    return row;
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
        at += cf_position_clamp(cf_slot_get(p, p->q_pos, view->b, 0, 0, 0));
    return cf_position_clamp(at);
}

/* Is the key's byte of the row, or its bit of one of the row's words, not 0? */
static bool row_keeps(const struct problem *p, const struct item_view *view, int64_t head,
                      int64_t row, int s, int64_t key)
{
    const int number = p->source[s].row_mask;
    const struct array *a = number ? slot(p, number) : NULL;

    if (!a)
        return true;
    if (a->dtype == HEED_U8)
        return cf_array_bits(a, cf_array_at(a, view->b, head, row, key)) != 0;
    return (uint32_t)cf_array_int(a, cf_array_at(a, view->b, head, row, key / 32)) >> key % 32 & 1;
}

/* What cuts every term: length, a row that is not there, CAUSAL, masks. */
static bool admitted(const struct problem *p, const struct item_view *view, int64_t head,
                     int64_t row, int s, int64_t key)
{
    const struct source_data *src = &p->source[s];

    if (key < 0 || key >= view->k_n[s] || !cf_key_there(p, view, s, key))
        return false;
    if (cf_s(&p->c, s, S_CAUSAL) && key_position(p, view, s, key) + cf_s(&p->c, s, S_PSPAN) - 1 >
                                        cf_query_position(p, view, row))
        return false;
    if (!row_keeps(p, view, head, row, s, key))
        return false;
    if (!src->mask)
        return true;
    const struct array *a = slot(p, src->mask);
    const int64_t h = a->shape[2] == p->heads ? head
                      : a->shape[2] == 1      ? 0
                                              : head / (p->heads / src->heads);

    return cf_array_bits(a, cf_array_at(a, view->b, 0, h, key)) != 0;
}

static struct meeting meeting_of(const struct problem *p, const struct item_view *view,
                                 int64_t head, int64_t row, int s, int64_t key)
{
    return (struct meeting){ p,
                             view,
                             head,
                             row,
                             key,
                             cf_query_position(p, view, row),
                             key_position(p, view, s, key),
                             s };
}

bool cf_sees(const struct problem *p, const struct item_view *view, int64_t head, int64_t row,
             int s, int64_t key)
{
    const int64_t nt = cf_s(&p->c, s, S_NT);
    bool seen = nt == 0;

    if (!admitted(p, view, head, row, s, key))
        return false;
    const struct meeting m = meeting_of(p, view, head, row, s, key);

    for (int t = 0; t < nt && !seen; t++)
        seen = cf_term_kinds[cf_t(&p->c, s, t, T_KIND)].sees(&m, t);
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
    if (!cf_layout_of(&p->c, s)->lists)
        return cf_sees(p, view, head, row, s, key);
    for (int64_t i = 0, e; (e = cf_list_entry(p, view, head, row, s, i)) != -2; i++)
        times += e == key;
    return times;
}

/* ---- biases -------------------------------------------------------------- */

bool cf_biases(const struct problem *p, const struct item_view *view, int64_t head, int64_t row,
               int s, int64_t key, double *total, double *size)
{
    const struct meeting m = meeting_of(p, view, head, row, s, key);

    *total = *size = 0;
    for (int b = 0; b < cf_s(&p->c, s, S_NB); b++) {
        const struct cf_bias_kind *kind = &cf_bias_kinds[cf_b(&p->c, s, b, B_KIND)];
        double value;

        if (!kind->value || !kind->value(&m, b, &value))
            continue;
        if (value == -(double)INFINITY && kind->removes)
            return false;
        *total += value;
        *size += fabs(value);
    }
    return true;
}

void cf_joined(const struct problem *p, const struct item_view *view, int64_t head, int64_t row,
               int s, int64_t key, double *total, double *size)
{
    const struct meeting m = meeting_of(p, view, head, row, s, key);

    *total = *size = 0;
    for (int b = 0; b < cf_s(&p->c, s, S_NB); b++) {
        const struct cf_bias_kind *kind = &cf_bias_kinds[cf_b(&p->c, s, b, B_KIND)];

        if (kind->join)
            kind->join(&m, b, total, size);
    }
}
