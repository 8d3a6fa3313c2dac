/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What is decided when a plan is bound: how query rows form strips, how many tasks there are, and
 * where everything lies in the workspace.
 */
#include "../kernels/attn/strips.h"
#include "../kernels/attn/worker.h"
#include "blob.h"
#include "tune.h"

#include <math.h>

/* Rows of a strip, heads included, at least: of lists alone those that share one, for others read
 * other keys. */
static int64_t rows_least(const struct heed_plan *plan)
{
    const struct heed_lowered *lowered = heed_lowered_of(plan);

    for (uint32_t s = 0; s < heed_attn_of(plan)->n_sources; s++) {
        if (!heed_source_listed(plan, s))
            return HEED_TUNE_ROWS_MIN;
    }
    return lowered->group > 0 ? hk_min(lowered->group * lowered->stack, HEED_TUNE_ROWS_MIN)
                              : HEED_TUNE_ROWS_MIN;
}

/* Rows of a strip, heads included: of work-groups those of a group; of lanes they stay in the
 * second cache level and leave every worker enough strips. */
static int64_t rows_find(const struct heed_plan *plan, const struct heed_device_traits *traits)
{
    const struct heed_checked *attn = plan->checked;
    const int64_t least = rows_least(plan);
    int64_t rows = heed_plan_halves(plan, traits) ? HEED_TUNE_HALVES_ROWS : HEED_TUNE_ROWS;

    if (traits->shape == HEED_SHAPE_WORKGROUP)
        return heed_group_few(plan, traits) ? HK_PART_ROWS : traits->group_rows;
    while (rows > least) {
        const double strips =
            (double)attn->n_batch * (double)attn->heads * (double)attn->n_q / (double)rows;

        if (strips >= (double)traits->workers * HEED_TUNE_STRIPS || traits->workers == 1)
            break;
        rows = hk_max(rows / 2, least);
    }
    return rows;
}

/* Kernels with 128 channels want registers for 32 sums a thread: 4 rows of 8 channels. */
int64_t heed_group_width(const struct heed_checked *attn, const struct heed_device_traits *traits)
{
    return (attn->d <= 64 && attn->d_v <= 64) || traits->group_sums < 32 ? 64 : 128;
}

/* As HK_THREADS of kernels/attn/group.h. */
uint32_t heed_group_threads(const struct heed_checked *attn,
                            const struct heed_device_traits *traits)
{
    const uint32_t channels = (uint32_t)heed_group_width(attn, traits) / 16;

    return 16 * traits->group_rows / (traits->group_sums / channels >= 8 ? 8 : 4);
}

static void strips_find(const struct heed_plan *plan, const struct heed_device_traits *traits,
                        struct hk_strips *strips)
{
    const int64_t rows = rows_find(plan, traits);

    *strips = (struct hk_strips){
        .stack = heed_lowered_of(plan)->stack,
        .group = heed_lowered_of(plan)->group,
        .row_step = heed_lowered_of(plan)->row_step,
    };
    if (strips->stack > rows)
        strips->stack = hk_gcd(strips->stack, rows);
    strips->rows = rows / strips->stack;
    if (traits->shape == HEED_SHAPE_LANES &&
        (strips->group <= HEED_TUNE_LIST_ROWS || strips->row_step > 1))
        strips->group = 0;              /* kernels/attn/lists.h */
    if (heed_group_lists(plan, traits))
        strips->group = 0;
    if (strips->group > 0 && strips->row_step > 1)
        strips->rows = 1;
}

/* Is a table that a run looks at worth it, of which whole chunks may be shared? */
static bool tables_alike(const struct heed_plan *plan, uint32_t s)
{
    return heed_lowered_of(plan)->sources[s].tables &&
           heed_attn_of(plan)->sources[s].n_k >= HK_BLOCK * HK_CHUNK;
}

/* Do items share a quarter or more of the keys that each has of its own? tables: or may they, where
 * it is a run's tables that say so? */
