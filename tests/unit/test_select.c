/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * select: norms and scores against a sort, hashes against sums and maxima in double of numbers that
 * both have exactly.
 */
#include "operation_world.h"

WORLD_OPERATION(select)

enum { B = 2, G = 2, H = 6, MOST = 200 };

static int32_t *i32_of(const heed_array *a)
{
    return a->buf.handle;
}

/* ---- tokens, some of them absent ---- */

struct input {
    heed_array x, mask, len;
    int64_t n, d, mask_heads;
    int64_t length[B];
};

/* How values are drawn. */
enum drawn { INTEGERS, SPECIALS, FLOATS, DRAWN };

static float draw(enum drawn drawn)
{
    static const float special[] = { NAN, -NAN, INFINITY, -INFINITY, -0.0f, 0.0f, 1e30f, 1e-30f };

    if (drawn == SPECIALS && world_range(0, 5) == 0)
        return special[world_range(0, 7)];
    return drawn == FLOATS ? world_float() : (float)world_range(-2, 2);
}

static heed_array drawn_array(enum drawn drawn, int64_t b, int64_t h, int64_t n, int64_t d)
{
    heed_array a = world_array(HEED_F32, b, h, n, d, -1);

    for (int64_t i = 0; i < world_count(&a); i++)
        world_f32(&a)[i] = draw(drawn);
    return a;
}

static struct input input_of(enum drawn drawn, int64_t n, int64_t d)
{
    struct input in = { .n = n, .d = d, .mask_heads = world_range(1, G) };

    in.x = drawn_array(drawn, B, G, n, d);
    in.mask = world_array(HEED_U8, B, in.mask_heads, n, -1, -1);
    in.len = world_array(HEED_I32, B, -1, -1, -1, -1);
    for (int64_t i = 0; i < world_count(&in.mask); i++)
        ((uint8_t *)in.mask.buf.handle)[i] = (uint8_t)(world_range(0, 5) * 51);
    for (int b = 0; b < B; b++) {
        i32_of(&in.len)[b] = (int32_t)world_range(-1, n + 3);
        in.length[b] = i32_of(&in.len)[b] < 0 ? 0
                       : i32_of(&in.len)[b] > n ? n
                                                : i32_of(&in.len)[b];
    }
    return in;
}

static bool present(const struct input *in, int64_t b, int64_t g, int64_t at)
{
    const uint8_t *mask = in->mask.buf.handle;

    return at < in->length[b] &&
           mask[(b * in->mask_heads + (in->mask_heads == 1 ? 0 : g)) * in->n + at] != 0;
}

static const float *token(const struct input *in, int64_t b, int64_t g, int64_t at)
{
    return world_f32(&in->x) + ((b * G + g) * in->n + at) * in->d;
}

static struct select_call call_of(uint32_t kind, const struct input *in)
{
    struct select_call call = select_call();

    call.desc.kind = kind;
    GIVE(&call, x, in->x);
    GIVE(&call, mask, in->mask);
    GIVE(&call, len, in->len);
    return call;
}

/* ---- the order of both choices, by a sort that keeps equals as they are ---- */

struct ranked {
    float value;
    int64_t at;
};

static bool before(float a, float b)
{
    return a != a ? b == b : a > b;
}

/* The `count` first of n, then their indices by size, then -1. */
static void choose(struct ranked *list, int64_t n, int64_t count, int32_t *out)
{
    bool taken[MOST] = { false };
    int64_t place = 0;

    for (int64_t i = 1; i < n; i++) {
        const struct ranked moved = list[i];
        int64_t to = i;

        for (; to > 0 && before(moved.value, list[to - 1].value); to--)
            list[to] = list[to - 1];
        list[to] = moved;
    }
    for (int64_t i = 0; i < n && i < count; i++)
        taken[list[i].at] = true;
    for (int64_t at = 0; at < MOST; at++) {
        if (taken[at])
            out[place++] = (int32_t)at;
    }
    while (place < count)
        out[place++] = -1;
}

static void judge(const heed_array *y, const int32_t *want, const char *what)
{
    for (int64_t i = 0; i < world_count(y); i++) {
        if (i32_of(y)[i] != want[i])
            ck_abort_msg("%s: %s: place %lld holds %d, not %d", world_name(), what, (long long)i,
                         i32_of(y)[i], want[i]);
    }
}

static void forget(void)
{
    while (world.n_blocks > 0)
        free(world.blocks[--world.n_blocks]);
}

/* ---- NORM ---- */

static float norm(const float *x, int64_t d)
{
    float partial[16] = { 0 };

    for (int64_t t = 0; t < d; t++)
        partial[t % 16] = fmaf(x[t], x[t], partial[t % 16]);
    for (int apart = 8; apart > 0; apart /= 2) {
        for (int i = 0; i < apart; i++)
            partial[i] = partial[i] + partial[i + apart];
    }
    return partial[0];
}

