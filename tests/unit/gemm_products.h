/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Products of matrices for tests of libraries: a table of them, with lines that are apart, turned
 * matrices, items and types, and one on a device, from its memory to its sums. Operands are small
 * integers, whose sums have no rounding in any order and any of the types.
 */
#ifndef HEED_TESTS_UNIT_GEMM_PRODUCTS_H
#define HEED_TESTS_UNIT_GEMM_PRODUCTS_H

#include "backends/kernels/numerics.h"
#include "lib/types/types.h"
#include "support/suite.h"

#include <check.h>
#include <heed/nn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How a matrix lies: LINES are longer than what is in them; TURNED: its columns are lines. */
enum { PLAIN, LINES, TURNED, TURNED_LINES };

struct shape {
    int64_t m, n, k, batch, heads;
    int x, w, y;                    /* how they lie */
    uint32_t dtype, out;            /* of x and w; of y */
    int64_t shared, stride;         /* 1: all heads have the same weights; rows of x for one of y */
    int64_t offset;                 /* elements before each array */
};

enum { ITEMS_SHAPE = 4 };           /* of which no items become one */

static const struct shape shapes[] = {
    { 40, 30, 20, 1, 1, PLAIN, PLAIN, PLAIN, HEED_F32, HEED_F32, 0, 1, 0 },
    { 33, 17, 25, 1, 1, LINES, LINES, LINES, HEED_F32, HEED_F32, 0, 1, 3 },
    { 9, 12, 31, 2, 1, TURNED, TURNED, TURNED, HEED_F32, HEED_F32, 0, 1, 1 },
    { 12, 8, 5, 1, 3, PLAIN, TURNED_LINES, PLAIN, HEED_F32, HEED_F32, 0, 1, 0 },
    { 7, 6, 11, 2, 3, LINES, PLAIN, LINES, HEED_F32, HEED_F32, 0, 1, 5 },
    { 7, 6, 11, 2, 3, TURNED_LINES, LINES, TURNED_LINES, HEED_F32, HEED_F32, 1, 1, 5 },
    { 6, 9, 13, 3, 1, PLAIN, PLAIN, PLAIN, HEED_F32, HEED_F32, 0, 1, 2 },
    { 10, 4, 6, 2, 2, PLAIN, PLAIN, PLAIN, HEED_F32, HEED_F32, 1, 3, 0 },
    { 1, 1, 1, 1, 1, PLAIN, PLAIN, PLAIN, HEED_F32, HEED_F32, 0, 1, 0 },
    { 1, 50, 9, 1, 1, LINES, TURNED, PLAIN, HEED_F32, HEED_F32, 0, 1, 1 },
    { 50, 1, 9, 1, 1, PLAIN, LINES, LINES, HEED_F32, HEED_F32, 0, 1, 1 },
    { 20, 30, 60, 1, 1, PLAIN, PLAIN, PLAIN, HEED_F16, HEED_F16, 0, 1, 0 },
    { 20, 30, 60, 2, 2, LINES, TURNED, TURNED, HEED_F16, HEED_F32, 0, 1, 3 },
    { 21, 31, 61, 1, 1, TURNED, PLAIN, PLAIN, HEED_BF16, HEED_BF16, 0, 1, 0 },
    { 21, 31, 61, 1, 2, PLAIN, LINES, LINES, HEED_BF16, HEED_F32, 0, 2, 7 },
};
enum { N_SHAPES = sizeof shapes / sizeof *shapes };

enum { X, W, Y, WORK, BUFFERS };

struct product {
    const struct shape *shape;
    heed_device *device;
    heed_linear_desc desc;
    heed_plan *plan;
    heed_plan_props props;
    heed_queue *queue;
    void *native;                   /* the caller's queue; NULL: heed's */
    void (*native_end)(void *);
    heed_buf bufs[BUFFERS];
    int64_t elements[Y + 1];        /* of the arrays, what lies between them included */
    unsigned char *data[Y + 1];
    heed_report report;
};

/* Lays [batch][heads][rows][columns] down; returns how many elements that takes. */
static inline int64_t lay(heed_tensor *t, uint32_t dtype, int how, const int64_t extent[4])
{
    const bool turned = how == TURNED || how == TURNED_LINES;
    const int64_t apart = how == LINES || how == TURNED_LINES ? 3 : 0;
    const int64_t width = extent[turned ? 2 : 3] + apart, lines = extent[turned ? 3 : 2];

    *t = (heed_tensor){ .dtype = dtype, .ndim = 4 };
    memcpy(t->shape, extent, 4 * sizeof *extent);
    t->stride[turned ? 2 : 3] = 1;
    t->stride[turned ? 3 : 2] = width;
    t->stride[1] = lines * width + 2 * apart;
    t->stride[0] = extent[1] * t->stride[1] + apart;
    return extent[0] * t->stride[0];
}

