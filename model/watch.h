/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What generated tokens look at in the text: the attention of the decoder with groups as values.
 */
#ifndef MODEL_WATCH_H
#define MODEL_WATCH_H

#include "decoder.h"

enum { WATCH_GROUPS = 1 << 20 };

/* HEED_E_VALUE a group of one of n tokens, or their number, is out of its range. */
heed_status watch_check(const int32_t *groups, int64_t n, int64_t n_groups, heed_report *report);

/* Row i of weights [m][n_groups] is what the decoder gave to groups as it came to ids[i], the mean
 * of layers and heads; row 0 is 0. `states` has rows of the encoder's own before those of n tokens.
 * On an error nothing is written. */
heed_status watch(const struct parameters *p, heed_queue *queue, heed_buf states, int64_t own,
                  int64_t n, const int32_t *groups, int64_t n_groups, const int32_t *ids,
                  int64_t m, float *weights, heed_report *report);

#endif
