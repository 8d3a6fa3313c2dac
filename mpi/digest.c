/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * One number for all that ranks must have in common: FNV-1a of 64 bits (Fowler, Noll and Vo) over
 * fields and entries, not over strides and addresses, which are each rank's own.
 */
#include "ranks.h"

#include <string.h>

static void put(uint64_t *digest, const void *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        *digest = (*digest ^ ((const unsigned char *)bytes)[i]) * UINT64_C(0x100000001b3);
}

static void put_number(uint64_t *digest, int64_t x)
{
    put(digest, &x, sizeof x);
}

static void put_tensor(uint64_t *digest, const heed_tensor *t)
{
    put_number(digest, t->ndim == 0 ? 0 : t->dtype);
    put_number(digest, t->ndim);
    put(digest, t->shape, t->ndim * sizeof *t->shape);
}

static size_t size_of(uint32_t dtype)
{
    switch (dtype) {
    case HEED_I64:
        return 8;
    case HEED_F32:
    case HEED_I32:
        return 4;
    case HEED_F16:
    case HEED_BF16:
        return 2;
    default:
        return 1; /* the check leaves no slot of other types */
    }
}

/* Entries of an array from axis `axis` on, in order. */
static void put_entries(uint64_t *digest, const heed_tensor *t, uint32_t axis, const char *at)
{
    const size_t size = size_of(t->dtype);

    if (axis == t->ndim || (axis + 1 == t->ndim && t->stride[axis] == 1)) {
        put(digest, at, axis == t->ndim ? size : size * (size_t)t->shape[axis]);
        return;
    }
    for (int64_t i = 0; i < t->shape[axis]; i++)
        put_entries(digest, t, axis + 1, at + i * t->stride[axis] * (int64_t)size);
}

/* An array of structs of the caller's, each zero-extended to `known` bytes, at most 64. */
static void put_structs(uint64_t *digest, const void *first, uint32_t n, uint32_t size,
                        size_t known)
{
    for (uint32_t i = 0; i < n; i++) {
        char one[64] = { 0 };

        memcpy(one, (const char *)first + (size_t)i * size, size < known ? size : known);
        put(digest, one, known);
    }
}

static void put_source(uint64_t *digest, const heed_source *s)
{
    const int64_t numbers[] = { s->pos0,     s->pos_step, s->pos_span, s->layout,  s->slot,
                                s->len_slot, s->flags,    s->n_terms,  s->n_biases };

    _Static_assert(sizeof(heed_term) <= 64 && sizeof(heed_bias) <= 64, "put_structs has room");
    put_tensor(digest, &s->k);
    put_tensor(digest, &s->v);
    put(digest, numbers, sizeof numbers);
    put_structs(digest, s->terms, s->n_terms, s->term_size, sizeof(heed_term));
    put_structs(digest, s->biases, s->n_biases, s->bias_size, sizeof(heed_bias));
}

uint64_t heed_mpi_digest(const struct heed_mpi_call *call)
{
    const heed_attn_desc *d = &call->desc;
    const int64_t numbers[] = { heed_version(),
                                HEED_NUMERICS_VERSION,
                                d->flags & ~(uint32_t)HEED_PLAN_OWN_WORKSPACE,
                                d->q_pos0,
                                d->q_pos_step,
                                d->q_pos_slot,
                                d->q_layout,
                                d->q_slot,
                                d->q_len_slot,
                                d->n_sources,
                                d->n_slots,
                                d->numerics,
                                call->parts.message_bytes };
    uint64_t digest = UINT64_C(0xcbf29ce484222325);

    put(&digest, numbers, sizeof numbers);
    put(&digest, &d->scale, sizeof d->scale);
    put(&digest, &d->softcap, sizeof d->softcap);
    put_tensor(&digest, &d->q);
    put_tensor(&digest, &d->o);
    put_tensor(&digest, &d->lse);
    put_tensor(&digest, &d->sinks);
    for (uint32_t s = 0; s < d->n_sources; s++)
        put_source(&digest, &call->sources[s]);
    for (uint32_t i = 0; i < d->n_slots; i++) {
        const heed_slot *slot = &call->slots[i];

        put_number(&digest, call->used[i] + (slot->data != NULL));
        if (!call->used[i])
            continue;
        put_tensor(&digest, &slot->t);
        if (slot->data)
            put_entries(&digest, &slot->t, 0, slot->data);
    }
    return digest;
}
