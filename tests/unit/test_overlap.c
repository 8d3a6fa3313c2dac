/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which addresses strided tensors touch, against brute force; and layouts made to be slow.
 */
#include "lib/launch/overlap.h"
#include "conform/ops/attn/attn.h"
#include "support/suite.h"

#include <stdlib.h>
#include <string.h>

enum { MIDDLE = 4096, ROOM = 2 * MIDDLE };

static struct heed_view view_draw(struct rng *r, int64_t most_axes, int64_t most_extent,
                                  int64_t most_stride)
{
    struct heed_view v = { .dtype = HEED_F32 };

    for (int i = 0; i < 6; i++) {
        const bool used = i >= 6 - most_axes;

        v.shape[i] = used ? rng_range(r, rng_range(r, 0, 9) ? 1 : 0, most_extent) : 1;
        v.stride[i] = rng_range(r, -most_stride, most_stride);
    }
    return v;
}

/* Calls for the offset of every element. */
static void visit(const struct heed_view *v, void (*each)(void *, int64_t), void *context)
{
    int64_t index[6] = { 0 };

    if (heed_view_empty(v))
        return;
    for (;;) {
        int64_t at = 0;
        int i = 5;

        for (int a = 0; a < 6; a++)
            at += index[a] * v->stride[a];
        each(context, at);
        while (i >= 0 && ++index[i] == v->shape[i])
            index[i--] = 0;
        if (i < 0)
            return;
    }
}

struct bytes {
    unsigned char seen[ROOM];
    int64_t shift, size;
    bool twice;
};

static void mark(void *context, int64_t at)
{
    struct bytes *b = context;

    for (int64_t i = 0; i < b->size; i++) {
        unsigned char *byte = &b->seen[MIDDLE + b->shift + at * b->size + i];

        b->twice |= *byte != 0;
        *byte = 1;
    }
}

static bool brute_injective(const struct heed_view *v)
{
    static struct bytes b;

    memset(&b, 0, sizeof(b));
    b.size = 1;
    visit(v, mark, &b);
    return !b.twice;
}

static bool brute_overlap(const struct heed_view *x, int64_t sx, const struct heed_view *y,
                          int64_t sy, int64_t apart)
{
    static struct bytes a, b;

    memset(&a, 0, sizeof(a));
    memset(&b, 0, sizeof(b));
    a.size = sx;
    b.size = sy;
    b.shift = apart;
    visit(x, mark, &a);
    visit(y, mark, &b);
    for (int i = 0; i < ROOM; i++) {
        if (a.seen[i] && b.seen[i])
            return true;
    }
    return false;
}

TEST(injective_agrees_with_brute_force)
{
    struct rng r = rng_of(1);
    int yes = 0, no = 0;

    for (int i = 0; i < 30000; i++) {
        const int64_t axes = rng_range(&r, 1, 5), extent = axes > 3 ? 3 : 6;
        const struct heed_view v = view_draw(&r, axes, extent, i % 2 ? 15 : 60);
        const bool truth = brute_injective(&v);

        ck_assert_msg(heed_view_injective(&v) == truth,
                      "draw %d: [%d %d %d %d %d] strides [%d %d %d %d %d] injective %d", i,
                      (int)v.shape[1], (int)v.shape[2], (int)v.shape[3], (int)v.shape[4],
                      (int)v.shape[5], (int)v.stride[1], (int)v.stride[2], (int)v.stride[3],
                      (int)v.stride[4], (int)v.stride[5], truth);
        yes += truth;
        no += !truth;
    }
    ck_assert_int_gt(yes, 1000);
    ck_assert_int_gt(no, 1000);
}

TEST(overlap_agrees_with_brute_force)
{
    static const int64_t sizes[] = { 1, 2, 4, 8 };
    struct rng r = rng_of(2);
    int yes = 0, no = 0;

    for (int i = 0; i < 20000; i++) {
        const struct heed_view x = view_draw(&r, rng_range(&r, 1, 3), 4, 9);
        const struct heed_view y = view_draw(&r, rng_range(&r, 1, 3), 4, 9);
        const int64_t sx = sizes[rng_range(&r, 0, 3)], sy = sizes[rng_range(&r, 0, 3)];
        const int64_t apart = rng_range(&r, -200, 200);
        const uint64_t base = UINT64_C(1) << 40;
        const bool truth = brute_overlap(&x, sx, &y, sy, apart);

        ck_assert_msg(
            heed_overlap(&x, base, (size_t)sx, &y, base + (uint64_t)apart, (size_t)sy) == truth,
            "draw %d: sizes %d %d apart %d: %d", i, (int)sx, (int)sy, (int)apart, truth);
        ck_assert_msg(
            heed_overlap(&y, base + (uint64_t)apart, (size_t)sy, &x, base, (size_t)sx) == truth,
            "draw %d, other way round", i);
        yes += truth;
        no += !truth;
    }
    ck_assert_int_gt(yes, 1000);
    ck_assert_int_gt(no, 1000);
}