static bool items_share(const struct heed_plan *plan, bool tables)
{
    const struct heed_lowered *lowered = heed_lowered_of(plan);
    double common = 0, own = 0;

    for (uint32_t s = 0; s < heed_attn_of(plan)->n_sources; s++) {
        const struct heed_lowered_source *source = &lowered->sources[s];

        if (source->rows)
            return false;
        *(source->common || (tables && tables_alike(plan, s)) ? &common : &own) +=
            (double)heed_attn_of(plan)->sources[s].n_k;
    }
    return common > 0 && 4 * common >= own;
}

/* Lanes: items share a strip where it has room; for their tables' sake, where an item's rows are
 * one strip anyway, and with tasks of their own if these are enough, for they may share nothing.
 * Tasks are a strip's parts: every worker gets some. */
static void items_find(const struct heed_plan *plan, const struct heed_device_traits *traits,
                       struct hk_plan *to)
{
    const struct heed_checked *attn = plan->checked;
    const int64_t room = HEED_TUNE_ROWS / to->strips.stack / hk_max(attn->n_q, 1);
    const double workers = traits->workers, items = (double)to->groups * (double)attn->n_batch;
    const bool may = traits->shape == HEED_SHAPE_LANES && !to->halves &&
                     !heed_lowered_of(plan)->q_packed && to->strips.row_step == 1 &&
                     heed_lowered_of(plan)->group == 0 && attn->n_q > 0;
    const bool share = may && items_share(plan, false);
    const bool look = may && !share && attn->n_q <= to->strips.rows && items_share(plan, true);
    const bool leads = look && (workers == 1 || items >= workers * HEED_TUNE_PARTS);
    const double parts = leads ? 1 : heed_blob_chunks(plan, heed_lowered_of(plan)->n_subs);

    to->items = share || look ? hk_max(hk_min(attn->n_batch, room), 1) : 1;
    while (to->items > 1 && workers > 1 &&
           (double)to->groups * (double)hk_parts(attn->n_batch, to->items) * parts <
               workers * HEED_TUNE_ITEM_TASKS)
        to->items /= 2;
    if (leads && to->items > 1)
        to->flags |= HK_PLAN_LEADS;
    to->item_groups = to->flags & HK_PLAN_LEADS ? attn->n_batch
                                                : hk_parts(attn->n_batch, to->items);
    to->strips.rows = hk_max(to->strips.rows, to->items > 1 ? to->items * attn->n_q : 0);
}

/* ---- the workspace ---- */

/* -1: n is no power of two. */
static int64_t shift_find(int64_t n)
{
    int64_t shift = 0;

    if (n <= 0 || (n & (n - 1)) != 0)
        return -1;
    while (n >> shift != 1)
        shift++;
    return shift;
}

/* minima: there are such beside scales that lie apart. */
static struct hk_scaling scaling_find(uint32_t dtype, const struct heed_aux *scale, bool minima,
                                      int64_t channels)
{
    const int64_t entries = scale->inner != 0 ? scale->shape[scale->inner] : 1;

    if (channels == 0)
        return (struct hk_scaling){ .group = 0 };
    if (HK_IN_BLOCKS(dtype))
        return (struct hk_scaling){ .group = HK_BLOCK_CHANNELS, .minima = HK_HAS_MINIMA(dtype) };
    if (scale->slot == 0)
        return (struct hk_scaling){ .group = 0 };
    return (struct hk_scaling){
        .group = channels / (minima ? entries / 2 : entries),
        .step = scale->inner != 0 ? scale->stride[scale->inner] : 0,
        .minima = minima,
    };
}

static struct hk_scaling k_scaling(const struct heed_checked *attn,
                                   const struct heed_checked_source *from)
{
    return scaling_find(from->k.dtype, &from->k_scale, (from->flags & HEED_SOURCE_K_MINIMA) != 0,
                        attn->d);
}

static struct hk_scaling v_scaling(const struct heed_checked *attn,
                                   const struct heed_checked_source *from)
{
    return scaling_find(from->v.dtype, &from->v_scale, (from->flags & HEED_SOURCE_V_MINIMA) != 0,
                        attn->d_v);
}

