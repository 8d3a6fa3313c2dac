/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * pool: rows of all tails counted one by one, sums in the order of docs/numerics.md, special
 * values. test_pool_softmax.c has the kinds that are an attention.
 */
#include "pool_world.h"

/* ---- sums of small integers: any order is exact ---- */

struct counted {
    struct input in;
    struct tokens tokens;
    heed_array weights, y, y_mask, y_len;
    uint32_t kind;
};

static float integer_sum(const struct counted *c, const struct rows *r, int64_t b, int64_t h,
                         int64_t row, int64_t t, bool *any)
{
    float sum = 0;

    *any = false;
    for (int64_t at = r->begin[row]; at < r->end[row]; at++) {
        float x, w = 1;

        if (!present(&c->in, b, h, at))
            continue;
        x = world_f32(&c->in.x)[((b * H + h) * c->in.n + at) * c->in.d + t];
        if (c->kind == HEED_POOL_LINEAR)
            w = world_f32(&c->weights)[b * c->in.n + at];
        sum = c->kind != HEED_POOL_MAX ? sum + w * x : *any && sum > x ? sum : x;
        *any = true;
    }
    if (c->tokens.tail == HEED_TAIL_CENTRE && !present(&c->in, b, h, r->centre[row]))
        *any = false;
    return *any ? sum : 0;
}

static void counted_judge(const struct counted *c, int64_t m)
{
    const struct tokens *w = &c->tokens;

    for (int64_t b = 0; b < B; b++) {
        const struct rows r = rows_of(w, c->in.length[b]);

        ck_assert_msg(((int32_t *)c->y_len.buf.handle)[b] == r.n,
                      "%s: tail %u, kernel %lld, stride %lld, left %lld, n %lld: %d rows",
                      world_name(), w->tail, (long long)w->kernel, (long long)w->stride,
                      (long long)w->left, (long long)c->in.length[b],
                      ((int32_t *)c->y_len.buf.handle)[b]);
        for (int64_t i = 0; i < H * m * c->in.d; i++) {
            const int64_t h = i / c->in.d / m, row = i / c->in.d % m, at = (b * H + h) * m + row;
            bool any = false;
            const float want = row < r.n ? integer_sum(c, &r, b, h, row, i % c->in.d, &any) : 0;
            const float got = world_f32(&c->y)[at * c->in.d + i % c->in.d];
            const int mask = ((uint8_t *)c->y_mask.buf.handle)[at];

            if (got != want || mask != any)
                ck_abort_msg("%s: kind %u, tail %u, kernel %lld, stride %lld, left %lld, n %lld, "
                             "row %lld: %g, mask %d",
                             world_name(), c->kind, w->tail, (long long)w->kernel,
                             (long long)w->stride, (long long)w->left,
                             (long long)c->in.length[b], (long long)row, (double)got, mask);
        }
    }
}

static void counted_run(struct counted *c)
{
    const int64_t m = rows_of(&c->tokens, c->in.n).n;
    struct pool_call call = call_of(c->kind, &c->tokens, &c->in);

    GIVE(&call, y, world_array(HEED_F32, B, H, m, c->in.d, -1));
    GIVE(&call, y_mask, world_array(HEED_U8, B, H, m, -1, -1));
    GIVE(&call, y_len, world_array(HEED_I32, B, -1, -1, -1, -1));
    if (c->kind == HEED_POOL_LINEAR)
        GIVE(&call, weights, c->weights);
    pool_run(&call);
    c->y.buf = call.args.y;
    c->y_mask.buf = call.args.y_mask;
    c->y_len.buf = call.args.y_len;
    counted_judge(c, m);
    for (int i = 0; i < 3; i++)
        free(world.blocks[--world.n_blocks]);
}

/* Strides that the tail takes. */
static bool takes(const struct tokens *t)
{
    if (t->tail != HEED_TAIL_CENTRE && t->left > 0)
        return false;
    if (t->tail == HEED_TAIL_CEIL)
        return t->stride <= t->kernel;
    return (t->tail != HEED_TAIL_JOIN && t->tail != HEED_TAIL_END) || t->stride == t->kernel;
}

static void tails_run(struct counted *c)
{
    struct tokens *t = &c->tokens;

    for (t->tail = 0; t->tail <= HEED_TAIL_END; t->tail++) {
        for (t->kernel = 1; t->kernel <= 6; t->kernel++) {
            for (t->stride = 1; t->stride <= 7; t->stride++) {
                for (t->left = 0; t->left <= t->kernel / 2; t->left++) {
                    if (takes(t))
                        counted_run(c);
                }
            }
        }
    }
}

