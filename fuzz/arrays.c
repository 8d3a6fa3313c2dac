/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A host is the array in whose place an output is put; most arrays are their own.
 */
#include "arrays.h"

#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

enum { SPAN_MOST = FUZZ_PLACE_BYTES - FUZZ_MARGIN, ELEMENTS = 1 << 17 };

_Static_assert((int)FUZZ_PLACES_USED <= (int)FUZZ_PLACES, "a place for every array");

static uint32_t host_of(const struct fuzz_arrays *a, uint32_t i)
{
    static const uint32_t hosts[FUZZ_ALIASES][2] = {
        [FUZZ_O_IN_Q] = { FUZZ_O, FUZZ_Q },      [FUZZ_O_IN_K] = { FUZZ_O, FUZZ_KV },
        [FUZZ_O_IN_V] = { FUZZ_O, FUZZ_KV + 1 }, [FUZZ_LSE_IN_O] = { FUZZ_LSE, FUZZ_O },
        [FUZZ_LSE_IN_Q] = { FUZZ_LSE, FUZZ_Q },
    };
    const uint32_t *row = hosts[a->c->alias];

    return a->c->alias != FUZZ_APART && row[0] == i && a->at[row[1]].t ? row[1] : i;
}

/* Lowest byte beside element [0]...[0], and bytes. false: more than a place holds. */
static bool span_of(const struct fuzz_array *x, int64_t *low, int64_t *size)
{
    int64_t high = 0;

    *low = *size = 0;
    if (!x->t || x->t->ndim == 0)
        return true;
    if (!fuzz_extent(x->t, low, &high) || high > SPAN_MOST || high - *low > SPAN_MOST)
        return false;
    *size = high - *low;
    return fuzz_count(x->t, ELEMENTS) >= 0;
}

/* Where a guest begins in a host of so many bytes: at a multiple of its element size. */
static int64_t guest_at(const struct fuzz_arrays *a, uint32_t guest, int64_t host_size)
{
    const uint32_t at = a->c->alias_at % (uint32_t)(host_size + 1);

    return at / 8 * 8 + (a->c->alias_at & 4 ? fuzz_dtype_size(a->at[guest].t->dtype) : 0);
}

/* Room for one array and for the guest that may lie in it. */
static bool place_host(struct fuzz_arrays *a, uint32_t i)
{
    struct fuzz_array *x = &a->at[i];
    int64_t low, own, size, guest_low, guest_size;

    if (!span_of(x, &low, &own))
        return false;
    size = own;
    for (uint32_t g = FUZZ_O; g <= FUZZ_LSE; g++) {
        if (g == i || !a->at[g].t || host_of(a, g) != i ||
            !span_of(&a->at[g], &guest_low, &guest_size))
            continue;
        if (guest_at(a, g, own) + guest_size > size)
            size = guest_at(a, g, own) + guest_size;
        size = (size + 7) / 8 * 8;      /* so that the elements of both are aligned */
    }
    x->place = fuzz_place(i, (size_t)size, a->c->at_end >> i % 64 & 1);
    if (!x->place)
        return false;
    x->size = (size_t)size;
    x->origin = x->place - low;
    return true;
}

static bool place_guest(struct fuzz_arrays *a, uint32_t i)
{
    struct fuzz_array *x = &a->at[i];
    const struct fuzz_array *host = &a->at[host_of(a, i)];
    int64_t low, size, host_low, host_size;

    if (!span_of(x, &low, &size) || !span_of(host, &host_low, &host_size) || !host->place)
        return false;
    x->place = host->place + guest_at(a, i, host_size);
    x->origin = x->place - low;
    return true;
}

static void list(struct fuzz_arrays *a)
{
    const struct call *c = &a->c->call;

    a->at[FUZZ_Q] = (struct fuzz_array){ .t = &c->desc.q, .from = &c->q };
    a->at[FUZZ_O] = (struct fuzz_array){ .t = &c->desc.o, .from = &c->o };
    if (c->desc.lse.ndim)
        a->at[FUZZ_LSE] = (struct fuzz_array){ .t = &c->desc.lse, .from = &c->lse };
    if (c->desc.sinks.ndim)
        a->at[FUZZ_SINKS] = (struct fuzz_array){ .t = &c->desc.sinks, .from = &c->sinks };
    for (uint32_t i = 0; i < c->desc.n_sources; i++) {
        a->at[FUZZ_KV + 2 * i] = (struct fuzz_array){ .t = &c->source[i].k, .from = &c->k[i] };
        a->at[FUZZ_KV + 2 * i + 1] = (struct fuzz_array){ .t = &c->source[i].v, .from = &c->v[i] };
    }
    for (uint32_t i = 0; i < c->desc.n_slots; i++)
        a->at[FUZZ_SLOT + i] = (struct fuzz_array){ .t = &c->slot[i].t, .from = &c->aux[i] };
}

