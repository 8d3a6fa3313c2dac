/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which blocks of keys a stretch of rows may see. The reach of a row is a few ranges, and a range
 * adds 1 where it begins and takes 1 away behind its end, so that the work grows with rows and
 * blocks and not with their product.
 */
#include "blocks.h"

#include "../../core/alloc.h"
#include "../../core/error.h"
#include "../../layouts/layouts.h"
#include "slots.h"
#include "visible.h"

#include <string.h>

/* One item's look at one source. */
struct marks {
    struct heed_look look;
    const struct heed_lowered_source *source;
    const struct hk_sub *subs; /* of the source */
    const struct heed_sub_slots *slots;
    struct hk_sub_view *views; /* one for each of them */
    int64_t first, end;        /* rows */
    int64_t *changes;          /* of the number of ranges over block i, and one more */
    int64_t *comb;             /* the same over the ordinals of a comb */
    int64_t block;             /* keys */
};

static void mark(struct marks *m, int64_t low, int64_t high)
{
    high = high < m->look.n_keys ? high : m->look.n_keys;
    if (low >= high)
        return;
    m->changes[low / m->block]++;
    m->changes[(high - 1) / m->block + 1]--;
}

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

static void views_make(struct marks *m)
{
    const struct heed_look *look = &m->look;

    for (uint32_t i = 0; i < m->source->n; i++) {
        const struct heed_aux *list = m->slots[i].list;
        struct hk_sub_view *view = &m->views[i];

        *view = (struct hk_sub_view){ .len = look->n_keys };
        if (list)
            view->n_list = m->subs[i].kind == HK_SUB_LIST
                               ? list_length(look, list, look->source->n_k)
                               : list->shape[5];
        for (uint32_t r = 0; r < m->subs[i].n_ranges; r++) {
            const struct heed_aux *pairs = m->slots[i].pairs[r];

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
static int64_t limit_most(struct marks *m, const struct hk_sub *sub)
{
    int64_t limit[2];

    for (int i = 0; i < 2; i++) {
        m->look.row = i ? m->end - 1 : m->first;
        limit[i] = hk_limit(sub, m->look.n_keys, heed_look_position(&m->look));
    }
    return limit[0] > limit[1] ? limit[0] : limit[1];
}

static void list_mark(struct marks *m, uint32_t i)
{
    const int64_t limit = limit_most(m, &m->subs[i]);

    for (int64_t e = 0; e < m->views[i].n_list; e++) {
        const int64_t key = heed_look_entry(&m->look, m->slots[i].list, 0, 0, e);

        if (key < limit)
            mark(m, key, key + 1);
    }
}

/* Runs of keys that lists name. */
static void gather_mark(struct marks *m, uint32_t i)
{
    const struct heed_aux *list = m->slots[i].list;
    const int64_t rows = m->look.source->rows, run = m->subs[i].run;
    const int64_t limit = limit_most(m, &m->subs[i]);

    for (int64_t block = m->first / rows; block <= (m->end - 1) / rows; block++) {
        for (int64_t head = 0; head < list->shape[3]; head++) {
            for (int64_t e = 0; e < m->views[i].n_list; e++) {
                const int64_t entry = heed_look_entry(&m->look, list, head, block, e);
                const int64_t key = entry * run; /* of 32 bits each */

                if (entry >= 0)
                    mark(m, key, key + run < limit ? key + run : limit);
            }
        }
    }
}

/* The teeth of a comb are close enough for no block between them to be without one. */
static void reach_mark(struct marks *m, const struct hk_sub *sub, const struct hk_reach *reach)
{
    for (uint32_t r = 0; r < reach->n; r++) {
        int64_t low = reach->lo[r], high = reach->hi[r];

        if (low >= high)
            continue;
        if (sub->kind == HK_SUB_STRIDED) {
            low = low * sub->step + reach->residue;
            high = (high - 1) * sub->step + reach->residue + 1;
        }
        mark(m, low, high);
    }
}

/* A comb whose teeth are farther apart than a block: key by key. */
static bool is_wide(const struct marks *m, const struct hk_sub *sub)
{
    return sub->kind == HK_SUB_STRIDED && sub->step > m->block;
}

/* Rows first, first + apart, .. have one residue each time. What they see of the comb is summed in
 * ordinals, so that keys are named once for all of them. */
static void residue_mark(struct marks *m, uint32_t i, int64_t first, int64_t apart, int64_t head)
{
    const struct hk_sub *sub = &m->subs[i];
    const int64_t n = m->look.n_keys / sub->step + 2;
    int64_t over = 0, residue = -1;

    memset(m->comb, 0, (size_t)n * sizeof *m->comb);
    for (int64_t row = first; row < m->end; row += apart) {
        struct hk_reach reach;

        m->look.row = row;
        const struct hk_row at = { .q = heed_look_position(&m->look), .index = row, .head = head };

        hk_reach_find(sub, &m->views[i], &at, &reach);
        residue = residue < 0 ? reach.residue : residue;
        if (reach.residue != residue) /* of a position that was clamped */
            reach_mark(m, sub, &reach);
        for (uint32_t r = 0; r < reach.n && reach.residue == residue; r++) {
            if (reach.lo[r] < reach.hi[r]) {
                m->comb[reach.lo[r]]++;
                m->comb[reach.hi[r]]--;
            }
        }
    }
    for (int64_t o = 0; o < n; o++) {
        over += m->comb[o];
        if (over > 0)
            mark(m, o * sub->step + residue, o * sub->step + residue + 1);
    }
}

static void comb_mark(struct marks *m, uint32_t i)
{
    const struct hk_sub *sub = &m->subs[i];
    const int64_t heads = sub->flags & HK_PHASE_HEAD ? m->look.attn->heads : 1;
    const int64_t apart =
        sub->flags & HK_PHASE_QUERY ? sub->step / hk_gcd(sub->step, m->look.attn->q_pos_step) : 1;

    for (int64_t head = 0; head < heads; head++) {
        for (int64_t r = m->first; r < m->end && r < m->first + apart; r++)
            residue_mark(m, i, r, apart, head);
    }
}

static void row_mark(struct marks *m, struct hk_row *row)
{
    row->index = m->look.row;
    row->q = heed_look_position(&m->look);
    for (uint32_t i = 0; i < m->source->n; i++) {
        const struct hk_sub *sub = &m->subs[i];
        const int64_t heads = sub->flags & HK_PHASE_HEAD ? m->look.attn->heads : 1;
        struct hk_reach reach;

        if (sub->kind == HK_SUB_LIST || sub->kind == HK_SUB_GATHER || is_wide(m, sub))
            continue;
        for (row->head = 0; row->head < heads; row->head++) {
            hk_reach_find(sub, &m->views[i], row, &reach);
            reach_mark(m, sub, &reach);
        }
    }
}

static void item_mark(struct marks *m)
{
    const struct heed_aux *rows = m->source->rows;
    const int64_t n_rows = rows ? list_length(&m->look, rows, m->look.attn->n_q) : 0;
    int64_t next = 0;

    views_make(m);
    for (uint32_t i = 0; i < m->source->n; i++) {
        if (m->subs[i].kind == HK_SUB_LIST)
            list_mark(m, i);
        else if (m->subs[i].kind == HK_SUB_GATHER)
            gather_mark(m, i);
        else if (is_wide(m, &m->subs[i]))
            comb_mark(m, i);
    }
    for (int64_t r = m->first; r < m->end; r++) {
        struct hk_row row = { .all = r < m->source->rows_first_n };

        while (next < n_rows && heed_look_entry(&m->look, rows, 0, 0, next) < r)
            next++;
        if (next < n_rows && heed_look_entry(&m->look, rows, 0, 0, next) == r)
            row.all = 1;
        m->look.row = r;
        row_mark(m, &row);
    }
}

/* Room for the ordinals of the closest wide comb. */
static uint64_t comb_most(const struct marks *m, int64_t keys)
{
    int64_t most = 1;

    for (uint32_t i = 0; i < m->source->n; i++) {
        const int64_t n = is_wide(m, &m->subs[i]) ? keys / m->subs[i].step + 2 : 0;

        most = n > most ? n : most;
    }
    return (uint64_t)most;
}

heed_status heed_blocks_find(const struct heed_checked *attn, const struct heed_lowered *lowered,
                             const void *const *slots, const struct heed_stretch *of, uint8_t *seen,
                             struct heed_arena *arena, heed_report *report)
{
    const uint32_t source = of->source;
    const int64_t keys = heed_look_room(&attn->sources[source]);
    const int64_t n = keys / of->block + (keys % of->block > 0);
    struct marks m = { .source = &lowered->sources[source],
                       .first = of->first,
                       .block = of->block };
    heed_status status = heed_look_require(attn, slots, source, report);
    int64_t over = 0;

    if (status < 0)
        return status;
    m.subs = lowered->subs + m.source->first;
    m.slots = lowered->slots + m.source->first;
    m.views = heed_arena_array(arena, m.source->n, sizeof *m.views, _Alignof(struct hk_sub_view));
    m.changes = heed_arena_array(arena, (uint64_t)n + 1, sizeof *m.changes, _Alignof(int64_t));
    m.comb = heed_arena_array(arena, comb_most(&m, keys), sizeof *m.comb, _Alignof(int64_t));
    if ((!m.views && m.source->n > 0) || !m.changes || !m.comb)
        return heed_report_fill(report, HEED_E_NOMEM, "", 0, 0, "no memory for the blocks");
    for (int64_t item = 0; item < attn->n_batch; item++) {
        heed_look_item(&m.look, attn, slots, source, item);
        m.end = of->count < m.look.n_rows - of->first ? of->first + of->count : m.look.n_rows;
        if (m.first < m.end && m.look.n_keys > 0)
            item_mark(&m);
    }
    for (int64_t i = 0; i < n; i++) {
        over += m.changes[i];
        seen[i] = over > 0;
    }
    return HEED_OK;
}
