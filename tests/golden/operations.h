/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Golden cases of the operations beside attention, made as those of attention are.
 */
#ifndef HEED_TESTS_GOLDEN_OPERATIONS_H
#define HEED_TESTS_GOLDEN_OPERATIONS_H

#include "golden.h"

#include <heed/memory.h>
#include <heed/nn.h>
#include <heed/pool.h>

#include <stdbool.h>

enum { GOLDEN_OUTPUTS = 5 };

struct golden_call {
    const char *name;
    /* Plans with a workspace of the plan's own, and runs. */
    heed_status (*run)(struct golden_call *, heed_queue *, heed_report *);
    struct golden g; /* the numbers' state and the inputs; states are among them, before the run */
    union {
        heed_copy_desc copy;
        heed_push_desc push;
        heed_pool_desc pool;
        heed_select_desc select;
        heed_merge_desc merge;
        heed_state_desc state;
        heed_norm_desc norm;
        heed_rope_desc rope;
        heed_act_desc act;
        heed_recur_desc recur;
        heed_embed_desc embed;
        heed_order_desc order;
        heed_linear_desc linear;
        heed_gate_desc gate;
    } desc;
    union {
        heed_copy_args copy;
        heed_push_args push;
        heed_pool_args pool;
        heed_select_args select;
        heed_merge_args merge;
        heed_state_args state;
        heed_norm_args norm;
        heed_rope_args rope;
        heed_act_args act;
        heed_recur_args recur;
        heed_embed_args embed;
        heed_order_args order;
        heed_linear_args linear;
        heed_gate_args gate;
    } args;
    struct golden_array outputs[GOLDEN_OUTPUTS]; /* the first has a digest of its own */
    bool own[GOLDEN_OUTPUTS];                    /* no state */
    int n_outputs;
};

/* Case `number`, in the order of the file; false: there are not so many. Its seed is its place
 * among those of its operation: cases are added at the end of these. */
bool golden_call_make(struct golden_call *, size_t number);
void golden_call_free(struct golden_call *);

#endif
