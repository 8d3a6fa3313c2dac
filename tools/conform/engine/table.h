/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Operations with a fixed list of arrays. An operation is a table: its public calls, its arrays,
 * its own fields of a case, and three functions: extents (shape), the numbers of the descriptor,
 * and the oracle (say), which is written from the public headers alone. All else, from the axes of
 * a case over memory, families and faults to fuzzing and promises, follows from the table.
 */
#ifndef HEED_TOOLS_CONFORM_ENGINE_TABLE_H
#define HEED_TOOLS_CONFORM_ENGINE_TABLE_H

#include "errors.h"

#include <heed/memory.h>
#include <heed/nn.h>
#include <heed/pool.h>

enum { MAX_PARTS = 16, FIXED_DESC = 1600, FIXED_ARGS = 512 };

/* The fields that every such operation has first; its own ones follow. */
enum { F_BATCH, F_HEADS, F_FILL, F_MIS, F_NUM, F_WS, F_OWN };

/* Roles and properties of an array. */
enum {
    IN = 1,
    OUT = 2,
    STATE = 4,     /* read and written */
    BATCH = 8,     /* has batch axes, on the left */
    LENGTHS = 16,  /* [B]: at least one batch axis, no other axis */
    HEAD = 32,     /* its first axis behind the batch axes is the head's and may be missing ... */
    HEAD_ONE = 64, /* ... or have extent 1 */
    LEAD = 128,    /* has an axis before the batch axes */
    MUST = 256,    /* without it: HEED_E_NULL */
    ROWWISE = 512, /* axis 2 of 3 is of rows, each of which depends on the same row of the other
                    * arrays with rows alone; ... */
    ROWWISE_LAST = 1024 /* ... its axis 3 is */
};

struct part;
struct fixed_problem;

struct fixed_array {
    const char *name;
    size_t tensor, buf; /* where the descriptor has its tensor, the arguments its buf */
    unsigned role;
    const char *dtypes; /* words; NULL: that of array `as` */
    int as;
    const char *holds;  /* words of what may be in it, "none" for absent; NULL: no choice */
    int need;           /* own field (F_OWN + ...) without whose values `with` it is absent; 0 */
    const char *with;
    void (*fill)(struct fixed_problem *, struct part *); /* fill_floats, ... */
    const char *reports;        /* words for it in reports, beside the name; NULL: none */
};

/* An array of a problem. */
struct part {
    const struct fixed_array *table;
    int number;
    unsigned role;          /* as in the table, but for what shape() changes */
    struct array a;         /* dtype 0: absent; shape[0]: all of its leading and batch extents */
    int axes;               /* batch axes of the tensor */
    int64_t extent[3];      /* of B's three axes: 1 where broadcast or missing */
    int64_t lead;           /* LEAD: extent of that axis, else 1 */
    int64_t own[MAX_BATCH]; /* where item b lies in [batch] */
    bool headless;          /* no head axis */
    int64_t holds;          /* which of the words */
    int64_t bound;          /* indices and lengths: what they should stay below, or at most are */
};

struct fixed;

struct fixed_problem {
    struct cs c;
    const struct fixed *op;
    bool shapes_only;
    int64_t batch[3]; /* B */
    int64_t n_items, heads;
    int64_t n[12]; /* the operation's own extents and numbers */
    int64_t work;  /* multiply-adds, roughly; moving elements is counted anyway */
    struct part part[MAX_PARTS];
};

/* What the oracle says of an element of an output or state. */
enum {
    SAID_NOTHING,  /* of an output: the oracle is incomplete; of a state: what it held */
    SAID_BITS,     /* these bits */
    SAID_NEAR,     /* value, within bound */
    SAID_OWN,      /* the operation's own judge looks at it */
    SAID_ANY,      /* that, and devices may differ */
    SAID_NAN,      /* whatever its sign and payload */
    SAID_INFINITE, /* no finite number */
    SAID_VAGUE     /* out of the oracle's range */
};
struct said {
    int kind;
    int64_t bits;
    double value, bound;
};
struct answer {
    const struct fixed_problem *p;
    bool loose; /* by the bound of FAST, where the operation has one of its own */
    struct said *said[MAX_PARTS];  /* of outputs and states */
    unsigned char *read[MAX_PARTS]; /* elements of inputs that the definition reads */
    double *real[MAX_PARTS];        /* their numbers, once one was asked for */
};

