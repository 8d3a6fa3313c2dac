/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What kernels of attention that do one thing are made for: types that go together, a width of k
 * and one of v, grouped heads, causal with or without a window, a layout with its pages. A case for
 * each of many such kinds, and the fields that such kernels tie together.
 */
#include "kinds.h"
#include "conform/engine/cover.h"

#include <string.h>

/* The digits of a number, each with a base of its own. */
static int64_t digit(int64_t *number, int64_t base)
{
    const int64_t d = *number % base;

    *number /= base;
    return d;
}

static void types_set(struct cs *c, int64_t type, int64_t out, bool bytes)
{
    int64_t *const source = &c->v[cf_at_source(0)];

    c->v[G_Q] = type;
    source[S_K] = source[S_V] = bytes ? type_place(TYPE_KEYS, HEED_I8) : type;
    c->v[G_O] = out ? DT_F32 : type;
}

static void causal_set(struct cs *c, bool causal)
{
    c->v[cf_at_source(0) + S_CAUSAL] = causal;
    c->v[G_ALIGN] = causal ? ALIGN_END : ALIGN_START;
}

enum { TYPES = 3 * 2, GROUPS = 2, CAUSAL = 2, FORMS = TYPES * CAUSAL * GROUPS };

/* One element type or f32 outputs, one head or groups of two, causal or not; of `number` the rest
 * is left for the widths. */
static void form_set(struct cs *c, int64_t *number)
{
    const int64_t type = digit(number, 3), out = digit(number, 2);

    types_set(c, type, out, false);
    causal_set(c, digit(number, 2));
    if (digit(number, 2)) {
        c->v[G_H] = 4;
        c->v[cf_at_source(0) + S_HK] = 2; /* half */
    }
}

/* Kernels for more than dense keys and queries. */
static const struct {
    int64_t lay, page;
} layouts[] = {
    { LAY_DENSE, 0 },  { LAY_PAGED, 16 }, { LAY_PAGED, 1 },  { LAY_PAGED, 3 }, { LAY_PAGED, 64 },
    { LAY_PAGED, 100 }, { LAY_RAGGED, 0 }, { LAY_LISTED, 0 }, { LAY_RING, 0 },
};
static const int64_t rows_keys[][2] = { { 7, 33 }, { 1, 65 }, { 64, 64 }, { 16, 16 } };
static const int64_t heads[][2] = { { 1, 0 }, { 4, 0 }, { 4, 1 }, { 4, 2 } };
static const int64_t plain_widths[] = { 64, 128, 16, 8 };

enum {
    N_LAYOUTS = sizeof layouts / sizeof *layouts,
    N_ROWS = sizeof rows_keys / sizeof *rows_keys,
    N_HEADS = sizeof heads / sizeof *heads,
    N_WIDTHS = sizeof plain_widths / sizeof *plain_widths,
    SEEN = 4, /* all, causal, a window, both */
    MIXTURES = 3 * 2 * 2 * N_LAYOUTS * N_ROWS * N_HEADS * N_WIDTHS * SEEN * 2
};

static void mixture_set(struct cs *c, int64_t number)
{
    int64_t *const source = &c->v[cf_at_source(0)];
    const int64_t type = digit(&number, 3), out = digit(&number, 2), bytes = digit(&number, 2),
                  layout = digit(&number, N_LAYOUTS), rows = digit(&number, N_ROWS),
                  group = digit(&number, N_HEADS), seen = digit(&number, SEEN);

    types_set(c, type, out, bytes);
    source[S_LAY] = layouts[layout].lay;
    source[S_LEN] = source[S_LAY] == LAY_DENSE ? HAVE_NONE : HAVE_RT;
    source[S_IDX] = source[S_LAY] == LAY_DENSE ? SLOT_CONST : SLOT_RT;
    if (layouts[layout].page)
        source[S_PAGE] = layouts[layout].page;
    c->v[G_NQ] = rows_keys[rows][0];
    source[S_NK] = rows_keys[rows][1];
    c->v[G_H] = heads[group][0];
    source[S_HK] = heads[group][1];
    causal_set(c, seen & 1);
    source[S_NT] = seen > 1;
    c->v[cf_at_term(0, 0) + T_KIND] = HEED_TERM_WINDOW;
    c->v[G_D] = c->v[G_DV] = plain_widths[digit(&number, N_WIDTHS)];
    c->v[G_LSE] = digit(&number, 2) ? LSE_PLAIN : LSE_NONE;
}

