/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the parts of the field kernel share: field.c takes and hands out the work, field_row.c
 * computes a row.
 */
#ifndef HEED_TESTS_ZOO_FIELD_H
#define HEED_TESTS_ZOO_FIELD_H

#include <heed/plugin.h>

#include <stdbool.h>

enum {
    F_NONE,
#define GOOD(name, way)
#define FIELD(name, way, ...) F_##name,
#include "field.def"
#undef GOOD
#undef FIELD
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
void field_row(const struct field_state *, const heed_attn_args *, struct field_place,
               double *room);

#endif
