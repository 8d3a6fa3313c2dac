/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Memory of the fuzz targets: an allocator for heed that counts, caps and fails on demand, and
 * places whose end or start touches a page that cannot be read. POSIX.
 */
#ifndef HEED_FUZZ_MEMORY_H
#define HEED_FUZZ_MEMORY_H

#include <heed/heed.h>

#include <stdbool.h>

enum { FUZZ_BLOCKS = 4096 };

/** An allocator's books. Zero is a good start, but for `cap`. */
struct fuzz_heap {
    uint64_t cap;                   /* most live bytes; beyond: NULL */
    uint64_t live, calls, refused;
    uint64_t fail_at;               /* that call from now gets NULL; 0: none */
    uint32_t n_blocks;
    struct fuzz_block {
        void *p;
        size_t size, align;
    } blocks[FUZZ_BLOCKS];
};

/** The hook; `heap` must outlive the runtime. Sizes and alignments given back are checked. */
heed_allocator fuzz_heap_hook(struct fuzz_heap *heap);

enum { FUZZ_PLACES = 72, FUZZ_PLACE_BYTES = 1 << 19, FUZZ_MARGIN = 64 };

/**
 * Bytes of place `number`, flush with an unreadable page: their last byte right before it
 * (`at_end`) or their first right after it. Where ASan watches, everything else of the place but
 * FUZZ_MARGIN bytes at the other side is poisoned, and these too while heed runs.
 * @return NULL when `bytes` is too much.
 */
uint8_t *fuzz_place(uint32_t number, size_t bytes, bool at_end);

/** The margin beside the bytes of a place, on the side without a page; see fuzz_place(). */
uint8_t *fuzz_place_margin(uint32_t number);

/** Forbids (or allows again) all access to the margins of the first `n` places, under ASan. */
void fuzz_places_close(uint32_t n, bool closed);

/** FNV-1a of bytes, going on from `hash` (0: from its start). */
uint64_t fuzz_hash(uint64_t hash, const void *bytes, size_t size);

#endif
