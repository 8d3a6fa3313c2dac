/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the files check*.c share: the descriptor copied with today's element sizes, the checked form
 * as it grows, and the places where slots are used. Private to them.
 */
#ifndef HEED_LIB_CHECK_STATE_H
#define HEED_LIB_CHECK_STATE_H

#include "core/alloc.h"
#include "core/error.h"
#include "plan.h"

#include <stdbool.h>

enum { HEED_CHECK_PATH = 64 };

/* How a slot is used: row of the table in check_slot.c. */
enum heed_check_use_kind {
    HEED_USE_BEGINS,
    HEED_USE_LENGTHS,
    HEED_USE_Q_POS,
    HEED_USE_GLOBAL,
    HEED_USE_SEGMENT,
    HEED_USE_LISTED,
    HEED_USE_MASK,
    HEED_USE_MAP,
    HEED_USE_K_COORD,
    HEED_USE_Q_COORD,
    HEED_USE_DENSE,
    HEED_USE_ALIBI,
    HEED_USE_TABLE,
    HEED_USE_COUNT
};

enum heed_check_level { HEED_LEVEL_DESC, HEED_LEVEL_SOURCE, HEED_LEVEL_TERM, HEED_LEVEL_BIAS };

/* One place of use; slot is never 0. */
struct heed_check_use {
    uint32_t slot, kind;
    uint32_t level, source, index; /* where: heed_check_level, source, term or bias */
    const char *name;              /* of the field there */
    int64_t block;                 /* rows a row block: SEGMENT block, LISTED rows */
    struct heed_aux *aux;
};

struct heed_check_source {
    heed_source s; /* arrays: the copies below */
    heed_term *terms;
    heed_bias *biases;
    struct heed_checked_source *to;
    struct heed_checked_term *to_terms;
    struct heed_checked_bias *to_biases;
};

struct heed_check {
    const heed_attn_desc *given;
    heed_attn_desc d;
    struct heed_check_source *sources;
    heed_slot *slots;
    struct heed_check_use *uses;
    uint32_t n_uses;
    struct heed_checked *out;
    struct heed_arena *arena, *scratch;
    heed_report *report;
    char field[HEED_CHECK_PATH];
};

/* Writes the path of a field into c->field and returns it. */
HEED_PRINTF(2, 3)
const char *heed_check_at(struct heed_check *c, const char *format, ...);
/* "sources[0].terms[1].slot" */
const char *heed_check_use_path(const struct heed_check_use *, char path[HEED_CHECK_PATH]);
heed_status heed_check_nomem(struct heed_check *);

/* The points of check.h in their order. */
heed_status heed_check_structure(struct heed_check *);
heed_status heed_check_newer(struct heed_check *);
heed_status heed_check_flags(struct heed_check *);
heed_status heed_check_values(struct heed_check *);
heed_status heed_check_kinds(struct heed_check *);
heed_status heed_check_shapes(struct heed_check *);
heed_status heed_check_overflow(struct heed_check *);
heed_status heed_check_strides(struct heed_check *);
heed_status heed_check_dtypes(struct heed_check *);
heed_status heed_check_ambiguity(struct heed_check *);
heed_status heed_check_constants(struct heed_check *);
heed_status heed_check_support(struct heed_check *);

/* Allocates the checked form and fills in all that needs no shape, and lists the uses; between
 * kinds and shapes. */
heed_status heed_check_build(struct heed_check *);

/* Slots at their places of use (check_slot.c). axes: no more than the use takes; cut: RAGGED
 * extents cut n_k and n_q; shapes: all the rest. */
heed_status heed_check_slots_axes(struct heed_check *);
void heed_check_slots_cut(struct heed_check *);
heed_status heed_check_slots_shape(struct heed_check *);
heed_status heed_check_slots_dtype(struct heed_check *);
/* Gives aux its extents and strides from a tensor whose shape has been checked. */
void heed_check_slots_place(const struct heed_check *, const struct heed_check_use *,
                            const heed_tensor *);

/* One element type of a bit set: bit 0 f32, 1 f16, 2 bf16, 3 u8, 4 i32, 5 i64. */
enum {
    HEED_SET_F32 = 1,
    HEED_SET_FLOATS = 7,
    HEED_SET_U8 = 8,
    HEED_SET_I32 = 16,
    HEED_SET_I64 = 32,
    HEED_SET_INTS = 48
};
heed_status heed_check_dtype_in(struct heed_check *, const char *prefix, uint32_t dtype,
                                uint32_t set);

/* ndim axes of a tensor, the last `trailing` of them ending before view axis `end`, the others
 * batch axes. Extents of 1 and tensors without elements get strides 0. At most trailing + 3 axes.
 */
void heed_check_place(const heed_tensor *, uint32_t trailing, uint32_t end, int64_t shape[6],
                      int64_t stride[6]);
/* HEED_E_SHAPE at the caller's axis that became view axis `axis`. */
heed_status heed_check_shape_fail(struct heed_check *, const char *prefix, const heed_tensor *,
                                  uint32_t trailing, uint32_t end, uint32_t axis, int64_t wanted,
                                  const char *why);

static inline bool heed_check_is_listed(const struct heed_check_source *source)
{
    return source->s.layout == HEED_LAYOUT_LISTED;
}

#endif
