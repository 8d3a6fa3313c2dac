/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Arrays whose elements share memory: axes of stride 0, and all axes of stride +-1, as in the
 * Toeplitz view t[q][k] = table[k - q + n - 1]. Their contents are made to agree first.
 */
#include "array.h"

#include <stdlib.h>
#include <string.h>

/* Where element (b, x, y, z) lies when every axis has a stride of +-1, as far as that is known
 * without the extents. */
static int64_t address_of(const struct array *a, const int64_t at[4])
{
    int64_t sum = 0;

    for (int i = 0; i < 4; i++)
        sum += a->shape[i] > 1 ? a->step[i] * at[i] : 0;
    return sum;
}

struct span {
    int64_t low, high;
};

static struct span span_of(const struct array *a)
{
    struct span span = { 0, 0 };

    for (int i = 0; i < 4; i++) {
        const int64_t far = a->shape[i] > 1 ? a->step[i] * (a->shape[i] - 1) : 0;

        span.low += far < 0 ? far : 0;
        span.high += far > 0 ? far : 0;
    }
    return span;
}

static void each(struct array *a, void (*visit)(struct array *, const int64_t at[4], int64_t index,
                                                void *context),
                 void *context)
{
    int64_t index = 0;

    for (int64_t b = 0; b < a->shape[0]; b++) {
        for (int64_t x = 0; x < a->shape[1]; x++) {
            for (int64_t y = 0; y < a->shape[2]; y++) {
                for (int64_t z = 0; z < a->shape[3]; z++)
                    visit(a, (int64_t[4]){ b, x, y, z }, index++, context);
            }
        }
    }
}

static void element_copy(struct array *a, int64_t to, int64_t from)
{
    const size_t size = cf_dtype_size(a->dtype);

    if (type_elements(a->dtype) > 1)
        cf_array_set(a, to, cf_array_bits(a, from));
    else
        memcpy((char *)a->data + (size_t)to * size, (const char *)a->data + (size_t)from * size,
               size);
}

/* An axis of stride 0 repeats its first element. */
static void repeat(struct array *a, const int64_t at[4], int64_t index, void *context)
{
    (void)context;
    element_copy(a, index,
                 cf_array_at(a, a->zero & 1 ? 0 : at[0], a->zero & 2 ? 0 : at[1],
                             a->zero & 4 ? 0 : at[2], a->zero & 8 ? 0 : at[3]));
}

struct table {
    struct span span;
    int64_t *owner; /* first element at each address, -1: none yet */
    int64_t below;  /* of ordered ones: what the entries stay below, else 0 */
};

static void share(struct array *a, const int64_t at[4], int64_t index, void *context)
{
    struct table *t = context;
    int64_t *owner = &t->owner[address_of(a, at) - t->span.low];

    if (*owner < 0)
        *owner = index;
    element_copy(a, index, *owner);
}

/* Lists and ranges that must ascend along the last axis. A list ends in entries of -1. */
static void ascend(struct array *a, const int64_t at[4], int64_t index, void *context)
{
    const struct table *t = context;
    const int64_t n = t->span.high - t->span.low + 1, w = address_of(a, at) - t->span.low;
    const int64_t step = t->below / n > 1 ? t->below / n : 1;
    const int64_t value = (a->step[3] > 0 ? w : n - 1 - w) * step;

    cf_array_set_int(a, index, value < t->below ? value : a->trailing == 1 ? -1 : t->below - 1);
}

bool cf_array_overlap(struct array *a, int64_t ordered)
{
    struct table t = { .span = span_of(a), .below = ordered };
    const size_t n = (size_t)(t.span.high - t.span.low + 1);

    t.owner = malloc(n * sizeof *t.owner);
    if (!t.owner)
        return false;
    memset(t.owner, 0xff, n * sizeof *t.owner);
    each(a, ordered ? ascend : share, &t);
    free(t.owner);
    return true;
}

bool cf_array_share(struct array *a, int laid)
{
    if (laid == LAID_ZERO)
        each(a, repeat, NULL);
    return laid != LAID_OVERLAP || cf_array_overlap(a, 0);
}
