/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Operations with a fixed list of arrays. An array is one row: what it is called, what it may
 * hold, where its tensor and its memory stand in descriptor and arguments, and its axes as letters.
 * From the rows follow the checks of every array, the operands, and the places of a run. What is
 * left to the operation are its numbers (form.h) and what its kinds ask of arrays.
 *
 * Axes: "BHSD" means any batch axes, then H, S, D. Arrays agree on a capital's extent; a small
 * letter is that extent or 1; a digit is itself. A letter before B is an axis before those of the
 * batch. The first letter after B, if it is H or h, may be missing: one head. Without B the array
 * is the same for all of the batch.
 */
#ifndef HEED_LIB_OPS_ARRAYS_H
#define HEED_LIB_OPS_ARRAYS_H

#include "../types/types.h"
#include "../form.h"
#include "op.h"
#include "tensor.h"

struct heed_array_row {
    const char *name, *axes;
    uint32_t index;            /* for the brackets of a name such as "rounds[]" */
    uint32_t role;             /* HEED_ROLE_* */
    uint32_t set;              /* HEED_SET_*: element types */
    uint32_t needed;           /* 1: always there */
    uint32_t desc_at, args_at; /* offsets of its heed_tensor and of its heed_buf */
};

struct heed_array_table {
    const struct heed_array_row *rows;
    uint32_t n, flags;           /* flags: beside HEED_PLAN_* */
    uint32_t desc_v1, desc_size; /* bytes: of the first version, of this one */
    uint32_t args_v1, args_size;
    uint32_t reserved_at; /* offset of the descriptor's reserved field */
    uint32_t numbers;     /* bytes of the operation's struct in forms.h */
};

enum { HEED_MAX_ARRAYS = 16, HEED_LETTERS = 26 };

/* Every operation of this sort: the row of an array `field` of `struct heed_X_desc`. */
#define HEED_ARRAY_ROW(op, field, letters, role_, types, is_needed)                                \
    {                                                                                              \
        .name = #field, .axes = letters, .role = HEED_ROLE_##role_, .set = HEED_SET_##types,       \
        .needed = is_needed, .desc_at = offsetof(heed_##op##_desc, field),                         \
        .args_at = offsetof(heed_##op##_args, field),                                              \
    }
#define HEED_ARRAY_TABLE(op, v1_desc, v1_args, known, reserved_place)                              \
    {                                                                                              \
        .rows = op##_arrays, .n = sizeof(op##_arrays) / sizeof(*op##_arrays), .flags = known,      \
        .desc_v1 = v1_desc, .desc_size = sizeof(heed_##op##_desc), .args_v1 = v1_args,             \
        .args_size = sizeof(heed_##op##_args), .reserved_at = reserved_place,                      \
        .numbers = sizeof(struct hk_##op),                                                         \
    }

/* A descriptor on its way to a form. */
struct heed_arrays {
    const struct heed_array_table *table;
    struct heed_plan *plan;
    struct heed_arena *arena;
    struct heed_where where;
    const void *desc; /* today's size */
    struct heed_form *form;
    void *numbers; /* form->numbers, to be filled */
    struct heed_plan_operand *operands;
    const char *axes[HEED_MAX_ARRAYS]; /* the rows'; the operation may put another before lay */
    int64_t extent[HEED_LETTERS];      /* -1: no array has the letter */
};

/* Structure: the descriptor's bytes into `desc` (desc_size), flags, numerics and reserved; memory
 * for form, numbers and operands. given, `desc` and `to` stay with the caller. */
HEED_MUST_CHECK
heed_status heed_arrays_open(struct heed_arrays *to, struct heed_plan *, struct heed_arena *,
                             const void *given, void *desc, heed_report *);
/* Every array: by itself, beside the others, and as an operand; sets the plan's operands, checked
 * form and numerics. */
HEED_MUST_CHECK
heed_status heed_arrays_lay(struct heed_arrays *);

/* After open: is the tensor there? */
bool heed_arrays_has(const struct heed_arrays *, uint32_t array);
/* HEED_E_NULL for an array that is not there, HEED_E_VALUE for one that must not be. */
HEED_MUST_CHECK
heed_status heed_arrays_want(const struct heed_arrays *, uint32_t array, bool wanted,
                             const char *why);
/* The same, of the scales of rows of a type. */
HEED_MUST_CHECK
heed_status heed_arrays_scaled(const struct heed_arrays *, uint32_t scales, uint32_t dtype);
/* HEED_E_VALUE for a number outside [low, high]. */
HEED_MUST_CHECK
heed_status heed_arrays_limit(const struct heed_arrays *, const char *name, int64_t value,
                              int64_t low, int64_t high, const char *why);
/* HEED_E_SHAPE for another extent of a view's axis, after lay. */
HEED_MUST_CHECK
heed_status heed_arrays_axis(const struct heed_arrays *, uint32_t array, uint32_t axis,
                             int64_t wanted, const char *why);
int64_t heed_arrays_extent(const struct heed_arrays *, char letter);
/* After lay: a run may give output `out` the memory of the input, whose elements of one place the
 * operation reads before it writes there. */
void heed_arrays_in_place(struct heed_arrays *, uint32_t out, uint32_t in);

/* Bytes of a row of d elements of a type, 2^40 at most. */
int64_t heed_arrays_row_bytes(int64_t d, uint32_t dtype);
/* Cuts `rows` rows of `heads` heads into strips of about `bytes` bytes each at `row_bytes` a row
 * (at least one row; all rows where they have no bytes), and adds the pass over them;
 * HEED_E_UNSUPPORTED: too many tasks. */
HEED_MUST_CHECK
heed_status heed_arrays_strips(struct heed_arrays *, int64_t heads, int64_t rows, int64_t row_bytes,
                               int64_t bytes);
/* The same of rows [H][N][d] of a type: none where they have no channels, whatever their number. */
HEED_MUST_CHECK
heed_status heed_arrays_row_strips(struct heed_arrays *, int64_t d, uint32_t dtype);
/* Adds a pass of so many tasks. */
HEED_MUST_CHECK
heed_status heed_arrays_pass(struct heed_arrays *, int64_t tasks);

/* heed_op.lower and heed_op.place of every such operation. */
HEED_MUST_CHECK
heed_status heed_arrays_lower(struct heed_plan *, struct heed_arena *, heed_report *);
HEED_MUST_CHECK
heed_status heed_arrays_place(const struct heed_plan *, const void *args, struct heed_places *,
                              heed_report *);

/* For heed_op.work: bytes of so many elements of an operand's type; and a sum of them, or of other
 * work, as the whole number that it is, 2^63 at most. */
double heed_arrays_bytes(const struct heed_plan *, uint32_t array, double elements);
uint64_t heed_arrays_whole(double work);
/* Bytes of all operands, each element once. */
uint64_t heed_arrays_once(const struct heed_plan *);
/* Elements of an operand that have an address of their own. */
double heed_arrays_elements(const struct heed_plan *, uint32_t array);

#endif