/* Of K in panels: channels, then what hk_scales_pack puts behind them. */
static int64_t panel_rows(const struct heed_checked *attn, const struct heed_checked_source *from)
{
    const struct hk_scaling k = k_scaling(attn, from);

    return attn->d + hk_scale_rows(k.group, (int)k.minima, attn->d);
}

/* Room for scales, of the source that asks for most. */
static void scales_find(const struct heed_plan *plan, struct hk_plan *to)
{
    const struct heed_checked *attn = heed_attn_of(plan);

    to->panel_rows = attn->d;
    for (uint32_t s = 0; s < attn->n_sources; s++) {
        const struct heed_checked_source *from = &attn->sources[s];
        const struct hk_scaling k = k_scaling(attn, from), v = v_scaling(attn, from);

        to->panel_rows = hk_max(to->panel_rows, panel_rows(attn, from));
        to->v_groups = hk_max(to->v_groups, v.group > 0 ? attn->d_v / v.group : 0);
        if (k.minima)
            to->k_sums = hk_max(to->k_sums, attn->d / k.group);
        if (v.minima)
            to->minima = hk_max(to->minima, hk_parts(attn->d_v / v.group, 16) * 16);
        for (uint32_t i = 0; i < from->n_biases && k.group > 0; i++) {
            if (from->biases[i].u.slot != 0)
                to->wide = 64 * attn->d;
        }
    }
}

static void source_find(const struct heed_plan *plan, const struct heed_device_traits *traits,
                        uint32_t s, struct hk_plan *to, struct hk_source *source,
                        struct heed_room *w)
{
    const struct heed_checked *attn = plan->checked;
    const struct heed_checked_source *from = &attn->sources[s];
    const struct heed_lowered_source *lowered = &heed_lowered_of(plan)->sources[s];
    const bool single = to->strips.row_step > 1 || to->strips.group > 0;

    *source = (struct hk_source){
        .heads = from->heads,
        .n_k = from->n_k,
        .list_rows = from->rows,
        .rows_first_n = lowered->rows_first_n,
        .k_scaling = k_scaling(attn, from),
        .v_scaling = v_scaling(attn, from),
        .panel_rows = panel_rows(attn, from),
        .blocks = hk_parts(from->n_k, 64),
        .row_words = attn->n_q / 64 + 1,
        .layout = lowered->layout,
        .gaps = lowered->gaps,
        .packed = lowered->items == HEED_ITEMS_PACKED,
        .value = lowered->value,
        .shared = lowered->shared,
        .common = lowered->common,
        .apart = heed_source_listed(plan, s) && heed_group_lists(plan, traits),
        .pages = from->k.shape[2],
        .shift = shift_find(from->k.shape[4]),
        .first_sub = lowered->first,
        .n_subs = lowered->n,
        .first_bias = to->n_biases,
        .first_dot = to->n_dots,
    };
    for (uint32_t i = 0; i < from->n_biases; i++)
        ++*(from->biases[i].in_score ? &source->n_dots : &source->n_biases);
    to->n_biases += source->n_biases;
    to->n_dots += source->n_dots;
    if (to->items > 1 && tables_alike(plan, s))
        source->alike_at = heed_room_place(w, (double)attn->n_batch, sizeof(int64_t));
    if (lowered->keys)
        source->keys_at = heed_room_place(w, (double)attn->n_batch * (double)source->blocks, 8);
    if (lowered->rows) {
        /* Ascending, so of no more entries in use than there are rows. */
        const int64_t max = hk_min(lowered->rows->shape[5], attn->n_q);

        source->row_parts = hk_parts(max, single ? 1 : to->strips.rows);
        source->rows_at = heed_room_place(w, (double)attn->n_batch * (double)source->row_words, 8);
    }
    if (traits->shape == HEED_SHAPE_LANES && !to->halves)
        heed_panels_find(plan, traits, s, to, source, w);
}