static void norm_case(enum drawn drawn)
{
    const struct input in = input_of(drawn, world_range(0, 130), world_range(0, 70));
    const int64_t block = world_range(1, 60), count = world_range(1, 12);
    const int64_t front = world_range(0, 5), back = world_range(0, 5);
    const int64_t blocks = (in.n + block - 1) / block, places = front + blocks * count + back;
    const heed_array y = world_array(HEED_I32, B, G, places, -1, -1);
    int32_t *want = world_new((size_t)(B * G * places) * sizeof(int32_t));
    struct select_call call = call_of(HEED_SELECT_NORM, &in);

    for (int64_t bg = 0; bg < B * G; bg++) {
        for (int64_t i = 0; i < places; i++)
            want[bg * places + i] = -1;
        for (int64_t k = 0; k < blocks; k++) {
            struct ranked list[MOST];
            int64_t n = 0;

            for (int64_t at = k * block; at < in.n && at < (k + 1) * block; at++) {
                if (present(&in, bg / G, bg % G, at))
                    list[n++] = (struct ranked){ norm(token(&in, bg / G, bg % G, at), in.d), at };
            }
            choose(list, n, count, want + bg * places + front + k * count);
        }
    }
    call.desc.block = block;
    call.desc.count = count;
    call.desc.pad_front = front;
    call.desc.pad_back = back;
    GIVE(&call, y, y);
    select_run(&call);
    judge(&y, want, "norm");
    forget();
}

LOOP_TEST(norms_are_those_of_a_sort, world_devices())
{
    world_open(_i);
    for (int i = 0; i < 150; i++)
        norm_case((enum drawn)(i % DRAWN));
}

/* ---- TOPK ---- */

static float score(const float *q, const float *x, int64_t d)
{
    float s = 0;

    for (int64_t t = 0; t < d; t++)
        s = fmaf(q[t], x[t], s);
    return s;
}

static void topk_case(enum drawn drawn)
{
    const struct input in = input_of(drawn, world_range(0, 130), world_range(0, 40));
    const int64_t rows = world_range(0, 5), count = world_range(1, 40);
    const heed_array q = drawn_array(drawn, B, H, rows, in.d);
    const heed_array y = world_array(HEED_I32, B, H, rows, count, -1);
    int32_t *want = world_new((size_t)world_count(&y) * sizeof(int32_t));
    struct select_call call = call_of(HEED_SELECT_TOPK, &in);

    for (int64_t row = 0; row < B * H * rows; row++) {
        const int64_t b = row / rows / H, g = row / rows % H / (H / G);
        struct ranked list[MOST];
        int64_t n = 0;

        for (int64_t at = 0; at < in.n; at++) {
            if (present(&in, b, g, at))
                list[n++] = (struct ranked){
                    score(world_f32(&q) + row * in.d, token(&in, b, g, at), in.d), at
                };
        }
        choose(list, n, count, want + row * count);
    }
    call.desc.count = count;
    GIVE(&call, q, q);
    GIVE(&call, y, y);
    select_run(&call);
    judge(&y, want, "top k");
    forget();
}

LOOP_TEST(scores_are_those_of_a_sort, world_devices())
{
    world_open(_i);
    for (int i = 0; i < 150; i++)
        topk_case((enum drawn)(i % DRAWN));
}

/* ---- HASH: the vectors of a block are dealt out round by round ---- */

enum { WIDTH = 6, COLUMNS = 9, BUCKETS = 2 * COLUMNS };

struct rounds {
    int n;
    int64_t heads[HEED_SELECT_ROUNDS], m[HEED_SELECT_ROUNDS];
    heed_array r[HEED_SELECT_ROUNDS];
};

/* The corner of the cross-polytope that lies nearest: the axis with the largest magnitude. */
static int corner(const struct rounds *rounds, int round, int64_t g, const double *v, int64_t d)
{
    const int64_t m = rounds->m[round];
    const float *r = world_f32(&rounds->r[round]) + (rounds->heads[round] == 1 ? 0 : g) * d * m;
    double s[COLUMNS], longest = 0;

    for (int64_t j = 0; j < m; j++) {
        s[j] = 0;
        for (int64_t t = 0; t < d; t++)
            s[j] += v[t] * (double)r[t * m + j];
        longest = fabs(s[j]) > longest ? fabs(s[j]) : longest;
    }
    for (int j = 0; j < m; j++) {
        if (s[j] == longest)
            return j;
    }
    for (int j = 0;; j++) {
        if (s[j] == -longest)
            return (int)m + j;
    }
}

