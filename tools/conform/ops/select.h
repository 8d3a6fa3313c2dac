/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * select's table (select.c) and its oracle (select_oracle.c): what both have to know.
 */
#ifndef HEED_TOOLS_CONFORM_OPS_SELECT_H
#define HEED_TOOLS_CONFORM_OPS_SELECT_H

#include "operations.h"

enum { X, Q, Y, MASK, LEN, ROUNDS };
enum {
    C_KIND = F_OWN, C_BLOCK, C_COUNT, C_FRONT, C_BACK, C_GROUP, C_NQ, C_R, C_M, C_N, C_D, C_END
};
enum { KIND_NORM, KIND_TOPK, KIND_HASH };
enum { N_N, N_HEADS }; /* tokens; heads of q and of TOPK's y */

/* The tokens of each block that NORM chooses, `count` places for each, ascending, then -1; `doubt`
 * of a block: others may be right as well. The buckets of HASH, of absent tokens -1; `doubt` of a
 * token: its block may have others. Both mark what they read. false:
 * no memory. */
bool select_chosen(const struct fixed_problem *, struct answer *, int64_t b, int64_t g,
                   int64_t *chosen, unsigned char *doubt);
void select_buckets(const struct fixed_problem *, struct answer *, int64_t b, int64_t g,
                    int64_t *bucket, unsigned char *doubt);
void select_say(const struct fixed_problem *, struct answer *);
void select_judge(const struct fixed_problem *, const struct answer *, const struct fixed_call *,
                  struct verdict *);

#endif
