/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Logical arrays in memory: strides, gaps, alignment, guards, and copies in both directions.
 */
#include "job.h"
#include "target.h"

#include <stdlib.h>
#include <string.h>

/* Strides of the axes taken in some order, innermost last, with gaps in between, but between blocks
 * along the last axis. */
static void pack(const int64_t *dims, const int *order, int n, bool gaps, bool blocks,
                 struct rng *r, int64_t *stride)
{
    int64_t next = gaps && !blocks ? 1 + rng_below(r, 3) : 1;

    for (int i = n - 1; i >= 0; i--) {
        stride[order[i]] = next;
        next *= dims[order[i]] > 0 ? dims[order[i]] : 1;
        if (gaps)
            next += rng_below(r, 4);
    }
}

/* Every axis has a stride of +-1; of several batch axes, those that count items so. */
static void overlap(const struct array *a, const struct place *place, int n, int64_t *stride)
{
    int64_t items = a->step[0];

    for (int i = n - 1; i >= 0; i--) {
        if (i >= place->batch_axes) {
            stride[i] = a->step[4 - a->trailing + i - place->batch_axes];
        } else {
            stride[i] = items;
            items *= place->extent[i] > 0 ? place->extent[i] : 1;
        }
    }
}

static void strides_choose(const struct array *a, const struct place *place, int laid,
                           const int64_t *dims, int n, struct rng *r, int64_t *stride)
{
    const bool blocks = type_elements(a->dtype) > 1;
    const int free = blocks ? n - 1 : n; /* axes that may have any stride */
    int order[6] = { 0, 1, 2, 3, 4, 5 };

    if (laid == LAID_TRANSPOSED) {
        for (int i = free - 1; i > 0; i--) {
            const int64_t j = rng_below(r, i + 1);
            const int keep = order[i];

            order[i] = order[j];
            order[j] = keep;
        }
    }
    if (laid == LAID_OVERLAP) {
        overlap(a, place, n, stride);
        return;
    }
    if (laid == LAID_ZERO) { /* repeated axes take no room */
        int64_t thin[6];

        for (int i = 0; i < n; i++) {
            const int axis = i < place->batch_axes ? 0 : 4 - a->trailing + i - place->batch_axes;

            thin[i] = a->zero >> axis & 1 ? 1 : dims[i];
        }
        pack(thin, order, n, false, blocks, r, stride);
        for (int i = 0; i < free; i++)
            stride[i] = thin[i] == 1 ? 0 : stride[i];
        return;
    }
    pack(dims, order, n, laid == LAID_PADDED, blocks, r, stride);
    for (int i = 0; i < free && laid == LAID_NEGATIVE; i++) {
        if (rng_below(r, 2) || i == free - 1)
            stride[i] = -stride[i];
    }
}

/* Elements of an axis, of the last one blocks where the type has them. */
static int64_t pieces_along(const heed_tensor *t, int axis)
{
    return axis + 1 == (int)t->ndim ? type_pieces(t->dtype, t->shape[axis]) : t->shape[axis];
}

void place_way(const struct array *a, unsigned flags, uint64_t seed, int *laid, int64_t *mis)
{
    const uint64_t hash = cf_mix(seed);

    if (flags & CALL_NATURAL) {
        *laid = LAID_NATURAL;
        *mis = 0;
    } else {
        *laid = a->laid;
    }
    if (flags & CALL_STRIDES) /* never those of the case, but where elements shared memory */
        *laid = a->laid < LAID_ZERO ? (a->laid + 1 + (int)(hash % 3)) % 4 : LAID_PADDED;
    if (flags & CALL_STRIDES && flags & CALL_SHIFTED) /* in an order that is drawn */
        *laid = a->laid == LAID_TRANSPOSED ? LAID_NEGATIVE : LAID_TRANSPOSED;
    if (flags & CALL_SHIFTED)
        *mis = 1 + (int64_t)(hash >> 8) % 15;
}

bool place_lay(struct place *place, const struct array *a, const int64_t *dims, int n, int laid,
               int64_t mis, uint64_t seed)
{
    const int64_t size = (int64_t)cf_dtype_size(a->dtype);
    struct rng r = rng_of(seed);
    int64_t low = 0, high = 0, pieces[6] = { 0 };

    place->t.dtype = a->dtype;
    place->t.ndim = (uint32_t)n;
    for (int i = 0; i < n; i++) {
        place->t.shape[i] = dims[i];
        pieces[i] = pieces_along(&place->t, i);
    }
    strides_choose(a, place, laid, pieces, n, &r, place->t.stride);
    place->count = cf_array_pieces(a);
    for (int i = 0; i < n; i++) {
        const int64_t reach = (pieces[i] - 1) * place->t.stride[i];

        low += reach < 0 && place->count ? reach : 0;
        high += reach > 0 && place->count ? reach : 0;
    }
    const int64_t *s = place->t.stride + place->batch_axes;

    place->sz = a->trailing >= 1 ? s[a->trailing - 1] : 0;
    place->sy = a->trailing >= 2 ? s[a->trailing - 2] : 0;
    place->sx = a->trailing >= 3 ? s[0] : 0;
    place->buf.offset = (uint64_t)(PLACE_GUARD + (mis - low) * size);
    place->bytes = (size_t)(2 * PLACE_GUARD + (mis + high - low + 1) * size);
    place->snapshot = malloc(place->bytes);
    return place->snapshot != NULL;
}

