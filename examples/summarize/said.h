/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a summary says already.
 */
#ifndef HEED_EXAMPLES_SUMMARIZE_SAID_H
#define HEED_EXAMPLES_SUMMARIZE_SAID_H

#include "summarize.h"

/* Content words of the sentences that were chosen, one sorted list after another. The caller frees
 * both lists. */
struct said {
    uint64_t *keys;
    int64_t n, capacity;
    int64_t *end;                  /* of each list, [doc->n] */
    int64_t sentences;
};

/* Whether sentence i was said before; if not, it is from now on. False: no memory. */
bool said_add(struct said *said, const struct document *doc, int64_t i, bool *again);
/* What was added since is not said. */
void said_back(struct said *said, const struct said *before);

#endif
