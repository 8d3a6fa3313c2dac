/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Where nobody can be asked who else may write to a folder: kernels that somebody else put there
 * would be run, so none is kept.
 */
#include "../cache.h"

bool heed_cache_wanted(const struct heed_services *services)
{
    if (services->cache_dir != NULL && services->cache_dir[0] != '\0' &&
        !atomic_exchange(services->cache_refused, true))
        services->log(services->runtime, 2, "kernel cache: not used, there is none on this system");
    return false;
}

void *heed_cache_load(const struct heed_services *services, const uint8_t key[HEED_HASH_BYTES],
                      size_t *bytes)
{
    (void)key;
    (void)bytes;
    (void)heed_cache_wanted(services);
    return NULL;
}

void heed_cache_store(const struct heed_services *services, const uint8_t key[HEED_HASH_BYTES],
                      const void *contents, size_t bytes)
{
    (void)key;
    (void)contents;
    (void)bytes;
    (void)heed_cache_wanted(services);
}
