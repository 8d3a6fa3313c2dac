/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Golden cases of sections 5 to 8 and 12 to 19 of docs/numerics.md: a case is a row of numbers for
 * the maker of its operation. Every rule of those sections has a case whose digest depends on it.
 */
#include "contents.h"
#include "contents_nn.h"
#include "contents_recur.h"

#include <stdlib.h>
#include <string.h>

/* ---- runs ---- */

#define RUN(op)                                                                                    \
    static heed_status run_##op(struct golden_call *c, heed_queue *queue, heed_report *report)     \
    {                                                                                              \
        heed_plan *plan = NULL;                                                                    \
        heed_status status;                                                                        \
                                                                                                   \
        c->desc.op.size = sizeof(c->desc.op);                                                      \
        c->desc.op.flags |= HEED_PLAN_OWN_WORKSPACE;                                               \
        c->desc.op.numerics = HEED_NUMERICS_EXACT;                                                 \
        c->args.op.size = sizeof(c->args.op);                                                      \
        status = heed_##op##_plan(heed_queue_device(queue), &c->desc.op, &plan, report);           \
        if (status >= 0)                                                                           \
            status = heed_##op##_run(plan, queue, &c->args.op, NULL, report);                      \
        heed_plan_drop(plan);                                                                      \
        return status;                                                                             \
    }
RUN(copy)
RUN(push)
RUN(pool)
RUN(select)
RUN(merge)
RUN(state)
RUN(norm)
RUN(rope)
RUN(act)
RUN(recur)
RUN(embed)
RUN(order)
RUN(linear)
RUN(gate)
#undef RUN

/* ---- copy ---- */

enum { PLAIN, RING, PAGED };

static const struct copy_row {
    const char *name;
    uint32_t from, to;          /* element types */
    int where;
    bool listed, zero;          /* by lists; else appended */
    uint32_t scale;             /* of bytes: the type of their scales */
    int exponent;               /* and how large x is */
} copies[] = {
    { "copy_lists", HEED_F32, HEED_F32, PLAIN, true, false, 0, 0 },
    { "copy_lists_f16", HEED_F16, HEED_F16, PLAIN, true, true, 0, 0 },
    { "copy_lists_bf16", HEED_BF16, HEED_BF16, PLAIN, true, true, 0, 0 },
    { "copy_narrows", HEED_F32, HEED_F16, PLAIN, true, true, 0, 0 },
    { "copy_narrows_bf16", HEED_F32, HEED_BF16, PLAIN, false, false, 0, 0 },
    { "copy_widens", HEED_F16, HEED_F32, PLAIN, false, false, 0, 0 },
    { "copy_converts", HEED_BF16, HEED_F16, RING, false, false, 0, 0 },
    { "copy_ring", HEED_F32, HEED_F32, RING, false, false, 0, 0 },
    { "copy_paged", HEED_F16, HEED_F16, PAGED, false, false, 0, 0 },
    { "copy_paged_converts", HEED_F32, HEED_BF16, PAGED, false, false, 0, 0 },
    { "copy_quantises", HEED_F32, HEED_I8, PLAIN, true, true, HEED_F32, 3 },
    { "copy_quantises_f16", HEED_F16, HEED_I8, RING, false, false, HEED_F32, 3 },
    { "copy_quantises_bf16", HEED_BF16, HEED_I8, PAGED, false, false, HEED_F16, 3 },
    { "copy_quantises_small", HEED_F32, HEED_I8, PAGED, false, false, HEED_F16, -14 },
    { "copy_quantises_tiny", HEED_F32, HEED_I8, PLAIN, false, false, HEED_F32, -100 },
    { "copy_narrows_f8e4m3", HEED_F32, HEED_F8E4M3, PLAIN, true, true, 0, 0 },
    { "copy_widens_f8e4m3", HEED_F8E4M3, HEED_F16, PAGED, false, false, 0, 0 },
    { "copy_quantises_f8e4m3", HEED_BF16, HEED_F8E4M3, RING, false, false, HEED_F16, 3 },
    { "copy_narrows_f8e5m2", HEED_F32, HEED_F8E5M2, PLAIN, true, true, 0, 0 },
    { "copy_widens_f8e5m2", HEED_F8E5M2, HEED_F16, PAGED, false, false, 0, 0 },
    { "copy_quantises_f8e5m2", HEED_BF16, HEED_F8E5M2, RING, false, false, HEED_F16, 3 },
};

