/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the parts of the field kernel share: field.c takes and hands out the work, field_row.c
 * computes a row, field_memory.c finds and rounds elements.
 */
#ifndef HEED_TESTS_ZOO_FIELD_H
#define HEED_TESTS_ZOO_FIELD_H

#include <heed/plugin.h>

#include <stdbool.h>

enum {
    F_NONE,
#define GOOD(name, way)
#define ODD(name) F_##name,
#define FIELD(name, way, ...) F_##name,
#define BREAK(name, way, property) F_##name,
#include "field.def"
#undef GOOD
#undef ODD
#undef FIELD
#undef BREAK
    F_COUNT
};

/* How it computes: the keys of a row in parts that are merged, a part in tiles with a running
 * largest score; one tile is two passes. */
struct field_way {
    int64_t tile, split, crew; /* crew: workers, 1: none */
    bool reversed, pairwise, base_2, wide;
    uint32_t weights; /* type that weights are rounded to; 0: none */
};

/* An auxiliary array; constant data is copied, `first` being its element [0]...[0]. */
struct field_slot {
    uint32_t number; /* 0: absent */
    heed_tensor t;
    void *constant;
    const char *first;
    bool lost; /* no memory */
};

struct field_state {
    heed_tensor q, k, v, o, lse, sinks;
    struct field_slot table, length, bias;
    int64_t batch[3], items, heads, k_heads, group, n_q, n_k, page, d, dv;
    int64_t left, right, pos0, q_pos0, room; /* room: doubles of scratch for a row */
    int64_t runs; /* of this state */
    float scale, cap;
    bool paged, causal, at_end, lse_with_sink, has_sinks;
};

struct field_place {
    int64_t item, head, row;
};

extern struct field_way field_way;
extern int field_fault;

bool field_has(int fault);
/* The elements of a tensor, however they lie; *first: where [0]...[0] is. NULL: no memory. */
void *field_copy(const heed_tensor *, const void *data, const char **first);
int64_t field_size(uint32_t dtype);
float field_rounded(uint32_t dtype, float x);
float field_load(uint32_t dtype, const char *at);
/* NaN has one form in outputs, zero has no sign. */
void field_store(uint32_t dtype, char *at, float x);
int64_t field_stride(const heed_tensor *, uint32_t from_right);
/* Of an axis of extent 1, or that is missing, there is one element. */
int64_t field_broadcast(const heed_tensor *, uint32_t from_right, int64_t index);
int64_t field_item(const struct field_state *, const heed_tensor *, uint32_t trailing,
                   int64_t item);
char *field_row_of(const struct field_state *, const heed_tensor *, heed_buf, struct field_place);
const char *field_slot_of(const struct field_slot *, const heed_attn_args *);
/* The row of k or v that holds a key; NULL: its page is absent. */
const char *field_key(const struct field_state *, const heed_attn_args *, const heed_tensor *,
                      heed_buf, struct field_place, int64_t key);
int64_t field_length(const struct field_state *, const heed_attn_args *, int64_t item);

/* How a row is summed; what a BREAK changes. */
struct field_sum {
    bool reversed;
    int64_t tile, split;
};
void field_row(const struct field_state *, const heed_attn_args *, struct field_place,
               struct field_sum, double *room);

/* field_break.c: the sum of a row that worker `worker` of `width` computes, of which there are n;
 * garbage: what was in its scratch. */
struct field_work {
    int64_t worker, width, number;
    unsigned char garbage;
    bool set_up; /* worker 0 has been there */
    int arrival; /* of the row, among those of the run */
};
struct field_sum field_sum_of(const struct field_state *, const heed_attn_args *,
                              struct field_place, const struct field_work *);

#endif
