/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The devices that targets run on: of each number of workers a runtime, whose memory is on account,
 * with every device of the host that can be used, the reference first. All are kept: making one
 * costs like an input.
 */
#ifndef HEED_FUZZ_WORLD_H
#define HEED_FUZZ_WORLD_H

#include "memory.h"

#include "conform/engine/devices.h"

enum { WORKERS_MOST = 4 };

struct fuzz_world {
    heed_runtime *runtime;
    heed_device *devices[MAX_HOST_DEVICES];
    heed_queue *queues[MAX_HOST_DEVICES];
    uint32_t n;
};

/** The runtime with so many workers, which run one after another, the last one first. */
struct fuzz_world *fuzz_world(uint32_t workers);
/** The account of all of them. */
struct fuzz_heap *fuzz_world_heap(void);

#endif
