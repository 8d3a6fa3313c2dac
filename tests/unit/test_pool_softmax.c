/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * pool: every softmax against an attention without channels that sees the same tokens, bit for bit.
 */
#include "pool_world.h"

/* ---- softmaxes: an attention with d = 0 ---- */

/* An attention of M rows in every item; row j sees the tokens of ranges [B][M][2], i32. */
struct seen {
    const struct input *in;
    int64_t m;
    heed_array ranges;
    heed_array bias;            /* [B][1 or H][1 or M][N]; ndim 0: none */
};

enum { RANGES = 1, MASK, LEN, BIAS };

static heed_array attention(const struct seen *s, const heed_term *window, int64_t q_pos0,
                            int64_t q_pos_step)
{
    const struct input *in = s->in;
    const heed_term segment = { .kind = HEED_TERM_SEGMENT, .slot = RANGES };
    const heed_bias bias = { .kind = HEED_BIAS_DENSE, .t = BIAS };
    const heed_array k = heed_array4(HEED_F32, NULL, B, H, in->n, 0);
    const heed_array o = world_array(HEED_F32, B, H, s->m, in->d, -1);
    const heed_source source = {
        .k = k.t, .v = in->x.t, .len_slot = LEN, .mask_slot = MASK,
        .terms = window != NULL ? window : &segment, .n_terms = 1, .term_size = sizeof(segment),
        .biases = &bias, .n_biases = s->bias.t.ndim > 0, .bias_size = sizeof(bias),
    };
    const heed_slot slots[] = { { s->ranges.t, NULL }, { in->mask.t, NULL }, { in->len.t, NULL },
                                { s->bias.t, NULL } };
    const heed_buf bufs[] = { s->ranges.buf, in->mask.buf, in->len.buf, s->bias.buf };
    const heed_kv_bufs kv = { k.buf, in->x.buf };
    const heed_attn_desc desc = {
        .size = sizeof(desc), .flags = HEED_ATTN_ALIGN_START | HEED_PLAN_OWN_WORKSPACE,
        .q = heed_array4(HEED_F32, NULL, B, H, s->m, 0).t, .o = o.t,
        .q_pos0 = q_pos0, .q_pos_step = (int32_t)q_pos_step,
        .sources = &source, .n_sources = 1, .source_size = sizeof(source),
        .slots = slots, .n_slots = s->bias.t.ndim > 0 ? 4 : 3, .slot_size = sizeof(slots[0]),
    };
    const heed_attn_args args = {
        .size = sizeof(args), .kv_size = sizeof(kv), .o = o.buf, .kv = &kv, .slots = bufs,
        .n_slots = desc.n_slots,
    };
    heed_plan *plan = NULL;

    ck_assert_msg(heed_attn_plan(world.device, &desc, &plan, &world.why) == HEED_OK, "%s: %s",
                  world.why.field, world.why.message);
    ck_assert_int_eq(heed_attn_run(plan, world.queue, &args, NULL, &world.why), HEED_OK);
    heed_plan_drop(plan);
    return o;
}

/* Ranges of the rows that exist; others are empty. */
static struct seen seen_of(const struct input *in, const struct tokens *t)
{
    struct seen s = { .in = in, .m = rows_of(t, in->n).n };
    int32_t *entry;

    s.ranges = world_array(HEED_I32, B, s.m, 2, -1, -1);
    entry = s.ranges.buf.handle;
    for (int64_t b = 0; b < B; b++) {
        const struct rows r = rows_of(t, in->length[b]);

        for (int64_t row = 0; row < s.m; row++, entry += 2) {
            const bool exists = row < r.n && (t->tail != HEED_TAIL_CENTRE ||
                                              present(in, b, 0, r.centre[row]));

            entry[0] = exists && r.begin[row] > 0 ? (int32_t)r.begin[row] : 0;
            entry[1] = exists ? (int32_t)r.end[row] : 0;
        }
    }
    return s;
}

/* Around the borders of blocks and chunks; masks of one head, as SEGMENT has no head. */
static const struct tokens long_windows[] = {
    { 70, 70, 0, HEED_TAIL_FLOOR },     { 1100, 64, 0, HEED_TAIL_FLOOR },
    { 1024, 1024, 0, HEED_TAIL_CEIL },  { 300, 65, 0, HEED_TAIL_CEIL },
    { 129, 31, 60, HEED_TAIL_CENTRE },  { 1500, 200, 700, HEED_TAIL_CENTRE },
    { 333, 333, 0, HEED_TAIL_JOIN },    { 500, 500, 0, HEED_TAIL_END },
    { 2200, 2200, 0, HEED_TAIL_CEIL },  { 1, 17, 0, HEED_TAIL_CENTRE },
};
enum { LONG_WINDOWS = sizeof long_windows / sizeof *long_windows, LONG = 2200, CHANNELS = 9 };

