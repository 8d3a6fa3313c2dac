/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A run: first what the strips share is prepared (bit sets of GLOBAL keys and rows, packed K), then the strips are
 * handed out one by one, long ones of a causal call first. A strip owns its output rows, so neither the number of
 * lanes nor the order changes a bit. Nothing is allocated: every array lies in the workspace.
 */
#include "convert.h"
#include "state.h"
#include "tune.h"

#include <fenv.h>
#include <stdatomic.h>

struct run {
    const struct heed_checked *attn;
    const struct heed_lowered *lowered;
    const struct heed_cpu_state *state;
    const struct heed_bound *bound;
    char *workspace;
    int64_t tasks, row_tasks, groups;   /* groups: of `stack` query heads */
    int64_t row_parts[HEED_MAX_SOURCES];        /* strips of each source's row list, per item and group */
    void (*task)(struct run *, uint32_t lane, int64_t task);
    atomic_int_least64_t next;
};

/* The arrays of one lane. */
struct lane {
    char *scratch;
    struct heed_cpu_row *rows;
    int64_t *indices;
    struct heed_cpu_source *sources;
    struct hk_item *items;
    struct heed_cpu_bias *biases;
};

static char *place(char **at, int64_t count, size_t size)
{
    char *out = *at;

    *at += ((size_t)count * size + HEED_CPU_ALIGN - 1) / HEED_CPU_ALIGN * HEED_CPU_ALIGN;
    return out;
}

/* As backend.c counted. */
static struct lane lane_get(const struct run *run, uint32_t lane)
{
    const struct heed_cpu_state *state = run->state;
    char *at = run->workspace + lane * state->lane_bytes;
    struct lane out = { .scratch = at };

    at += state->scratch_bytes;
    out.rows = (struct heed_cpu_row *)(void *)place(&at, state->rows * state->stack, sizeof *out.rows);
    out.indices = (int64_t *)(void *)place(&at, state->rows, sizeof *out.indices);
    out.sources = (struct heed_cpu_source *)(void *)place(&at, run->attn->n_sources + 1, sizeof *out.sources);
    out.items = (struct hk_item *)(void *)place(&at, run->lowered->n_subs + 1, sizeof *out.items);
    out.biases = (struct heed_cpu_bias *)(void *)at;
    return out;
}

/* ---- addresses ---- */

static const char *aux_base(const struct run *run, const struct heed_aux *aux)
{
    return aux->data ? aux->data : run->bound->slots[aux->slot - 1];
}

static int64_t batch_offset(const struct run *run, const int64_t *stride, int64_t b)
{
    const int64_t *batch = run->attn->batch;

    return b / (batch[1] * batch[2]) * stride[0] + b / batch[2] % batch[1] * stride[1] + b % batch[2] * stride[2];
}

static const char *aux_item(const struct run *run, const struct heed_aux *aux, int64_t b)
{
    return aux_base(run, aux) + batch_offset(run, aux->stride, b) * heed_cpu_size(aux->dtype);
}

static int64_t aux_value(const struct run *run, const struct heed_aux *aux, int64_t b)
{
    return heed_cpu_integer(aux->dtype, aux_item(run, aux, b), 0);
}

/* Begin and length of an item: lengths are cut to [0, bound], a begin outside the packed rows empties it. */
static int64_t item_cut(const struct run *run, const struct heed_aux *begin_aux, const struct heed_aux *len_aux,
                        int64_t b, int64_t bound, int64_t total, int64_t *begin)
{
    int64_t len = bound;

    *begin = 0;
    if (len_aux->slot) {
        len = aux_value(run, len_aux, b);
        len = len < 0 ? 0 : len > bound ? bound : len;
    }
    if (begin_aux) {
        *begin = aux_value(run, begin_aux, b);
        if (*begin < 0 || *begin > total) {
            *begin = 0;
            return 0;
        }
        len = len > total - *begin ? total - *begin : len;
    }
    return len;
}

