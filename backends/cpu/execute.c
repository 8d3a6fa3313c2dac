/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A run: first what the strips share is prepared (bit sets of GLOBAL keys and rows, packed K), then
 * the strips are handed out one by one, long ones of a causal call first. A strip owns its output
 * rows, so neither the number of lanes nor the order changes a bit. Nothing is allocated: every
 * array lies in the workspace.
 */
#include "run.h"

#include <fenv.h>

static void bias_get(const struct run *run, const struct heed_checked_bias *from, int64_t b,
                     struct heed_cpu_bias *to)
{
    const struct heed_aux *t = &from->t;

    *to = (struct heed_cpu_bias) {
        .kind = from->kind,
        .dtype = t->dtype,
        .t = aux_item(run, t, b),
        .zero = from->zero,
    };
    if (from->kind == HEED_BIAS_DENSE) {
        to->head = t->stride[3];
        to->row = t->stride[4];
        to->key = t->stride[5];
    } else if (from->kind == HEED_BIAS_TABLE) {
        to->head = t->stride[4];
        to->key = t->stride[5];
        to->length = t->shape[5];
    } else {
        to->head = t->stride[5];
    }
    if (from->map.slot) {
        to->map = (const int32_t *)(const void *)aux_item(run, &from->map, b);
        to->map_stride = from->map.stride[5];
        to->map_length = from->map.shape[5];
    }
    if (from->q_coord.slot) {
        to->q_coord = aux_item(run, &from->q_coord, b);
        to->q_stride = from->q_coord.stride[5];
        to->q_dtype = from->q_coord.dtype;
    }
    if (from->k_coord.slot) {
        to->k_coord = aux_item(run, &from->k_coord, b);
        to->k_stride = from->k_coord.stride[5];
        to->k_dtype = from->k_coord.dtype;
    }
}

/* Sub-source i of source s for one item, head and row block. */
static void item_get(const struct run *run, uint32_t s, uint32_t i, int64_t b, int64_t head,
                     int64_t row, int64_t len, struct hk_item *item)
{
    const struct heed_checked_source *source = &run->attn->sources[s];
    const struct heed_lowered_source *lowered = &run->lowered->sources[s];
    const struct heed_sub_slots *slots = &run->lowered->slots[i];
    const int64_t key_head = head / (run->attn->heads / source->heads);

    *item = (struct hk_item) { .len = len };
    if (slots->list) {
        const struct heed_aux *list = slots->list;
        const bool runs = run->lowered->subs[i].kind == HK_SUB_RUNS;
        int64_t at = 0;

        if (runs)
            at = (list->shape[3] == source->heads ? key_head : head) * list->stride[3] +
                 row / source->rows * list->stride[4];
        item->list = (const int32_t *)(const void *)aux_item(run, list, b) + at;
        item->list_stride = list->stride[5];
        item->n_list = runs ? list->shape[5] : item_counts(run, b, s)[0];
    }
    if (lowered->keys)
        item->listed =
            item_words(run, run->state->sources[s].keys, b, run->state->sources[s].blocks);
    for (uint32_t r = 0; r < run->lowered->subs[i].n_ranges; r++) {
        const struct heed_aux *pairs = slots->pairs[r];

        if (!pairs)
            continue;
        item->pairs[r] = (const int32_t *)(const void *)aux_item(run, pairs, b);
        item->pair_stride[r] = pairs->stride[4];
        item->pair_end[r] = pairs->stride[5];
    }
    if (source->mask.slot) {
        const int64_t mask_head = source->mask.shape[4] == source->heads ? key_head : head;

        item->mask =
            (const uint8_t *)aux_item(run, &source->mask, b) + mask_head * source->mask.stride[4];
        item->mask_stride = source->mask.stride[5];
    }
}

static void sources_get(const struct run *run, const struct lane *mine, int64_t b, int64_t head,
                        int64_t row)
{
    struct heed_cpu_bias *bias = mine->biases;

    for (uint32_t s = 0; s < run->attn->n_sources; s++) {
        const struct heed_checked_source *source = &run->attn->sources[s];
        const struct heed_lowered_source *lowered = &run->lowered->sources[s];
        int64_t begin, len = keys_cut(run, s, b, &begin);
        struct heed_cpu_source *to = &mine->sources[s];

        *to = (struct heed_cpu_source) { .biases = bias, .n_biases = source->n_biases };
        for (uint32_t i = 0; i < source->n_biases; i++)
            bias_get(run, &source->biases[i], b, bias++);
        if (source->heads == 0)
            len = 0;
        for (uint32_t i = lowered->first; i < lowered->first + lowered->n; i++) {
            if (source->heads > 0)
                item_get(run, s, i, b, head, row, len, &mine->items[i]);
            else
                mine->items[i] = (struct hk_item) { 0 };
        }
        if (len == 0)
            continue;
        const int64_t key_head = head / (run->attn->heads / source->heads);

        to->k = matrix(run, &source->k, memory(run, heed_attn_k(s)),
                       b, key_head, begin);
        to->v = matrix(run, &source->v, memory(run, heed_attn_v(s)),
                       b, key_head, begin);
        if (run->state->sources[s].packs) {
            to->packed = packed(run, s, packed_block(run, s, b, key_head));
            to->finite = finite(run, s, packed_block(run, s, b, key_head));
        }
    }
}