/* Destinations of one call are kept apart: where two meet, either may stay. */
static void copy_make(struct golden_call *c, const void *from)
{
    const struct copy_row *row = from;
    enum { B = 3, H = 2, N = 21, D = 13, PAGE = 5, PAGES = 30, TABLE = 8 };

    if (row->zero)
        c->desc.copy.flags = HEED_COPY_ZERO;
    input(c, FIELD(copy, x), row->from, DIMS(B, H, N, D));
    if (row->scale == 0)
        fill_bits(c);
    else
        fill_rows(c, row->exponent);
    state(c, FIELD(copy, y), row->to,
          row->where == PAGED ? DIMS(PAGES, H, PAGE, D) : DIMS(B, H, N + 9, D));
    fill_bits(c);
    if (row->scale != 0) {
        state(c, FIELD(copy, y_scale), row->scale,
              row->where == PAGED ? DIMS(PAGES, H, PAGE) : DIMS(B, H, N + 9));
        fill_bits(c);
    }
    input(c, FIELD(copy, len), HEED_I32, DIMS(B));
    fill_ints(c, N - 5, N + 1);
    if (row->listed) {
        int32_t *to;

        input(c, FIELD(copy, from), HEED_I32, DIMS(B, 1, N));
        fill_ints(c, -3, N + 2);
        to = input(c, FIELD(copy, to), HEED_I32, DIMS(1, H, N));
        for (int32_t i = 0; i < H * N; i++)
            to[i] = i % N * 10 % 31 - 1;
        return;
    }
    input(c, FIELD(copy, at), HEED_I64, DIMS(B));
    fill_ints(c, -4, 15);
    if (row->where == RING) {
        input(c, FIELD(copy, head), HEED_I64, DIMS(B));
        fill_ints(c, 0, N + 9);
    }
    if (row->where == PAGED) {
        int32_t *table = input(c, FIELD(copy, table), HEED_I32, DIMS(B, TABLE));

        for (int32_t i = 0; i < B * TABLE; i++)
            table[i] = i % 7 == 3 ? -1 : i % 11 == 5 ? PAGES : i * 7 % PAGES;
    }
}

/* ---- push ---- */

static const struct push_row {
    const char *name;
    uint32_t dtype;
    int64_t capacity, l;
    bool hostile;
    uint32_t scale;             /* of bytes: that of their scales; then dtype is that of x */
} pushes[] = {
    { "push", HEED_F32, 17, 9, false, 0 },
    { "push_f16", HEED_F16, 6, 20, false, 0 },
    { "push_nothing_stays", HEED_F32, 0, 7, true, 0 },
    { "push_hostile", HEED_BF16, 11, 9, true, 0 },
    { "push_quantises", HEED_F32, 17, 9, false, HEED_F32 },
    { "push_quantises_hostile", HEED_F16, 7, 11, true, HEED_F16 },
    { "push_f8e4m3", HEED_F8E4M3, 6, 20, false, 0 },
};

static void push_make(struct golden_call *c, const void *from)
{
    const struct push_row *row = from;
    enum { B = 4, H = 2, D = 11 };

    state(c, FIELD(push, rows), row->scale ? HEED_I8 : row->dtype,
          DIMS(B, H, row->capacity, D));
    fill_bits(c);
    state(c, FIELD(push, head), HEED_I64, DIMS(B));
    fill_ints(c, row->hostile ? -5 : 0, row->hostile ? 40 : row->capacity - 1);
    state(c, FIELD(push, len), HEED_I64, DIMS(B));
    fill_ints(c, row->hostile ? -5 : 0, row->hostile ? 40 : row->capacity);
    input(c, FIELD(push, x), row->dtype, DIMS(B, H, row->l, D));
    if (row->scale == 0)
        fill_bits(c);
    else
        fill_rows(c, 2);
    input(c, FIELD(push, x_len), HEED_I64, DIMS(B));
    fill_ints(c, -1, row->l + 1);
    if (row->scale == 0) {
        output(c, FIELD(push, out), row->dtype, DIMS(B, H, row->l, D));
    } else {
        state(c, FIELD(push, rows_scale), row->scale, DIMS(B, H, row->capacity));
        fill_bits(c);
    }
    output(c, FIELD(push, out_len), HEED_I64, DIMS(B));
}

