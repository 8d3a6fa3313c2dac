/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What an operation adds to the problems of the fuzz target of runs and to its judges.
 */
#ifndef HEED_FUZZ_OWN_H
#define HEED_FUZZ_OWN_H

#include "arrays.h"

struct fuzz_own {
    /** Is a run more than an input should cost? Only a broken field makes it so. */
    bool (*heavy)(const struct fuzz_arrays *);
    /** Changes what the descriptor says beside its tensors. */
    void (*spoil)(struct job *, struct rng *);
    /** And what the arguments say beside their arrays; `which`: any number. */
    void (*confuse)(struct job *, uint32_t which);
    /** NULL, or: says before a run what it would answer. */
    heed_status (*validate)(const heed_plan *, heed_queue *, const void *args, heed_report *);
    /** Judges the outputs of a run, which lie in their places and may go. first: of the first
     * device, kept as those that are wanted; it also says which elements are loose. */
    void (*judge)(struct fuzz_arrays *, bool first);
};

extern const struct fuzz_own fuzz_attn, fuzz_table;

#endif