/* Which sources name the row in a GLOBAL ROWS term: listed, the bits that come from lists. */
static uint32_t row_all(const struct run *run, int64_t b, int64_t row, uint32_t *listed)
{
    uint32_t all = 0;

    *listed = 0;
    for (uint32_t s = 0; s < run->attn->n_sources; s++) {
        const struct heed_lowered_source *source = &run->lowered->sources[s];

        if (row < source->rows_prefix)
            all |= 1u << s;
        if (source->rows) {
            const struct heed_cpu_prepared *p = &run->state->sources[s];

            if (item_words(run, p->rows, b, p->row_words)[row >> 6] >> (row & 63) & 1)
                *listed |= 1u << s;
        }
    }
    return all | *listed;
}

/* Do all rows of the strip share the residue of every comb that follows the query? */
static bool residues_agree(const struct run *run, const struct heed_cpu_row *rows, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        if ((rows[i].q - rows[0].q) % run->state->row_step != 0)
            return false;
    }
    return true;
}

/* Query rows `indices` of item b, heads [group * stack, ...). listed_by: the row list they come
 * from, or -1; rows named by an earlier list, or by any list when there is none, belong to another
 * strip. */
static void strip_run(struct run *run, uint32_t lane, int64_t b, int64_t group, int64_t n,
                      int listed_by)
{
    const struct heed_checked *attn = run->attn;
    const int64_t stack = run->state->stack, head0 = group * stack;
    const struct lane mine = lane_get(run, lane);
    int64_t begin, count = 0, first = -1;
    const int64_t len = rows_cut(run, b, &begin), origin = row_origin(run, b, len);
    const int64_t q_size = heed_cpu_size(attn->q.dtype), o_size = heed_cpu_size(attn->o.dtype);
    const int64_t q_at = batch_offset(run, attn->q.stride, b),
                  o_at = batch_offset(run, attn->o.stride, b);
    const int64_t lse_at = batch_offset(run, attn->lse.stride, b);

    for (int64_t i = 0; i < n; i++) {
        const int64_t index = mine.indices[i];
        uint32_t listed;
        const uint32_t all = row_all(run, b, index, &listed);

        if (listed_by < 0 ? listed != 0 : (listed & ((1u << listed_by) - 1)) != 0)
            continue;
        if (first < 0)
            first = index;
        for (int64_t g = 0; g < stack; g++) {
            const int64_t h = head0 + g, at = begin + index;

            mine.rows[count++] = (struct heed_cpu_row){
                .index = index,
                .head = h,
                .q = clamp(origin + index * attn->q_pos_step),
                .from = (const char *)heed_address(run->launch->at[HEED_ATTN_Q]) +
                        (q_at + h * attn->q.stride[3] + at * attn->q.stride[4]) * q_size,
                .to = (char *)heed_address(run->launch->at[HEED_ATTN_O]) +
                      (o_at + h * attn->o.stride[3] + at * attn->o.stride[4]) * o_size,
                .lse = memory(run, HEED_ATTN_LSE) ? (float *)memory(run, HEED_ATTN_LSE) + lse_at +
                                             h * attn->lse.stride[3] + at * attn->lse.stride[4]
                                       : NULL,
                .all = all,
                .absent = index >= len,
            };
        }
    }
    if (count == 0)
        return;
    sources_get(run, &mine, b, head0, first);
    const bool whole = run->state->row_step == 1 || residues_agree(run, mine.rows, count);
    struct heed_cpu_strip strip = {
        .attn = attn,
        .lowered = run->lowered,
        .sources = mine.sources,
        .items = mine.items,
        .rows = mine.rows,
        .n_rows = whole ? count : 1,
        .sinks = heed_address(run->launch->at[HEED_ATTN_SINKS]),
        .scratch = mine.scratch,
    };

    for (; strip.rows < mine.rows + count; strip.rows += strip.n_rows)
        run->state->isa->attend(&strip);
}

static int64_t item_strips(const struct run *run, int64_t b)
{
    int64_t begin, len = rows_cut(run, b, &begin);

    return heed_strips_count(run->state,
                             run->attn->q_layout == HEED_LAYOUT_RAGGED ? len : run->attn->n_q);
}

