/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the kit knows of kinds of term and of bias: a row each. The predicates and values are
 * written from the definitions in heed/attn.h key by key and share nothing with the library.
 */
#include "kinds.h"

#include <math.h>

static int64_t floor_mod(int64_t a, int64_t b)
{
    const int64_t r = a % b;

    return r < 0 ? r + b : r;
}

static const struct array *slot(const struct problem *p, int number)
{
    return &p->slot[number - 1].a;
}

/* ---- terms --------------------------------------------------------------- */

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

static bool global_by_row(const struct cs *c, int s, int t)
{
    return cf_t(c, s, t, T_GF) == GF_ROWS || cf_t(c, s, t, T_GF) == GF_BOTH;
}

static bool segment_sees(const struct meeting *m, int t)
{
    const int64_t y = m->row / cf_t(&m->p->c, m->s, t, T_BLOCK);
    const int number = m->p->source[m->s].term[t];

    return m->key >= cf_slot_get(m->p, number, m->view->b, 0, y, 0) &&
           m->key < cf_slot_get(m->p, number, m->view->b, 0, y, 1);
}

#define TAKES(field) (1u << (field))
#define STEPPED (TAKES(T_STEP) | TAKES(T_PHASE) | TAKES(T_PH))

const struct cf_term_kind cf_term_kinds[] = {
    [HEED_TERM_ALL] = { .word = "all", .fields = STEPPED, .sees = all_sees },
    [HEED_TERM_WINDOW] = { .word = "window",
                           .fields = TAKES(T_LEFT) | TAKES(T_RIGHT) | TAKES(T_BLOCK) | STEPPED,
                           .sees = window_sees },
    [HEED_TERM_GLOBAL] = { .word = "global",
                           .fields = TAKES(T_BLOCK) | TAKES(T_GF) | TAKES(T_SLOT),
                           .slot_axes = 1,
                           .slot_make = cf_global_make,
                           .by_row = global_by_row,
                           .sees = global_sees },
    [HEED_TERM_SEGMENT] = { .word = "segment",
                            .fields = TAKES(T_BLOCK) | TAKES(T_SLOT),
                            .slot_axes = 2,
                            .slot_must = true,
                            .slot_rows = true,
                            .slot_make = cf_segment_make,
                            .sees = segment_sees },
};
const int cf_n_term_kinds = sizeof cf_term_kinds / sizeof *cf_term_kinds;

/* ---- biases -------------------------------------------------------------- */

static int64_t coordinate(const struct problem *p, int number, int64_t b, int64_t i,
                          int64_t position)
{
    return number ? cf_position_clamp(cf_slot_get(p, number, b, 0, 0, i)) : position;
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
    const struct bias_data *bias = &m->p->source[m->s].bias[b];
    const struct array *t = slot(m->p, bias->t);

    *value = table_at(t, cf_array_at(t, m->view->b, m->head, m->row, m->key));
    if (bias->u && *value != -(double)INFINITY) { /* one product, rounded to binary32 */
        const struct array *u = slot(m->p, bias->u);

        *value = (double)(float)(*value * table_at(u, cf_array_at(u, 0, 0, 0, m->head)));
    }
    return true;
}

static bool alibi_value(const struct meeting *m, int b, double *value)
{
    const double slope = table_at(slot(m->p, m->p->source[m->s].bias[b].t), m->head);

    *value = -slope * fabs((double)delta_of(m, b));
    /* slope * log2(e) leaves binary32, and times a distance of 0 is NaN: too large to be judged */
    if (isfinite(slope) && fabs(slope) > 0x1.6p127)
        *value = copysign(0x1p120, -slope);
    return true;
}

/* Which of `entries` the pair gets. A table without an entry, or with a map without one, adds
 * nothing. */
static bool entry_of(const struct meeting *m, int b, int64_t entries, int64_t *entry)
{
    const struct bias_data *bias = &m->p->source[m->s].bias[b];
    const int64_t n = bias->map ? slot(m->p, bias->map)->shape[3] : entries;
    int64_t index = delta_of(m, b) + cf_b(&m->p->c, m->s, b, B_ZERO);

    if (n == 0)
        return false;
    index = index < 0 ? 0 : index > n - 1 ? n - 1 : index;
    *entry = bias->map ? cf_slot_get(m->p, bias->map, 0, 0, 0, index) : index;
    return *entry >= 0 && *entry < entries;
}

