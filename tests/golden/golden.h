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

/* In this order: a case's place is its seed. Cases are never changed, only added at the end; a
 * changed digest is a new numerics version. */
#define GOLDEN_CASES(X) \
    X(one_key) X(dense) X(dense_long) X(dense_default_scale) X(dense_scale) X(dense_scale_zero) \
    X(no_channels) X(no_values) X(no_keys) X(steep) X(huge) X(softcap_small) X(softcap_large) \
    X(subnormal) X(specials) X(nan_scores) X(sink) X(sink_in_lse) X(sink_special) X(no_lse) \
    X(f16) X(bf16) X(mixed_types) X(f16_extremes) X(grouped_heads) X(strides) X(causal) \
    X(causal_at_end) X(window) X(window_block) X(window_dilated) X(strided_heads) X(combs) \
    X(global_list) X(global_first) X(listed) X(listed_heads) X(sources_three) X(lengths) \
    X(ragged) X(mask) X(positions) X(bias_dense) X(bias_broadcast) X(bias_alibi) X(bias_table) \
    X(bias_map) X(everything) X(bias_removes) X(far_weights) X(subnormal_chunks) X(sink_even) \
    X(paged) X(paged_f16) X(ring) X(dot) X(dot_map) X(dot_grouped) X(i8) X(i8_special) \
    X(i8_paged) X(sink_f16) X(sink_bf16) X(ragged_apart) X(f8e4m3) \
    X(f8e5m2) X(q8_0) X(q4_0) X(q4_1) X(q5_0) X(q5_1) X(iq4_nl) X(blocks_mixed) X(blocks_paged) \
    X(row_mask) X(row_mask_bits) X(bias_factor) X(i4) X(i4_minima) X(groups_paged)

#define GOLDEN_CASE(name) void golden_case_##name(struct golden *);
GOLDEN_CASES(GOLDEN_CASE)
#undef GOLDEN_CASE

struct golden_case {
    const char *name;
    void (*make)(struct golden *);
};
extern const struct golden_case golden_cases[];
extern const size_t golden_n_cases;

/* Bytes of an element, or of a block of them. */
size_t golden_size_of(uint32_t dtype);
/* The case with its arrays and outputs, and arguments for a run, workspace apart. */
void golden_make(struct golden *, const struct golden_case *, uint64_t seed);
void golden_free(struct golden *);

#endif
