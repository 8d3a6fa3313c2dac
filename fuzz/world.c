/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * See world.h.
 */
#include "world.h"

#include "fuzz.h"

#include <stdlib.h>

static struct fuzz_world worlds[WORKERS_MOST];
static struct fuzz_heap heap;

static void workers_run(void *context, uint32_t width, void (*body)(void *arg, uint32_t worker),
                        void *arg)
{
    (void)context;
    for (uint32_t i = width; i-- > 0;)
        body(arg, i);
}

static void worlds_end(void)
{
    for (int i = 0; i < WORKERS_MOST; i++) {
        for (uint32_t d = 0; d < worlds[i].n; d++)
            heed_queue_destroy(worlds[i].queues[d]);
        heed_runtime_destroy(worlds[i].runtime);
    }
    FUZZ_REQUIRE(heap.live == 0 && heap.n_blocks == 0, "runtimes left %u blocks", heap.n_blocks);
}

static void world_make(struct fuzz_world *world, uint32_t workers)
{
    const heed_allocator allocator = fuzz_heap_hook(&heap);
    const heed_executor executor = { .size = sizeof(executor), .width = workers,
                                     .parallel = workers_run };
    const heed_runtime_desc desc = { .size = sizeof(desc), .allocator = &allocator,
                                     .executor = &executor };

    FUZZ_REQUIRE(heed_runtime_create(&desc, &world->runtime, NULL) == HEED_OK, "no runtime");
    world->n = cf_host_devices(world->runtime, world->devices);
    FUZZ_REQUIRE(world->n >= 2, "only %u devices", world->n);
    for (uint32_t i = 0; i < world->n; i++)
        FUZZ_REQUIRE(heed_queue_create(world->devices[i], 0, &world->queues[i], NULL) == HEED_OK,
                     "no queue on device %u", i);
}

struct fuzz_world *fuzz_world(uint32_t workers)
{
    if (!worlds[0].runtime) {
        heap.cap = UINT64_C(256) << 20;
        for (uint32_t i = 0; i < WORKERS_MOST; i++)
            world_make(&worlds[i], i + 1);
        FUZZ_REQUIRE(atexit(worlds_end) == 0, "no end");
    }
    return &worlds[workers - 1];
}

struct fuzz_heap *fuzz_world_heap(void)
{
    return &heap;
}
