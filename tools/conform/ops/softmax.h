/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Weighted means of operations with fixed arrays: sum of exp(y_i) v_i over sum of exp(y_i), in
 * double, with the bound on the error of the computation in binary32 that docs/numerics.md
 * describes (steps 5 to 12).
 */
#ifndef HEED_TOOLS_CONFORM_OPS_SOFTMAX_H
#define HEED_TOOLS_CONFORM_OPS_SOFTMAX_H

#include "operations.h"

struct soft_key {
    double y;             /* exponent, natural; 0 of a plain mean */
    double size, slack;   /* magnitudes that went into y; how far it is off by what they were */
    double weight, error; /* exp(y - largest); how far the computed one may be off */
    double v, v_slack;    /* of the channel at work, which is so far off at most */
    int64_t at;           /* for the caller */
};

struct soft {
    struct soft_key *key;
    int64_t n, room;
    double sink; /* one more key without a value; -Inf: none */
    double most, sum, reach, loss, gamma;
    bool nan, vague, lost; /* a weight is NaN or +Inf; beyond the oracle's range; no memory */
};

void soft_begin(struct soft *); /* no key, no sink; keeps the memory */
void soft_finish(struct soft *);
/* Adds a key, but for y = -Inf: that one is removed. */
void soft_add(struct soft *, double y, int64_t at);
/* The same with a y that is computed: the magnitudes of its terms, and how far it may be off beside
 * the roundings of the exponent itself. */
void soft_add_score(struct soft *, double y, double size, double slack, int64_t at);
void soft_weigh(struct soft *, bool with_sink);
/* Says one channel of the row from v and v_slack of every key, after soft_weigh(); no key: +0. */
void soft_say(const struct soft *, struct answer *, int array, int64_t index);
/* Says ln(sum of exp(y)). */
void soft_say_log(const struct soft *, struct answer *, int array, int64_t index);

/* Integers whose sum binary32 holds in any order? */
struct exact_sum {
    double sum, size;
    bool broken;
};
void exact_add(struct exact_sum *, double term);
bool exact_is(const struct exact_sum *);

#endif