static inline int64_t shape_lay(const struct shape *s, heed_linear_desc *d, int64_t elements[Y + 1])
{
    const int64_t rows = s->m * s->stride - (s->stride - 1);
    heed_tensor w;

    *d = (heed_linear_desc){ .size = sizeof *d,
                             .numerics = HEED_NUMERICS_FAST,
                             .stride = s->stride > 1 ? s->stride : 0 };
    elements[X] = lay(&d->x, s->dtype, s->x, (int64_t[4]){ s->batch, s->heads, rows, s->k });
    elements[W] = lay(&w, s->dtype, s->w, (int64_t[4]){ 1, s->shared ? 1 : s->heads, s->n, s->k });
    elements[Y] = lay(&d->y, s->out, s->y, (int64_t[4]){ s->batch, s->heads, s->m, s->n });
    d->w = (heed_tensor){ .dtype = s->dtype, .ndim = 3 };
    memcpy(d->w.shape, w.shape + 1, 3 * sizeof *w.shape);
    memcpy(d->w.stride, w.stride + 1, 3 * sizeof *w.stride);
    return rows;
}

static inline int number_of(int array, int64_t i)
{
    return (int)((i * 7 + i / 13 + array) % 3) - 1;
}

static inline void element_put(uint32_t dtype, unsigned char *data, int64_t i, float x)
{
    const hk_u16 half = dtype == HEED_F16 ? hk_to_f16(x) : hk_to_bf16(x);

    if (dtype == HEED_F32)
        memcpy(data + 4 * i, &x, sizeof x);
    else
        memcpy(data + 2 * i, &half, sizeof half);
}

static inline float element_get(uint32_t dtype, const unsigned char *data, int64_t i)
{
    hk_u16 half;
    float x;

    memcpy(&x, data + heed_dtype_size(dtype) * (size_t)i, dtype == HEED_F32 ? 4 : 2);
    if (dtype == HEED_F32)
        return x;
    memcpy(&half, data + 2 * i, sizeof half);
    return dtype == HEED_F16 ? hk_from_f16(half) : hk_from_bf16(half);
}

static inline uint32_t type_in(const struct product *p, int array)
{
    return array == Y ? p->shape->out : p->shape->dtype;
}

static inline size_t bytes_of(const struct product *p, int array)
{
    return (size_t)(p->elements[array] + p->shape->offset) * heed_dtype_size(type_in(p, array));
}

/* Numbers everywhere, in the gaps too; y is 0xff, which is NaN. */
static inline void arrays_make(struct product *p)
{
    for (int a = X; a <= Y; a++) {
        p->data[a] = malloc(bytes_of(p, a) + 4);
        memset(p->data[a], 0xff, bytes_of(p, a));
        for (int64_t i = 0; a != Y && i < p->elements[a]; i++)
            element_put(p->shape->dtype, p->data[a], p->shape->offset + i, (float)number_of(a, i));
        ck_assert_int_eq(heed_buf_create(p->device, bytes_of(p, a), &p->bufs[a], NULL), HEED_OK);
    }
}

static inline struct product product_make(heed_device *device, const struct shape *shape)
{
    struct product p = { .shape = shape, .device = device, .report.size = sizeof p.report };

    p.props.size = sizeof p.props;
    (void)shape_lay(shape, &p.desc, p.elements);
    ck_assert_msg(heed_linear_plan(device, &p.desc, &p.plan, &p.report) >= 0, "%s",
                  p.report.message);
    ck_assert_int_eq(heed_plan_info(p.plan, &p.props), HEED_OK);
    ck_assert_int_eq(heed_queue_create(device, 0, &p.queue, NULL), HEED_OK);
    arrays_make(&p);
    /* The workspace lies behind the beginning of its buffer. */
    ck_assert_int_eq(heed_buf_create(device, p.props.workspace_size + p.props.workspace_align,
                                     &p.bufs[WORK], NULL), HEED_OK);
    return p;
}

