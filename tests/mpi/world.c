/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The process of a rank: one thread, since all ranks share this machine.
 */
#include "world.h"

#include <stdlib.h>
#include <string.h>

struct world world;

static void *take(void *context, size_t size, size_t align)
{
    struct world *w = context;
    void *p;

    if (w->taken++ == w->fail_at)
        return NULL;
    w->live++;
    w->bytes += (int64_t)size;
    w->most_bytes = w->bytes > w->most_bytes ? w->bytes : w->most_bytes;
    p = aligned_alloc(align, (size + align - 1) / align * align);
    if (p)
        memset(p, 0xff, size); /* NaN, so that keys which are not there would be seen */
    return p;
}

static void give(void *context, void *pointer, size_t size, size_t align)
{
    struct world *w = context;

    (void)align;
    w->live -= pointer != NULL;
    w->bytes -= pointer ? (int64_t)size : 0;
    free(pointer);
}

void world_begin(int *argc, char ***argv)
{
    static const heed_executor alone = { .size = sizeof alone, .width = 1 };
    static const heed_allocator allocator = {
        .size = sizeof allocator, .context = &world, .alloc = take, .free = give
    };
    const heed_runtime_desc desc = { .size = sizeof desc,
                                     .allocator = &allocator,
                                     .executor = &alone };
    heed_report report = { .size = sizeof report };
    const char *asked = getenv("HEED_RANKS");

    world.fail_at = -1;
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world.ranks);
    EXPECT(!asked || atoi(asked) == world.ranks, "%s ranks are wanted: is mpirun of this MPI?",
           asked ? asked : "");
    if (heed_runtime_create(&desc, &world.runtime, &report) < 0 ||
        heed_device_find(world.runtime, "cpu", &world.device, &report) < 0 ||
        heed_queue_create(world.device, 0, &world.queue, &report) < 0) {
        printf("no device: %s\n", report.message);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

int world_end(void)
{
    int all = 0;

    heed_queue_destroy(world.queue);
    heed_runtime_destroy(world.runtime);
    EXPECT(world.live == 0, "%lld blocks are left", (long long)world.live);
    MPI_Allreduce(&world.failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return all != 0;
}
