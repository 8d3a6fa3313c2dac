/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * All places lie in one mapping made once, page, place, page, place, ..., page: an input costs no
 * system call.
 */
#define _DEFAULT_SOURCE

#include "memory.h"

#include "fuzz.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined __has_feature
#if __has_feature(address_sanitizer)
#define WATCHED 1
#endif
#elif defined __SANITIZE_ADDRESS__
#define WATCHED 1
#endif
#ifdef WATCHED
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(p, size) ((void)(p), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(p, size) ((void)(p), (void)(size))
#endif

_Noreturn void fuzz_fail(const char *file, int line, const char *format, ...)
{
    va_list list;

    fprintf(stderr, "%s:%d: ", file, line);
    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
    fputc('\n', stderr);
    abort();
}

/* ---- the allocator ------------------------------------------------------ */

static void *heap_alloc(void *context, size_t size, size_t align)
{
    struct fuzz_heap *heap = context;
    void *p = NULL;

    FUZZ_REQUIRE(align != 0 && (align & (align - 1)) == 0, "alignment %zu asked for", align);
    heap->calls++;
    if ((heap->fail_at != 0 && --heap->fail_at == 0) || size > heap->cap - heap->live) {
        heap->refused++;
        return NULL;
    }
    FUZZ_REQUIRE(heap->n_blocks < FUZZ_BLOCKS, "%d live blocks", FUZZ_BLOCKS);
    if (posix_memalign(&p, align < sizeof(void *) ? sizeof(void *) : align, size ? size : 1) != 0) {
        heap->refused++;
        return NULL;
    }
    heap->live += size;
    heap->blocks[heap->n_blocks++] = (struct fuzz_block){ p, size, align };
    return p;
}

static void heap_free(void *context, void *p, size_t size, size_t align)
{
    struct fuzz_heap *heap = context;
    uint32_t i = heap->n_blocks;

    if (!p)
        return;
    while (i > 0 && heap->blocks[i - 1].p != p)
        i--;
    FUZZ_REQUIRE(i > 0, "free of a block that is not live");
    FUZZ_REQUIRE(heap->blocks[i - 1].size == size && heap->blocks[i - 1].align == align,
                 "%zu bytes at a multiple of %zu were given back as %zu, %zu",
                 heap->blocks[i - 1].size, heap->blocks[i - 1].align, size, align);
    heap->blocks[i - 1] = heap->blocks[--heap->n_blocks];
    heap->live -= size;
    free(p);
}

heed_allocator fuzz_heap_hook(struct fuzz_heap *heap)
{
    return (heed_allocator){
        .size = sizeof(heed_allocator), .context = heap, .alloc = heap_alloc, .free = heap_free
    };
}

/* ---- places ------------------------------------------------------------- */

static struct {
    uint8_t *base;              /* the first unreadable page */
    size_t page;
    struct {
        uint8_t *open, *margin;     /* what may be touched: `size` bytes, and the margin in them */
        size_t size;
    } at[FUZZ_PLACES];
} places;

static void places_map(void)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), pitch = FUZZ_PLACE_BYTES + page;
    uint8_t *base = mmap(NULL, FUZZ_PLACES * pitch + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
                         -1, 0);

    FUZZ_REQUIRE((void *)base != MAP_FAILED, "no address space");
    for (size_t i = 0; i < FUZZ_PLACES; i++) {
        FUZZ_REQUIRE(mprotect(base + i * pitch + page, FUZZ_PLACE_BYTES,
                              PROT_READ | PROT_WRITE) == 0, "no memory for places");
        ASAN_POISON_MEMORY_REGION(base + i * pitch + page, FUZZ_PLACE_BYTES);
    }
    places.base = base;
    places.page = page;
}

uint8_t *fuzz_place(uint32_t number, size_t bytes, bool at_end)
{
    uint8_t *start, *p;

    if (!places.base)
        places_map();
    if (number >= FUZZ_PLACES || bytes > FUZZ_PLACE_BYTES - FUZZ_MARGIN)
        return NULL;
    start = places.base + places.page + number * (FUZZ_PLACE_BYTES + places.page);
    p = at_end ? start + FUZZ_PLACE_BYTES - bytes : start;
    if (places.at[number].open)
        ASAN_POISON_MEMORY_REGION(places.at[number].open, places.at[number].size);
    places.at[number].margin = at_end ? p - FUZZ_MARGIN : p + bytes;
    places.at[number].open = at_end ? p - FUZZ_MARGIN : p;
    places.at[number].size = bytes + FUZZ_MARGIN;
    ASAN_UNPOISON_MEMORY_REGION(places.at[number].open, places.at[number].size);
    return p;
}

uint8_t *fuzz_place_margin(uint32_t number)
{
    return places.at[number].margin;
}

void fuzz_places_close(uint32_t n, bool closed)
{
    for (uint32_t i = 0; i < n; i++) {
        if (!places.at[i].margin)
            continue;
        if (closed)
            ASAN_POISON_MEMORY_REGION(places.at[i].margin, FUZZ_MARGIN);
        else
            ASAN_UNPOISON_MEMORY_REGION(places.at[i].margin, FUZZ_MARGIN);
    }
}

uint64_t fuzz_hash(uint64_t hash, const void *bytes, size_t size)
{
    const uint8_t *p = bytes;

    if (hash == 0)
        hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ p[i]) * UINT64_C(0x100000001b3);
    return hash;
}
