/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Programs: plans over several plans. A program is an operation like others, whose implementation
 * runs those of its stages; a stage is an ordinary plan but for its life, which is the program's.
 * The arrays of a stage are arguments of the program or temporaries in its workspace. A composition
 * (lsg.c, ...) reads a descriptor, asks for temporaries and adds stages in order:
 *
 *     struct heed_program_temp y;
 *     heed_status status = heed_program_open(c, given, DESC_V1, &d, sizeof(d), 0);
 *
 *     if (status >= 0)
 *         status = heed_program_temp_add(c, HEED_F32, shape, &y);
 *     if (status >= 0)
 *         status = heed_program_stage(c, &heed_op_pool, "pool", &desc, uses, n_uses);
 */
#ifndef HEED_LIB_PROGRAMS_PROGRAM_H
#define HEED_LIB_PROGRAMS_PROGRAM_H

#include "../mechanisms/build.h"
#include "../ops/op.h"

#include <heed/programs.h>

#define HEED_COUNT(array) ((uint32_t)(sizeof(array) / sizeof(*(array))))

/* What stages use is counted: the arguments of the program, which are its operands, and then its
 * temporaries. These are the arguments of programs with a name. */
enum { HEED_KEYS_K, HEED_KEYS_V, HEED_KEYS_LEN, HEED_KEYS_MASK, HEED_KEYS_ARRAYS };
enum {
    HEED_PROGRAM_Q,
    HEED_PROGRAM_O,
    HEED_PROGRAM_TEXT,                                          /* + HEED_KEYS_* */
    HEED_PROGRAM_GLOBALS = HEED_PROGRAM_TEXT + HEED_KEYS_ARRAYS, /* + HEED_KEYS_* */
    HEED_PROGRAM_TAPS_K = HEED_PROGRAM_GLOBALS + HEED_KEYS_ARRAYS,
    HEED_PROGRAM_TAPS_V,
    HEED_PROGRAM_ROUNDS,
    HEED_PROGRAM_ARGS = HEED_PROGRAM_ROUNDS + HEED_SELECT_ROUNDS
};

#define HEED_PROGRAM_NONE UINT32_MAX        /* of an operand: absent */

/* An operand of a stage is this array from byte `at` on. */
struct heed_program_use {
    uint32_t operand, array;
    uint64_t at;
};

struct heed_program_stage {
    struct heed_plan plan;              /* no references and no workspace of its own */
    struct heed_program_use *uses;      /* one for each operand, in order */
};

/* Bytes of the workspace, from the first to the last stage that uses them. */
struct heed_program_life {
    uint64_t at, bytes;
    uint32_t first, last;
};

/* How many a program has at most, and whether its arguments have numbers instead of names. */
struct heed_program_room {
    uint32_t args, stages, temps, numbered;
};

/* plan->checked of a program. */
struct heed_program {
    struct heed_program_room room;
    struct heed_program_stage *stages;
    struct heed_program_life *temps;
    uint32_t n_stages, n_temps;
    uint64_t bytes;                     /* of all temporaries */
};

/* A program in the making. */
struct heed_composer {
    struct heed_plan *plan;
    struct heed_arena *arena;
    struct heed_report *report;
    struct heed_program *program;
    struct heed_plan_operand *operands;
    uint32_t flags;                     /* of the descriptors of stages */
};

struct heed_program_temp {
    heed_tensor t;                      /* dense, six axes */
    uint32_t array;
};

/* What heed_op_check and heed_op_plan take as the descriptor of a program. */
struct heed_program_call {
    heed_status (*compose)(struct heed_composer *, const void *desc);
    const void *desc;                   /* the caller's */
};

/* Makes room, which a composition does first; heed_program_open() does it for those with names. */
HEED_MUST_CHECK
heed_status heed_program_reserve(struct heed_composer *, struct heed_program_room);

/* Reads a descriptor, which begins with size, flags, numerics; `flags`: beside HEED_PLAN_*. */
HEED_MUST_CHECK
heed_status heed_program_open(struct heed_composer *, const void *given, size_t v1, void *desc,
                              size_t known, uint32_t flags);

/* HEED_E_VALUE for a constant slot. */
HEED_MUST_CHECK
heed_status heed_program_keys(const struct heed_composer *, const char *name,
                              const heed_keys *keys);

/* HEED_E_OVERFLOW: more bytes than programs have. */
HEED_MUST_CHECK
heed_status heed_program_temp_add(struct heed_composer *, uint32_t dtype, const int64_t shape[6],
                                  struct heed_program_temp *out);

/* Temporary `temp` of a program whose arrays have numbers: bytes up to `end`. HEED_E_OVERFLOW. */
HEED_MUST_CHECK
heed_status heed_program_temp_end(struct heed_composer *, uint32_t temp, int64_t end);

/* Plans a stage, whose name stands before the field of a fault, and which is added once its uses
 * are known. NULL: `status` says why. */
struct heed_program_stage *heed_program_form(struct heed_composer *, const struct heed_op *,
                                             const char *name, const void *desc,
                                             heed_status *status);
HEED_MUST_CHECK
heed_status heed_program_bind(struct heed_composer *, struct heed_program_stage *,
                              const struct heed_program_use *uses, uint32_t n_uses);

/* Both of them. `name` stands before the field of a fault. A use of an operand that the stage does
 * not have is passed over; the last stage that uses an argument uses the whole of it. */
HEED_MUST_CHECK
heed_status heed_program_stage(struct heed_composer *, const struct heed_op *, const char *name,
                              const void *desc, const struct heed_program_use *uses,
                              uint32_t n_uses);

/* Where the arrays of an attention are, by number: o, and K, V and mask of set 2. */
struct heed_program_attn {
    const char *name;                   /* of the stage */
    uint32_t o, sparse[3];
};

/* Adds the attention of a builder: set 0 of keys is the text, set 1 the globals; `uses` are those
 * of slots that no set has. */
HEED_MUST_CHECK
heed_status heed_program_attend(struct heed_composer *, struct heed_builder *,
                                const struct heed_program_attn *,
                                const struct heed_program_use *uses, uint32_t n_uses);

/* The number of the operand that is a slot of that attention. */
uint32_t heed_program_slot(const struct heed_builder *, uint32_t slot);

/* The batch axes that some arrays have in common, from { 1, 1, 1 } on; `inner` axes are not of the
 * batch. Extents that disagree are left to the stages. */
void heed_program_batch(int64_t batch[3], const heed_tensor *t, uint32_t inner);
/* And of keys: shape { batch, heads, 0, 0 } of one of the two tensors with length and mask. */
void heed_program_shape(int64_t shape[6], const heed_tensor *t, const heed_keys *keys);

extern const struct heed_op heed_op_program;

#endif
