/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Host memory through the runtime's allocator, arenas that are given back whole, and checked
 * arithmetic on sizes.
 */
#ifndef HEED_LIB_ALLOC_H
#define HEED_LIB_ALLOC_H

#include "compiler.h"

#include <heed/heed.h>
#include <stdbool.h>

void *heed_alloc(void *runtime, size_t size, size_t align); /* NULL: no memory. size 0 gives NULL */
void heed_free(void *runtime, void *pointer, size_t size, size_t align);

/* Memory that lives and dies together. Takes are zeroed. */
struct heed_arena {
    void *runtime;
    struct heed_arena_chunk *chunks;
    size_t bytes;                   /* held, for heed_plan_props.host_bytes */
};
void heed_arena_init(struct heed_arena *, void *runtime);
void *heed_arena_take(struct heed_arena *, size_t size, size_t align);      /* NULL: no memory */
void *heed_arena_array(struct heed_arena *, uint64_t count, size_t size, size_t align);
void heed_arena_finish(struct heed_arena *);

/* true: the result fits and is in *out. */
HEED_INLINE bool heed_add_i64(int64_t a, int64_t b, int64_t *out)
{
    if ((b > 0 && a > INT64_MAX - b) || (b < 0 && a < INT64_MIN - b))
        return false;
    *out = a + b;
    return true;
}

HEED_INLINE bool heed_mul_i64(int64_t a, int64_t b, int64_t *out)
{
    if (a != 0 && b != 0) {
        if ((a > 0) == (b > 0) ? (a > 0 ? a > INT64_MAX / b : a < INT64_MAX / b)
                               : (a > 0 ? b < INT64_MIN / a : a < INT64_MIN / b))
            return false;
    }
    *out = a * b;
    return true;
}

HEED_INLINE bool heed_add_size(size_t a, size_t b, size_t *out)
{
    if (a > SIZE_MAX - b)
        return false;
    *out = a + b;
    return true;
}

HEED_INLINE bool heed_mul_size(size_t a, size_t b, size_t *out)
{
    if (b != 0 && a > SIZE_MAX / b)
        return false;
    *out = a * b;
    return true;
}

#endif
