/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A host is the array in whose place another one, its guest, is put; most arrays are their own.
 */
#include "arrays.h"

#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

enum { SPAN_MOST = FUZZ_PLACE_BYTES - FUZZ_MARGIN, ELEMENTS = 1 << 17 };

_Static_assert((int)FUZZ_PLACES_USED <= (int)FUZZ_PLACES, "a place for every array");

static bool is_guest(const struct fuzz_arrays *a, int i)
{
    return i == a->c->guest && a->c->guest != a->c->host && a->at[a->c->host].there;
}

static struct fuzz_array *host_of(struct fuzz_arrays *a, int i)
{
    return &a->at[is_guest(a, i) ? a->c->host : i];
}

/* Lowest byte beside element [0]...[0], and bytes. false: more than a place holds. */
static bool span_of(const struct fuzz_array *x, int64_t *low, int64_t *size)
{
    int64_t high = 0;

    *low = *size = 0;
    if (!x->there)
        return true;
    if (!fuzz_extent(x->t, low, &high) || high > SPAN_MOST || high - *low > SPAN_MOST)
        return false;
    *size = high - *low;
    return fuzz_count(x->t, ELEMENTS) >= 0;
}

/* Where the guest begins in a host of so many bytes: at a multiple of its element size. */
static int64_t guest_at(const struct fuzz_arrays *a, int64_t host_size)
{
    const uint32_t at = a->c->distance % (uint32_t)(host_size + 1);

    return at / 8 * 8 + (a->c->distance & 4 ? fuzz_dtype_size(a->at[a->c->guest].t->dtype) : 0);
}

/* Room for one array and for the guest that may lie in it. */
static bool place_host(struct fuzz_arrays *a, int i)
{
    struct fuzz_array *x = &a->at[i];
    int64_t low, size, guest_low, guest_size;

    if (!span_of(x, &low, &size))
        return false;
    if (i == a->c->host && is_guest(a, a->c->guest) && a->at[a->c->guest].there &&
        span_of(&a->at[a->c->guest], &guest_low, &guest_size)) {
        guest_size += guest_at(a, size);
        size = (size > guest_size ? size : guest_size);
        size = (size + 7) / 8 * 8;      /* so that the elements of both are aligned */
    }
    x->place = fuzz_place((uint32_t)i, (size_t)size, a->c->at_end >> i % 64 & 1);
    if (!x->place)
        return false;
    x->size = (size_t)size;
    x->origin = x->place - low;
    return true;
}

static bool place_guest(struct fuzz_arrays *a, struct fuzz_array *x)
{
    const struct fuzz_array *host = &a->at[a->c->host];
    int64_t low, size, host_low, host_size;

    if (!span_of(x, &low, &size) || !span_of(host, &host_low, &host_size) || !host->place)
        return false;
    x->place = host->place + guest_at(a, host_size);
    x->origin = x->place - low;
    return true;
}

static void place(struct fuzz_arrays *a)
{
    struct fuzz_array *const guest = &a->at[a->c->guest];

    a->placed = true;
    for (int i = 0; i < a->c->job->n; i++) {
        if (a->at[i].there && !is_guest(a, i) && !place_host(a, i))
            a->placed = false;
    }
    if (guest->there && is_guest(a, a->c->guest) && !place_guest(a, guest))
        a->placed = false;
    for (int i = 0; i < a->c->job->n; i++) {
        if (a->at[i].x->constant)
            *a->at[i].x->constant = a->at[i].origin;
    }
}

int64_t fuzz_elements(const struct fuzz_array *x)
{
    return x->there ? fuzz_count(x->t, INT64_MAX) : 0;
}

