/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Constant slots are copied into the plan, once each, and their entries looked at. The copy is
 * dense, except that axes of stride 0 stay so; where a layout overlaps itself so much that the
 * bytes it spans are fewer than its elements (a Toeplitz bias from one row), the span is copied
 * with the caller's strides.
 */
#include "check_state.h"

#include "../../types/types.h"
#include "../../launch/overlap.h"
#include "slots.h"
#include "validate.h"

#include <string.h>

/* A slot as heed_tensor axes padded to six, last axis last. */
static struct heed_view view_of(const heed_tensor *t)
{
    struct heed_view v = { .dtype = t->dtype };

    for (uint32_t i = 0; i < 6; i++) {
        v.shape[i] = i < t->ndim ? t->shape[i] : 1;
        v.stride[i] = i < t->ndim && t->shape[i] != 1 ? t->stride[i] : 0;
    }
    return v;
}

/* Strides of the dense copy and how many elements it has. */
static int64_t dense_strides(const struct heed_view *v, int64_t stride[6])
{
    int64_t count = 1;

    for (int i = 5; i >= 0; i--) {
        stride[i] = v->stride[i] == 0 ? 0 : count;
        if (v->stride[i] != 0)
            count *= v->shape[i];
    }
    return count;
}

static void copy_elements(const struct heed_view *v, const int64_t stride[6], const char *from,
                          char *to, size_t size)
{
    int64_t index[6] = { 0 }, limit[6];
    const bool row = v->stride[5] == 1;

    for (int i = 0; i < 6; i++)
        limit[i] = v->stride[i] == 0 ? 1 : v->shape[i];
    if (row)
        limit[5] = 1;
    do {
        int64_t source = 0, place = 0;

        for (int i = 0; i < 6; i++) {
            source += index[i] * v->stride[i];
            place += index[i] * stride[i];
        }
        memcpy(to + place * (int64_t)size, from + source * (int64_t)size,
               row ? (size_t)v->shape[5] * size : size);
    } while (heed_slots_next(index, limit));
}

/* On success *data is element [0,...,0] of the copy and t->stride are its strides. */
static heed_status slot_copy(struct heed_check *c, const void *given, heed_tensor *t,
                             const void **data)
{
    const struct heed_view v = view_of(t);
    const size_t size = heed_dtype_size(t->dtype);
    int64_t stride[6], low, high, count;
    char *to;

    if (heed_view_empty(&v)) { /* any address: nothing is read; NULL would mean run-time */
        *data = heed_arena_take(c->arena, 1, 1);
        return *data ? HEED_OK : heed_check_nomem(c);
    }
    count = dense_strides(&v, stride);
    if (!heed_view_range(&v, &low, &high))
        return HEED_E_INTERNAL; /* the overflow check came before */
    if (high - low + 1 < count) {
        to = heed_arena_array(c->arena, (uint64_t)(high - low + 1), size, 64);
        if (!to)
            return heed_check_nomem(c);
        memcpy(to, (const char *)given + low * (int64_t)size, (size_t)(high - low + 1) * size);
        *data = to - low * (int64_t)size;
        return HEED_OK;
    }
    to = heed_arena_array(c->arena, (uint64_t)count, size, 64);
    if (!to)
        return heed_check_nomem(c);
    copy_elements(&v, stride, given, to, size);
    for (uint32_t i = 0; i < t->ndim; i++)
        t->stride[i] = stride[i];
    *data = to;
    return HEED_OK;
}

/* Copies a slot for the first of its uses. */
static heed_status slot_keep(struct heed_check *c, uint32_t slot, const void **data)
{
    heed_slot *s = &c->slots[slot - 1];
    const uint32_t size = heed_dtype_size(s->t.dtype);
    const uintptr_t odd = (uintptr_t)s->data % size;

    heed_check_object(c, "slots[%u].", (unsigned)(slot - 1));
    if (odd != 0)
        return heed_check_fail(c, HEED_E_ALIGN, "data", size, (int64_t)odd,
                               "constant data must lie at a multiple of %u bytes", (unsigned)size);
    return slot_copy(c, s->data, &s->t, data);
}

heed_status heed_check_constants(struct heed_check *c)
{
    const void *kept[HEED_MAX_SLOTS] = { NULL };

    for (uint32_t i = 0; i < c->out->n_sites; i++) {
        const uint32_t slot = c->aux[i]->slot;
        const void **data = &kept[slot - 1];

        if (!c->slots[slot - 1].data)
            continue;
        if (!*data) {
            const heed_status status = slot_keep(c, slot, data);

            if (status < 0)
                return status;
        }
        heed_check_aux(c, i, &c->slots[slot - 1].t);
        c->aux[i]->data = *data;
    }
    return heed_validate_constants(c->out, c->arena->runtime, c->where.report);
}
