/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * pool: many rows made one (heed/pool.h; docs/numerics.md, section 6). A row names tokens; those
 * that are present are given, by ascending index, to one of three ways to sum.
 */
#include "array.h"
#include "operations.h"
#include "softmax.h"

#include <heed/pool.h>

#include <assert.h>
#include <math.h>

struct pool {
    struct heed_ref_arrays arrays;
    const struct hk_pool *numbers;
    const struct pool_kind *kind;
    int64_t length, rows;   /* tokens and rows of the item */
    struct heed_ref_softmax softmax;
    float *chunk, *total;   /* [d] each: of the sums; the maximum is total */
    int64_t chunk_number, in_chunk, in_total;   /* ordinal div 1024; tokens */
};

/* Tokens first .. end - 1, of a bucket those that have the id. */
struct span {
    int64_t first, end;
    int64_t tap0;           /* the token of tap 0, which may not exist */
    int64_t id;             /* -1: whatever the id */
};

struct token {
    int64_t head, row, at;
    int64_t tap;
};

/* ---- three ways to sum: take a present token, then end the row, whose channels are given ---- */

static float value_of(const struct pool *pool, const struct token *token, int64_t t)
{
    return heed_ref_float(&pool->arrays, HK_POOL_X,
                          heed_ref_offset(&pool->arrays, HK_POOL_X, token->head, token->at, t));
}

static void softmax_take(struct pool *pool, const struct token *token, float w)
{
    float y = w * HEED_REF_LOG2E;

    heed_ref_softmax_add(&pool->softmax, y, token->at,
                         heed_ref_offset(&pool->arrays, HK_POOL_X, token->head, token->at, 0), 0);
}

static const float *softmax_end(struct pool *pool)
{
    heed_ref_softmax_join(&pool->softmax);
    if (pool->softmax.total.keys == 0)      /* weights of -Inf removed every token */
        return NULL;
    (void)heed_ref_softmax_end(&pool->softmax, -INFINITY, false);
    return pool->softmax.total.o;
}

/* The first chunk is copied, each next added. */
static void sum_join(struct pool *pool)
{
    if (pool->in_chunk == 0)
        return;
    for (int64_t t = 0; t < pool->numbers->d; t++) {
        pool->total[t] = pool->in_total == 0 ? pool->chunk[t] : pool->total[t] + pool->chunk[t];
        pool->chunk[t] = 0.0f;
    }
    pool->in_total += pool->in_chunk;
    pool->in_chunk = 0;
}

static void sum_take(struct pool *pool, const struct token *token, float w)
{
    if (token->at / HEED_REF_CHUNK != pool->chunk_number)
        sum_join(pool);
    pool->chunk_number = token->at / HEED_REF_CHUNK;
    for (int64_t t = 0; t < pool->numbers->d; t++)
        pool->chunk[t] = fmaf(w, value_of(pool, token, t), pool->chunk[t]);
    pool->in_chunk++;
}

static const float *sum_end(struct pool *pool)
{
    sum_join(pool);
    return pool->total;
}

static void max_take(struct pool *pool, const struct token *token, float w)
{
    (void)w;
    for (int64_t t = 0; t < pool->numbers->d; t++) {
        float x = value_of(pool, token, t);

        if (pool->in_total == 0 || x > pool->total[t] || x != x)
            pool->total[t] = x;
    }
    pool->in_total++;
}

static const float *max_end(struct pool *pool)
{
    return pool->total;
}

/* ---- weights ---- */

static float weight_zero(const struct pool *pool, const struct token *token)
{
    (void)pool;
    (void)token;
    return 0.0f;
}

/* fma(1, x, o) is o + x. */
static float weight_one(const struct pool *pool, const struct token *token)
{
    (void)pool;
    (void)token;
    return 1.0f;
}

static float weight_of_token(const struct pool *pool, const struct token *token)
{
    return heed_ref_float(&pool->arrays, HK_POOL_WEIGHTS,
                          heed_ref_offset(&pool->arrays, HK_POOL_WEIGHTS, 0, token->head,
                                          token->at));
}

static float weight_of_tap(const struct pool *pool, const struct token *token)
{
    return heed_ref_float(&pool->arrays, HK_POOL_WEIGHTS,
                          heed_ref_offset(&pool->arrays, HK_POOL_WEIGHTS, token->head, token->row,
                                          token->tap));
}