/* ---- pool ---- */

static const struct pool_row {
    const char *name;
    uint32_t x, y, kind, tail;
    int64_t n, m;               /* m as the tail gives it */
    int64_t kernel, stride, left;
    int64_t buckets;            /* of blocks of `kernel` tokens */
    bool special, ranges;
} pools[] = {
    { "pool_sum", HEED_F32, HEED_F32, HEED_POOL_SUM, HEED_TAIL_FLOOR, 50, 9, 9, 5, 0, 0, 0, 0 },
    { "pool_sum_long", HEED_F32, HEED_F32, HEED_POOL_SUM, HEED_TAIL_CEIL, 2600, 3, 2100, 300, 0, 0,
      0, 0 },
    { "pool_mean", HEED_F32, HEED_F32, HEED_POOL_MEAN, HEED_TAIL_CEIL, 300, 6, 70, 50, 0, 0, 0,
      0 },
    { "pool_mean_long", HEED_F16, HEED_F32, HEED_POOL_MEAN, HEED_TAIL_FLOOR, 2600, 3, 1500, 500, 0,
      0, 0, 0 },
    { "pool_mean_special", HEED_F32, HEED_F16, HEED_POOL_MEAN, HEED_TAIL_END, 90, 8, 12, 12, 0, 0,
      1, 0 },
    { "pool_max", HEED_F32, HEED_F32, HEED_POOL_MAX, HEED_TAIL_CENTRE, 70, 18, 9, 4, 3, 0, 1, 0 },
    { "pool_linear", HEED_F32, HEED_BF16, HEED_POOL_LINEAR, HEED_TAIL_JOIN, 100, 5, 17, 17, 0, 0, 0,
      0 },
    { "pool_linear_long", HEED_BF16, HEED_F32, HEED_POOL_LINEAR, HEED_TAIL_FLOOR, 2600, 2, 2048,
      512, 0, 0, 0, 0 },
    { "pool_linear_special", HEED_F32, HEED_F32, HEED_POOL_LINEAR, HEED_TAIL_FLOOR, 60, 15, 4, 4, 0,
      0, 1, 0 },
    { "pool_weighted", HEED_F32, HEED_F32, HEED_POOL_WEIGHTED, HEED_TAIL_END, 400, 6, 70, 70, 0, 0,
      0, 0 },
    { "pool_weighted_long", HEED_F32, HEED_F32, HEED_POOL_WEIGHTED, HEED_TAIL_CEIL, 2600, 2, 2500,
      1000, 0, 0, 0, 0 },
    { "pool_weighted_special", HEED_F32, HEED_F32, HEED_POOL_WEIGHTED, HEED_TAIL_FLOOR, 80, 20, 4,
      4, 0, 0, 1, 0 },
    { "pool_dynamic", HEED_F16, HEED_F16, HEED_POOL_DYNAMIC, HEED_TAIL_CENTRE, 150, 37, 9, 4, 1, 0,
      0, 0 },
    { "pool_dynamic_end", HEED_F32, HEED_F32, HEED_POOL_DYNAMIC, HEED_TAIL_END, 1100, 2, 700, 700,
      0, 0, 1, 0 },
    { "pool_bucket", HEED_F32, HEED_F32, HEED_POOL_BUCKET, 0, 130, 15, 32, 0, 0, 3, 0, 0 },
    { "pool_bucket_long", HEED_BF16, HEED_F32, HEED_POOL_BUCKET, 0, 2600, 4, 1500, 0, 0, 2, 0, 0 },
    { "pool_ranges", HEED_F32, HEED_F32, HEED_POOL_MEAN, 0, 1300, 24, 0, 0, 0, 0, 0, 1 },
    { "pool_ranges_sum", HEED_F16, HEED_F32, HEED_POOL_SUM, 0, 1300, 24, 0, 0, 0, 0, 0, 1 },
};

