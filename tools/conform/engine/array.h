/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Logical arrays: dense [b][x][y][z], whatever their places in memory will be.
 */
#ifndef HEED_TOOLS_CONFORM_ENGINE_ARRAY_H
#define HEED_TOOLS_CONFORM_ENGINE_ARRAY_H

#include "random.h"

enum { MAX_BATCH = 8 };

/* OVERLAP: each axis has a stride of +-1, whatever the extents. */
enum { LAID_NATURAL, LAID_PADDED, LAID_TRANSPOSED, LAID_NEGATIVE, LAID_ZERO, LAID_OVERLAP };

/* A logical array: dense [b][x][y][z], whatever its place in memory will be. */
struct array {
    uint32_t dtype;
    int trailing; /* how many of x, y, z the tensor has, counted from the right */
    bool batched; /* has the batch axes */
    bool pages;   /* has in their place one axis, of pages, which are no item's */
    int dropped;  /* but for so many leading ones, all of extent 1 */
    int64_t shape[4]; /* elements */
    int zero;    /* bit i: constant along axis i, may have stride 0 there */
    int laid;    /* LAID_* */
    int step[4]; /* LAID_OVERLAP: 1 or -1 of each axis */
    void *data; /* elements of the dtype */
};

/* Of what is not negative; INT64_MAX: at least that. */
int64_t cf_plus(int64_t, int64_t);
int64_t cf_times(int64_t, int64_t);

/* Makes contents agree where elements share memory, as LAID_ZERO and LAID_OVERLAP have it. */
bool cf_array_share(struct array *, int laid);
/* LAID_OVERLAP; of `ordered` more than 0, entries ascend along the last axis and stay below it. */
bool cf_array_overlap(struct array *, int64_t ordered);
bool cf_array_alloc(struct array *);
int64_t cf_array_count(const struct array *);
/* Entries [from, from + n) of an axis are all that is left of it. One with extent 1 is that of all
 * and stays, unless n is 1. false: no memory. */
bool cf_array_keep(struct array *, int axis, int64_t from, int64_t n);
/* What is stored as one piece: an element, or a block of them along the last axis, of which an
 * extent that is no multiple, and so illegal, takes one more. */
int64_t cf_array_along(const struct array *);  /* how many along the last axis */
int64_t cf_array_pieces(const struct array *); /* and in all */
size_t cf_array_bytes(const struct array *);
void *cf_array_piece(const struct array *, int64_t index); /* that element `index` is in */
int64_t cf_array_at(const struct array *, int64_t b, int64_t x, int64_t y,
                    int64_t z); /* index; extent 1 repeats */
/* Of a type in blocks the code of an element, and above 8 bits, of the first elements of a block, a
 * byte each of its scale and minimum: so all elements have all bits. */
uint32_t cf_array_bits(const struct array *, int64_t index);
void cf_array_set(struct array *, int64_t index, uint32_t bits);
/* The number that an element is, rounded once, without the scale of an array beside it. */
float cf_array_value(const struct array *, int64_t index);
int64_t cf_array_int(const struct array *, int64_t index);
void cf_array_set_int(struct array *, int64_t index, int64_t value);

#endif