struct fixed_call {
    struct job job;
    const struct fixed *op;
    union {
        unsigned char bytes[FIXED_DESC];
        max_align_t align;
    } desc;
    union {
        unsigned char bytes[FIXED_ARGS];
        max_align_t align;
    } args; /* for families that call the operation's own run */
    struct place place[MAX_PARTS];
    int at[MAX_PARTS]; /* in whose place it lies: its own, but for inputs with CALL_IN_PLACE */
    struct array out[MAX_PARTS], old[MAX_PARTS]; /* outputs and states after the run, before it */
};

/* Of the descriptor; the faults of arrays follow from the table. TENSOR: where there should be no
 * array. */
struct fixed_fault {
    const char *field;
    size_t offset;
    int type;
    int64_t value;
    heed_status status;
};

/* A number of the descriptor, for who reads cases in plain words and for reproductions. */
struct fixed_number {
    const char *name;
    size_t offset;
    int type;          /* FAULT_U32, FAULT_I64, FAULT_F64 */
    const char *words; /* the constants for 0, 1, ..., "-" for none; NULL: it is a number */
};

/* A case that check refuses: a line, and an own field of any size, 0: none. */
struct fixed_refusal {
    const char *line;
    int field;
    int64_t value;
    heed_status status;
};

struct fixed {
    struct cf_op op;
    const char *c_name; /* "pool": heed_pool_desc, heed_pool_plan() */
    heed_status (*check)(heed_device *, const void *desc, heed_report *);
    heed_status (*plan)(heed_device *, const void *desc, heed_plan **, heed_report *);
    heed_status (*run)(const heed_plan *, heed_queue *, const void *args, heed_event **,
                       heed_report *);
    size_t desc_size, args_size;
    size_t desc_least, args_least; /* of the first version; 0: it has this size */
    const struct fixed_array *arrays;
    int n_arrays;
    const struct cf_spec *specs; /* own fields; parents count among them */
    int n_specs;
    uint64_t extents;            /* bit i: own field i with value 0 leaves nothing to compute */
    uint64_t vast;               /* bit i: own field i may be as large as 2^62 for check */
    /* Sets p->n and of each array that is there the extents of its axes behind the batch's. */
    void (*shape)(struct fixed_problem *);
    /* NULL, or: parts axes of the tensor of an array that are one to the kit. */
    void (*spread)(const struct fixed_problem *, int array, heed_tensor *);
    void (*numbers)(const struct fixed_problem *, void *desc); /* all but size, tensors, flags */
    void (*say)(const struct fixed_problem *, struct answer *);
    /* FAST has a bound of its own, which say() knows: what delivers FAST promises no bits, and its
     * zeros may have signs. */
    bool fast;
    /* NULL, or: judges elements that are SAID_OWN or SAID_ANY. */
    void (*judge)(const struct fixed_problem *, const struct answer *, const struct fixed_call *,
                  struct verdict *);
    bool open; /* inputs that no case has may leave any element to the device: SAID_ANY */
    /* NULL, or: makes a problem of one item shorter by its length, which it then lacks; false: it
     * has none. What the outputs have in common must be equal. */
    bool (*shorten)(struct fixed_problem *);
    /* Are rows of arrays with ROWWISE apart from each other here? NULL: always. */
    bool (*rows_apart)(const struct fixed_problem *);
    int rows_first;              /* own field of the first row's number; 0: there is none */
    /* NULL, or: what the results have to do with those of another operation on that device. */
    void (*relate)(const struct target *, const struct fixed_problem *,
                   const struct fixed_call *got, struct verdict *);
    struct {
        int out, in;
    } in_place[2]; /* arrays: which output may lie where an input does */
    int n_in_place;
    const struct fixed_number *desc_numbers; /* but size, flags, numerics */
    int n_desc_numbers;
    const struct fixed_fault *faults;
    int n_faults;
    const struct fixed_refusal *refusals;
    int n_refusals;
    const char *base;            /* line of the legal case that faults are put into */
    const char *const *named;    /* lines of cases that once caught something */
    int n_named;
};

