/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What this machine can do at most, on all threads at once: fused multiply-adds a second here, with
 * what the loops of mix.h and products.h need, too.
 */
#ifndef HEED_TOOLS_BENCH_CEILING_H
#define HEED_TOOLS_BENCH_CEILING_H

#include "bench/team.h"
#include "bench/timing.h"

#include <stdbool.h>
#include <stdint.h>

struct ceiling {
    const char *name;                   /* heed's, of the device */
    bool ready;
    const struct peak *peak;            /* NULL: unknown level, or a driver does the work */
    struct peak_device *device;         /* NULL: the work is done by threads */
    struct team *team;
    bool cpu_time;                      /* which of the two times the rates are made of */
    double pace;                        /* 1; less: bursts of all loops are so much shorter */
    int64_t iterations;
    float *burnt;                       /* [threads], so that no worker's work is removed */
};

/* device: heed's name of it, which stays the caller's. What has no driver works with threads, and
 * by an instruction set: isa, the name of a level of tools/peak; of one that is not there the peak
 * is not a number. isa NULL: a driver does the work, and what threads can do is not its limit.
 * Returns NULL where there is no memory or no thread. */
struct ceiling *ceiling_create(const char *device, const char *isa, unsigned threads,
                               bool cpu_time);
void ceiling_destroy(struct ceiling *);

/* Does once what ceiling_flops() needs: a driver compiles several loops, which takes long. */
void ceiling_ready(struct ceiling *);

/* The time that counts. */
double ceiling_seconds(const struct ceiling *, struct timing);

/* Operations a second, the best of three bursts of a few milliseconds. */
double ceiling_flops(struct ceiling *);

#endif