LOOP_TEST(means_are_attention_without_channels, world_devices() * LONG_WINDOWS)
{
    const struct tokens *t = &long_windows[_i % LONG_WINDOWS];
    struct pool_call call;
    struct input in;
    struct seen s;
    heed_array want, y;

    world_open(_i / LONG_WINDOWS);
    in = input_of(world_floats(_i % 3 ? HEED_F32 : HEED_BF16, B, H, LONG, CHANNELS), 1);
    s = seen_of(&in, t);
    want = attention(&s, NULL, 0, 0);
    call = call_of(HEED_POOL_MEAN, t, &in);
    y = world_array(HEED_F32, B, H, s.m, CHANNELS, -1);
    GIVE(&call, y, y);
    pool_run(&call);
    world_same(&y, &want, "mean");
}

/* The same windows as positions: row j at j*stride - left sees what lies ahead. */
LOOP_TEST(means_are_windows_of_attention, world_devices())
{
    static const struct tokens windows[] = { { 100, 30, 0, HEED_TAIL_FLOOR },
                                             { 1030, 300, 0, HEED_TAIL_CEIL } };

    world_open(_i);
    for (int i = 0; i < 2; i++) {
        const struct tokens *t = &windows[i];
        const heed_term window = { .kind = HEED_TERM_WINDOW, .left = 0, .right = t->kernel - 1 };
        struct input in = input_of(world_floats(HEED_F32, B, H, LONG, CHANNELS), H);
        struct seen s = seen_of(&in, t);
        struct pool_call call = call_of(HEED_POOL_MEAN, t, &in);
        const heed_array y = world_array(HEED_F32, B, H, s.m, CHANNELS, -1);
        heed_array want;

        GIVE(&call, y, y);
        GIVE(&call, y_len, world_array(HEED_I64, B, -1, -1, -1, -1));
        pool_run(&call);
        want = attention(&s, &window, -t->left, t->stride);
        for (int64_t b = 0; b < B; b++) {       /* attention has rows beyond the item's */
            const int64_t rows = ((int64_t *)call.args.y_len.handle)[b];

            for (int64_t h = 0; h < H; h++) {
                for (int64_t at = rows; at < s.m; at++)
                    memset(world_f32(&want) + ((b * H + h) * s.m + at) * CHANNELS, 0,
                           CHANNELS * sizeof(float));
            }
        }
        world_same(&y, &want, "mean of a window");
    }
}

/* Random weights, some of them -Inf, or far from the others. */
static void weights_fill(float *w, int64_t n, bool specials)
{
    static const float special[] = { -INFINITY, -INFINITY, -3e38f, -1e9f, -60, 60, 30, -30 };

    for (int64_t i = 0; i < n; i++)
        w[i] = specials && world_range(0, 9) == 0 ? special[world_range(0, 7)] : world_float();
}

/* x is 0 where a weight is large: what little the others have is all there is. It is NaN where a
 * weight removes the token. */
static void special_rows(const struct input *in, const heed_array *weights)
{
    const int64_t heads = weights->t.shape[1];

    for (int64_t i = 0; i < world_count(&in->x); i++) {
        const int64_t at = i / in->d % in->n, h = i / in->d / in->n % H, b = i / in->d / in->n / H;

        const float w = world_f32(weights)[(b * heads + (heads == 1 ? 0 : h)) * in->n + at];

        if (w > 9 || w < -1e38f)
            world_f32(&in->x)[i] = w > 9 ? 0 : NAN;
    }
}