static void pool_rows_make(struct golden_call *c, const struct pool_row *row, int64_t b, int64_t h)
{
    heed_pool_desc *desc = &c->desc.pool;

    if (row->ranges) {
        input(c, FIELD(pool, ranges), HEED_I64, DIMS(1, row->m, 2));
        fill_ints(c, -100, row->n + 100);
        return;
    }
    if (row->kind == HEED_POOL_BUCKET) {
        desc->block = row->kernel;
        desc->buckets = row->buckets;
        input(c, FIELD(pool, ids), HEED_I32, DIMS(b, h, row->n));
        fill_ints(c, -1, row->buckets);
        return;
    }
    desc->tail = row->tail;
    desc->kernel = row->kernel;
    desc->stride = row->stride;
    desc->left = row->left;
}

static void pool_make(struct golden_call *c, const void *from)
{
    const struct pool_row *row = from;
    const bool dynamic = row->kind == HEED_POOL_DYNAMIC;
    enum { B = 2, H = 2, D = 7 };

    c->desc.pool.kind = row->kind;
    input(c, FIELD(pool, x), row->x, DIMS(B, H, row->n, D));
    fill_floats(c, 2);
    if (row->special)
        fill_specials(c, 60, specials, SPECIALS);
    input(c, FIELD(pool, mask), HEED_U8, DIMS(B, 1, row->n));
    fill_ints(c, 0, 4);
    input(c, FIELD(pool, len), HEED_I32, DIMS(B));
    fill_ints(c, row->n - row->n / 9, row->n + 3);
    pool_rows_make(c, row, B, H);
    if (dynamic || row->kind == HEED_POOL_LINEAR || row->kind == HEED_POOL_WEIGHTED) {
        input(c, FIELD(pool, weights), HEED_F32,
              dynamic ? DIMS(1, H, row->m, row->kernel) : DIMS(B, 1, row->n));
        fill_floats(c, 3);
        if (row->special)
            fill_specials(c, 12, specials, SPECIALS);
    }
    output(c, FIELD(pool, y), row->y, DIMS(B, H, row->m, D));
    output(c, FIELD(pool, y_mask), HEED_U8, DIMS(B, H, row->m));
    output(c, FIELD(pool, y_len), HEED_I64, DIMS(B));
}

/* ---- select ---- */

static const struct select_row {
    const char *name;
    uint32_t dtype, kind;
    int64_t n, d, block, count;
    int64_t m[HEED_SELECT_ROUNDS];
    bool special;
} selects[] = {
    { "select_norm", HEED_F32, HEED_SELECT_NORM, 150, 37, 32, 5, { 0 }, false },
    { "select_norm_f16", HEED_F16, HEED_SELECT_NORM, 100, 70, 64, 9, { 0 }, false },
    { "select_norm_special", HEED_F32, HEED_SELECT_NORM, 90, 3, 20, 12, { 0 }, true },
    { "select_topk", HEED_F32, HEED_SELECT_TOPK, 200, 33, 0, 16, { 0 }, false },
    { "select_topk_bf16", HEED_BF16, HEED_SELECT_TOPK, 90, 8, 0, 70, { 0 }, false },
    { "select_topk_special", HEED_F32, HEED_SELECT_TOPK, 120, 3, 0, 30, { 0 }, true },
    { "select_hash", HEED_F32, HEED_SELECT_HASH, 150, 24, 40, 0, { 6 }, false },
    { "select_hash_rounds", HEED_F16, HEED_SELECT_HASH, 200, 16, 64, 0, { 32, 8 }, false },
    { "select_hash_four", HEED_F32, HEED_SELECT_HASH, 130, 9, 50, 0, { 20, 10, 5, 2 }, false },
    { "select_hash_special", HEED_F32, HEED_SELECT_HASH, 130, 4, 30, 0, { 7, 3 }, true },
};