/* Strides of elements in bytes far apart: only the exact test tells interleaved from shared. */
TEST(interleaved_rows_share_nothing)
{
    const uint64_t memory = 4096;
    const struct heed_view even = { HEED_F32, 0, { 1, 1, 1, 4, 16, 8 }, { 0, 0, 0, 256, 16, 1 } };
    const struct heed_view wide = { HEED_F32, 0, { 1, 1, 1, 4, 16, 9 }, { 0, 0, 0, 256, 16, 1 } };

    ck_assert(!heed_overlap(&even, memory, 4, &even, memory + 32, 4));
    ck_assert(heed_overlap(&wide, memory, 4, &even, memory + 32, 4));
    ck_assert(heed_overlap(&even, memory, 4, &even, memory + 31, 4));
    ck_assert(heed_overlap(&even, memory, 4, &even, memory, 4));
    ck_assert(heed_view_injective(&wide));
}

TEST(large_layouts_are_decided)
{
    const int64_t n = INT64_C(1) << 20;
    const struct heed_view heads_last = {
        HEED_F16, 0, { 1, 1, 8, 32, n, 128 }, { 0, 0, 32 * n * 128, 128, 32 * 128, 1 }
    };
    struct heed_view slipped = heads_last;

    slipped.stride[3] = 127;
    ck_assert(heed_view_injective(&heads_last));
    ck_assert(!heed_view_injective(&slipped));
    ck_assert(!heed_overlap(&heads_last, 1000, 2, &heads_last,
                               1000 + (uint64_t)(8 * 32 * n * 128 * 2), 2));
    ck_assert(heed_overlap(&heads_last, 1000, 2, &heads_last,
                              1000 + (uint64_t)(8 * 32 * n * 128 * 2 - 1), 2));
}

TEST(negative_strides_are_the_same_set)
{
    const struct heed_view down = { HEED_F32, 0, { 1, 1, 1, 2, 3, 4 }, { 0, 0, 0, -12, -4, -1 } };
    const struct heed_view up = { HEED_F32, 0, { 1, 1, 1, 2, 3, 4 }, { 0, 0, 0, 12, 4, 1 } };

    ck_assert(heed_view_injective(&down));
    ck_assert(heed_overlap(&down, 1000, 4, &up, 1000, 4));
    ck_assert(!heed_overlap(&down, 1000, 4, &up, 1004, 4));
    ck_assert(heed_overlap(&down, 1000, 4, &up, 1003, 4));
    ck_assert(!heed_overlap(&down, 1000, 4, &up, 1000 - 92 - 96, 4));
    ck_assert(heed_overlap(&down, 1000, 4, &up, 1000 - 92 - 96 + 1, 4));
}

TEST(empty_and_single_axes_do_not_matter)
{
    const struct heed_view empty = { HEED_F32, 0, { 1, 1, 1, 0, 5, 5 }, { 0, 0, 0, 0, 0, 0 } };
    const struct heed_view single = { HEED_F32, 0, { 1, 1, 1, 1, 1, 3 }, { 0, 0, 7, 0, 0, 2 } };
    struct heed_view repeated = single;

    repeated.stride[5] = 0;
    ck_assert(heed_view_injective(&empty));
    ck_assert(heed_view_injective(&single));
    ck_assert(!heed_view_injective(&repeated));
    ck_assert(!heed_overlap(&empty, 100, 4, &single, 100, 4));
}

/* Super-increasing nowhere, common divisors nowhere: the search must give up in bounded time and
 * then refuse; or it may find the answer. Either way it returns. */
TEST(hostile_layouts_return)
{
    struct rng r = rng_of(3);

    for (int i = 0; i < (suite_all() ? 200 : 40); i++) {
        struct heed_view a = { .dtype = HEED_F32 }, b = { .dtype = HEED_F32 };

        for (int k = 0; k < 6; k++) {
            a.shape[k] = rng_range(&r, 1000, 100000);
            b.shape[k] = rng_range(&r, 1000, 100000);
            a.stride[k] = rng_range(&r, INT64_C(1) << 35, INT64_C(1) << 38);
            b.stride[k] = rng_range(&r, INT64_C(1) << 35, INT64_C(1) << 38);
        }
        (void)heed_overlap(&a, 12345, 4, &b, 54321, 4);
        (void)heed_view_injective(&a);
    }
}

TEST(extremes_do_not_overflow)
{
    struct heed_view v = { HEED_F32, 0, { 1, 1, 1, 1, 1, INT64_MAX }, { 0, 0, 0, 0, 0, 1 } };
    int64_t low, high;

    ck_assert(heed_view_injective(&v));
    ck_assert(heed_overlap(&v, 0, 4, &v, UINT64_MAX, 4));
    v.stride[5] = INT64_MIN;
    ck_assert(!heed_view_range(&v, &low, &high));
    (void)heed_view_injective(&v);
    v.shape[5] = 2;
    v.stride[5] = INT64_MAX;
    ck_assert(heed_view_injective(&v));
    v.shape[4] = 2;
    v.stride[4] = -INT64_MAX;
    ck_assert(!heed_view_injective(&v));
}

int main(void)
{
    return suite_run("overlap", 240, NULL, NULL);
}
