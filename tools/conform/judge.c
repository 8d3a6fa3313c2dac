/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Equality: a device against the reference, several threads against one, other strides and
 * addresses, a batch item alone; and memory that a run must leave as it is.
 */
#include "refusals.h"

#include <stdlib.h>

static void blame(struct verdict *v, const char *what, const char *name, const int64_t index[4],
                  uint32_t want, uint32_t got)
{
    cf_fail(v,
            "%s: %s differs first at b=%lld h=%lld row=%lld channel=%lld: wanted 0x%08x got 0x%08x",
            what, name, (long long)index[0], (long long)index[1], (long long)index[2],
            (long long)index[3], (unsigned)want, (unsigned)got);
}

/* Packed rows that several sequences own are unspecified. */
bool cf_row_shared(const struct problem *p, const struct item_view *views, int64_t b, int64_t place)
{
    for (int64_t other = 0; p->q_begin && other < p->n_items; other++) {
        if (other != b && place >= views[other].q_begin &&
            place < views[other].q_begin + views[other].q_n)
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
                  const unsigned char *skip, const char *what, struct verdict *v)
{
    struct item_view views[MAX_BATCH], theirs;

    /* Of two plans one may go through matrix units and the other not (FAST). */
    if (want->numerics != got->numerics)
        return true;
    for (int64_t i = 0; i < p->n_items; i++)
        cf_item_view(p, i, &views[i]);
    cf_item_view(other, g, &theirs);
    for (int64_t h = 0; h < p->heads; h++) {
        for (int64_t row = 0; row < cf_rows_of(p, &views[b]); row++) {
            const int64_t y = views[b].q_begin + row, y2 = theirs.q_begin + row;

            if ((skip && skip[h * p->n_q + row]) || cf_row_shared(p, views, b, y))
                continue;
            for (int64_t c = 0; c < p->dv; c++) {
                const uint32_t x = cf_array_bits(&want->out, cf_array_at(&want->out, b, h, y, c));
                const uint32_t x2 = cf_array_bits(&got->out, cf_array_at(&got->out, g, h, y2, c));

                if (x != x2) {
                    blame(v, what, "o", (int64_t[4]){ b, h, row, c }, x, x2);
                    return false;
                }
            }
            if (want->has_lse) {
                const uint32_t x =
                    cf_array_bits(&want->out_lse, cf_array_at(&want->out_lse, b, 0, h, y));
                const uint32_t x2 =
                    cf_array_bits(&got->out_lse, cf_array_at(&got->out_lse, g, 0, h, y2));

                if (x != x2) {
                    blame(v, what, "lse", (int64_t[4]){ b, h, row, -1 }, x, x2);
                    return false;
                }
            }
        }
    }
    return true;
}

bool cf_same_bits(const struct problem *p, const struct call *want, const struct problem *other,
                  const struct call *got, const char *what, struct verdict *v)
{
    bool same = true;

    for (int64_t b = 0; b < p->n_items && same; b++)
        same = cf_same_item(p, want, b, other, got, b, NULL, what, v);
    return same;
}

bool cf_run_ok(struct call *call, struct verdict *v, const char *what)
{
    heed_report report = { .size = sizeof report };
    char why[128];
    heed_status status = HEED_OK;

    if (call->on->partial)
        status = heed_attn_check(call->on->device, &call->desc, &report);
    if (cf_refused(call->on, status, &report))
        return false;
    status = cf_call_run(call, &report);
    if (status < 0) {
        cf_fail(v, "%s: check said yes, plan or run said %s: %s (%s)", what,
                heed_status_name(status), report.message, report.field);
        return false;
    }
    if (!cf_call_memory_same(call, why)) {
        cf_step(v, "memory");
        cf_fail(v, "%s: %s", what, why);
        return false;
    }
    return true;
}

void cf_judge_unowned(const struct problem *p, const struct call *call, struct verdict *v)
{
    for (int64_t y = 0; p->q_begin && y < p->q_total; y++) {
        bool owned = false;

        for (int64_t b = 0; b < p->n_items; b++) {
            struct item_view view;

            cf_item_view(p, b, &view);
            owned = owned || (y >= view.q_begin && y < view.q_begin + view.q_n);
        }
        for (int64_t h = 0; h < p->heads && !owned; h++) {
            for (int64_t c = 0; c < p->dv; c++) {
                const int64_t at = cf_array_at(&call->out, 0, h, y, c);
                const uint32_t old = cf_array_bits(&call->old, at),
                               now = cf_array_bits(&call->out, at);

                if (old != now)
                    blame(v, "a packed row outside every sequence was written", "o",
                          (int64_t[4]){ 0, h, y, c }, old, now);
            }
        }
    }
}

static void other_layout(const struct bench *bench, const struct problem *p, const struct call *got,
                         struct verdict *v)
{
    struct call *call = calloc(1, sizeof *call);

    if (!call || !cf_call_make(call, &bench->two, p, CALL_NATURAL, p->c.seed + 77))
        cf_fail(v, "no memory for the natural layout");
    else if (cf_run_ok(call, v, "natural layout, other threads"))
        cf_same_bits(p, got, p, call, "natural layout, aligned, other threads", v);
    if (call)
        cf_call_finish(call);
    free(call);
}

static void alone(const struct bench *bench, const struct problem *p, const struct call *got,
                  struct verdict *v)
{
    const int64_t item = (int64_t)(p->c.seed % (uint64_t)p->n_items);
    struct problem *single = cf_problem_make(&p->c, &item, 1, true);
    struct call *call = calloc(1, sizeof *call);

    if (!single || !call || !cf_call_make(call, &bench->one, single, 0, p->c.seed + 78))
        cf_fail(v, "no memory for a batch item alone");
    else if (cf_run_ok(call, v, "a batch item alone"))
        cf_same_item(p, got, item, single, call, 0, NULL, "a batch item alone", v);
    if (call)
        cf_call_finish(call);
    free(call);
    cf_problem_free(single);
}

void cf_family_bits(const struct bench *bench, const struct problem *p, const struct call *ref,
                    struct call *got, struct verdict *v)
{
    if (ref->on && got->numerics == HEED_NUMERICS_EXACT &&
        !cf_same_bits(p, ref, p, got, "against the reference", v))
        return;
    cf_judge_unowned(p, got, v);
    cf_step(v, "layout");
    other_layout(bench, p, got, v);
    cf_step(v, "alone");
    if (p->n_items > 1)
        alone(bench, p, got, v);
}