/* ids of `n` vectors; those of later rounds from the sums of what shares a bucket. */
static void deal(const struct rounds *rounds, int round, int64_t g, double (*v)[WIDTH], int64_t n,
                 int64_t d, int32_t *ids)
{
    double sums[BUCKETS][WIDTH];
    int32_t later[BUCKETS], used[BUCKETS];
    int32_t n_used = 0;

    for (int64_t i = 0; i < n; i++)
        ids[i] = corner(rounds, round, g, v[i], d);
    if (round + 1 == rounds->n)
        return;
    for (int32_t bucket = 0; bucket < BUCKETS; bucket++) {
        bool any = false;

        memset(sums[n_used], 0, sizeof sums[n_used]);
        for (int64_t i = 0; i < n; i++) {
            any = any || ids[i] == bucket;
            for (int64_t t = 0; t < d && ids[i] == bucket; t++)
                sums[n_used][t] += v[i][t];
        }
        used[n_used] = bucket;
        n_used += any;
    }
    deal(rounds, round + 1, g, sums, n_used, d, later);
    for (int64_t i = 0; i < n; i++) {
        int32_t k = 0;

        while (used[k] != ids[i])
            k++;
        ids[i] = later[k];
    }
}

static void hash_case(int n_rounds)
{
    const struct input in = input_of(INTEGERS, world_range(0, 90), world_range(0, WIDTH));
    const int64_t block = world_range(1, 50);
    const heed_array y = world_array(HEED_I32, B, G, in.n, -1, -1);
    struct select_call call = call_of(HEED_SELECT_HASH, &in);
    struct rounds rounds = { .n = n_rounds };
    int32_t *want = world_new((size_t)(B * G * in.n) * sizeof(int32_t));

    for (int r = 0; r < n_rounds; r++) {
        rounds.heads[r] = world_range(0, 1) ? G : 1;
        rounds.m[r] = world_range(1, COLUMNS);
        rounds.r[r] = world_array(HEED_F32, rounds.heads[r], in.d, rounds.m[r], -1, -1);
        for (int64_t i = 0; i < world_count(&rounds.r[r]); i++)
            world_f32(&rounds.r[r])[i] = (float)world_range(-4, 4);
        GIVE(&call, rounds[r], rounds.r[r]);
    }
    for (int64_t first = 0; first < B * G * in.n; first += in.n) {
        const int64_t b = first / in.n / G, g = first / in.n % G;

        for (int64_t begin = 0; begin < in.n; begin += block) {
            double v[MOST][WIDTH];
            int32_t ids[MOST];
            int64_t n = 0;

            for (int64_t at = begin; at < in.n && at < begin + block; at++) {
                for (int64_t t = 0; t < in.d && present(&in, b, g, at); t++)
                    v[n][t] = (double)token(&in, b, g, at)[t];
                n += present(&in, b, g, at);
            }
            deal(&rounds, 0, g, v, n, in.d, ids);
            n = 0;
            for (int64_t at = begin; at < in.n && at < begin + block; at++)
                want[first + at] = present(&in, b, g, at) ? ids[n++] : -1;
        }
    }
    call.desc.block = block;
    GIVE(&call, y, y);
    select_run(&call);
    judge(&y, want, "hash");
    forget();
}

LOOP_TEST(hashes_are_corners_of_sums, world_devices())
{
    world_open(_i);
    for (int i = 0; i < 200; i++)
        hash_case(1 + i % HEED_SELECT_ROUNDS);
}

/* One token, one channel: the candidates are the columns themselves, then their negatives. */
static int32_t id_of(float x, const float *columns, int64_t m)
{
    struct select_call call = select_call();
    int32_t id = 99;

    call.desc.kind = HEED_SELECT_HASH;
    call.desc.block = 1;
    GIVE(&call, x, heed_array4(HEED_F32, &x, 1, 1, 1, 1));
    GIVE(&call, rounds[0], heed_array_dense(HEED_F32, (void *)(uintptr_t)columns, 2,
                                            ((int64_t[]){ 1, m })));
    GIVE(&call, y, heed_array_dense(HEED_I32, &id, 1, (int64_t[]){ 1 }));
    select_run(&call);
    return id;
}

LOOP_TEST(ties_go_low_and_nan_is_not_chosen, world_devices())
{
    static const float ties[] = { 1, 3, 3, -3 }, low[] = { 1, -3, 2 }, zeros[] = { 0, -0.0f };
    static const float nan_first[] = { NAN, 5 }, nan_later[] = { 1, NAN, 2 };
    static const float infinite[] = { 1, INFINITY, -INFINITY };

    world_open(_i);
    ck_assert_int_eq(id_of(1, ties, 4), 1);
    ck_assert_int_eq(id_of(-1, ties, 4), 3);
    ck_assert_int_eq(id_of(1, low, 3), 4);
    ck_assert_int_eq(id_of(1, zeros, 2), 0);
    ck_assert_int_eq(id_of(1, nan_first, 2), 0);
    ck_assert_int_eq(id_of(1, nan_later, 3), 2);
    ck_assert_int_eq(id_of(-1, nan_later, 3), 5);
    ck_assert_int_eq(id_of(NAN, ties, 4), 0);
    ck_assert_int_eq(id_of(1, infinite, 3), 1);
    ck_assert_int_eq(id_of(-1, infinite, 3), 2);
}

int main(void)
{
    return suite_run("select", 0, NULL, world_close);
}