/* ---- table_fields.c: what the generator asks ----------------------------------- */

void fixed_axes(void);
int64_t fixed_work(const struct cs *);
void fixed_smallest(struct cs *);
void fixed_shrink(struct cs *);
bool fixed_telling(const struct cs *, int a, int b);
bool fixed_empties(int field, int64_t value);
int fixed_first(void);
bool fixed_of_memory(int field);
const char *fixed_line(int i);
extern const struct cf_families fixed_families; /* table_case.c */
extern const struct cf_errors fixed_errors;     /* table_errors.c */

/* check, plan and run of a struct fixed, whose descriptors and arguments have no type, made of the
 * public calls that begin with `prefix`. */
#define FIXED_CALLS(prefix)                                                                        \
    static heed_status check(heed_device *device, const void *desc, heed_report *report)           \
    {                                                                                              \
        return prefix##_check(device, desc, report);                                               \
    }                                                                                              \
    static heed_status plan(heed_device *device, const void *desc, heed_plan **out,                \
                            heed_report *report)                                                   \
    {                                                                                              \
        return prefix##_plan(device, desc, out, report);                                           \
    }
#define FIXED_RUN(prefix)                                                                          \
    static heed_status run(const heed_plan *made, heed_queue *queue, const void *args,             \
                           heed_event **event, heed_report *report)                                \
    {                                                                                              \
        return prefix##_run(made, queue, args, event, report);                                     \
    }

/* The struct cf_op of such an operation, and of a program: of 100 cases that are drawn of all, so
 * many more are of that one. */
#define FIXED_OP(op_name) FIXED_SHARE(op_name, 0)
#define FIXED_PROGRAM(op_name) FIXED_SHARE(op_name, 6)
#define FIXED_SHARE(op_name, percent)                                                            \
    {                                                                                            \
        .name = op_name, .share = percent, .axes = fixed_axes, .work = fixed_work,               \
        .smallest = fixed_smallest, .shrink = fixed_shrink, .telling = fixed_telling,            \
        .empties = fixed_empties, .first = fixed_first, .most = 4096,                            \
        .numerics = F_NUM, .of_memory = fixed_of_memory,                                         \
        .families = &fixed_families, .errors = &fixed_errors, .line = fixed_line, .tabled = true \
    }

/* Fields of array i, -1: it has no such choice. */
enum { A_HOLDS, A_DTYPE, A_LAID, A_BATCH, A_HEAD, A_COUNT };
int fixed_field(int array, int which);
const struct fixed *fixed_of(const struct cf_op *); /* NULL: it is none */
int64_t fixed_own(const struct fixed_problem *, int field); /* value of an own field */

/* ---- problem.c ----------------------------------------------------------- */

/* data false: no contents. NULL: no memory. */
struct fixed_problem *fixed_problem_make(const struct cs *, bool data);
/* Do items write to places of their own? Else they cannot be picked apart. */
bool fixed_can_pick(const struct fixed_problem *);
/* The same with the items named, in that order, along one batch axis; heads reversed or not. NULL:
 * no memory. */
struct fixed_problem *fixed_problem_pick(const struct fixed_problem *, const int64_t *items,
                                         int64_t n, bool turned);
/* Every item, with its batch axes as they are. */
struct fixed_problem *fixed_problem_copy(const struct fixed_problem *, bool turned);
void fixed_problem_free(struct fixed_problem *);
/* Cuts axis `axis` (1 .. 3) of an array down to its first n; an absent one stays so. */
void part_cut(struct part *, int axis, int64_t n);
void part_drop(struct part *);
/* Extents behind the batch axes, right-aligned: -1 for axes that the array has not. */
void part_shape(struct part *, int64_t x, int64_t y, int64_t z);