static int64_t keys_cut(const struct run *run, uint32_t s, int64_t b, int64_t *begin)
{
    const struct heed_checked_source *source = &run->attn->sources[s];
    const bool ragged = source->layout == HEED_LAYOUT_RAGGED;

    return item_cut(run, ragged ? &source->index : NULL, &source->len, b, source->n_k, source->k.shape[4], begin);
}

static int64_t rows_cut(const struct run *run, int64_t b, int64_t *begin)
{
    const struct heed_checked *attn = run->attn;
    const bool ragged = attn->q_layout == HEED_LAYOUT_RAGGED;

    return item_cut(run, ragged ? &attn->q_begin : NULL, &attn->q_len, b, attn->n_q, attn->q.shape[4], begin);
}

static int64_t clamp(int64_t x)
{
    return x < -HEED_POSITION_MAX ? -HEED_POSITION_MAX : x > HEED_POSITION_MAX ? HEED_POSITION_MAX : x;
}

/* Position of query row 0. */
static int64_t row_origin(const struct run *run, int64_t b, int64_t len)
{
    const struct heed_checked *attn = run->attn;
    int64_t q = attn->q_pos0, begin;

    if (attn->q_pos.slot)
        q += clamp(aux_value(run, &attn->q_pos, b));
    if (attn->flags & HEED_ATTN_ALIGN_END && attn->n_sources > 0) {
        const uint32_t s = attn->n_sources - 1;
        const struct heed_checked_source *last = &attn->sources[s];
        const int64_t keys = keys_cut(run, s, b, &begin);
        const int64_t origin = last->flags & HEED_SOURCE_END ? last->pos0 - keys * last->pos_step : last->pos0;

        q += origin + (keys - 1) * last->pos_step + last->pos_span - 1 - (len - 1) * attn->q_pos_step;
    }
    return q;
}

/* ---- what the strips share ---- */

/* Entries of an ascending list up to the first that makes no sense, into a bit set; returns how many. */
static int64_t list_read(const struct run *run, const struct heed_aux *aux, int64_t b, int64_t bound, uint64_t *bits,
                         int64_t words)
{
    const char *entry = aux_item(run, aux, b);
    int64_t last = -1, i = 0;

    memset(bits, 0, (size_t)words * sizeof *bits);
    for (; i < aux->shape[5]; i++) {
        const int64_t value = heed_cpu_integer(HEED_I32, entry, i * aux->stride[5]);

        if (value <= last || value >= bound)
            break;
        bits[value >> 6] |= UINT64_C(1) << (value & 63);
        last = value;
    }
    return i;
}

static uint64_t *item_words(const struct run *run, uint64_t offset, int64_t b, int64_t words)
{
    return (uint64_t *)(void *)(run->workspace + offset) + b * words;
}

static int64_t *item_counts(const struct run *run, int64_t b, uint32_t s)
{
    return (int64_t *)(void *)(run->workspace + run->state->counts) + (b * run->attn->n_sources + s) * 2;
}

static void item_prepare(struct run *run, int64_t b)
{
    for (uint32_t s = 0; s < run->attn->n_sources; s++) {
        const struct heed_lowered_source *source = &run->lowered->sources[s];
        const struct heed_cpu_prepared *p = &run->state->sources[s];
        int64_t *counts = item_counts(run, b, s);

        counts[0] = counts[1] = 0;
        if (source->keys)
            counts[0] = list_read(run, source->keys, b, run->attn->sources[s].n_k,
                                  item_words(run, p->keys, b, p->blocks), p->blocks);
        if (source->rows)
            counts[1] = list_read(run, source->rows, b, run->attn->n_q, item_words(run, p->rows, b, p->row_words),
                                  p->row_words);
    }
}