/* More are not numbered by a launch. */
static bool tasks_find(const struct heed_plan *plan, const struct hk_source *sources,
                       struct hk_plan *to)
{
    const double items = (double)to->groups * (double)to->n_batch;
    const int64_t strips =
        hk_strips_count(to->strips.rows, to->strips.row_step, to->strips.group, to->n_q);
    const double tasks = (double)strips * (double)to->groups * (double)to->item_groups;
    double lists = 0;

    to->batch_strips = strips;
    for (uint32_t s = 0; s < heed_attn_of(plan)->n_sources; s++)
        lists += (double)sources[s].row_parts * items;
    if ((tasks + lists) * (double)to->passes > HEED_TUNE_TASKS_MAX ||
        (double)to->pack_tasks > HEED_TUNE_TASKS_MAX ||
        (tasks > 0 && (double)to->n_batch * (double)to->n_sources > HEED_TUNE_TASKS_MAX))
        return false;
    to->list_tasks = (int64_t)lists;
    to->tasks = (int64_t)tasks + to->list_tasks;
    return true;
}

static uint32_t flags_find(const struct heed_plan *plan)
{
    const struct heed_checked *attn = plan->checked;
    const uint32_t n = attn->n_sources;

    return (heed_lowered_of(plan)->q_packed ? HK_PLAN_PACKED : 0u) |
           (attn->flags & HEED_ATTN_ALIGN_END ? HK_PLAN_ALIGN_END : 0u) |
           (attn->flags & HEED_ATTN_LSE_WITH_SINK ? HK_PLAN_LSE_WITH_SINK : 0u) |
           (heed_lowered_of(plan)->capped ? HK_PLAN_CAPPED : 0u) |
           (attn->stops ? HK_PLAN_STOPS : 0u) |
           (n > 0 && attn->sources[n - 1].flags & HEED_SOURCE_END ? HK_PLAN_END_LAST : 0u);
}

/* Workgroup: groups that share a strip begin from states that one of them may overwrite. */
static void kept_find(const struct heed_plan *plan, struct hk_plan *to, struct heed_room *w)
{
    const struct heed_checked *attn = plan->checked;
    const double items = heed_lowered_of(plan)->q_packed ? 1 : (double)attn->n_batch;

    if (to->passes > 1 && attn->stops && attn->state_in.dtype != 0)
        to->kept_at =
            heed_room_place(w, items * (double)attn->heads * (double)attn->o.shape[4],
                            sizeof(struct hk_kept));
}

/* Bands for the tables of DOT biases: one for each table that a source has and each head of a
 * strip, as far as they are few; with a column for each distance between the keys of a block and
 * the rows of a strip, and those of the blocks beside it, where that is little memory. Not a
 * multiple of 32 floats: columns a power of two apart push each other out of the cache. */
static void bands_find(const struct heed_plan *plan, struct hk_plan *to)
{
    const int64_t columns = hk_min((hk_parts(64 + to->strips.rows - 1, 16) | 1) * 16, HK_BAND_MAX);
    int64_t most = 0;

    for (uint32_t s = 0; s < heed_attn_of(plan)->n_sources; s++) {
        const struct heed_checked_source *source = &heed_attn_of(plan)->sources[s];
        int64_t n = 0;

        for (uint32_t i = 0; i < source->n_biases; i++)
            n += source->biases[i].in_score;
        most = hk_max(most, 2 * n);
    }
    to->bands = hk_min(most * to->strips.stack, HEED_TUNE_BANDS);
    if (to->bands > 0)
        to->band = to->d <= HEED_TUNE_BAND_WIDTH ? columns + HK_BAND_KEPT : columns;
}

/* Stretches of biases that depend on distances: one for each that a source has and each head of a
 * strip, as far as they are few. */
static int64_t stretches_find(const struct heed_plan *plan, const struct hk_strips *strips)
{
    int64_t most = 0;

    for (uint32_t s = 0; s < heed_attn_of(plan)->n_sources; s++) {
        const struct heed_checked_source *source = &heed_attn_of(plan)->sources[s];
        int64_t n = 0;

        for (uint32_t i = 0; i < source->n_biases; i++)
            n += !source->biases[i].in_score;
        most = hk_max(most, n);
    }
    return hk_min(most * strips->stack, HEED_TUNE_STRETCHES);
}

