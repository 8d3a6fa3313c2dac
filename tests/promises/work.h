/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Work for the tests of promises: devices with their runtime, and attentions with the result that
 * the reference gives. The attentions are the golden cases and a few larger ones that pack K, cut
 * rows into several strips and differ from item to item.
 */
#ifndef HEED_TESTS_PROMISES_WORK_H
#define HEED_TESTS_PROMISES_WORK_H

#include "golden/golden.h"
#include "support/ledger.h"

#include <stddef.h>

/* A device of a runtime of its own, whose memory is on account. */
struct place {
    struct ledger ledger;
    heed_runtime *runtime;
    heed_device *device;
    heed_queue *queue;
};

/* The host's devices that can be used, "reference" first; of a device that stands for another one,
 * that other one. Those that cannot are named, with the reason, where they are counted first. */
enum { MAX_PLACES = 16 };
int place_count(void);
const char *place_name(int i);

/* executor NULL: as by default. 0: this build or processor has no such device. */
int place_open(struct place *, const char *name, const heed_executor *);
void place_close(struct place *); /* fails the test unless all memory came back */

/* The built-in executor with so many workers. */
heed_executor width_of(uint32_t workers);

struct work {
    const char *name;
    struct golden g;
    void *o, *lse; /* where the outputs lie: g.o and g.lse, or wherever work_move put them */
    size_t o_bytes, lse_bytes;
    void *want_o, *want_lse;
};

extern const size_t work_count;
size_t work_find(const char *name);

/* Arrays, arguments and the wanted outputs of case `index`; made in the FP environment of the
 * moment, planned and run for the reference in the default one. */
void work_start(struct work *, size_t index);
void work_start_case(struct work *, const struct golden_case *, uint64_t seed);
void work_finish(struct work *);

/* Moves every array that run gets. `move` is told what was there and says where it lies now; it has
 * copied the bytes. */
typedef heed_buf work_mover(void *context, const void *bytes, size_t n, size_t element);
void work_move(struct work *, work_mover *, void *context);
/* Where they were before, as work.g was then. */
void work_return(struct work *, const struct golden *saved);

heed_plan *work_plan(struct work *, const struct place *, uint32_t flags);

/* A plan's workspace, poisoned, at the alignment it asks for; the pointer to free is in `block`. */
struct space {
    void *block;
    heed_buf buf;
    uint64_t bytes;
};
void space_start(struct space *, const heed_plan *);
void space_poison(const struct space *);
void space_finish(struct space *);
void space_into(const struct space *, heed_attn_args *);

/* Plans and runs in a workspace like that; its size. */
uint64_t place_run(const struct place *, const heed_attn_desc *, heed_attn_args);

/* Fills the outputs with a pattern, runs, and fails the test if a bit is wrong. */
void work_poison(struct work *);
void work_judge(const struct work *, const char *device, const char *how);
/* 1: right. No Check call, so that threads may use it. */
int work_right(const struct work *, const void *o, const void *lse);
void work_run(struct work *, const struct place *, const heed_plan *, const struct space *,
              const char *how);

#endif
