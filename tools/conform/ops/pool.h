/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * pool's table (pool.c) and its oracle (pool_oracle.c): what both have to know.
 */
#ifndef HEED_TOOLS_CONFORM_OPS_POOL_H
#define HEED_TOOLS_CONFORM_OPS_POOL_H

#include "operations.h"

enum { X, Y, MASK, LEN, RANGES, WEIGHTS, IDS, Y_MASK, Y_LEN };
enum {
    C_KIND = F_OWN, C_TOK, C_TAIL, C_KERNEL, C_STRIDE, C_LEFT, C_ROWS, C_BLOCK, C_BUCKETS, C_N,
    C_D, C_END
};
enum { KIND_MEAN, KIND_SUM, KIND_MAX, KIND_LINEAR, KIND_WEIGHTED, KIND_DYNAMIC, KIND_BUCKET };
/* Numbers of a problem: those of the descriptor, tokens N, rows M. */
enum { N_KERNEL, N_STRIDE, N_LEFT, N_TAIL, N_BLOCK, N_BUCKETS, N_N, N_M };

/* Rows of an item of n tokens, without ranges. */
int64_t pool_rows(const struct fixed_problem *, int64_t n);
int64_t pool_length(const struct fixed_problem *, int64_t b);
/* Which of the N tokens row j has, and where `weight` is not NULL what they weigh. false: its mask
 * byte is 0. */
bool pool_row(const struct fixed_problem *, int64_t b, int64_t h, int64_t j, unsigned char *mask,
              float *weight);
void pool_relate(const struct target *, const struct fixed_problem *, const struct fixed_call *,
                 struct verdict *);
void pool_say(const struct fixed_problem *, struct answer *);

#endif