LOOP_TEST(rows_of_every_tail_are_those_counted_by_hand, world_devices())
{
    static const int64_t lengths[] = { 0, 1, 3, 8, 17 };
    static const uint32_t kinds[] = { HEED_POOL_SUM, HEED_POOL_MAX, HEED_POOL_LINEAR };
    struct counted c;

    world_open(_i);
    for (int i = 0; i < 5; i++) {
        heed_array x = world_array(HEED_F32, B, H, lengths[i], 3, -1);

        for (int64_t t = 0; t < world_count(&x); t++)
            world_f32(&x)[t] = (float)world_range(-50, 50);
        c.in = input_of(x, i % 2 ? H : 1);
        c.weights = world_array(HEED_F32, B, 1, lengths[i], -1, -1);
        for (int64_t t = 0; t < world_count(&c.weights); t++)
            world_f32(&c.weights)[t] = (float)world_range(-9, 9);
        for (int k = 0; k < 3; k++) {
            c.kind = kinds[k];
            tails_run(&c);
        }
    }
}

/* ---- ranges ---- */

LOOP_TEST(offsets_of_segments_are_ranges, world_devices())
{
    int32_t offsets[] = { 0, 3, 3, 10, 12 };
    float x[12], y[4];
    struct pool_call call = pool_call();

    world_open(_i);
    for (int i = 0; i < 12; i++)
        x[i] = (float)(1 << i);
    call.desc.kind = HEED_POOL_SUM;
    call.desc.ranges = (heed_tensor){ HEED_I32, 2, { 4, 2 }, { 1, 1 } };
    call.args.ranges.handle = offsets;
    GIVE(&call, x, heed_array4(HEED_F32, x, 1, 1, 12, 1));
    GIVE(&call, y, heed_array4(HEED_F32, y, 1, 1, 4, 1));
    pool_run(&call);
    ck_assert(y[0] == 7 && y[1] == 0 && y[2] == 1016 && y[3] == 3072);
}

/* ---- order and special values ---- */

static void sums_in_order(const struct input *in, const float *w, uint32_t kind)
{
    struct pool_call call = pool_call();
    const heed_array y = world_array(HEED_F32, 1, 1, 1, 1, -1);
    float want = 0, chunk = 0;
    bool first = true;

    call.desc.kind = kind;
    call.desc.kernel = call.desc.stride = in->n;
    GIVE(&call, x, heed_array4(HEED_F32, in->x.buf.handle, 1, 1, in->n, 1));
    GIVE(&call, y, y);
    if (kind == HEED_POOL_LINEAR)
        GIVE(&call, weights, heed_array4(HEED_F32, (void *)(uintptr_t)w, 1, 1, 1, in->n));
    pool_run(&call);
    for (int64_t at = 0; at < in->n; at++) {
        const float x = world_f32(&in->x)[at];

        chunk = kind == HEED_POOL_LINEAR ? fmaf(w[at], x, chunk) : chunk + x;
        if (at % 1024 == 1023 || at == in->n - 1) {
            want = first ? chunk : want + chunk;
            chunk = 0;
            first = false;
        }
    }
    ck_assert_msg(bits_of(world_f32(&y)[0]) == bits_of(want),
                  "%s: kind %u, %lld tokens: %a, not %a", world_name(), kind, (long long)in->n,
                  (double)world_f32(&y)[0], (double)want);
}

LOOP_TEST(sums_are_in_the_order_of_the_chunks, world_devices())
{
    static const int64_t lengths[] = { 5, 1023, 1024, 1025, 4000 };

    world_open(_i);
    for (int i = 0; i < 5; i++) {
        struct input in = { .x = world_floats(HEED_F32, 1, 1, lengths[i], 1), .n = lengths[i] };
        const heed_array w = world_floats(HEED_F32, 1, 1, 1, lengths[i]);

        sums_in_order(&in, world_f32(&w), HEED_POOL_SUM);
        sums_in_order(&in, world_f32(&w), HEED_POOL_LINEAR);
    }
}

static uint32_t one(uint32_t kind, float *x, float *w, uint8_t *mask, int64_t n, int *exists)
{
    struct pool_call call = pool_call();
    uint8_t y_mask = 9;
    float y = 99;

    call.desc.kind = kind;
    call.desc.kernel = call.desc.stride = n;
    GIVE(&call, x, heed_array4(HEED_F32, x, 1, 1, n, 1));
    GIVE(&call, y, heed_array4(HEED_F32, &y, 1, 1, 1, 1));
    GIVE(&call, y_mask, heed_array_dense(HEED_U8, &y_mask, 1, (int64_t[]){ 1 }));
    if (w != NULL)
        GIVE(&call, weights, heed_array_dense(HEED_F32, w, 1, &n));
    if (mask != NULL)
        GIVE(&call, mask, heed_array_dense(HEED_U8, mask, 1, &n));
    pool_run(&call);
    *exists = y_mask;
    return bits_of(y);
}