/* A kind of pooling is a row here. */
static const struct pool_kind {
    void (*take)(struct pool *, const struct token *, float w);
    const float *(*end)(struct pool *);     /* NULL: an empty row */
    float (*weight)(const struct pool *, const struct token *);
} pool_kinds[] = {
    [HEED_POOL_SUM] = { sum_take, sum_end, weight_one },
    [HEED_POOL_MEAN] = { softmax_take, softmax_end, weight_zero },
    [HEED_POOL_MAX] = { max_take, max_end, weight_one },
    [HEED_POOL_LINEAR] = { sum_take, sum_end, weight_of_token },
    [HEED_POOL_WEIGHTED] = { softmax_take, softmax_end, weight_of_token },
    [HEED_POOL_DYNAMIC] = { softmax_take, softmax_end, weight_of_tap },
    [HEED_POOL_BUCKET] = { softmax_take, softmax_end, weight_zero },
};

/* ---- rows ---- */

static int64_t ceil_div(int64_t a, int64_t b)
{
    return a / b + (a % b != 0);
}

/* The token in the middle of row 0. */
static int64_t centre_of(const struct hk_pool *numbers)
{
    return ceil_div(1 + numbers->window, 2) - 1 - numbers->left;
}

/* Windows of an item of n tokens. */
static int64_t windows_of(const struct hk_pool *numbers, int64_t n)
{
    const int64_t kernel = numbers->window, stride = numbers->stride;

    switch (numbers->tail) {
    case HEED_TAIL_FLOOR:
        return n < kernel ? 0 : (n - kernel) / stride + 1;
    case HEED_TAIL_CEIL:
        return n == 0 ? 0 : n <= kernel ? 1 : ceil_div(n - kernel, stride) + 1;
    case HEED_TAIL_CENTRE:
        return n <= centre_of(numbers) ? 0 : (n - 1 - centre_of(numbers)) / stride + 1;
    case HEED_TAIL_JOIN:
        return n < kernel ? 0 : n / stride;
    case HEED_TAIL_END:
        return ceil_div(n, stride);
    }
    assert(false); /* heed_pool_check refuses other tails */
    return 0;
}

static int64_t rows_of(const struct pool *pool)
{
    const struct hk_pool *numbers = pool->numbers;

    switch (numbers->tokens) {
    case HK_POOL_WINDOWS:
        return windows_of(numbers, pool->length);
    case HK_POOL_RANGED:
        return numbers->strip.rows;
    case HK_POOL_BUCKETS:
        return ceil_div(pool->length, numbers->block) * numbers->buckets;
    }
    assert(false);
    return 0;
}

static struct span window_of(const struct pool *pool, int64_t row)
{
    const struct hk_pool *numbers = pool->numbers;
    int64_t first = row * numbers->stride - numbers->left;

    if (numbers->tail == HEED_TAIL_END)
        first = pool->length - (pool->rows - row) * numbers->stride;
    if (numbers->tail == HEED_TAIL_JOIN && row == pool->rows - 1)
        return (struct span){ first, pool->length, first, -1 };
    return (struct span){ first, first + numbers->window, first, -1 };
}

/* The tokens of a row of the item, cut to those that exist. */
static struct span span_of(const struct pool *pool, int64_t row)
{
    const struct hk_pool *numbers = pool->numbers;
    struct span span = { 0 };

    if (numbers->tokens == HK_POOL_WINDOWS) {
        span = window_of(pool, row);
    } else if (numbers->tokens == HK_POOL_RANGED) {
        span = (struct span){ heed_ref_int(&pool->arrays, HK_POOL_RANGES, 0, row, 0),
                              heed_ref_int(&pool->arrays, HK_POOL_RANGES, 0, row, 1), 0, -1 };
    } else {
        span.first = row / numbers->buckets * numbers->block;
        span.end = pool->length - span.first < numbers->block ? pool->length
                                                              : span.first + numbers->block;
        span.id = row % numbers->buckets;
    }
    span.first = span.first < 0 ? 0 : span.first;
    span.end = span.end > pool->length ? pool->length : span.end;
    return span;
}

static bool present(const struct pool *pool, const struct span *span, int64_t head, int64_t at)
{
    if (!heed_ref_present(&pool->arrays, HK_POOL_MASK, head, pool->length, at))
        return false;
    return span->id < 0 || heed_ref_int(&pool->arrays, HK_POOL_IDS, 0, head, at) == span->id;
}

static void sums_start(struct pool *pool)
{
    heed_ref_softmax_start(&pool->softmax, pool->numbers->d, pool->chunk);
    pool->chunk_number = 0;
    pool->in_chunk = 0;
    pool->in_total = 0;
}