/* Strips of rows, last ones first: under causality they are the longest. */
static void task_strip(struct run *run, uint32_t lane, int64_t task)
{
    const int64_t *before = (const int64_t *)(const void *)(run->workspace + run->state->strips);
    const int64_t total = before[run->attn->n_batch], at = total - 1 - task % total;
    int64_t lo = 0, hi = run->attn->n_batch, begin, len;

    while (hi - lo > 1) {
        const int64_t middle = lo + (hi - lo) / 2;

        if (before[middle] <= at)
            lo = middle;
        else
            hi = middle;
    }
    len = rows_cut(run, lo, &begin);
    if (run->attn->q_layout != HEED_LAYOUT_RAGGED)
        len = run->attn->n_q;
    const int64_t n =
        heed_strips_rows(run->state, len, at - before[lo], lane_get(run, lane).indices);

    strip_run(run, lane, lo, task / total, n, -1);
}

/* Rows in the list of a GLOBAL ROWS term, each in the strip of the first list that names it. */
static void task_listed(struct run *run, uint32_t lane, int64_t task)
{
    const struct lane mine = lane_get(run, lane);

    for (uint32_t s = 0; s < run->attn->n_sources; s++) {
        const int64_t n = run->row_parts[s] * run->groups * run->attn->n_batch;

        if (task >= n) {
            task -= n;
            continue;
        }
        const struct heed_aux *list = run->lowered->sources[s].rows;
        const bool single = run->state->row_step > 1 || run->state->group > 0;
        const int64_t part = task % run->row_parts[s],
                      group = task / run->row_parts[s] % run->groups;
        const int64_t b = task / run->row_parts[s] / run->groups,
                      rows = single ? 1 : run->state->rows;
        const int64_t entries = item_counts(run, b, s)[1];
        const char *entry = aux_item(run, list, b);
        int64_t begin, count = 0, bound = rows_cut(run, b, &begin);

        if (run->attn->q_layout != HEED_LAYOUT_RAGGED)
            bound = run->attn->n_q;
        for (int64_t i = part * rows; i < entries && i < (part + 1) * rows; i++) {
            const int64_t index = heed_cpu_integer(HEED_I32, entry, i * list->stride[5]);

            if (index < bound)
                mine.indices[count++] = index;
        }
        strip_run(run, lane, b, group, count, (int)s);
        return;
    }
}

/* ---- phases ---- */

/* One lane: takes tasks until none is left, in the FP environment of docs/numerics.md. */
static void lane_run(void *argument, uint32_t lane)
{
    struct run *run = argument;
    fenv_t caller;
    int64_t task;

    fegetenv(&caller);
    fesetenv(FE_DFL_ENV);
    while ((task = atomic_fetch_add(&run->next, 1)) < run->tasks)
        run->task(run, lane, task);
    fesetenv(&caller);
}

static void phase(struct run *run, const heed_executor *executor, int64_t tasks,
                  void (*task)(struct run *, uint32_t, int64_t))
{
    if (tasks <= 0)
        return;
    run->tasks = tasks;
    run->task = task;
    atomic_init(&run->next, 0);
    /* Always the full width: OpenMP runtimes allocate when a team changes its size. */
    if (tasks == 1 || run->state->lanes == 1)
        lane_run(run, 0);
    else
        executor->parallel(executor->context, run->state->lanes, lane_run, run);
}

heed_status heed_execute(const struct heed_plan *plan, const struct heed_services *services,
                         const struct heed_launch *launch)
{
    const struct heed_cpu_state *state = plan->state;
    struct run run = {
        .attn = plan->attn,
        .lowered = plan->lowered,
        .state = state,
        .launch = launch,
        .workspace = heed_address(launch->workspace),
        .groups = plan->attn->heads / state->stack,
    };
    int64_t *strips, rows = 0;

    if (run.attn->n_batch == 0 || run.attn->heads == 0 || run.attn->n_q == 0)
        return HEED_OK;
    phase(&run, services->executor, heed_prepare_tasks(&run), heed_prepare_task);
    strips = (int64_t *)(void *)(run.workspace + state->strips);
    strips[0] = 0;
    for (int64_t b = 0; b < run.attn->n_batch; b++)
        strips[b + 1] = strips[b] + item_strips(&run, b);
    phase(&run, services->executor, strips[run.attn->n_batch] * run.groups, task_strip);
    for (uint32_t s = 0; s < run.attn->n_sources; s++) {
        const struct heed_aux *list = run.lowered->sources[s].rows;
        const int64_t size = state->row_step > 1 || state->group > 0 ? 1 : state->rows;

        /* Ascending, so of no more entries than there are rows. */
        run.row_parts[s] = list ? (hk_min(list->shape[5], run.attn->n_q) + size - 1) / size : 0;
        rows += run.row_parts[s] * run.groups * run.attn->n_batch;
    }
    phase(&run, services->executor, rows, task_listed);
    return HEED_OK;
}
