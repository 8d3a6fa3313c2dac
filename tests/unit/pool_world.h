/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a row of pool is made of, counted one by one, and inputs with masks and lengths, for
 * test_pool.c and test_pool_softmax.c.
 */
#ifndef HEED_TESTS_UNIT_POOL_WORLD_H
#define HEED_TESTS_UNIT_POOL_WORLD_H

#include "operation_world.h"

WORLD_OPERATION(pool)

/* ---- which tokens a row has, one by one ---- */

enum { MOST_ROWS = 200, B = 3, H = 2 };

struct tokens {
    int64_t kernel, stride, left;
    uint32_t tail;
};

struct rows {
    int64_t n;                  /* rows of an item */
    int64_t begin[MOST_ROWS], end[MOST_ROWS], centre[MOST_ROWS];
};

static void row_add(struct rows *r, int64_t begin, int64_t end, int64_t centre)
{
    ck_assert_int_lt(r->n, MOST_ROWS);
    r->begin[r->n] = begin;
    r->end[r->n] = end;
    r->centre[r->n++] = centre;
}

/* Windows of an item of n tokens, laid one after another until the next does not belong. */
static struct rows rows_of(const struct tokens *t, int64_t n)
{
    struct rows r = { .n = 0 };
    int64_t at = 0;

    switch (t->tail) {
    case HEED_TAIL_FLOOR:
    case HEED_TAIL_JOIN:
        for (; at + t->kernel <= n; at += t->stride)
            row_add(&r, at, at + t->kernel, 0);
        if (t->tail == HEED_TAIL_JOIN && r.n > 0)
            r.end[r.n - 1] = n;
        break;
    case HEED_TAIL_CEIL:
        while (n > 0 && (r.n == 0 || r.end[r.n - 1] < n)) {
            row_add(&r, at, at + t->kernel, 0);
            at += t->stride;
        }
        break;
    case HEED_TAIL_CENTRE:
        for (at = -t->left; at + t->kernel / 2 < n; at += t->stride)
            row_add(&r, at, at + t->kernel, at + t->kernel / 2);
        break;
    default:
        while (at < n)
            at += t->kernel;
        for (at = n - at; at < n; at += t->kernel)
            row_add(&r, at, at + t->kernel, 0);
    }
    return r;
}

/* x, a mask and lengths of B items; heads of the mask: 1 or H. */
struct input {
    heed_array x, mask, len;
    int64_t n, d, mask_heads;
    int64_t length[B];
};

static struct input input_of(heed_array x, int64_t mask_heads)
{
    struct input in = { .x = x, .n = x.t.shape[2], .d = x.t.shape[3], .mask_heads = mask_heads };
    static const int64_t hostile[] = { INT64_MAX, -3 };

    in.mask = world_array(HEED_U8, B, mask_heads, in.n, -1, -1);
    in.len = world_array(HEED_I64, B, -1, -1, -1, -1);
    for (int64_t i = 0; i < world_count(&in.mask); i++)
        ((uint8_t *)in.mask.buf.handle)[i] = (uint8_t)(world_range(0, 3) * 85);
    for (int b = 0; b < B; b++) {
        ((int64_t *)in.len.buf.handle)[b] = b == 1 ? world_range(0, in.n) : hostile[b / 2];
        in.length[b] = b == 0 ? in.n : b == 1 ? ((int64_t *)in.len.buf.handle)[b] : 0;
    }
    return in;
}

static bool present(const struct input *in, int64_t b, int64_t h, int64_t at)
{
    const uint8_t *mask = in->mask.buf.handle;
    const int64_t head = in->mask_heads == 1 ? 0 : h;

    return at >= 0 && at < in->length[b] && mask[(b * in->mask_heads + head) * in->n + at] != 0;
}

static struct pool_call call_of(uint32_t kind, const struct tokens *t, const struct input *in)
{
    struct pool_call call = pool_call();

    call.desc.kind = kind;
    if (t != NULL) {
        call.desc.tail = t->tail;
        call.desc.kernel = t->kernel;
        call.desc.stride = t->stride;
        call.desc.left = t->left;
    }
    GIVE(&call, x, in->x);
    GIVE(&call, mask, in->mask);
    GIVE(&call, len, in->len);
    return call;
}

#endif