static struct heed_cpu_matrix matrix(const struct run *run, const struct heed_view *view, const void *base, int64_t b,
                                     int64_t head, int64_t begin)
{
    const int64_t at = batch_offset(run, view->stride, b) + head * view->stride[3] + begin * view->stride[4];

    return (struct heed_cpu_matrix) {
        .base = (const char *)base + at * heed_cpu_size(view->dtype),
        .row = view->stride[4],
        .channel = view->shape[5] > 1 ? view->stride[5] : 1,
        .dtype = view->dtype,
    };
}

/* First of the packed blocks of one item and key head. */
static int64_t packed_block(const struct run *run, uint32_t s, int64_t b, int64_t head)
{
    const struct heed_cpu_prepared *p = &run->state->sources[s];

    return ((p->shared ? 0 : b) * run->attn->sources[s].heads + head) * p->blocks;
}

static float *packed(const struct run *run, uint32_t s, int64_t block)
{
    return (float *)(void *)(run->workspace + run->state->sources[s].packed) + block * HEED_CPU_BLOCK * run->attn->d;
}

static uint8_t *finite(const struct run *run, uint32_t s, int64_t block)
{
    return (uint8_t *)(run->workspace + run->state->sources[s].finite) + block;
}

/* Keys of the longest item: what lies beyond is nobody's and is not read. */
static int64_t keys_most(const struct run *run, uint32_t s)
{
    int64_t most = 0;

    for (int64_t b = 0, begin; b < run->attn->n_batch && most < run->attn->sources[s].n_k; b++)
        most = hk_max(most, keys_cut(run, s, b, &begin));
    return most;
}

/* Tasks [0, n_batch) prepare items, then each packs a few blocks of one source, item and key head. */
static void task_prepare(struct run *run, uint32_t lane, int64_t task)
{
    const struct lane mine = lane_get(run, lane);

    if (task < run->attn->n_batch) {
        item_prepare(run, task);
        return;
    }
    task -= run->attn->n_batch;
    for (uint32_t s = 0; s < run->attn->n_sources; s++) {
        const struct heed_cpu_prepared *p = &run->state->sources[s];
        const struct heed_checked_source *source = &run->attn->sources[s];
        const int64_t pieces = (p->blocks + HEED_TUNE_PACK - 1) / HEED_TUNE_PACK;
        const int64_t n = p->packs ? (p->shared ? 1 : run->attn->n_batch) * source->heads * pieces : 0;

        if (task >= n) {
            task -= n;
            continue;
        }
        const int64_t piece = task % pieces, head = task / pieces % source->heads, b = task / pieces / source->heads;
        const struct heed_cpu_matrix k = matrix(run, &source->k, run->bound->k[s], b, head, 0);
        const struct heed_cpu_matrix v = matrix(run, &source->v, run->bound->v[s], b, head, 0);
        const int64_t first = packed_block(run, s, b, head);
        int64_t begin, len = p->shared ? keys_most(run, s) : keys_cut(run, s, b, &begin);
        const int64_t blocks = len / HEED_CPU_BLOCK + (len % HEED_CPU_BLOCK != 0);

        for (int64_t i = piece * HEED_TUNE_PACK; i < blocks && i < (piece + 1) * HEED_TUNE_PACK; i++) {
            float *temp = (float *)(void *)mine.scratch;

            run->state->isa->pack(&k, run->attn->d, i * HEED_CPU_BLOCK, len, packed(run, s, first + i), temp);
            *finite(run, s, first + i) = run->state->isa->finite(&v, run->attn->d_v, i * HEED_CPU_BLOCK, len, temp);
        }
        return;
    }
}

static int64_t prepare_tasks(const struct run *run)
{
    int64_t n = run->attn->n_batch;

    for (uint32_t s = 0; s < run->attn->n_sources; s++) {
        const struct heed_cpu_prepared *p = &run->state->sources[s];

        if (p->packs)
            n += (p->shared ? 1 : run->attn->n_batch) * run->attn->sources[s].heads *
                 ((p->blocks + HEED_TUNE_PACK - 1) / HEED_TUNE_PACK);
    }
    return n;
}