static void place(struct fuzz_arrays *a)
{
    a->placed = true;
    for (uint32_t i = 0; i < FUZZ_ARRAYS; i++) {
        if (a->at[i].t && host_of(a, i) == i && !place_host(a, i))
            a->placed = false;
    }
    for (uint32_t i = FUZZ_O; i <= FUZZ_LSE; i++) {
        if (a->at[i].t && host_of(a, i) != i && !place_guest(a, i))
            a->placed = false;
    }
    for (uint32_t i = 0; i < a->c->call.desc.n_slots; i++)
        a->c->call.slot[i].data = a->c->p->slot[i].constant ? a->at[FUZZ_SLOT + i].origin : NULL;
}

/* Marks the bytes of an output, wherever they lie, and gives them a pattern. */
static void mark(struct fuzz_arrays *a, uint32_t i)
{
    const struct fuzz_array *x = &a->at[i];
    struct fuzz_array *host = &a->at[host_of(a, i)];
    const int64_t n = x->t ? fuzz_count(x->t, INT64_MAX) : 0;
    const uint32_t size = x->t ? fuzz_dtype_size(x->t->dtype) : 0;

    for (int64_t e = 0; e < n; e++) {
        uint8_t *const at = x->origin + fuzz_offset(x->t, e) * size;

        memset(at, FUZZ_PATTERN, size);
        memset(host->written + (at - host->place), 1, size);
    }
}

void *fuzz_copy(const void *from, size_t size)
{
    void *copy = calloc(size ? size : 1, 1);

    FUZZ_REQUIRE(copy != NULL, "no memory for the target");
    if (from && size)
        memcpy(copy, from, size);
    return copy;
}

static bool is_own(const struct fuzz_arrays *a, uint32_t i)
{
    return a->at[i].place && host_of(a, i) == i;
}

void fuzz_arrays_make(struct fuzz_arrays *a, struct fuzz_case *c)
{
    memset(a, 0, sizeof(*a));
    a->c = c;
    list(a);
    place(a);
    for (uint32_t i = 0; i < FUZZ_ARRAYS; i++) {
        if (!is_own(a, i))
            continue;
        memset(a->at[i].place, FUZZ_PATTERN, a->at[i].size);
        memset(fuzz_place_margin(i), FUZZ_PATTERN, FUZZ_MARGIN);
        a->at[i].written = fuzz_copy(NULL, a->at[i].size);
    }
    for (uint32_t i = 0; i < FUZZ_ARRAYS; i++) {
        if (is_own(a, i) && i != FUZZ_O && i != FUZZ_LSE)
            fuzz_fill(a->at[i].place, a->at[i].size, a->at[i].from);
    }
    if (a->placed) {
        mark(a, FUZZ_O);
        mark(a, FUZZ_LSE);
    }
    for (uint32_t i = 0; i < FUZZ_ARRAYS; i++) {
        if (is_own(a, i))
            a->at[i].before = fuzz_copy(a->at[i].place, a->at[i].size);
    }
}

void fuzz_arrays_finish(struct fuzz_arrays *a)
{
    for (uint32_t i = 0; i < FUZZ_ARRAYS; i++) {
        free(a->at[i].before);
        free(a->at[i].written);
    }
}

/* Says which byte; a memcmp came first. */
static void difference_find(const struct fuzz_array *x, uint32_t i, bool outputs, const char *after)
{
    for (size_t b = 0; b < x->size; b++) {
        FUZZ_REQUIRE(x->place[b] == x->before[b] || (x->written[b] && outputs),
                     "%s wrote byte %zu of array %u", after, b, i);
    }
}

void fuzz_arrays_compare(const struct fuzz_arrays *a, bool outputs, const char *after)
{
    for (uint32_t i = 0; i < FUZZ_ARRAYS; i++) {
        const struct fuzz_array *x = &a->at[i];

        if (!x->before)
            continue;
        if (memcmp(x->place, x->before, x->size) != 0)
            difference_find(x, i, outputs, after);
        for (int b = 0; b < FUZZ_MARGIN; b++) {
            FUZZ_REQUIRE(fuzz_place_margin(i)[b] == FUZZ_PATTERN, "%s wrote beside array %u", after,
                         i);
        }
    }
}

void fuzz_arrays_restore(struct fuzz_arrays *a)
{
    for (uint32_t i = 0; i < FUZZ_ARRAYS; i++) {
        if (a->at[i].before && a->at[i].size)
            memcpy(a->at[i].place, a->at[i].before, a->at[i].size);
    }
}

uint8_t *fuzz_arrays_take(const struct fuzz_arrays *a, uint32_t number)
{
    const struct fuzz_array *x = &a->at[number];
    const int64_t n = x->t ? fuzz_count(x->t, INT64_MAX) : 0;
    const uint32_t size = x->t ? fuzz_dtype_size(x->t->dtype) : 0;
    uint8_t *taken = fuzz_copy(NULL, (size_t)n * size);

    for (int64_t e = 0; e < n; e++)
        memcpy(taken + (size_t)e * size, x->origin + fuzz_offset(x->t, e) * size, size);
    return taken;
}
