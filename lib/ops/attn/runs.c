/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a row sees of a sub-source is a range whose ends do not fall, or do not rise, from row to
 * row. So what many rows see is one range if the ranges of the first and of the last one touch, or
 * those of neighbours do, and else that of two halves: the work grows with the number of runs, and
 * not with rows or keys. Ranges that are loaded are asked for row by row.
 */
#include "runs.h"

#include "../../core/alloc.h"
#include "../../core/error.h"
#include "../../layouts/layouts.h"
#include "slots.h"
#include "visible.h"

#include <stdbool.h>

/* One item's look at one source. */
struct finder {
    struct heed_look look;
    const struct heed_lowered_source *source;
    const struct hk_sub *subs; /* of the source */
    const struct heed_sub_slots *slots;
    struct hk_sub_view *views; /* one for each of them */
    int64_t first, end;        /* rows of the item */
    const struct heed_runs_to *to;
    int64_t low, high; /* keys that are still to be added, low < high */
    int64_t begin;     /* of the item among packed keys, else 0 */
};

/* ---- what is added ---- */

static void run_end(struct finder *f)
{
    if (f->low < f->high)
        f->to->add(f->to->self, f->begin + f->low, f->begin + f->high, 1);
    f->low = f->high = 0;
}

static void run_add(struct finder *f, int64_t low, int64_t high)
{
    high = high < f->look.n_keys ? high : f->look.n_keys;
    if (low >= high)
        return;
    if (low > f->high || high < f->low || f->low >= f->high) {
        run_end(f);
        f->low = low;
        f->high = high;
    }
    f->low = low < f->low ? low : f->low;
    f->high = high > f->high ? high : f->high;
}

/* ---- lists ---- */

/* The entries of a GLOBAL list that count: it ends at one that does not ascend within the bound. */
static int64_t list_length(const struct heed_look *look, const struct heed_aux *list, int64_t bound)
{
    int64_t before = -1, n = 0;

    for (; n < list->shape[5]; n++) {
        const int64_t entry = heed_look_entry(look, list, 0, 0, n);

        if (entry <= before || entry >= bound)
            break;
        before = entry;
    }
    return n;
}

static void views_make(struct finder *f)
{
    const struct heed_look *look = &f->look;

    for (uint32_t i = 0; i < f->source->n; i++) {
        const struct heed_aux *list = f->slots[i].list;
        struct hk_sub_view *view = &f->views[i];

        *view = (struct hk_sub_view){ .len = look->n_keys };
        if (list)
            view->n_list = f->subs[i].kind == HK_SUB_LIST
                               ? list_length(look, list, look->source->n_k)
                               : list->shape[5];
        for (uint32_t r = 0; r < f->subs[i].n_ranges; r++) {
            const struct heed_aux *pairs = f->slots[i].pairs[r];

            if (!pairs)
                continue;
            view->pairs[r] = (const int32_t *)heed_slots_base(pairs, look->slots) +
                             look->at[0] * pairs->stride[0] + look->at[1] * pairs->stride[1] +
                             look->at[2] * pairs->stride[2];
            view->pair_stride[r] = pairs->stride[4];
            view->pair_end[r] = pairs->stride[5];
        }
    }
}

/* The highest limit that a row of the stretch has: that of its first or its last one. */
static int64_t limit_most(struct finder *f, const struct hk_sub *sub)
{
    int64_t limit[2];

    for (int i = 0; i < 2; i++) {
        f->look.row = i ? f->end - 1 : f->first;
        limit[i] = hk_limit(sub, f->look.n_keys, heed_look_position(&f->look));
    }
    return limit[0] > limit[1] ? limit[0] : limit[1];
}

static void list_add(struct finder *f, uint32_t i)
{
    const int64_t limit = limit_most(f, &f->subs[i]);

    for (int64_t e = 0; e < f->views[i].n_list; e++) {
        const int64_t key = heed_look_entry(&f->look, f->slots[i].list, 0, 0, e);

        if (key < limit)
            run_add(f, key, key + 1);
    }
}

/* Runs of keys that lists name. */
static void gather_add(struct finder *f, uint32_t i)
{
    const struct heed_aux *list = f->slots[i].list;
    const int64_t rows = f->look.source->rows, run = f->subs[i].run;
    const int64_t limit = limit_most(f, &f->subs[i]);

    for (int64_t block = f->first / rows; block <= (f->end - 1) / rows; block++) {
        for (int64_t head = 0; head < list->shape[3]; head++) {
            for (int64_t e = 0; e < f->views[i].n_list; e++) {
                const int64_t entry = heed_look_entry(&f->look, list, head, block, e);
                const int64_t key = entry * run; /* of 32 bits each */

                if (entry >= 0)
                    run_add(f, key, key + run < limit ? key + run : limit);
            }
        }
    }
}

