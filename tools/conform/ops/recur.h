/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the table of recur and its oracle share.
 */
#ifndef HEED_TOOLS_CONFORM_OPS_RECUR_H
#define HEED_TOOLS_CONFORM_OPS_RECUR_H

#include "operations.h"

enum { Q, K, V, DECAY, BETA, LEN, STATE_S, O };
enum { C_N = F_OWN, C_DK, C_DV, C_GROUP, C_DELTA, C_DEC, C_OUT, C_SCALE, C_END };
enum { BY_NOTHING, BY_HEAD, BY_CHANNEL };
enum { N_HEADS }; /* p->n: heads of v */

double recur_scale(const struct fixed_problem *);
void recur_say(const struct fixed_problem *, struct answer *);

#endif