LOOP_TEST(weighted_rows_are_attention_with_a_bias, world_devices() * LONG_WINDOWS)
{
    const struct tokens *t = &long_windows[_i % LONG_WINDOWS];
    const int64_t heads = _i % 2 ? H : 1;
    struct pool_call call;
    struct input in;
    struct seen s;
    heed_array weights, want, y;

    world_open(_i / LONG_WINDOWS);
    in = input_of(world_floats(HEED_F32, B, H, LONG, CHANNELS), 1);
    s = seen_of(&in, t);
    weights = world_array(HEED_F32, B, heads, LONG, -1, -1);
    weights_fill(world_f32(&weights), B * heads * LONG, _i % 3 != 0);
    if (_i % 3 == 2)
        special_rows(&in, &weights);
    s.bias = heed_array4(HEED_F32, weights.buf.handle, B, heads, 1, LONG);
    want = attention(&s, NULL, 0, 0);
    call = call_of(HEED_POOL_WEIGHTED, t, &in);
    y = world_array(HEED_F32, B, H, s.m, CHANNELS, -1);
    GIVE(&call, y, y);
    GIVE(&call, weights, weights);
    pool_run(&call);
    world_same(&y, &want, "weighted");
}

/* A bias for every row and token: the tap that the token is. */
static void taps_spread(const heed_array *taps, const struct tokens *t, const struct seen *s)
{
    const int64_t heads = taps->t.shape[1], n = s->in->n;

    for (int64_t b = 0; b < B; b++) {
        const struct rows r = rows_of(t, s->in->length[b]);

        for (int64_t i = 0; i < heads * r.n * t->kernel; i++) {
            const int64_t h = i / t->kernel / r.n, row = i / t->kernel % r.n, tap = i % t->kernel;
            const int64_t at = r.begin[row] + tap, list = (b * heads + h) * s->m + row;

            if (at >= 0 && at < n)
                world_f32(&s->bias)[list * n + at] = world_f32(taps)[list * t->kernel + tap];
        }
    }
}

LOOP_TEST(dynamic_rows_are_attention_with_a_bias, world_devices())
{
    static const struct tokens windows[] = { { 90, 50, 0, HEED_TAIL_FLOOR },
                                             { 1100, 333, 200, HEED_TAIL_CENTRE },
                                             { 200, 200, 0, HEED_TAIL_END },
                                             { 70, 64, 0, HEED_TAIL_CEIL } };
    enum { TOKENS = 1300 };

    world_open(_i);
    for (int i = 0; i < 4; i++) {
        const struct tokens *t = &windows[i];
        const int64_t heads = i % 2 ? H : 1;
        struct input in = input_of(world_floats(HEED_BF16, B, H, TOKENS, CHANNELS), 1);
        struct seen s = seen_of(&in, t);
        struct pool_call call = call_of(HEED_POOL_DYNAMIC, t, &in);
        const heed_array y = world_array(HEED_F32, B, H, s.m, CHANNELS, -1);
        const heed_array taps = world_array(HEED_F32, B, heads, s.m, t->kernel, -1);
        heed_array want;

        weights_fill(world_f32(&taps), world_count(&taps), i > 0);
        s.bias = world_array(HEED_F32, B, heads, s.m, TOKENS, -1);
        memset(s.bias.buf.handle, 0, (size_t)world_count(&s.bias) * sizeof(float));
        taps_spread(&taps, t, &s);
        want = attention(&s, NULL, 0, 0);
        GIVE(&call, y, y);
        GIVE(&call, weights, taps);
        pool_run(&call);
        world_same(&y, &want, "dynamic");
    }
}

/* ---- buckets ---- */

/* What attention is to see: the block as a range, other buckets' tokens removed by -Inf. */
static struct seen buckets_seen(const struct input *in, const heed_array *ids, int64_t block,
                                int64_t buckets)
{
    const int64_t blocks = (in->n + block - 1) / block;
    struct seen s = { .in = in, .m = blocks * buckets };
    int32_t *entry;

    s.ranges = world_array(HEED_I32, B, s.m, 2, -1, -1);
    entry = s.ranges.buf.handle;
    for (int64_t row = 0; row < B * s.m; row++, entry += 2) {
        entry[0] = (int32_t)(row % s.m / buckets * block);
        entry[1] = (int32_t)(entry[0] + block);
    }
    s.bias = world_array(HEED_F32, B, H, s.m, in->n, -1);
    for (int64_t i = 0; i < world_count(&s.bias); i++) {
        const int64_t at = i % in->n, row = i / in->n % s.m, bh = i / in->n / s.m;
        const int32_t id = ((int32_t *)ids->buf.handle)[bh * in->n + at];

        world_f32(&s.bias)[i] = id == row % buckets ? 0 : -INFINITY;
    }
    return s;
}

