/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Golden cases: descriptors with their arrays, made from integers alone so that every platform
 * makes the same bytes.
 */
#ifndef HEED_TESTS_GOLDEN_GOLDEN_H
#define HEED_TESTS_GOLDEN_GOLDEN_H

#include <heed/attn.h>

enum {
    GOLDEN_SOURCES = 3,
    GOLDEN_TERMS = 6,
    GOLDEN_BIASES = 3,
    GOLDEN_SLOTS = 12,
    GOLDEN_ARRAYS = 32
};

struct golden_array { /* an input, in the order in which its bytes are hashed */
    void *data;
    uint32_t dtype;
    int64_t count;
};

struct golden {
    uint64_t state;
    heed_attn_desc desc;
    heed_source sources[GOLDEN_SOURCES];
    heed_term terms[GOLDEN_SOURCES][GOLDEN_TERMS];
    heed_bias biases[GOLDEN_SOURCES][GOLDEN_BIASES];
    heed_slot slots[GOLDEN_SLOTS];
    heed_attn_args args;
    heed_kv_bufs kv[GOLDEN_SOURCES];
    heed_buf slot_bufs[GOLDEN_SLOTS];
    struct golden_array inputs[GOLDEN_ARRAYS];
    int n_inputs;
    void *o, *lse; /* dense */
    int64_t o_count, lse_count;
};

struct golden_case {
    const char *name;
    void (*make)(struct golden *);
};
extern const struct golden_case golden_cases[];
extern const size_t golden_n_cases;

void golden_free(struct golden *);

#endif
