/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the wrong rows, channels, heads, batch items and blocks of keys of failed cases have in
 * common: a remainder by 8 to 128 or a least number that hardly any right one has.
 */
#include "symptoms.h"
#include "conform/engine/session.h"

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

/* Does the item have keys on a page of -1, or of a number that no page has? */
static bool has_absent(const struct problem *p, const struct item_view *view)
{
    for (int s = 0; s < p->n_sources; s++) {
        for (int64_t key = 0; key < view->k_n[s]; key++) {
            if (!cf_key_there(p, view, s, key))
                return true;
        }
    }
    return false;
}

static void absent_say(struct verdict *v, const char *whose)
{
    const size_t n = strlen(v->why);

    snprintf(v->why + n, sizeof v->why - n,
             "; %s keys on pages of -1 or beyond the last, which are absent", whose);
}

void cf_where_pages(const struct problem *p, struct verdict *v)
{
    bool absent = false;

    for (int64_t b = 0; b < p->n_items; b++) {
        struct item_view view;

        cf_item_view(p, b, &view);
        absent = absent || has_absent(p, &view);
    }
    if (absent)
        absent_say(v, "the case has");
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

/* true: all wrong rows are of items with keys on absent pages. */
static bool elements_add(struct where *w, const struct problem *p, const unsigned char *wrong)
{
    struct item_view view;
    bool absent = true;

    for (int64_t b = 0; b < p->n_items; b++) {
        bool gone;

        cf_item_view(p, b, &view);
        gone = has_absent(p, &view);
        for (int64_t i = 0; i < p->heads * cf_rows_of(p, &view); i++) {
            const int64_t head = i / cf_rows_of(p, &view), row = i % cf_rows_of(p, &view);
            const int64_t block = last_block(p, &view, head, row);
            const bool bad =
                row_add(w, wrong + ((b * p->heads + head) * p->n_q + row) * p->dv, p->dv);

            count(bad ? w->rows.wrong : w->rows.right, row);
            count(bad ? w->heads.wrong : w->heads.right, head);
            count(bad ? w->items.wrong : w->items.right, b);
            if (block >= 0)
                count(bad ? w->blocks.wrong : w->blocks.right, block);
            absent = absent && (!bad || gone);
        }
    }
    return absent;
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
            const int64_t y = views[b].o_begin + row;

            for (int64_t c = 0; c < p->dv && !cf_row_shared(p, views, b, y); c++) {
                const int64_t at = cf_array_at(&ref->out, b, head, y, c);

                wrong[((b * p->heads + head) * p->n_q + row) * p->dv + c] =
                    cf_array_bits(&ref->out, at) != cf_array_bits(&got->out, at);
            }
        }
    }
}

void cf_where_add(struct where *w, const struct problem *p, const struct call *ref,
                  const struct call *got, struct verdict *verdict)
{
    const int64_t n = p->n_items * p->heads * p->n_q * p->dv;
    struct verdict v = { .wrong = calloc((size_t)n + 1, 1) };

    if (!v.wrong)
        return;
    if (ref->job.on && got->job.numerics == HEED_NUMERICS_EXACT)
        bits_differ(p, ref, got, v.wrong);
    else
        cf_judge_bound(p, got, &v);
    if (memchr(v.wrong, 1, (size_t)n)) {
        w->cases++;
        if (elements_add(w, p, v.wrong))
            absent_say(verdict, "its wrong rows have");
    } else {
        w->others++;
        cf_where_pages(p, verdict);
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

static void residues_print(const struct folded *f, bool all, FILE *to)
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
    if (!all)
        fprintf(to, " mod %lld", (long long)f->modulus);
}

/* The largest number that there is, right or wrong. */
static int64_t largest(const struct where_axis *a)
{
    int64_t i = WHERE_MOST - 1;

    while (i > 0 && !a->wrong[i] && !a->right[i])
        i--;
    return i;
}

/* The remainders or the range that leave the fewest right ones in; of equals the simplest. false:
 * that says nothing. */
static bool axis_print(const struct where_axis *a, const char *name, FILE *to)
{
    int64_t least, most = 0, outside;
    const int64_t within = range_of(a, &least, &most, &outside);
    struct folded best = { .modulus = 0, .hits = within }, f;

    if (least < 0)
        return false;
    for (int64_t modulus = 8; modulus <= 128; modulus *= 2) {
        fold(a, modulus, &f);
        if (f.residues * 2 <= modulus && f.residues <= 32 && f.hits < best.hits)
            best = f;
    }
    if (best.hits * 2 >= within + outside)
        return false;
    fprintf(to, "# wrong %s: ", name);
    if (best.modulus)
        residues_print(&best, largest(a) < best.modulus, to);
    else if (least == most)
        fprintf(to, "%lld", (long long)least);
    else
        fprintf(to, "%lld to %lld", (long long)least, (long long)most);
    fprintf(to, "; right ones among such: %lld, others: %lld\n", (long long)best.hits,
            (long long)(within + outside - best.hits));
    return true;
}

static void where_print(const struct where *w, FILE *to)
{
    const struct {
        const struct where_axis *axis;
        const char *name;
    } axes[] = { { &w->rows, "rows" },
                 { &w->channels, "channels, in such rows" },
                 { &w->heads, "heads" },
                 { &w->items, "batch items" },
                 { &w->blocks, "last blocks of 64 keys that a row sees" } };
    bool said = w->cases == 0;

    if (w->cases + w->others == 0)
        return;
    fprintf(to, "# failed cases of attention: %lld with wrong elements of o, %lld otherwise\n",
            (long long)w->cases, (long long)w->others);
    for (size_t i = 0; i < sizeof axes / sizeof *axes; i++)
        said |= axis_print(axes[i].axis, axes[i].name, to);
    if (!said)
        fprintf(to, "# wrong rows, channels, heads, batch items, blocks of keys: any\n");
}

/* ---- what is noted ------------------------------------------------------------- */

void cf_attn_summary(const struct session *session)
{
    const int64_t *const seen = session->notes->evidence;

    where_print(&session->notes->where, stdout);
    if (seen[0] + seen[1] + seen[2] > 0)
        printf("# attention judged: %lld cases with a row that sees two keys, %lld with one key, "
               "%lld without\n",
               (long long)seen[2], (long long)seen[1], (long long)seen[0]);
}

const char *cf_attn_vain(const struct session *session)
{
    const int64_t *const seen = session->notes->evidence;

    return seen[0] + seen[1] > 0 && seen[2] == 0 ? "in no case of attention a row saw two keys"
                                                 : NULL;
}
