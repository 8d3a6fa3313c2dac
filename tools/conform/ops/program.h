/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Programs in the kit (heed/programs.h): what is common to their tables (lsg.c,
 * poolingformer.c). A program's oracle asks those of select and pool what the stages make of
 * its arrays, and then says of each row what an attention to that has to be.
 */
#ifndef HEED_TOOLS_CONFORM_OPS_PROGRAM_H
#define HEED_TOOLS_CONFORM_OPS_PROGRAM_H

#include "softmax.h"
#include "operations.h"

#include <heed/programs.h>

/* Arrays that every program has, in this order; its own ones follow. */
enum {
    P_Q, P_O, P_TEXT_K, P_TEXT_V, P_TEXT_LEN, P_TEXT_MASK, P_OWN
};
/* p->n: rows of the text, query heads for each key head. */
enum { P_N, P_GROUP };

#define PROGRAM_FLOATS "f32 f16 bf16"
#define PROGRAM_ARRAY(desc, member, name) \
    name, offsetof(desc, member), offsetof(heed_program_args, member)
#define PROGRAM_SLOT(desc, member, name) \
    name, offsetof(desc, member.t), offsetof(heed_program_args, member)
/* Words that reports have for the keys and values of a set, in whichever stage they are. */
#define PROGRAM_K ".x .k"
#define PROGRAM_V ".x .v"
#define PROGRAM_LEN ".len len_slot slots"
#define PROGRAM_MASK ".mask mask_slot slots"
#define PROGRAM_COMMON(desc)                                                                     \
    [P_Q] = { PROGRAM_ARRAY(desc, q, "q"), MUST | IN | BATCH | HEAD, PROGRAM_FLOATS, 0, NULL, 0, \
              NULL, fill_floats, NULL },                                                         \
    [P_O] = { PROGRAM_ARRAY(desc, o, "o"), MUST | OUT | BATCH | HEAD, PROGRAM_FLOATS, 0, NULL, 0, \
              NULL, fill_nothing, NULL },                                                        \
    [P_TEXT_K] = { PROGRAM_ARRAY(desc, text.k, "text.k"), MUST | IN | BATCH | HEAD,              \
                   PROGRAM_FLOATS, 0, NULL, 0, NULL, fill_floats, PROGRAM_K },                   \
    [P_TEXT_V] = { PROGRAM_ARRAY(desc, text.v, "text.v"), MUST | IN | BATCH | HEAD,              \
                   PROGRAM_FLOATS, 0, NULL, 0, NULL, fill_floats, PROGRAM_V },                   \
    [P_TEXT_LEN] = { PROGRAM_SLOT(desc, text.len, "text.len"), IN | BATCH | LENGTHS, "i32 i64",  \
                     0, "none rt short zero hostile", 0, NULL, fill_lengths, PROGRAM_LEN },      \
    [P_TEXT_MASK] = { PROGRAM_SLOT(desc, text.mask, "text.mask"), IN | BATCH | HEAD | HEAD_ONE,  \
                      "u8", 0, "none some all nothing", 0, NULL, fill_mask, PROGRAM_MASK }

/* Sets p->n and the extents of the arrays above, with so many heads to a key head. */
void program_shape(struct fixed_problem *, int64_t n, int64_t group, int64_t d, int64_t dv);
/* Cuts the arrays above down to the text's length of item 0; false: it has none. */
bool program_shorten(struct fixed_problem *);
heed_status program_run(const heed_plan *, heed_queue *, const void *args, heed_event **,
                        heed_report *);

/* Tokens of item b by a slot, or `most`; is key j of a set there? */
int64_t program_length(const struct fixed_problem *, int len, int64_t b, int64_t most);
bool program_present(const struct fixed_problem *, int len, int mask, int64_t b, int64_t g,
                     int64_t j, int64_t most);

/* Rows that a stage computes, f32: [item][heads][rows][d]. */
struct made {
    struct part part, mask;     /* of pooled rows; mask: u8, [item][heads][rows] */
    struct said *said;          /* what is known of each element */
    struct said *there;         /* and of each byte; NULL: not asked for */
};
void made_finish(struct made *);
/* One with room for all items; false: no memory. */
bool made_make(struct made *, const struct fixed_problem *, int64_t heads, int64_t rows, int64_t d,
               bool mask);

/* program_pool.c: array `x` (P_TEXT_K, ...) pooled, with that length and mask. */
struct pool_ask {
    int x, weights;             /* weights: -1, or those of DYNAMIC */
    uint32_t kind, tail;        /* HEED_POOL_*, HEED_TAIL_* */
    int64_t kernel, stride, left, block, buckets, rows;
    const int64_t *ids;         /* BUCKET: [item][heads][n] */
};
bool program_pool(const struct fixed_problem *, struct answer *, const struct pool_ask *,
                  struct made *out);

/* program_select.c: of the text's keys, for all items and key heads; with them, which blocks
 * (tokens) are in doubt. false: no memory. */
bool program_choose(const struct fixed_problem *, struct answer *, int64_t block, int64_t count,
                    int64_t *chosen, unsigned char *doubt);
bool program_hash(const struct fixed_problem *, struct answer *, int64_t block, int rounds,
                  int64_t n_rounds, int64_t *bucket, unsigned char *doubt);

/* A row of attention in the making: its keys are rows of arrays, or of what was made. */
struct attend {
    const struct fixed_problem *p;
    struct answer *a;
    int64_t b, h, g, i;         /* item, query head, its key head, row */
    double scale;
    struct soft soft;
    struct attend_key *key;
    int64_t n, room;
};
struct attend_key {
    int k, v;                   /* arrays; -1: made */
    const struct made *made_k, *made_v;
    int64_t head, j;
};
void attend_begin(struct attend *, int64_t b, int64_t h, int64_t i);
void attend_finish(struct attend *);
void attend_add(struct attend *, const struct attend_key *);
/* Says the row's channels of `array` of `to`, row `row`, from all that was added. */
void attend_say(struct attend *, struct answer *to, int array, int64_t head, int64_t row);

#endif