/* ---- ranges ---- */

/* Rows at, at + apart, .. of a head. */
struct rows {
    int64_t at, apart, n, head, all;
};

/* Range r of what row i of them sees, in ordinals. */
struct range {
    int64_t low, high, residue;
};

static struct range range_of(struct finder *f, uint32_t i, const struct rows *rows, int64_t row,
                             uint32_t r)
{
    struct hk_reach reach;

    f->look.row = rows->at + row * rows->apart;
    const struct hk_row at = { .q = heed_look_position(&f->look),
                               .index = f->look.row,
                               .head = rows->head,
                               .all = rows->all };

    hk_reach_find(&f->subs[i], &f->views[i], &at, &reach);
    if (r >= reach.n)
        return (struct range){ 0, 0, reach.residue };
    return (struct range){ reach.lo[r], reach.hi[r], reach.residue };
}

static void range_add(struct finder *f, const struct hk_sub *sub, int64_t low, int64_t high,
                      int64_t residue)
{
    if (low >= high)
        return;
    if (sub->kind != HK_SUB_STRIDED) {
        run_add(f, low, high);
        return;
    }
    low = low * sub->step + residue;
    high = (high - 1) * sub->step + residue + 1;
    high = high < f->look.n_keys ? high : f->look.n_keys;
    if (low < high)
        f->to->add(f->to->self, f->begin + low, f->begin + high, sub->step);
}

/* Does the range of each of the rows end where that of the next one begins, or later? Then all of
 * them see one range. Positions that leave binary64 are not counted on. */
static bool flows(const struct finder *f, const struct hk_sub *sub, const struct rows *rows,
                  uint32_t r)
{
    const double most = 0x1p52, step = (double)f->look.attn->q_pos_step * (double)rows->apart;
    const struct hk_range *range = &sub->range[r];
    double move, end;

    if (r >= sub->n_ranges || range->kind != HK_RANGE_AFFINE || range->open & HK_OPEN_LO ||
        !(step < most) || range->block > (int64_t)1 << 40)
        return false;
    move = (double)(((int64_t)step + range->block - 1) / range->block * range->block);
    end = range->open & HK_OPEN_HI ? most : (double)range->hi;
    if (sub->flags & HK_CAUSAL && (double)(1 - sub->pos_span) < end)
        end = (double)(1 - sub->pos_span);
    return (double)range->lo > -most && (double)range->lo + move <= end + 1;
}

/* Is the range of every row empty: does it end, by itself or by CAUSAL, before it begins? */
static bool is_nothing(const struct hk_sub *sub, uint32_t r)
{
    const struct hk_range *range = &sub->range[r];
    int64_t end = INT64_MAX;

    if (r >= sub->n_ranges || range->kind != HK_RANGE_AFFINE || range->open & HK_OPEN_LO)
        return false;
    if (!(range->open & HK_OPEN_HI))
        end = range->hi;
    if (sub->flags & HK_CAUSAL && range->block - sub->pos_span < end)
        end = range->block - sub->pos_span;
    return range->lo > end;
}

/* What all of the rows see of range r. */
static void rows_add(struct finder *f, uint32_t i, uint32_t r, struct rows rows)
{
    const struct hk_sub *sub = &f->subs[i];
    const bool loaded = r < sub->n_ranges && sub->range[r].kind == HK_RANGE_PAIRS;
    const struct range a = range_of(f, i, &rows, 0, r);
    const struct range b = rows.n == 1 ? a : range_of(f, i, &rows, rows.n - 1, r);
    const int64_t low = a.low < b.low ? a.low : b.low, high = a.high > b.high ? a.high : b.high;
    const int64_t inner_low = a.low > b.low ? a.low : b.low;
    const int64_t inner_high = a.high < b.high ? a.high : b.high;
    struct rows half = rows;

    if (rows.n == 1 || (!loaded && a.residue == b.residue &&
                        (low >= high || inner_low <= inner_high || /* low >= high: all are empty */
                         flows(f, sub, &rows, r)))) {
        range_add(f, sub, low, high, a.residue);
        return;
    }
    half.n = rows.n / 2;
    rows_add(f, i, r, half);
    half.at += half.n * rows.apart;
    half.n = rows.n - half.n;
    rows_add(f, i, r, half);
}