bool part_is(const struct part *); /* is it there? */
int64_t part_heads(const struct fixed_problem *, int array); /* 1 or those of the case */
int64_t part_at(const struct part *, int64_t b, int64_t x, int64_t y, int64_t z);
int64_t part_lead_at(const struct part *, int64_t lead, int64_t b, int64_t x, int64_t y, int64_t z);
int64_t part_int(const struct part *, int64_t index);
int64_t part_bits(const struct part *, int64_t index); /* of any type, zero-extended */

/* contents.c: what is in the arrays */
extern const char fixed_fills[]; /* words of F_FILL */
enum {
    DATA_NORMAL,
    DATA_EXACT,
    DATA_TIES,
    DATA_HUGE,
    DATA_OVER,
    DATA_SUBNORMAL,
    DATA_SPECIAL,
    DATA_BITS,
    DATA_ALIKE /* rows have the same elements in another order: only rounding tells them apart */
};
void fill_floats(struct fixed_problem *, struct part *);
void fill_rows(struct fixed_problem *, struct part *); /* floats, or bytes of any bits */
/* Words: "none rt short zero hostile", without its first one for lengths that must be there. */
void fill_lengths(struct fixed_problem *, struct part *);
/* Words: "none good hostile": within [0, bound); those, negative and far ones. */
void fill_indices(struct fixed_problem *, struct part *);
void fill_mask(struct fixed_problem *, struct part *); /* "none some all nothing" */
void fill_nothing(struct fixed_problem *, struct part *); /* outputs */
uint64_t part_hash(const struct fixed_problem *, const struct part *, int64_t index);
int64_t part_hostile(const struct part *, uint64_t hash); /* an integer that makes no sense */

/* ---- call.c --------------------------------------------------------------- */

/* Descriptor only (no device memory). */
bool fixed_call_describe(struct fixed_call *, const struct fixed_problem *, unsigned flags);
/* Extents of any size, without memory; strides with which a descriptor may be legal. */
void fixed_call_vast(struct fixed_call *, const struct fixed_problem *, struct rng *);
heed_tensor *fixed_tensor(struct fixed_call *, int array);
heed_buf *fixed_buf(struct fixed_call *, int array);
heed_run *fixed_run(struct fixed_call *);
/* Word i, counted around, of those of the descriptor that are of no tensor. */
unsigned char *fixed_number(struct fixed_call *, uint32_t i);
bool fixed_writes(const struct fixed_problem *, int array); /* present and output or state */
/* Of an output: the input whose memory it may have, as both are; -1: none. */
int fixed_guest(const struct fixed_problem *, int array);

/* ---- answer.c -------------------------------------------------------------- */

bool answer_make(struct answer *, const struct fixed_problem *);
void answer_finish(struct answer *);
/* The numbers that it keeps: of one whose other arrays are another's. */
void answer_forget(struct answer *);
/* For oracles: an element of an input, which the definition reads. */
double answer_real(struct answer *, int array, int64_t index);
uint32_t answer_bits(struct answer *, int array, int64_t index);
uint32_t cf_round_out(uint32_t dtype, float); /* nearest even, canonical NaN, -0 as +0: step 11 */
/* What is known of an element. */
void say_bits(struct answer *, int array, int64_t index, int64_t bits);
void say_float(struct answer *, int array, int64_t index, double exact); /* rounded out, step 11 */
void say_near(struct answer *, int array, int64_t index, double value, double bound);
/* The bits of the canonical arithmetic, which rounds; other orders are within the bound. */
void say_rounded(struct answer *, int array, int64_t index, double canonical, double bound);
/* For kernels that do not claim the canonical bits: such elements are SAID_NEAR, by the bound of
 * FAST. */
void answer_loosen(struct answer *);
void say_kind(struct answer *, int array, int64_t index, int kind);
/* Judges a call's outputs; families: FAMILY_EXACT and FAMILY_BOUND as wanted. */
void fixed_judge(const struct fixed_problem *, const struct answer *, const struct fixed_call *,
                 uint32_t families, struct verdict *);
#endif
