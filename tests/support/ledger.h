/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * An allocator that keeps account: what is held, how often it was asked, whether every block comes
 * back with the size and alignment it was asked for; it can be told to fail at the k-th request.
 * Blocks are filled with a pattern, so that nobody counts on zeros.
 */
#ifndef HEED_TESTS_SUPPORT_LEDGER_H
#define HEED_TESTS_SUPPORT_LEDGER_H

#include <heed/heed.h>
#include <stdatomic.h>

struct ledger {
    atomic_llong requests, blocks, bytes, mistakes;
    atomic_llong fail_at;           /* this request gets NULL, counting from 1; 0: none */
    atomic_llong fail_from;         /* this and all later ones; 0: none */
};

/* requests, and the failures with them, start anew; what is held stays. */
void ledger_restart(struct ledger *);
heed_allocator ledger_allocator(struct ledger *);

#endif