/* Rows [first, end) of a sub-source; of one with a residue by query, those of each residue. */
static void sub_add(struct finder *f, uint32_t i, int64_t first, int64_t end, int64_t all)
{
    const struct hk_sub *sub = &f->subs[i];
    const int64_t heads = sub->flags & HK_PHASE_HEAD ? f->look.attn->heads : 1;
    const int64_t apart =
        sub->flags & HK_PHASE_QUERY ? sub->step / hk_gcd(sub->step, f->look.attn->q_pos_step) : 1;

    for (int64_t head = 0; head < heads; head++) {
        for (int64_t row = first; row < end && row < first + apart; row++) {
            const struct rows rows = {
                .at = row,
                .apart = apart,
                .n = (end - row + apart - 1) / apart,
                .head = head,
                .all = all,
            };

            for (uint32_t r = 0; r < HK_RANGES; r++) {
                if ((r == 0 || r < sub->n_ranges) && (all || !is_nothing(sub, r)))
                    rows_add(f, i, r, rows);
            }
        }
    }
}

static void stretch_add(struct finder *f, int64_t first, int64_t end, int64_t all)
{
    if (first >= end)
        return;
    for (uint32_t i = 0; i < f->source->n; i++) {
        if (f->subs[i].kind != HK_SUB_LIST && f->subs[i].kind != HK_SUB_GATHER)
            sub_add(f, i, first, end, all);
    }
}

/* ---- items ---- */

static void item_add(struct finder *f)
{
    const struct heed_aux *list = f->source->rows;
    const int64_t n_list = list ? list_length(&f->look, list, f->look.attn->n_q) : 0;
    int64_t row = f->source->rows_first_n < f->end ? f->source->rows_first_n : f->end;

    views_make(f);
    for (uint32_t i = 0; i < f->source->n; i++) {
        if (f->subs[i].kind == HK_SUB_LIST)
            list_add(f, i);
        else if (f->subs[i].kind == HK_SUB_GATHER)
            gather_add(f, i);
    }
    stretch_add(f, f->first, row, 1);
    row = row > f->first ? row : f->first;
    for (int64_t e = 0; e < n_list; e++) {
        const int64_t named = heed_look_entry(&f->look, list, 0, 0, e);

        if (named < row || named >= f->end)
            continue;
        stretch_add(f, row, named, 0);
        stretch_add(f, named, named + 1, 1);
        row = named + 1;
    }
    stretch_add(f, row, f->end, 0);
    run_end(f);
}

/* Looks at the item: its rows are those of the stretch that lie in it, and its keys may be packed
 * with those of others. One without rows or keys may begin anywhere. */
static void item_find(struct finder *f, const struct heed_stretch *of,
                      const struct heed_checked *attn, const void *const *slots, int64_t item)
{
    struct heed_look *look = &f->look;
    int64_t first = of->first;

    heed_look_item(look, attn, slots, of->source, item);
    f->first = f->end = f->begin = 0;
    if (look->n_rows == 0 || look->n_keys == 0)
        return;
    if (heed_layout_packed(attn->q_layout))
        first -= heed_look_entry(look, &attn->q_begin, 0, 0, 0);
    if (heed_layout_packed(look->source->layout))
        f->begin = heed_look_entry(look, &look->source->index, 0, 0, 0);
    f->first = first > 0 ? first : 0;
    f->end = of->count < look->n_rows - first ? first + of->count : look->n_rows;
}

heed_status heed_runs_find(const struct heed_checked *attn, const struct heed_lowered *lowered,
                           const void *const *slots, const struct heed_stretch *of,
                           const struct heed_runs_to *to, struct heed_arena *arena,
                           heed_report *report)
{
    struct finder f = { .source = &lowered->sources[of->source], .to = to };
    heed_status status = heed_look_require(attn, slots, of->source, report);

    if (status < 0)
        return status;
    f.subs = lowered->subs + f.source->first;
    f.slots = lowered->slots + f.source->first;
    f.views = heed_arena_array(arena, f.source->n, sizeof *f.views, _Alignof(struct hk_sub_view));
    if (!f.views && f.source->n > 0)
        return heed_report_fill(report, HEED_E_NOMEM, "", 0, 0, "no memory for the views");
    for (int64_t item = 0; item < attn->n_batch; item++) {
        item_find(&f, of, attn, slots, item);
        if (f.first < f.end)
            item_add(&f);
    }
    return HEED_OK;
}
