/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A logical array's place in memory.
 */
#ifndef HEED_TOOLS_CONFORM_ENGINE_PLACE_H
#define HEED_TOOLS_CONFORM_ENGINE_PLACE_H

#include "array.h"

#include <heed/heed.h>

struct target;

enum { PLACE_GUARD = 64 }; /* bytes before and behind all elements */

struct place {
    heed_buf buf; /* element [0,...]; offset within the block */
    heed_tensor t;
    unsigned char *snapshot; /* the block as written before the run */
    size_t bytes;
    unsigned char *after; /* outputs: the block as found after the run */
    int batch_axes;
    int64_t extent[3], count; /* of the batch axes; elements */
    int64_t sx, sy, sz;       /* strides of the trailing axes */
};

/* Which strides and which distance the flags of a job ask for, of an array that has its own. */
void place_way(const struct array *, unsigned flags, uint64_t seed, int *laid, int64_t *mis);
/* Chooses strides and makes the host snapshot. Batch axes and their extents are in `place`, which
 * is zero otherwise; dims are all n axes; the first element lies `mis` elements behind an aligned
 * address. */
bool place_lay(struct place *, const struct array *, const int64_t *dims, int n, int laid,
               int64_t mis, uint64_t seed);
void place_pattern(struct place *, uint64_t poison);
void place_store(struct place *, const struct array *);                      /* array -> snapshot */
void place_load(const struct place *, unsigned char *block, struct array *); /* block -> array */
/* After a download: is everything but the elements as in the snapshot? a: the elements now; old:
 * scratch like it. */
bool place_gaps_same(struct place *, struct array *a, struct array *old);
/* Where the bytes of the elements lie beside element [0]...: [low, high), both 0 when there are
 * none. */
void place_span(const struct place *, int64_t *low, int64_t *high);
bool place_upload(struct place *, const struct target *);
bool place_download(struct place *, const struct target *);
void place_finish(struct place *, const struct target *);

#endif