static bool table_value(const struct meeting *m, int b, double *value)
{
    const struct array *t = slot(m->p, m->p->source[m->s].bias[b].t);
    int64_t entry;

    if (!entry_of(m, b, t->shape[3], &entry))
        return false;
    *value = table_at(t, cf_array_at(t, 0, 0, m->head, entry));
    return true;
}

/* Adds row `entry` of a table times the row of x that begins at `at`; scales: of that row. */
static void product_add(const struct meeting *m, int number, int64_t entry, const struct array *x,
                        int64_t at, const struct cf_scales *scales, double *sum, double *size)
{
    for (int64_t c = 0; number && c < m->p->d; c++) {
        const struct array *t = slot(m->p, number);
        const double product = table_at(t, cf_array_at(t, 0, m->head, entry, c)) *
                               (double)cf_scaled(x, at + c, scales);

        *sum += product;
        *size += fabs(product);
    }
}

static void dot_join(const struct meeting *m, int b, double *sum, double *size)
{
    const struct problem *p = m->p;
    const struct source_data *src = &p->source[m->s];
    const struct bias_data *bias = &src->bias[b];
    const int64_t key_head = m->head / (p->heads / src->heads);
    int64_t entry, item;
    const int64_t row = cf_key_row(p, m->view, m->s, m->key, &item);
    const struct cf_scales scales = cf_scales_at(p, m->s, true, item, key_head, row);
    const struct cf_scales none = { .a = NULL };

    if (!entry_of(m, b, slot(p, bias->t ? bias->t : bias->u)->shape[2], &entry))
        return;
    product_add(m, bias->t, entry, &p->q,
                cf_array_at(&p->q, m->view->b, m->head, m->view->q_begin + m->row, 0), &none, sum,
                size);
    product_add(m, bias->u, entry, &src->k, cf_array_at(&src->k, item, key_head, row, 0), &scales,
                sum, size);
}

#define TABLES (TAKES(B_H) | TAKES(B_LEN) | TAKES(B_MAP) | TAKES(B_COORD) | TAKES(B_ZERO))

const struct cf_bias_kind cf_bias_kinds[] = {
    { .word = "dense",
      .kind = HEED_BIAS_DENSE,
      .fields = TAKES(B_H) | TAKES(B_Q) | TAKES(B_K) | TAKES(B_FACTOR),
      .batched = true,
      .axes = 3,
      .extent = { EXTENT_HEADS, EXTENT_ROWS, EXTENT_KEYS },
      .value = dense_value,
      .removes = true },
    { .word = "alibi",
      .kind = HEED_BIAS_ALIBI,
      .fields = TAKES(B_COORD),
      .axes = 1,
      .extent = { 0, 0, EXTENT_HEADS },
      .slopes = true,
      .value = alibi_value },
    { .word = "table",
      .kind = HEED_BIAS_TABLE,
      .fields = TABLES,
      .axes = 2,
      .extent = { 0, EXTENT_HEADS, EXTENT_LEN },
      .value = table_value,
      .removes = true },
    { .word = "dot",
      .kind = HEED_BIAS_DOT,
      .fields = TABLES | TAKES(B_OF),
      .axes = 3,
      .extent = { EXTENT_HEADS, EXTENT_LEN, EXTENT_CHANNELS },
      .join = dot_join },
};
const int cf_n_bias_kinds = sizeof cf_bias_kinds / sizeof *cf_bias_kinds;

bool cf_term_takes(int64_t row, int field)
{
    return cf_term_kinds[row].fields >> field & 1;
}

int cf_bias_row(uint32_t kind)
{
    for (int i = 0; i < cf_n_bias_kinds; i++) {
        if (cf_bias_kinds[i].kind == kind)
            return i;
    }
    return -1;
}