/* A worker's scratch, less the rings; false: too much. */
static bool worker_find(struct hk_plan *to)
{
    const double rows = (double)(to->strips.rows * to->strips.stack + HK_TILE_ROWS_MAX);
    struct hk_worker_layout worker;

    if ((rows + HEED_TUNE_BANDS * (HK_BAND_MAX + HK_BAND_KEPT)) *
            ((double)to->d + (double)to->d_v + 0x1p12) > 0x1p50)
        return false;
    hk_worker_find(to, &worker);
    to->worker_bytes = (worker.bytes + HEED_WORK_ALIGN - 1) / HEED_WORK_ALIGN * HEED_WORK_ALIGN;
    return true;
}

/* Strips that follow each other find most of their keys in the ring. */
static int64_t run_find(const struct heed_device_traits *traits, const struct hk_source *sources,
                        const struct hk_plan *to)
{
    const int64_t fair = to->tasks / (traits->workers * (int64_t)HEED_TUNE_STRIPS + 1);
    bool rings = false;

    for (uint32_t s = 0; s < to->n_sources; s++)
        rings = rings || sources[s].ring > 0;
    return rings ? hk_max(hk_min(fair, HEED_TUNE_RUN), 1) : 1;
}

bool heed_blob_plan(const struct heed_plan *plan, const struct heed_device_traits *traits,
                     struct hk_plan *to, struct hk_source *sources, uint64_t *workspace)
{
    const struct heed_checked *attn = plan->checked;
    struct heed_room w = { .at = HEED_WORK_OFFSETS, .ok = true };

    *to = (struct hk_plan){
        .batch = { attn->batch[0], attn->batch[1], attn->batch[2] },
        .n_batch = attn->n_batch,
        .heads = attn->heads,
        .d = attn->d,
        .d_v = attn->d_v,
        .n_q = attn->n_q,
        .q_pos0 = attn->q_pos0,
        .q_pos_step = attn->q_pos_step,
        .passes = 1,
        .c = heed_lowered_of(plan)->c,
        .c1 = heed_lowered_of(plan)->c1,
        .c2 = heed_lowered_of(plan)->c2,
        .n_sources = attn->n_sources,
        .flags = flags_find(plan),
        .halves = heed_plan_halves(plan, traits),
    };
    strips_find(plan, traits, &to->strips);
    to->groups = attn->heads / to->strips.stack;
    items_find(plan, traits, to);
    if (traits->shape == HEED_SHAPE_WORKGROUP && attn->d_v > 0)
        to->passes =
            hk_parts(attn->d_v,
                     heed_group_few(plan, traits) ? HK_PART_WIDTH : heed_group_width(attn, traits));
    if (!heed_group_few(plan, traits))
        kept_find(plan, to, &w);
    to->counter_at = heed_room_place(&w, 1, sizeof(int64_t));
    to->counts_at =
        heed_room_place(&w, (double)attn->n_batch * attn->n_sources * 2, sizeof(int64_t));
    if (traits->shape == HEED_SHAPE_LANES) {
        bands_find(plan, to);
        to->stretches = stretches_find(plan, &to->strips);
        scales_find(plan, to);
        if (!worker_find(to))
            return false;
    }
    for (uint32_t s = 0; s < attn->n_sources; s++)
        source_find(plan, traits, s, to, &sources[s], &w);
    if (!w.ok || !tasks_find(plan, sources, to))
        return false;
    heed_parts_find(plan, traits, to, &w);
    to->workers = (hk_u32)hk_min(traits->workers, hk_max(to->tasks * to->parts, to->pack_tasks));
    to->workers_at = heed_room_place(&w, (double)to->worker_bytes * to->workers, 1);
    *workspace = w.at;
    to->run = run_find(traits, sources, to);
    return w.ok;
}
