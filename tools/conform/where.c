/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the wrong rows, channels and blocks of keys of failed cases have in common: a remainder by
 * 8 to 128 or a least number that hardly any right one has.
 */
#include "where.h"

#include <stdlib.h>
#include <string.h>

enum { KEYS_BLOCK = 64 };

static void count(int64_t tally[WHERE_MOST], int64_t number)
{
    tally[number < WHERE_MOST ? number : WHERE_MOST - 1]++;
}

/* The last block of keys of the first source of which the row sees one; -1: none. */
static int64_t last_block(const struct problem *p, const struct item_view *view, int64_t head,
                          int64_t row)
{
    for (int64_t key = p->n_sources ? view->k_n[0] : 0; key-- > 0;) {
        if (cf_times_seen(p, view, head, row, 0, key))
            return key / KEYS_BLOCK;
    }
    return -1;
}

/* Channels of a row count where some are wrong. true: the row is. */
static bool row_add(struct where *w, const unsigned char *wrong, int64_t n)
{
    if (!memchr(wrong, 1, (size_t)n))
        return false;
    for (int64_t c = 0; c < n; c++)
        count(wrong[c] ? w->channels.wrong : w->channels.right, c);
    return true;
}

static void elements_add(struct where *w, const struct problem *p, const unsigned char *wrong)
{
    struct item_view view;

    for (int64_t b = 0; b < p->n_items; b++) {
        cf_item_view(p, b, &view);
        for (int64_t i = 0; i < p->heads * cf_rows_of(p, &view); i++) {
            const int64_t head = i / cf_rows_of(p, &view), row = i % cf_rows_of(p, &view);
            const int64_t block = last_block(p, &view, head, row);
            const bool bad =
                row_add(w, wrong + ((b * p->heads + head) * p->n_q + row) * p->dv, p->dv);

            count(bad ? w->rows.wrong : w->rows.right, row);
            if (block >= 0)
                count(bad ? w->blocks.wrong : w->blocks.right, block);
        }
    }
}

/* Marks the elements of o that have not the reference's bits. */
static void bits_differ(const struct problem *p, const struct call *ref, const struct call *got,
                        unsigned char *wrong)
{
    struct item_view views[MAX_BATCH];

    for (int64_t b = 0; b < p->n_items; b++)
        cf_item_view(p, b, &views[b]);
    for (int64_t b = 0; b < p->n_items; b++) {
        for (int64_t i = 0; i < p->heads * cf_rows_of(p, &views[b]); i++) {
            const int64_t head = i / cf_rows_of(p, &views[b]), row = i % cf_rows_of(p, &views[b]);
            const int64_t y = views[b].q_begin + row;

            for (int64_t c = 0; c < p->dv && !cf_row_shared(p, views, b, y); c++) {
                const int64_t at = cf_array_at(&ref->out, b, head, y, c);

                wrong[((b * p->heads + head) * p->n_q + row) * p->dv + c] =
                    cf_array_bits(&ref->out, at) != cf_array_bits(&got->out, at);
            }
        }
    }
}

void cf_where_add(struct where *w, const struct problem *p, const struct call *ref,
                  const struct call *got)
{
    const int64_t n = p->n_items * p->heads * p->n_q * p->dv;
    struct verdict v = { .wrong = calloc((size_t)n + 1, 1) };

    if (!v.wrong)
        return;
    if (ref->on && got->numerics == HEED_NUMERICS_EXACT)
        bits_differ(p, ref, got, v.wrong);
    else
        cf_judge_bound(p, got, &v);
    if (memchr(v.wrong, 1, (size_t)n)) {
        w->cases++;
        elements_add(w, p, v.wrong);
    } else {
        w->others++;
    }
    free(v.wrong);
}

/* ---- what they have in common ---------------------------------------------------------- */

/* Numbers by their remainder. */
struct folded {
    int64_t modulus, wrong[128], right[128];
    int64_t hits, residues, first, last; /* right ones among the wrong residues; those residues */
};

static void fold(const struct where_axis *a, int64_t modulus, struct folded *f)
{
    *f = (struct folded){ .modulus = modulus, .first = -1 };
    for (int64_t i = 0; i < WHERE_MOST; i++) {
        f->wrong[i % modulus] += a->wrong[i];
        f->right[i % modulus] += a->right[i];
    }
    for (int64_t i = 0; i < modulus; i++) {
        if (f->wrong[i] == 0)
            continue;
        f->first = f->first < 0 ? i : f->first;
        f->last = i;
        f->residues++;
        f->hits += f->right[i];
    }
}

/* Right ones from the least wrong one on to the largest. */
static int64_t range_of(const struct where_axis *a, int64_t *least, int64_t *most, int64_t *outside)
{
    int64_t within = 0, all = 0;

    *least = -1;
    for (int64_t i = 0; i < WHERE_MOST; i++) {
        if (a->wrong[i] && *least < 0)
            *least = i;
        if (a->wrong[i])
            *most = i;
        all += a->right[i];
    }
    for (int64_t i = *least; i >= 0 && i <= *most; i++)
        within += a->right[i];
    *outside = all - within;
    return within;
}

static void residues_print(const struct folded *f, FILE *to)
{
    bool first = true;

    if (f->last - f->first + 1 == f->residues && f->residues > 1) {
        fprintf(to, "%lld to %lld", (long long)f->first, (long long)f->last);
    } else {
        for (int64_t i = 0; i < f->modulus; i++) {
            if (f->wrong[i])
                fprintf(to, first ? "%lld" : ", %lld", (long long)i);
            first = first && !f->wrong[i];
        }
    }
    fprintf(to, " mod %lld", (long long)f->modulus);
}

/* The remainders or the range that leave the fewest right ones in; of equals the simplest. */
static void axis_print(const struct where_axis *a, const char *name, FILE *to)
{
    int64_t least, most = 0, outside;
    const int64_t within = range_of(a, &least, &most, &outside);
    struct folded best = { .modulus = 0, .hits = within }, f;

    if (least < 0)
        return;
    for (int64_t modulus = 8; modulus <= 128; modulus *= 2) {
        fold(a, modulus, &f);
        if (f.residues * 2 <= modulus && f.residues <= 32 && f.hits < best.hits)
            best = f;
    }
    fprintf(to, "# wrong %s: ", name);
    if (best.hits * 2 >= within + outside) { /* that says nothing */
        fprintf(to, "any\n");
        return;
    }
    if (best.modulus)
        residues_print(&best, to);
    else
        fprintf(to, "%lld to %lld", (long long)least, (long long)most);
    fprintf(to, "; right ones among such: %lld, others: %lld\n", (long long)best.hits,
            (long long)(within + outside - best.hits));
}

void cf_where_print(const struct where *w, FILE *to)
{
    if (w->cases + w->others == 0)
        return;
    fprintf(to, "# failed cases of attention: %lld with wrong elements of o, %lld otherwise\n",
            (long long)w->cases, (long long)w->others);
    axis_print(&w->rows, "rows", to);
    axis_print(&w->channels, "channels, in such rows", to);
    axis_print(&w->blocks, "last blocks of 64 keys that a row sees", to);
}
