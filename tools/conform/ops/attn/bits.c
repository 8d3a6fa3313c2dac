/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Equality of the rows of two runs; and rows that a run must leave as they are.
 */
#include "attn.h"
#include "conform/engine/subject.h"

static void blame(struct verdict *v, const char *what, const char *name, const int64_t index[4],
                  uint32_t dtype, uint32_t want, uint32_t got)
{
    char wanted[WORD_TEXT], is[WORD_TEXT];

    cf_word_print(dtype, want, wanted);
    cf_word_print(dtype, got, is);
    cf_fail(v, "%s: %s differs first at b=%lld h=%lld row=%lld channel=%lld: wanted %s got %s",
            what, name, (long long)index[0], (long long)index[1], (long long)index[2],
            (long long)index[3], wanted, is);
}

/* Packed rows that several sequences own are unspecified. */
bool cf_row_shared(const struct problem *p, const struct item_view *views, int64_t b, int64_t place)
{
    for (int64_t other = 0; p->q_begin && other < p->n_items; other++) {
        if (other != b && place >= views[other].o_begin &&
            place < views[other].o_begin + views[other].q_n)
            return true;
    }
    return false;
}

/* Rows to judge of an item: all of a DENSE one, else those of its sequence. */
int64_t cf_rows_of(const struct problem *p, const struct item_view *view)
{
    return p->q_begin ? view->q_n : p->n_q;
}

bool cf_same_item(const struct problem *p, const struct call *want, int64_t b,
                  const struct problem *other, const struct call *got, int64_t g,
                  const struct relation *r, struct verdict *v)
{
    const unsigned char *const skip = r->skip ? r->skip + b * p->heads * p->n_q : NULL;
    const int64_t end = r->n_rows ? r->row + r->n_rows : INT64_MAX;
    struct item_view views[MAX_BATCH], theirs;

    /* Of two plans one may go through matrix units and the other not (FAST). */
    if (want->job.numerics != got->job.numerics)
        return true;
    for (int64_t i = 0; i < p->n_items; i++)
        cf_item_view(p, i, &views[i]);
    cf_item_view(other, g, &theirs);
    for (int64_t h = 0; h < p->heads; h++) {
        for (int64_t row = r->row; row < cf_rows_of(p, &views[b]) && row < end; row++) {
            const int64_t y = views[b].o_begin + row, y2 = theirs.o_begin + row - r->row;

            if ((skip && skip[h * p->n_q + row]) || cf_row_shared(p, views, b, y))
                continue;
            for (int64_t c = 0; c < want->out.shape[3]; c++) {
                const uint32_t x = cf_array_bits(&want->out, cf_array_at(&want->out, b, h, y, c));
                const uint32_t x2 = cf_array_bits(&got->out, cf_array_at(&got->out, g, h, y2, c));

                if (x != x2) {
                    blame(v, r->what, "o", (int64_t[4]){ b, h, row, c }, want->out.dtype, x, x2);
                    return false;
                }
            }
            if (want->has_lse) {
                const uint32_t x =
                    cf_array_bits(&want->out_lse, cf_array_at(&want->out_lse, b, 0, h, y));
                const uint32_t x2 =
                    cf_array_bits(&got->out_lse, cf_array_at(&got->out_lse, g, 0, h, y2));

                if (x != x2) {
                    blame(v, r->what, "lse", (int64_t[4]){ b, h, row, -1 }, HEED_F32, x, x2);
                    return false;
                }
            }
        }
    }
    return true;
}

void cf_judge_unowned(const struct problem *p, const struct call *call, struct verdict *v)
{
    for (int64_t y = 0; p->q_begin && y < p->o_total; y++) {
        bool owned = false;

        for (int64_t b = 0; b < p->n_items; b++) {
            struct item_view view;

            cf_item_view(p, b, &view);
            owned = owned || (y >= view.o_begin && y < view.o_begin + view.q_n);
        }
        for (int64_t h = 0; h < p->heads && !owned; h++) {
            for (int64_t c = 0; c < call->out.shape[3]; c++) {
                const int64_t at = cf_array_at(&call->out, 0, h, y, c);
                const uint32_t old = cf_array_bits(&call->old, at),
                               now = cf_array_bits(&call->out, at);

                if (old != now)
                    blame(v, "a packed row outside every sequence was written", "o",
                          (int64_t[4]){ 0, h, y, c }, call->out.dtype, old, now);
            }
        }
    }
}
