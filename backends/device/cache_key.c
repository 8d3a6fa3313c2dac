/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Where every key begins: cache.h.
 */
#include "cache.h"

#include <stdio.h>

void heed_cache_key(struct heed_hash *hash)
{
    char text[64];

    heed_hash_init(hash);
    snprintf(text, sizeof(text), "heed %d.%d.%d, cache %d", HEED_VERSION_MAJOR, HEED_VERSION_MINOR,
             HEED_VERSION_PATCH, HEED_CACHE_FORMAT);
    heed_hash_add_text(hash, text);
}