LOOP_TEST(special_values_go_where_they_must, world_devices())
{
    float nan_first[] = { NAN, 5 }, nan_last[] = { 5, -NAN, 3 }, low[] = { -INFINITY, -INFINITY };
    float zeros[] = { -0.0f, 0.0f, -0.0f }, x[] = { 1, NAN, 3 };
    float removed[] = { -INFINITY, -INFINITY, -INFINITY }, labels[] = { 0, -INFINITY, 0 };
    float poison[] = { 0, NAN, 0 }, overflow[] = { -3.4e38f, -3.4e38f, -3.4e38f };
    uint8_t odd[] = { 1, 0, 255 };
    int exists;

    world_open(_i);
    ck_assert_uint_eq(one(HEED_POOL_MAX, nan_first, NULL, NULL, 2, &exists), 0x7fc00000u);
    ck_assert_uint_eq(one(HEED_POOL_MAX, nan_last, NULL, NULL, 3, &exists), 0x7fc00000u);
    ck_assert_uint_eq(one(HEED_POOL_MAX, low, NULL, NULL, 2, &exists), bits_of(-INFINITY));
    ck_assert_uint_eq(one(HEED_POOL_MAX, zeros, NULL, NULL, 3, &exists), 0);
    ck_assert_uint_eq(one(HEED_POOL_SUM, zeros, NULL, NULL, 3, &exists), 0);
    ck_assert_int_eq(exists, 1);
    /* what is not present, or is removed, is not read */
    ck_assert_uint_eq(one(HEED_POOL_SUM, x, NULL, odd, 3, &exists), bits_of(4));
    ck_assert_uint_eq(one(HEED_POOL_MAX, x, NULL, odd, 3, &exists), bits_of(3));
    ck_assert_uint_eq(one(HEED_POOL_MEAN, x, NULL, odd, 3, &exists), bits_of(2));
    ck_assert_uint_eq(one(HEED_POOL_LINEAR, x, poison, odd, 3, &exists), 0);
    ck_assert_uint_eq(one(HEED_POOL_WEIGHTED, x, poison, odd, 3, &exists), bits_of(2));
    ck_assert_uint_eq(one(HEED_POOL_WEIGHTED, x, labels, NULL, 3, &exists), bits_of(2));
    ck_assert_uint_eq(one(HEED_POOL_WEIGHTED, x, poison, NULL, 3, &exists), 0x7fc00000u);
    /* removed by its weight a token is still present */
    ck_assert_uint_eq(one(HEED_POOL_WEIGHTED, x, removed, NULL, 3, &exists), 0);
    ck_assert_int_eq(exists, 1);
    ck_assert_uint_eq(one(HEED_POOL_WEIGHTED, x, overflow, NULL, 3, &exists), 0);
    ck_assert_int_eq(exists, 1);
    memset(odd, 0, sizeof odd);
    ck_assert_uint_eq(one(HEED_POOL_MEAN, x, NULL, odd, 3, &exists), 0);
    ck_assert_int_eq(exists, 0);
}

/* ---- extents of 0 ---- */

LOOP_TEST(without_heads_or_channels_rows_are_counted, world_devices())
{
    uint8_t mask[] = { 1, 1, 0, 0, 0, 1, 1 }, y_mask[5];
    int32_t y_len;
    float w[7];

    world_open(_i);
    for (int heads = 0; heads < 2; heads++) {
        struct pool_call call = pool_call();

        memset(y_mask, 9, sizeof y_mask);
        call.desc.kind = HEED_POOL_WEIGHTED;
        call.desc.tail = HEED_TAIL_CEIL;
        call.desc.kernel = call.desc.stride = 2;
        GIVE(&call, x, heed_array4(HEED_F32, NULL, 1, heads, 7, heads ? 0 : 3));
        GIVE(&call, y, heed_array4(HEED_F32, NULL, 1, heads, 4, heads ? 0 : 3));
        GIVE(&call, weights, heed_array_dense(HEED_F32, w, 3, (int64_t[]){ 1, heads, 7 }));
        GIVE(&call, mask, heed_array_dense(HEED_U8, mask, 3, (int64_t[]){ 1, 1, 7 }));
        GIVE(&call, y_mask, heed_array_dense(HEED_U8, y_mask, 3, (int64_t[]){ 1, 1, 4 }));
        GIVE(&call, y_len, heed_array_dense(HEED_I32, &y_len, 1, (int64_t[]){ 1 }));
        if (!heads)
            call.args.weights.handle = NULL;
        pool_run(&call);
        ck_assert_msg(y_mask[0] == 1 && y_mask[1] == 0 && y_mask[2] == 1 && y_mask[3] == 1,
                      "%s: %d heads", world_name(), heads);
        ck_assert_int_eq(y_mask[4], 9);
        ck_assert_int_eq(y_len, 4);
    }
}

int main(void)
{
    return suite_run("pool", 0, NULL, world_close);
}