static void select_make(struct golden_call *c, const void *from)
{
    const struct select_row *row = from;
    heed_select_desc *desc = &c->desc.select;
    enum { B = 2, G = 2, H = 4, N_Q = 3, FRONT = 3, BACK = 2 };

    desc->kind = row->kind;
    desc->block = row->block;
    desc->count = row->count;
    input(c, FIELD(select, x), row->dtype, DIMS(B, G, row->n, row->d));
    fill_floats(c, 2);
    if (row->special)
        fill_specials(c, 20, specials, SPECIALS);
    input(c, FIELD(select, mask), HEED_U8, DIMS(1, G, row->n));
    fill_ints(c, 0, 4);
    input(c, FIELD(select, len), HEED_I64, DIMS(B));
    fill_ints(c, row->n - row->n / 6, row->n + 3);
    if (row->kind == HEED_SELECT_TOPK) {
        input(c, FIELD(select, q), HEED_F32, DIMS(B, H, N_Q, row->d));
        fill_floats(c, 1);
        output(c, FIELD(select, y), HEED_I32, DIMS(B, H, N_Q, row->count));
    } else if (row->kind == HEED_SELECT_NORM) {
        desc->pad_front = FRONT;
        desc->pad_back = BACK;
        output(c, FIELD(select, y), HEED_I32,
               DIMS(B, G, (row->n + row->block - 1) / row->block * row->count + FRONT + BACK));
    } else {
        for (int r = 0; r < HEED_SELECT_ROUNDS && row->m[r] > 0; r++) {
            input(c, FIELD(select, rounds[r]), HEED_F32, DIMS(r % 2 ? 1 : G, row->d, row->m[r]));
            fill_floats(c, 1);
            if (row->special)
                fill_specials(c, 20, specials, SPECIALS);
        }
        output(c, FIELD(select, y), HEED_I32, DIMS(B, G, row->n));
    }
}

/* ---- merge ---- */

static const struct merge_row {
    const char *name;
    uint32_t dtype, o;
    int64_t parts;
    uint32_t sinks;             /* their type; 0: none */
    bool with_sink, special;
} merges[] = {
    { "merge", HEED_F32, HEED_F32, 5, 0, false, false },
    { "merge_none", HEED_F32, HEED_F32, 0, HEED_F32, true, false },
    { "merge_long", HEED_F32, HEED_F32, 1100, 0, false, false },
    { "merge_f16", HEED_F16, HEED_F16, 70, HEED_F32, false, false },
    { "merge_sink", HEED_BF16, HEED_F32, 9, HEED_F32, true, false },
    { "merge_special", HEED_F32, HEED_BF16, 6, HEED_F32, true, true },
    { "merge_sink_f16", HEED_F32, HEED_F16, 7, HEED_F16, true, false },
    { "merge_sink_bf16", HEED_F16, HEED_F32, 7, HEED_BF16, false, false },
};

static void merge_make(struct golden_call *c, const void *from)
{
    const struct merge_row *row = from;
    enum { B = 2, H = 3, N = 4, D = 7 };

    if (row->with_sink)
        c->desc.merge.flags = HEED_ATTN_LSE_WITH_SINK;
    input(c, FIELD(merge, parts), row->dtype, DIMS(row->parts, B, H, N, D));
    fill_floats(c, 2);
    if (row->special)
        fill_specials(c, 60, specials, SPECIALS);
    input(c, FIELD(merge, parts_lse), HEED_F32, DIMS(row->parts, B, H, N));
    fill_floats(c, 5);
    fill_specials(c, 5, &specials[3], 1);       /* -Inf: the part saw nothing */
    if (row->special)
        fill_specials(c, 20, specials, SPECIALS);
    if (row->sinks != 0) {
        input(c, FIELD(merge, sinks), row->sinks, DIMS(H));
        fill_floats(c, 4);
    }
    output(c, FIELD(merge, o), row->o, DIMS(B, H, N, D));
    output(c, FIELD(merge, lse), HEED_F32, DIMS(B, H, N));
}

/* ---- state ---- */

