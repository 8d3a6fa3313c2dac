/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * SHA-256 (FIPS 180-4), which names and guards the files of the kernel cache.
 */
#ifndef HEED_BACKENDS_DEVICE_HASH_H
#define HEED_BACKENDS_DEVICE_HASH_H

#include <stddef.h>
#include <stdint.h>

enum { HEED_HASH_BYTES = 32 };

struct heed_hash {
    uint32_t state[8];
    uint64_t length;                /* bytes taken so far */
    uint8_t block[64];
};

void heed_hash_init(struct heed_hash *);
void heed_hash_add(struct heed_hash *, const void *bytes, size_t count);
/* The length and then the text, so that no two lists of texts are one. NULL: as "". */
void heed_hash_add_text(struct heed_hash *, const char *text);
void heed_hash_finish(struct heed_hash *, uint8_t digest[HEED_HASH_BYTES]);

#endif