enum { WIDTHS = 16 }; /* of the axes d and dv */

enum { SIMPLE = FORMS * WIDTHS, PAIRS = FORMS * WIDTHS * WIDTHS };

int64_t cf_attn_singles(int64_t *simple)
{
    *simple = SIMPLE;
    return SIMPLE + PAIRS + MIXTURES;
}

/* One width; two widths; a mixture of the rest. */
bool cf_attn_single(int64_t number, struct cs *c)
{
    const int64_t *const widths = cf_fields[G_D].level;
    const bool f32_twice = number % TYPES == 3; /* as outputs of f32: f32 has them already */

    cf_op->smallest(c);
    if (number < SIMPLE) {
        form_set(c, &number);
        c->v[G_D] = c->v[G_DV] = widths[number];
    } else if (number < SIMPLE + PAIRS) {
        number -= SIMPLE;
        form_set(c, &number);
        c->v[G_D] = widths[digit(&number, WIDTHS)];
        c->v[G_DV] = widths[number];
    } else {
        mixture_set(c, number - SIMPLE - PAIRS);
    }
    cf_case_normalize(c);
    return !f32_twice;
}

int cf_attn_ties(int field, int to[MAX_TIES])
{
    const int s = cf_at_source(0), t = cf_at_term(0, 0);
    const int ties[][1 + MAX_TIES] = {
        { G_D, G_DV, -1 },
        { G_DV, G_D, -1 },
        { G_H, s + S_HK, -1 },
        { s + S_HK, G_H, -1 },
        { G_NQ, s + S_NK, s + S_CAUSAL },
        { s + S_NK, G_NQ, -1 },
        { s + S_CAUSAL, s + S_NT, G_ALIGN },
        { s + S_NT, s + S_CAUSAL, -1 },
        { G_Q, G_O, s + S_K },
        { s + S_K, s + S_V, G_Q },
        { s + S_V, s + S_K, G_Q },
        { s + S_LAY, s + S_PAGE, s + S_LEN },
        { s + S_PAGE, s + S_LEN, s + S_NK },
        { t + T_KIND, s + S_CAUSAL, t + T_RIGHT },
        { t + T_LEFT, t + T_RIGHT, s + S_CAUSAL },
        { t + T_RIGHT, t + T_LEFT, s + S_CAUSAL },
    };
    int n = 0;

    for (size_t i = 0; i < sizeof ties / sizeof *ties; i++) {
        for (int k = 1; ties[i][0] == field && k <= MAX_TIES && ties[i][k] >= 0; k++)
            to[n++] = ties[i][k];
    }
    return n;
}

/* Types and widths: what a kernel is said to be for. */
bool cf_attn_vital(int field)
{
    return field == G_Q || field == G_O || field == G_D || field == G_DV ||
           field == cf_at_source(0) + S_K || field == cf_at_source(0) + S_V;
}

int cf_most_keys(const struct problem *p)
{
    int most = 0;

    for (int64_t b = 0; b < p->n_items && p->dv > 0; b++) {
        struct item_view view;

        cf_item_view(p, b, &view);
        for (int64_t i = 0; i < p->heads * cf_rows_of(p, &view); i++) {
            const int64_t head = i / cf_rows_of(p, &view), row = i % cf_rows_of(p, &view);
            int64_t n = 0;

            for (int s = 0; s < p->n_sources; s++) {
                for (int64_t key = 0; key < view.k_n[s] && n < 2; key++)
                    n += cf_times_seen(p, &view, head, row, s, key);
            }
            most = n > most ? (int)n : most;
            if (most >= 2)
                return 2;
        }
    }
    return most;
}

/* Sees no row of the case two keys? */
bool cf_attn_idle(const struct cs *c)
{
    struct problem *p = cf_problem_make(c, NULL, 0, true);
    const bool idle = p && cf_most_keys(p) < 2;

    cf_problem_free(p);
    return idle;
}