/* false: the row does not exist. Else *sums are its channels; NULL: an empty row. */
static bool row_sum(struct pool *pool, int64_t head, int64_t row, const float **sums)
{
    const struct hk_pool *numbers = pool->numbers;
    const bool centred = numbers->tokens == HK_POOL_WINDOWS && numbers->tail == HEED_TAIL_CENTRE;
    bool exists = false;
    struct span span;

    if (row >= pool->rows)
        return false;
    span = span_of(pool, row);
    if (centred && !present(pool, &span, head, row * numbers->stride + centre_of(numbers)))
        return false;
    sums_start(pool);
    for (int64_t at = span.first; at < span.end; at++) {
        struct token token = { head, row, at, at - span.tap0 };

        if (!present(pool, &span, head, at))
            continue;
        exists = true;
        if (numbers->d > 0)
            pool->kind->take(pool, &token, pool->kind->weight(pool, &token));
    }
    *sums = exists && numbers->d > 0 ? pool->kind->end(pool) : NULL;
    return exists;
}

static void row_run(struct pool *pool, int64_t head, int64_t row)
{
    const int64_t d = pool->numbers->d, stride = pool->arrays.operands[HK_POOL_Y].view.stride[5];
    const int64_t at = heed_ref_offset(&pool->arrays, HK_POOL_Y, head, row, 0);
    const float *sums = NULL;
    bool exists = row_sum(pool, head, row, &sums);

    if (sums == NULL)
        heed_ref_zero_row(&pool->arrays, HK_POOL_Y, at, d);
    for (int64_t t = 0; sums != NULL && t < d; t++)
        heed_ref_put(&pool->arrays, HK_POOL_Y, at + t * stride, sums[t]);
    if (heed_ref_has(&pool->arrays, HK_POOL_Y_MASK))
        heed_ref_put_int(&pool->arrays, HK_POOL_Y_MASK, 0, head, row, exists);
}

/* ---- runs ---- */

/* Where x has no head y_mask may still have one. */
static void item_run(struct pool *pool)
{
    const struct hk_strip_form *strip = &pool->numbers->strip;
    int64_t heads = pool->arrays.operands[HK_POOL_X].view.shape[3];

    if (heads == 0 && heed_ref_has(&pool->arrays, HK_POOL_Y_MASK))
        heads = pool->arrays.operands[HK_POOL_Y_MASK].view.shape[4];
    pool->length = heed_ref_length(&pool->arrays, HK_POOL_LEN, pool->numbers->n);
    pool->rows = rows_of(pool);
    assert(pool->rows <= strip->rows);
    for (int64_t head = 0; head < heads; head++) {
        for (int64_t row = 0; row < strip->rows; row++)
            row_run(pool, head, row);
    }
    if (heed_ref_has(&pool->arrays, HK_POOL_Y_LEN))
        heed_ref_put_int(&pool->arrays, HK_POOL_Y_LEN, 0, 0, 0, pool->rows);
}

static void compute(const struct heed_plan *plan, const struct heed_launch *launch)
{
    const struct heed_form *form = heed_form_of(plan);
    struct pool pool = {
        .arrays = heed_ref_arrays_of(plan, launch),
        .numbers = form->numbers,
        .chunk = heed_address(launch->workspace),
    };
    const struct heed_view *x = &plan->operands[HK_POOL_X].view;

    assert(pool.numbers->kind < sizeof pool_kinds / sizeof *pool_kinds);
    pool.kind = &pool_kinds[pool.numbers->kind];
    pool.total = pool.numbers->d > 0 ? pool.chunk + pool.numbers->d : pool.chunk;
    pool.softmax.values = heed_address(launch->at[HK_POOL_X]);
    pool.softmax.dtype = x->dtype;
    pool.softmax.stride = x->stride[5];
    for (int64_t item = 0; item < form->n_batch; item++) {
        heed_ref_arrays_item(&pool.arrays, form, item);
        item_run(&pool);
    }
}

static heed_status prepare(struct heed_plan *plan, const struct heed_services *services,
                           struct heed_error_detail *detail)
{
    (void)services;
    (void)detail;
    heed_ref_accumulators_prepare(plan, ((const struct hk_pool *)heed_form_of(plan)->numbers)->d);
    return HEED_OK;
}

static heed_status run(const struct heed_plan *plan, const struct heed_services *services,
                       const struct heed_launch *launch)
{
    (void)services;
    return heed_ref_compute(compute, plan, launch);
}

const struct heed_impl heed_ref_pool = {
    .op = HEED_OP_POOL,
    .name = "scalar",
    .prepare = prepare,
    .run = run,
};