/* Byte offset of element [b][0][0][0] in the block. */
static int64_t batch_offset(const struct place *place, int64_t b)
{
    int64_t at = 0;

    for (int i = place->batch_axes - 1; i >= 0; i--) {
        at += place->extent[i] ? b % place->extent[i] * place->t.stride[i] : 0;
        b = place->extent[i] ? b / place->extent[i] : 0;
    }
    return (int64_t)place->buf.offset + at * (int64_t)cf_dtype_size(place->t.dtype);
}

/* Visits the pieces in logical order: move(piece of the array, piece in memory). */
static void each(const struct place *place, const struct array *a, unsigned char *block,
                 void (*move)(unsigned char *logical, unsigned char *element, size_t size))
{
    const size_t size = cf_dtype_size(a->dtype);
    const int64_t bytes = (int64_t)size;
    const int64_t pieces = cf_array_along(a);
    unsigned char *logical = a->data;

    for (int64_t b = 0; b < a->shape[0]; b++) {
        unsigned char *pb = block + batch_offset(place, b);

        for (int64_t x = 0; x < a->shape[1]; x++) {
            for (int64_t y = 0; y < a->shape[2]; y++) {
                unsigned char *py = pb + (x * place->sx + y * place->sy) * bytes;

                for (int64_t z = 0; z < pieces; z++, logical += size)
                    move(logical, py + z * place->sz * bytes, size);
            }
        }
    }
}

static void move_in(unsigned char *logical, unsigned char *element, size_t size)
{
    memcpy(element, logical, size);
}

static void move_out(unsigned char *logical, unsigned char *element, size_t size)
{
    memcpy(logical, element, size);
}

void place_pattern(struct place *place, uint64_t poison)
{
    for (size_t i = 0; i < place->bytes; i += 8) {
        const uint64_t word = cf_mix(poison + i);

        memcpy(place->snapshot + i, &word, place->bytes - i < 8 ? place->bytes - i : 8);
    }
}

void place_store(struct place *place, const struct array *a)
{
    each(place, a, place->snapshot, move_in);
}

void place_load(const struct place *place, unsigned char *block, struct array *a)
{
    each(place, a, block, move_out);
}

bool place_gaps_same(struct place *place, struct array *a, struct array *old)
{
    bool same;

    /* what the elements hold now is put into the old snapshot: the rest must be equal */
    place_load(place, place->snapshot, old);
    each(place, a, place->snapshot, move_in);
    same = !memcmp(place->snapshot, place->after, place->bytes);
    each(place, old, place->snapshot, move_in);
    return same;
}

void place_span(const struct place *place, int64_t *low, int64_t *high)
{
    const int64_t size = (int64_t)cf_dtype_size(place->t.dtype);

    *low = *high = 0;
    for (uint32_t i = 0; i < place->t.ndim && place->count; i++) {
        const int64_t reach = (pieces_along(&place->t, (int)i) - 1) * place->t.stride[i];

        *low += reach < 0 ? reach : 0;
        *high += reach > 0 ? reach : 0;
    }
    *low *= size;
    *high = place->count ? (*high + 1) * size : 0;
}

bool place_upload(struct place *place, const struct target *on)
{
    heed_buf base = { 0 };

    if (place->count == 0 && place->snapshot[0] & 1) { /* an array of nothing needs no memory */
        place->buf = base;
        return true;
    }
    if (place->buf.handle == NULL) {
        if (heed_buf_create(on->device, place->bytes, &base, NULL) < 0)
            return false;
        place->buf.handle = base.handle;
    }
    base.handle = place->buf.handle;
    return heed_buf_write(on->queue, base, place->snapshot, place->bytes, NULL) >= 0;
}

bool place_download(struct place *place, const struct target *on)
{
    const heed_buf base = { .handle = place->buf.handle };

    if (!place->after)
        place->after = malloc(place->bytes);
    if (place->after && !base.handle) {
        memcpy(place->after, place->snapshot, place->bytes);
        return true;
    }
    return place->after && heed_buf_read(on->queue, place->after, base, place->bytes, NULL) >= 0;
}

void place_finish(struct place *place, const struct target *on)
{
    if (on && place->buf.handle)
        heed_buf_destroy(on->device, (heed_buf){ .handle = place->buf.handle });
    free(place->snapshot);
    free(place->after);
    memset(place, 0, sizeof *place);
}