/* ---- strips ---- */

static void bias_get(const struct run *run, const struct heed_checked_bias *from, int64_t b, struct heed_cpu_bias *to)
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
static void item_get(const struct run *run, uint32_t s, uint32_t i, int64_t b, int64_t head, int64_t row, int64_t len,
                     struct hk_item *item)
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
        item->listed = item_words(run, run->state->sources[s].keys, b, run->state->sources[s].blocks);
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

        item->mask = (const uint8_t *)aux_item(run, &source->mask, b) + mask_head * source->mask.stride[4];
        item->mask_stride = source->mask.stride[5];
    }
}

static void sources_get(const struct run *run, const struct lane *mine, int64_t b, int64_t head, int64_t row)
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

        to->k = matrix(run, &source->k, run->bound->k[s], b, key_head, begin);
        to->v = matrix(run, &source->v, run->bound->v[s], b, key_head, begin);
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

/* Query rows `indices` of item b, heads [group * stack, ...). listed_by: the row list they come from, or -1; rows named
 * by an earlier list, or by any list when there is none, belong to another strip. */
static void strip_run(struct run *run, uint32_t lane, int64_t b, int64_t group, int64_t n, int listed_by)
{
    const struct heed_checked *attn = run->attn;
    const int64_t stack = run->state->stack, head0 = group * stack;
    const struct lane mine = lane_get(run, lane);
    int64_t begin, count = 0, first = -1;
    const int64_t len = rows_cut(run, b, &begin), origin = row_origin(run, b, len);
    const int64_t q_size = heed_cpu_size(attn->q.dtype), o_size = heed_cpu_size(attn->o.dtype);
    const int64_t q_at = batch_offset(run, attn->q.stride, b), o_at = batch_offset(run, attn->o.stride, b);
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

            mine.rows[count++] = (struct heed_cpu_row) {
                .index = index,
                .head = h,
                .q = clamp(origin + index * attn->q_pos_step),
                .from = (const char *)run->bound->q + (q_at + h * attn->q.stride[3] + at * attn->q.stride[4]) * q_size,
                .to = (char *)run->bound->o + (o_at + h * attn->o.stride[3] + at * attn->o.stride[4]) * o_size,
                .lse = run->bound->lse ? (float *)run->bound->lse + lse_at + h * attn->lse.stride[3] +
                                             at * attn->lse.stride[4]
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
        .sinks = run->bound->sinks,
        .scratch = mine.scratch,
    };

    for (; strip.rows < mine.rows + count; strip.rows += strip.n_rows)
        run->state->isa->attend(&strip);
}

static int64_t item_strips(const struct run *run, int64_t b)
{
    int64_t begin, len = rows_cut(run, b, &begin);

    return heed_strips_count(run->state, run->attn->q_layout == HEED_LAYOUT_RAGGED ? len : run->attn->n_q);
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
    const int64_t n = heed_strips_rows(run->state, len, at - before[lo], lane_get(run, lane).indices);

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
        const int64_t part = task % run->row_parts[s], group = task / run->row_parts[s] % run->groups;
        const int64_t b = task / run->row_parts[s] / run->groups, rows = single ? 1 : run->state->rows;
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
                         const struct heed_bound *bound)
{
    const struct heed_cpu_state *state = plan->state;
    struct run run = {
        .attn = plan->attn,
        .lowered = plan->lowered,
        .state = state,
        .bound = bound,
        .workspace = bound->workspace,
        .groups = plan->attn->heads / state->stack,
    };
    int64_t *strips, rows = 0;

    if (run.attn->n_batch == 0 || run.attn->heads == 0 || run.attn->n_q == 0)
        return HEED_OK;
    phase(&run, services->executor, prepare_tasks(&run), task_prepare);
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
