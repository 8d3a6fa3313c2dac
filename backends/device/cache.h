/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Compiled kernels on disk, in services->cache_dir: one file per key. What is not exactly as it was
 * written (cut short, changed, another's) is as good as absent. A cache that cannot be read or
 * written is no error: level 3 of the log says so. Where another user owns the folder, or may write
 * to it, nothing is read or written there: level 2 says so, once a runtime. Where that cannot be
 * asked (absent/cache_none.c) nothing is kept.
 */
#ifndef HEED_BACKENDS_DEVICE_CACHE_H
#define HEED_BACKENDS_DEVICE_CACHE_H

#include "../../lib/backend.h"
#include "hash.h"

enum { HEED_CACHE_FORMAT = 1 };

/* A file is this header and `bytes` bytes of contents, all numbers little-endian:
 * magic, format, bytes, key, SHA-256 of the contents. */
enum {
    HEED_CACHE_AT_FORMAT = 8,
    HEED_CACHE_AT_BYTES = 16,
    HEED_CACHE_AT_KEY = 24,
    HEED_CACHE_AT_DIGEST = HEED_CACHE_AT_KEY + HEED_HASH_BYTES,
    HEED_CACHE_HEADER = HEED_CACHE_AT_DIGEST + HEED_HASH_BYTES
};

/* Is there a folder to keep things in? */
bool heed_cache_wanted(const struct heed_services *);

/* Everything that the contents depend on goes through a heed_hash: sources, options, device,
 * driver. heed_cache_key starts one with what this library adds (its version). */
void heed_cache_key(struct heed_hash *);

/* The contents kept under key, a block of *bytes bytes of services->alloc with alignment 1. NULL:
 * there are none. */
void *heed_cache_load(const struct heed_services *, const uint8_t key[HEED_HASH_BYTES],
                      size_t *bytes);

/* Keeps a copy. The folder is made when it is absent. Other processes see the old file or the whole
 * new one. */
void heed_cache_store(const struct heed_services *, const uint8_t key[HEED_HASH_BYTES],
                      const void *contents, size_t bytes);

#endif
