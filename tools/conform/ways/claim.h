/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Outputs that somebody else's kernel computed, against what is claimed of them.
 */
#ifndef HEED_TOOLS_CONFORM_WAYS_CLAIM_H
#define HEED_TOOLS_CONFORM_WAYS_CLAIM_H

#include "conform/engine/session.h"

struct claim {
    uint32_t numerics; /* HEED_NUMERICS_EXACT, REPEAT or FAST */
    uint32_t weights;  /* that the kernel rounds to before they meet v; 0: it does not */
};

/* Fails the verdict where the outputs of the job, a case of the operation in use, are not as
 * claimed. again: of a second run, in other memory; NULL: there is none. */
void claim_judge(struct session *, struct claim, struct job *, struct job *again,
                 struct verdict *);

#endif