LOOP_TEST(buckets_are_attention_and_rows_are_counted, world_devices())
{
    static const int64_t shapes[][3] = { { 1100, 2100, 3 }, { 64, 130, 5 }, { 7, 40, 2 },
                                         { 9, 9, 4 },       { 1000, 20, 1 } };

    world_open(_i);
    for (int i = 0; i < 5; i++) {
        const int64_t block = shapes[i][0], n = shapes[i][1], buckets = shapes[i][2];
        struct input in = input_of(world_floats(HEED_F32, B, H, n, CHANNELS), 1);
        struct pool_call call = call_of(HEED_POOL_BUCKET, NULL, &in);
        const heed_array ids = world_array(HEED_I32, B, H, n, -1, -1);
        heed_array y, y_mask, y_len, want;
        struct seen s;

        for (int64_t k = 0; k < B * H * n; k++)
            ((int32_t *)ids.buf.handle)[k] = (int32_t)world_range(-1, buckets);
        s = buckets_seen(&in, &ids, block, buckets);
        want = attention(&s, NULL, 0, 0);
        y = world_array(HEED_F32, B, H, s.m, CHANNELS, -1);
        y_mask = world_array(HEED_U8, B, H, s.m, -1, -1);
        y_len = world_array(HEED_I64, B, -1, -1, -1, -1);
        call.desc.block = block;
        call.desc.buckets = buckets;
        GIVE(&call, ids, ids);
        GIVE(&call, y, y);
        GIVE(&call, y_mask, y_mask);
        GIVE(&call, y_len, y_len);
        pool_run(&call);
        world_same(&y, &want, "buckets");
        for (int b = 0; b < B; b++)
            ck_assert_int_eq(((int64_t *)y_len.buf.handle)[b],
                             (in.length[b] + block - 1) / block * buckets);
        for (int64_t row = 0; row < B * H * s.m; row++) {
            const int64_t first = row % s.m / buckets * block, bh = row / s.m;
            bool any = false;

            for (int64_t at = first; at < first + block && at < n; at++)
                any = any || (present(&in, bh / H, bh % H, at) &&
                              ((int32_t *)ids.buf.handle)[bh * n + at] == row % s.m % buckets);
            ck_assert_int_eq(((uint8_t *)y_mask.buf.handle)[row], any);
        }
    }
}

/* ---- ranges ---- */

LOOP_TEST(ranges_are_cut_to_the_item, world_devices())
{
    enum { N = 1500, M = 8 };
    static const int64_t given[M][2] = { { 0, N },          { 60, 70 },
                                         { -50, 1100 },     { 1023, 1025 },
                                         { 30, 30 },        { 40, 20 },
                                         { 100, INT64_MAX }, { INT64_MIN, INT64_MIN } };
    struct input in;
    struct pool_call call;
    struct seen s;
    heed_array want, y, y_mask, y_len, ranges;

    world_open(_i);
    in = input_of(world_floats(HEED_F32, B, H, N, CHANNELS), 1);
    s = (struct seen){ .in = &in, .m = M, .ranges = world_array(HEED_I32, B, M, 2, -1, -1) };
    ranges = world_array(HEED_I64, 1, M, 2, -1, -1);
    for (int64_t i = 0; i < B * M * 2; i++) {
        const int64_t wanted = given[i / 2 % M][i % 2];

        ((int32_t *)s.ranges.buf.handle)[i] = (int32_t)(wanted < 0 ? 0 : wanted > N ? N : wanted);
        ((int64_t *)ranges.buf.handle)[i % (M * 2)] = wanted;
    }
    want = attention(&s, NULL, 0, 0);
    y = world_array(HEED_F32, B, H, M, CHANNELS, -1);
    y_mask = world_array(HEED_U8, B, 1, M, -1, -1);
    y_len = world_array(HEED_I32, B, -1, -1, -1, -1);
    call = call_of(HEED_POOL_MEAN, NULL, &in);
    GIVE(&call, y, y);
    GIVE(&call, y_mask, y_mask);
    GIVE(&call, y_len, y_len);
    GIVE(&call, ranges, ranges);
    pool_run(&call);
    world_same(&y, &want, "ranges");
    for (int b = 0; b < B; b++) {
        ck_assert_int_eq(((int32_t *)y_len.buf.handle)[b], M);
        for (int row = 0; row < M; row++) {
            bool any = false;

            for (int64_t at = 0; at < N; at++)
                any = any || (present(&in, b, 0, at) && at >= given[row][0] && at < given[row][1]);
            ck_assert_int_eq(((uint8_t *)y_mask.buf.handle)[b * M + row], any);
        }
    }
}

int main(void)
{
    return suite_run("pool-softmax", 0, NULL, world_close);
}