/* Marks the bytes of what is written, wherever they lie, and gives outputs a pattern. */
static void mark(struct fuzz_arrays *a, int i)
{
    const struct fuzz_array *x = &a->at[i];
    struct fuzz_array *host = host_of(a, i);
    const int64_t n = fuzz_elements(x);
    const uint32_t size = fuzz_dtype_size(x->t->dtype);

    for (int64_t e = 0; e < n; e++) {
        uint8_t *const at = x->origin + fuzz_offset(x->t, e) * size;

        if (x->x->role == HEED_ROLE_OUT)
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

/* Memory of its own, with what the kit put into it. */
static void own_fill(struct fuzz_arrays *a, int i)
{
    struct fuzz_array *const x = &a->at[i];

    memset(x->place, FUZZ_PATTERN, x->size);
    memset(fuzz_place_margin((uint32_t)i), FUZZ_PATTERN, FUZZ_MARGIN);
    x->written = fuzz_copy(NULL, x->size);
    if (x->x->role != HEED_ROLE_OUT)
        fuzz_fill(x->place, x->size, x->x->place);
}

void fuzz_elements_take(const heed_tensor *t, const uint8_t *origin, void *to)
{
    const int64_t n = fuzz_count(t, INT64_MAX);
    const uint32_t size = fuzz_dtype_size(t->dtype);

    for (int64_t e = 0; e < n; e++)
        memcpy((uint8_t *)to + e * size, origin + fuzz_offset(t, e) * size, size);
}

/* What a case that nobody changed says is there: on rubbish, results say little. */
static void contents_require(const struct fuzz_array *x)
{
    const struct array *const holds = x->x->holds;
    const size_t size = (size_t)fuzz_elements(x) * fuzz_dtype_size(x->t->dtype);
    uint8_t *taken;

    if (!holds || memcmp(x->t, &x->x->place->t, sizeof(*x->t)) != 0)
        return;
    taken = fuzz_copy(NULL, size);
    fuzz_elements_take(x->t, x->origin, taken);
    FUZZ_REQUIRE(memcmp(taken, holds->data, size) == 0, "%s does not hold what its case says",
                 x->x->name);
    free(taken);
}

void fuzz_arrays_make(struct fuzz_arrays *a, const struct fuzz_case *c)
{
    memset(a, 0, sizeof(*a));
    a->c = c;
    for (int i = 0; i < c->job->n; i++) {
        const struct operand *const x = &c->job->operand[i];

        a->at[i] = (struct fuzz_array){
            .x = x, .t = x->tensor, .there = x->tensor->ndim > 0, .writes = x->role != HEED_ROLE_IN
        };
    }
    place(a);
    for (int i = 0; i < c->job->n; i++) {
        if (!a->at[i].place || is_guest(a, i))
            continue;
        own_fill(a, i);
        if (!c->strange)
            contents_require(&a->at[i]);
    }
    for (int i = 0; i < c->job->n && a->placed; i++) {
        if (a->at[i].writes)
            mark(a, i);
    }
    for (int i = 0; i < c->job->n; i++) {
        if (a->at[i].written)
            a->at[i].before = fuzz_copy(a->at[i].place, a->at[i].size);
    }
}

void fuzz_arrays_finish(struct fuzz_arrays *a)
{
    for (int i = 0; i < a->c->job->n; i++) {
        free(a->at[i].before);
        free(a->at[i].written);
        free(a->at[i].wanted);
        free(a->at[i].loose);
    }
}

void fuzz_arrays_bind(const struct fuzz_arrays *a)
{
    for (int i = 0; i < a->c->job->n; i++)
        a->at[i].x->place->buf = (heed_buf){ .handle = a->at[i].origin };
    a->c->job->placed(a->c->job);
}

/* Says which byte; a memcmp came first. */
static void difference_find(const struct fuzz_array *x, bool outputs, const char *after)
{
    for (size_t b = 0; b < x->size; b++) {
        FUZZ_REQUIRE(x->place[b] == x->before[b] || (x->written[b] && outputs),
                     "%s wrote byte %zu of %s", after, b, x->x->name);
    }
}

void fuzz_arrays_compare(const struct fuzz_arrays *a, bool outputs, const char *after)
{
    for (int i = 0; i < a->c->job->n; i++) {
        const struct fuzz_array *x = &a->at[i];

        if (!x->before)
            continue;
        if (memcmp(x->place, x->before, x->size) != 0)
            difference_find(x, outputs, after);
        for (int b = 0; b < FUZZ_MARGIN; b++) {
            FUZZ_REQUIRE(fuzz_place_margin((uint32_t)i)[b] == FUZZ_PATTERN, "%s wrote beside %s",
                         after, x->x->name);
        }
    }
}

void fuzz_arrays_restore(struct fuzz_arrays *a)
{
    for (int i = 0; i < a->c->job->n; i++) {
        if (a->at[i].before && a->at[i].size)
            memcpy(a->at[i].place, a->at[i].before, a->at[i].size);
    }
}

void fuzz_arrays_keep(struct fuzz_arrays *a)
{
    for (int i = 0; i < a->c->job->n; i++) {
        struct fuzz_array *const x = &a->at[i];

        if (!x->there || !x->writes)
            continue;
        x->wanted = fuzz_copy(NULL, (size_t)fuzz_elements(x) * fuzz_dtype_size(x->t->dtype));
        fuzz_elements_take(x->t, x->origin, x->wanted);
    }
}

void fuzz_arrays_judge(const struct fuzz_arrays *a, uint32_t device)
{
    for (int i = 0; i < a->c->job->n; i++) {
        const struct fuzz_array *const x = &a->at[i];
        const uint32_t size = fuzz_dtype_size(x->t->dtype);
        const int64_t n = x->wanted ? fuzz_elements(x) : 0;

        for (int64_t e = 0; e < n; e++) {
            const uint8_t *const got = x->origin + fuzz_offset(x->t, e) * size;
            const uint8_t *const wanted = x->wanted + e * size;

            FUZZ_REQUIRE((x->loose && x->loose[e]) || memcmp(got, wanted, size) == 0,
                         "op=%s: %s[%lld] differs on device %u: %02x%02x, wanted %02x%02x",
                         cf_op->name, x->x->name, (long long)e, device, got[size - 1],
                         got[size > 1 ? size - 2 : 0], wanted[size - 1],
                         wanted[size > 1 ? size - 2 : 0]);
        }
    }
}