static const struct state_row {
    const char *name;
    uint32_t o; /* its type; 0: none */
    int64_t states, d;
    uint32_t sinks; /* their type; 0: none */
    bool with_sink, joined, special;
} states[] = {
    { "state", HEED_F32, 5, 7, 0, false, true, false },
    { "state_none", HEED_F32, 0, 7, HEED_F32, true, true, false },
    { "state_one", HEED_F16, 1, 40, HEED_F16, false, false, false },
    { "state_sink", HEED_BF16, 9, 300, HEED_BF16, true, false, false },
    { "state_special", HEED_F32, 6, 7, HEED_F32, true, true, true },
    { "state_stops", 0, 4, 33, 0, false, true, true },
};

/* Of states: M an integer, positive partial sums, and three of four hold something. */
static void fill_states(struct golden_call *c, int64_t width, bool special)
{
    const struct golden_array *a = last(c);

    fill_floats(c, 3);
    if (special)
        fill_specials(c, 60, specials, SPECIALS);
    for (int64_t i = 0; i < a->count; i++) {
        if (i % width == 0)
            golden_put(a->dtype, a->data, i, below(c, 41) - 20, 0);
        else if (i % width < 17)
            golden_put(a->dtype, a->data, i, below(c, 1 << 22) + (1 << 18), -20);
        else if (i % width == 17)
            golden_put(a->dtype, a->data, i, below(c, 4) != 0, 0);
        if (special && i % width < 17 && below(c, 250) == 0)
            golden_put_bits(a->data, i, specials[1]);
    }
}

static void state_make(struct golden_call *c, const void *from)
{
    const struct state_row *row = from;
    const int64_t width = HEED_STATE_SUMS + row->d;
    enum { B = 2, H = 3, N = 4 };

    if (row->with_sink)
        c->desc.state.flags = HEED_ATTN_LSE_WITH_SINK;
    input(c, FIELD(state, states), HEED_F32, DIMS(row->states, B, H, N, width));
    fill_states(c, width, row->special);
    if (row->sinks != 0) {
        input(c, FIELD(state, sinks), row->sinks, DIMS(H));
        fill_floats(c, 4);
    }
    if (row->o != 0) {
        output(c, FIELD(state, o), row->o, DIMS(B, H, N, row->d));
        output(c, FIELD(state, lse), HEED_F32, DIMS(B, H, N));
    }
    if (row->joined)
        output(c, FIELD(state, state), HEED_F32, DIMS(B, H, N, width));
}

/* ---- the list ---- */

#define GROUP(op, rows)                                                                            \
    {                                                                                              \
        rows, sizeof(*rows), sizeof(rows) / sizeof(*rows), op##_make, run_##op                     \
    }
static const struct {
    const void *rows; /* each begins with its name */
    size_t size, n;
    void (*make)(struct golden_call *, const void *row);
    heed_status (*run)(struct golden_call *, heed_queue *, heed_report *);
} groups[] = {
    GROUP(copy, copies),
    GROUP(push, pushes),
    GROUP(pool, pools),
    GROUP(select, selects),
    GROUP(merge, merges),
    GROUP(state, states),
    GROUP(norm, norms),
    GROUP(rope, ropes),
    GROUP(act, acts),
    GROUP(recur, recurs),
    GROUP(embed, embeds),
    GROUP(order, orders),
    GROUP(linear, linears),
    GROUP(gate, gates),
};
#undef GROUP

bool golden_call_make(struct golden_call *c, size_t number)
{
    size_t group = 0;
    const char *row;

    memset(c, 0, sizeof(*c));
    while (number >= groups[group].n) {
        number -= groups[group].n;
        if (++group == sizeof(groups) / sizeof(*groups))
            return false;
    }
    row = (const char *)groups[group].rows + number * groups[group].size;
    memcpy(&c->name, row, sizeof(c->name));
    c->run = groups[group].run;
    c->g.state = 5000 + 100 * group + number;
    groups[group].make(c, row);
    return true;
}

void golden_call_free(struct golden_call *c)
{
    for (int i = 0; i < c->n_outputs; i++) {
        if (c->own[i])
            free(c->outputs[i].data);
    }
    golden_free(&c->g);
}
