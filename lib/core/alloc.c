/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Host memory: the default allocator over the C library's, calls of the caller's allocator, and
 * arenas. An arena is a list of chunks, newest first; takes are cut from the newest chunk, and
 * one that does not fit opens a new chunk.
 */
#include "alloc.h"

#include "context.h"
#include "os.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK_BYTES = 4096, CHUNK_ALIGN = 64 };

struct heed_arena_chunk {
    struct heed_arena_chunk *next;
    size_t size, used;              /* bytes from the start of this header */
};

static void *default_alloc(void *context, size_t size, size_t align)
{
    (void)context;
    return align <= _Alignof(max_align_t) ? malloc(size) : heed_os_alloc(size, align);
}

static void default_free(void *context, void *pointer, size_t size, size_t align)
{
    (void)context;
    (void)size;
    if (align <= _Alignof(max_align_t))
        free(pointer);
    else
        heed_os_free(pointer);
}

const heed_allocator heed_alloc_default = {
    .size = sizeof(heed_allocator),
    .alloc = default_alloc,
    .free = default_free,
};

static const heed_allocator *allocator_of(const struct heed_runtime *runtime)
{
    return runtime != NULL ? &runtime->allocator : &heed_alloc_default;
}

void *heed_alloc(void *runtime, size_t size, size_t align)
{
    const heed_allocator *a = allocator_of(runtime);
    void *p;

    assert(align != 0 && (align & (align - 1)) == 0);
    /* No object is larger than PTRDIFF_MAX; a caller's allocator need not think of it. */
    if (size == 0 || size > PTRDIFF_MAX - align)
        return NULL;
    p = a->alloc(a->context, size, align);
    if (((uintptr_t)p & (align - 1)) != 0) {
        a->free(a->context, p, size, align);
        return NULL;
    }
    return p;
}

void heed_free(void *runtime, void *pointer, size_t size, size_t align)
{
    const heed_allocator *a = allocator_of(runtime);

    if (pointer != NULL)
        a->free(a->context, pointer, size, align);
}

void heed_arena_init(struct heed_arena *arena, void *runtime)
{
    *arena = (struct heed_arena){ .runtime = runtime };
}

/* The place of the next take in a chunk, or NULL if it does not fit. */
static void *cut(struct heed_arena_chunk *chunk, size_t size, size_t align)
{
    const size_t gap = (size_t)(0 - ((uintptr_t)chunk + chunk->used)) & (align - 1);
    const size_t left = chunk->size - chunk->used;
    char *p;

    if (gap > left || size > left - gap)
        return NULL;
    p = (char *)chunk + chunk->used + gap;
    chunk->used += gap + size;
    return p;
}

/* align > CHUNK_ALIGN is met by room to move in. */
static struct heed_arena_chunk *open_chunk(struct heed_arena *arena, size_t size, size_t align)
{
    struct heed_arena_chunk *chunk;
    size_t bytes;

    if (!heed_add_size(size, sizeof(*chunk) + align, &bytes))
        return NULL;
    if (bytes < CHUNK_BYTES)
        bytes = CHUNK_BYTES;
    chunk = heed_alloc(arena->runtime, bytes, CHUNK_ALIGN);
    if (chunk == NULL)
        return NULL;
    *chunk = (struct heed_arena_chunk){
        .next = arena->chunks,
        .size = bytes,
        .used = sizeof(*chunk),
    };
    arena->chunks = chunk;
    arena->bytes += bytes;
    return chunk;
}

/* A take of 0 bytes gives a pointer that is not NULL, so that NULL always means no memory. */
void *heed_arena_take(struct heed_arena *arena, size_t size, size_t align)
{
    struct heed_arena_chunk *chunk = arena->chunks;
    void *p = NULL;

    assert(align != 0 && (align & (align - 1)) == 0);
    if (size == 0)
        size = 1;
    if (chunk != NULL)
        p = cut(chunk, size, align);
    if (p == NULL) {
        chunk = open_chunk(arena, size, align);
        if (chunk == NULL)
            return NULL;
        p = cut(chunk, size, align);
    }
    return memset(p, 0, size);
}

void *heed_arena_array(struct heed_arena *arena, uint64_t count, size_t size, size_t align)
{
    size_t bytes;

    if (count > SIZE_MAX || !heed_mul_size((size_t)count, size, &bytes))
        return NULL;
    return heed_arena_take(arena, bytes, align);
}

void heed_arena_finish(struct heed_arena *arena)
{
    while (arena->chunks != NULL) {
        struct heed_arena_chunk *chunk = arena->chunks;

        arena->chunks = chunk->next;
        heed_free(arena->runtime, chunk, chunk->size, CHUNK_ALIGN);
    }
    arena->bytes = 0;
}
