/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * See ledger.h. Each block has a header that remembers what was asked for.
 */
#include "ledger.h"

#include <stdlib.h>
#include <string.h>

struct block {
    void *start;
    size_t size, align;
};

static void *ledger_alloc(void *context, size_t size, size_t align)
{
    struct ledger *ledger = context;
    const long long k = atomic_fetch_add(&ledger->requests, 1) + 1;
    const long long from = atomic_load(&ledger->fail_from);
    struct block block = { .size = size, .align = align };
    char *p;

    if (k == atomic_load(&ledger->fail_at) || (from != 0 && k >= from))
        return NULL;
    if (size > SIZE_MAX / 4 || align > 65536)
        return NULL;
    block.start = malloc(size + align + sizeof(block));
    if (block.start == NULL)
        return NULL;
    p = (char *)block.start + sizeof(block);
    p += (align - (uintptr_t)p % align) % align;
    memcpy(p - sizeof(block), &block, sizeof(block));
    memset(p, 0xa5, size);
    atomic_fetch_add(&ledger->blocks, 1);
    atomic_fetch_add(&ledger->bytes, (long long)size);
    return p;
}

static void ledger_free(void *context, void *pointer, size_t size, size_t align)
{
    struct ledger *ledger = context;
    struct block block;

    if (pointer == NULL) {
        atomic_fetch_add(&ledger->mistakes, 1);
        return;
    }
    memcpy(&block, (char *)pointer - sizeof(block), sizeof(block));
    if (block.size != size || block.align != align)
        atomic_fetch_add(&ledger->mistakes, 1);
    atomic_fetch_sub(&ledger->blocks, 1);
    atomic_fetch_sub(&ledger->bytes, (long long)block.size);
    free(block.start);
}

void ledger_restart(struct ledger *ledger)
{
    atomic_store(&ledger->requests, 0);
    atomic_store(&ledger->fail_at, 0);
    atomic_store(&ledger->fail_from, 0);
}

heed_allocator ledger_allocator(struct ledger *ledger)
{
    const heed_allocator a = {
        .size = sizeof(a),
        .context = ledger,
        .alloc = ledger_alloc,
        .free = ledger_free,
    };

    return a;
}
