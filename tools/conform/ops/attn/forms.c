/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Attention in other forms with the same results: some of its rows, a longer cache, rows of keys
 * that lie apart in one piece, keys that items share in copies.
 */
#include "kinds.h"
#include "meta.h"

#include <stdlib.h>
#include <string.h>

static struct problem *again(const struct problem *p)
{
    return p->was_read ? NULL : cf_problem_make(&p->c, NULL, 0, true);
}

/* ---- rows ------------------------------------------------------------------------- */

/* Positions that are counted from the last row of an item with a length of its own would need an
 * offset for each item. */
int64_t cf_attn_rows(const void *given)
{
    const struct problem *const p = given;

    if (cf_queries_packed(&p->c) || p->was_read ||
        (cf_g(&p->c, G_ALIGN) == ALIGN_END && p->q_len))
        return 0;
    return p->q_ext;
}

/* Of an array with an entry for `each` rows; an extent of 1 is that of all. false: a chunk begins
 * within an entry. */
static bool rows_keep(struct problem *p, int slot, int axis, int64_t each, int64_t from, int64_t n)
{
    if (!slot || p->slot[slot - 1].a.shape[axis] == 1)
        return true;
    return from % each == 0 &&
           cf_array_keep(&p->slot[slot - 1].a, axis, from / each, (n + each - 1) / each);
}

/* Where the number of a row is asked it would be another one. */
static bool terms_keep(struct problem *p, int s, int64_t from, int64_t n)
{
    bool ok = true;

    for (int t = 0; t < cf_s(&p->c, s, S_NT) && ok; t++) {
        const struct cf_term_kind *const kind = &cf_term_kinds[cf_t(&p->c, s, t, T_KIND)];
        const int64_t block = cf_t(&p->c, s, t, T_BLOCK);

        ok = !kind->by_row || !kind->by_row(&p->c, s, t);
        if (ok && kind->slot_rows)
            ok = from % block == 0 && rows_keep(p, p->source[s].term[t], 2, block, from, n);
    }
    return ok;
}

static bool biases_keep(struct problem *p, int s, int64_t from, int64_t n)
{
    bool ok = true;

    for (int b = 0; b < cf_s(&p->c, s, S_NB) && ok; b++) {
        const struct cf_bias_kind *const kind = &cf_bias_kinds[cf_b(&p->c, s, b, B_KIND)];
        const struct bias_data *const bias = &p->source[s].bias[b];

        ok = rows_keep(p, bias->q_coord, 3, 1, from, n);
        for (int i = 0; i < 3 && ok; i++) {
            if (kind->extent[i] == EXTENT_ROWS)
                ok = rows_keep(p, bias->t, 4 - kind->axes + i, 1, from, n);
        }
    }
    return ok;
}

static bool sources_keep(struct problem *p, int64_t from, int64_t n)
{
    bool ok = true;

    for (int s = 0; s < p->n_sources && ok; s++) {
        const bool lists = cf_layout_of(&p->c, s)->lists;

        ok = rows_keep(p, p->source[s].row_mask, 2, 1, from, n) && terms_keep(p, s, from, n) &&
             biases_keep(p, s, from, n) &&
             (!lists || (from % cf_s(&p->c, s, S_ROWS) == 0 &&
                         rows_keep(p, p->source[s].index, 2, cf_s(&p->c, s, S_ROWS), from, n)));
    }
    return ok;
}

/* Row 0 is at the position of row `from`; of `rows` in all, n are left. */
static void positions_keep(struct problem *p, int64_t rows, int64_t from, int64_t n)
{
    const int64_t step = cf_g(&p->c, G_QSTEP);

    p->c.v[G_QPOS0] += cf_g(&p->c, G_ALIGN) == ALIGN_END ? -(rows - from - n) * step : from * step;
}

void *cf_attn_cut(const void *given, int64_t from, int64_t n)
{
    const struct problem *const p = given;
    struct problem *const q = again(p);

    if (!q)
        return NULL;
    if (!sources_keep(q, from, n) || !cf_array_keep(&q->q, 2, from, n)) {
        cf_problem_free(q);
        return NULL;
    }
    cf_lengths_keep(q, q->q_len, from, n);
    positions_keep(q, p->n_q, from, n);
    q->n_q = q->q_ext = q->q_total = q->o_total = q->c.v[G_NQ] = n;
    return q;
}

