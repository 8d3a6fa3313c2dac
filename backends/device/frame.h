/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the implementations over kernels have in common, whatever the operation: what a plan keeps,
 * the way from a filled blob to compiled launches, a run, the end; and how a workspace is divided.
 */
#ifndef HEED_BACKENDS_DEVICE_FRAME_H
#define HEED_BACKENDS_DEVICE_FRAME_H

#include "device.h"

#include <stdbool.h>

enum {
    HEED_WORK_ALIGN = 64,       /* of the workspace and of every array in it */
    HEED_WORK_OFFSETS = 1024,   /* bytes at its beginning that a driver may use (device.h, large) */
    HEED_MAX_LAUNCHES = 4
};

/* plan->state. */
struct heed_device_plan {
    size_t bytes;               /* of this allocation */
    struct heed_device_state *device;
    void *blob;
    struct heed_gemm_plan *gemm; /* a product before the launches; NULL: none */
    uint32_t large, n_launches;
    struct heed_kernel_launch launches[HEED_MAX_LAUNCHES];
};

/* A workspace being divided: where the next array goes. */
struct heed_room {
    uint64_t at;
    bool ok;                    /* false: something leaves 60 bits */
};

/* Room for count * size bytes; where it begins. */
int64_t heed_room_place(struct heed_room *, double count, uint64_t size);

/* A blob on its way to the device: a block of services->alloc, aligned to 16. */
struct heed_blob {
    void *data;
    uint64_t bytes;
};

/* What an operation adds: the blob (without launches there need be none), large and launches of the
 * state (to be compiled), and the plan's workspace_size. On failure the blob is given back by who
 * called. */
typedef heed_status heed_frame_fill(struct heed_plan *, const struct heed_services *,
                                    struct heed_device_plan *, struct heed_blob *,
                                    struct heed_error_detail *);

/* A block for the blob, zeros; false: no memory. */
bool heed_frame_blob(const struct heed_services *, uint64_t bytes, struct heed_blob *);

/* heed_impl.prepare, given what the operation adds. */
heed_status heed_frame_prepare(struct heed_plan *, const struct heed_services *, heed_frame_fill *,
                               struct heed_error_detail *);

/* heed_impl.run and heed_impl.release. */
heed_status heed_frame_run(const struct heed_plan *, const struct heed_services *,
                           const struct heed_launch *);
void heed_frame_release(struct heed_plan *, const struct heed_services *);

#endif