static inline heed_status product_run_event(struct product *p, heed_event *before,
                                            heed_event **event)
{
    heed_linear_args args = { .size = sizeof args };

    args.run.workspace = p->bufs[WORK];
    args.run.workspace.offset = p->props.workspace_align;
    args.run.workspace_size = p->props.workspace_size;
    args.run.wait = &before;
    args.run.n_wait = before != NULL;
    args.x = p->bufs[X];
    args.w = p->bufs[W];
    args.y = p->bufs[Y];
    args.x.offset = args.w.offset = (uint64_t)p->shape->offset * heed_dtype_size(p->shape->dtype);
    args.y.offset = (uint64_t)p->shape->offset * heed_dtype_size(p->shape->out);
    for (int a = X; a <= Y; a++)
        ck_assert_int_eq(heed_buf_write(p->queue, p->bufs[a], p->data[a], bytes_of(p, a), NULL),
                         HEED_OK);
    return heed_linear_run(p->plan, p->queue, &args, event, &p->report);
}

static inline heed_status product_run(struct product *p)
{
    return product_run_event(p, NULL, NULL);
}

static inline int64_t place(const heed_tensor *t, const int64_t at[4])
{
    int64_t sum = 0;

    for (uint32_t axis = 0; axis < t->ndim; axis++)
        sum += t->stride[axis] * at[axis + 4 - t->ndim];
    return sum;
}

static inline float sum_of(const struct product *p, const int64_t at[4])
{
    const struct shape *const s = p->shape;
    int sum = 0;

    for (int64_t l = 0; l < s->k; l++) {
        const int64_t x[4] = { at[0], at[1], at[2] * s->stride, l };
        const int64_t w[4] = { 0, s->shared ? 0 : at[1], at[3], l };

        sum += number_of(X, place(&p->desc.x, x)) * number_of(W, place(&p->desc.w, w));
    }
    return (float)sum;
}

/* All sums, and around them what was there. */
static inline void product_check(struct product *p)
{
    const struct shape *const s = p->shape;
    unsigned char *const got = malloc(bytes_of(p, Y) + 4);
    const size_t size = heed_dtype_size(s->out);

    ck_assert_int_eq(heed_buf_read(p->queue, got, p->bufs[Y], bytes_of(p, Y), NULL), HEED_OK);
    for (int64_t n = 0; n < s->batch * s->heads * s->m * s->n; n++) {
        const int64_t at[4] = { n / s->n / s->m / s->heads, n / s->n / s->m % s->heads,
                                n / s->n % s->m, n % s->n };
        const int64_t i = s->offset + place(&p->desc.y, at);

        ck_assert_msg(element_get(s->out, got, i) == sum_of(p, at),
                      "shape %lld x %lld x %lld, [%lld][%lld][%lld][%lld]: wanted %g got %g",
                      (long long)s->m, (long long)s->n, (long long)s->k, (long long)at[0],
                      (long long)at[1], (long long)at[2], (long long)at[3], (double)sum_of(p, at),
                      (double)element_get(s->out, got, i));
        memset(got + (size_t)i * size, 0xff, size);
    }
    for (size_t i = 0; i < bytes_of(p, Y); i++)
        ck_assert_msg(got[i] == 0xff, "byte %zu between the sums was written", i);
    free(got);
}

static inline void product_finish(struct product *p)
{
    heed_queue_destroy(p->queue);
    if (p->native != NULL)
        p->native_end(p->native);
    heed_plan_drop(p->plan);
    for (int a = X; a <= Y; a++)
        free(p->data[a]);
    for (int i = 0; i < BUFFERS; i++)
        heed_buf_destroy(p->device, p->bufs[i]);
}

/* Has it a workspace? */
static inline bool shape_run(heed_device *device, const struct shape *shape, const char *library)
{
    struct product p = product_make(device, shape);
    char words[64];

    snprintf(words, sizeof words, "linear-gemm %s", library);
    ck_assert_msg(strcmp(p.props.implementation, words) == 0,
                  "%lld x %lld x %lld, %lld x %lld items, x %d w %d y %d stride %lld: %s",
                  (long long)shape->m, (long long)shape->n, (long long)shape->k,
                  (long long)shape->batch, (long long)shape->heads, shape->x, shape->w, shape->y,
                  (long long)shape->stride, p.props.implementation);
    ck_assert_uint_eq(p.props.numerics, HEED_NUMERICS_FAST);
    ck_assert_msg(product_run(&p) >= 0, "%s", p.report.message);
    product_check(&p);
    product_finish(&p);
    return p.props.workspace_size > 0;
}

#endif