bool cf_attn_repeats(const void *given)
{
    const struct problem *const p = given;
    int axes;
    int64_t extent[3];

    cf_batch_axes(&p->c, &axes, extent);
    /* packed rows would have several owners; items that overlap are not the same */
    return !p->q_begin && axes > 0 && cf_g(&p->c, G_SS) != LAID_OVERLAP;
}

/* ---- others with the same results ------------------------------------------------------ */

static void *longer(const void *given)
{
    const struct problem *const p = given;
    struct cs c = p->c;

    return !p->was_read && cf_cache_longer(&c) ? cf_problem_make(&c, NULL, 0, true) : NULL;
}

static void *gathered(const void *given)
{
    return ((const struct problem *)given)->was_read ? NULL : cf_cache_gathered(given);
}

/* The one item of an array becomes n equal ones. */
static bool multiplied(struct array *a, int64_t n)
{
    const size_t bytes = cf_array_bytes(a);
    char *const data = malloc((size_t)n * bytes + 8);

    if (!data)
        return false;
    for (int64_t i = 0; i < n; i++)
        memcpy(data + (size_t)i * bytes, a->data, bytes);
    free(a->data);
    a->data = data;
    a->shape[0] = n;
    a->zero &= ~1;
    return true;
}

/* Page i of item b becomes page b * n + i of what it was a page of. */
static bool page_own(struct array *to, const struct array *from, const struct array *table)
{
    const int64_t n = table->shape[3];
    const size_t bytes = from->shape[0] ? cf_array_bytes(from) / (size_t)from->shape[0] : 0;

    *to = *from;
    to->shape[0] = table->shape[0] * n;
    to->zero &= ~1;
    if (!cf_array_alloc(to))
        return false;
    for (int64_t i = 0; i < to->shape[0]; i++) {
        const int64_t page = cf_array_int(table, i);

        if (page >= 0 && page < from->shape[0])
            memcpy((char *)to->data + (size_t)i * bytes,
                   (const char *)from->data + (size_t)page * bytes, bytes);
    }
    return true;
}

/* Scales would go with the pages. */
static bool pages_own(struct problem *q, int s)
{
    struct source_data *const src = &q->source[s];
    struct array *const table = &q->slot[src->index - 1].a;
    const int64_t pages = src->k.shape[0];
    struct array k, v;

    if (!page_own(&k, &src->k, table))
        return false;
    if (!page_own(&v, &src->v, table)) {
        free(k.data);
        return false;
    }
    free(src->k.data);
    free(src->v.data);
    src->k = k;
    src->v = v;
    for (int64_t i = 0; i < cf_array_count(table); i++) {
        const int64_t page = cf_array_int(table, i);

        if (page >= 0 && page < pages)
            cf_array_set_int(table, i, i);
        else
            cf_array_set_int(table, i, -1);
    }
    return true;
}

static void *paged_apart(const void *given)
{
    const struct problem *const p = given;
    struct problem *q = NULL;
    bool ok = true;

    for (int s = 0; s < p->n_sources && ok && cf_g(&p->c, G_SS) < LAID_ZERO; s++) {
        const struct source_data *const src = &p->source[s];

        if (!cf_layout_of(&p->c, s)->pages || src->k_scale || src->v_scale ||
            p->slot[src->index - 1].a.shape[0] != p->n_items)
            continue;
        q = q ? q : again(p);
        ok = q && pages_own(q, s);
    }
    if (ok)
        return q;
    cf_problem_free(q);
    return NULL;
}

/* Scales may be those of all items still. */
static void *copied(const void *given)
{
    const struct problem *const p = given;
    struct problem *q = NULL;
    bool ok = true;

    for (int s = 0; s < p->n_sources && ok; s++) {
        if (p->n_items < 2 || cf_layout_of(&p->c, s)->packed || cf_layout_of(&p->c, s)->pages ||
            cf_s(&p->c, s, S_KB) != 1)
            continue;
        q = q ? q : again(p);
        ok = q && multiplied(&q->source[s].k, p->n_items) &&
             multiplied(&q->source[s].v, p->n_items);
    }
    if (ok)
        return q;
    cf_problem_free(q);
    return NULL;
}

const struct cf_alike cf_attn_alikes[] = {
    { "chunk", "keys in a longer cache", longer },
    { "layout", "packed, paged and ring keys gathered in one piece", gathered },
    { "layout", "keys that items share in copies of their own", copied },
    { "layout", "each page of each item in a copy of its own", paged_apart },
    { NULL, NULL, NULL },
};
