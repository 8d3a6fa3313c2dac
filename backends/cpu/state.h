/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What bind works out for a plan and run reads: how rows form strips and where everything lies in
 * the workspace.
 */
#ifndef HEED_BACKENDS_CPU_STATE_H
#define HEED_BACKENDS_CPU_STATE_H

#include "../../lib/backend.h"
#include "tile.h"

/* Per source. Offsets into the workspace, bytes. */
struct heed_cpu_prepared {
    uint32_t packs;             /* 1: K is packed once, before the strips */
    uint32_t shared;            /* 1: one packed copy serves every batch item */
    int64_t blocks;             /* 64-key blocks of n_k */
    int64_t row_words;          /* words of a bit set over query rows */
    uint64_t packed;            /* [batch or 1][H_k][blocks][64][d] floats */
    uint64_t finite;            /* [batch or 1][H_k][blocks] bytes: V of the block is finite */
    uint64_t keys;              /* [batch][blocks] words: GLOBAL keys from a list */
    uint64_t rows;              /* [batch][row_words]: GLOBAL rows from a list */
};

struct heed_cpu_state {
    const struct heed_cpu_isa *isa;
    size_t bytes;               /* of this allocation */
    uint32_t lanes, reserved;
    int64_t stack;              /* query heads that share a strip */
    int64_t rows;               /* query positions of a strip */
    int64_t row_step;           /* between them */
    int64_t group;              /* a strip stays within `group` rows; 0: no such border (LISTED) */
    uint64_t lane_bytes, scratch_bytes;
    uint64_t counts;            /* [batch][source][2]: entries of the key and row lists */
    uint64_t strips;            /* [batch + 1]: strips before item b */
    uint64_t workspace;
    struct heed_cpu_prepared sources[];
};

/* How many strips n rows of an item make, and the rows of one: writes indices, returns how many. */
int64_t heed_strips_count(const struct heed_cpu_state *, int64_t n);
int64_t heed_strips_rows(const struct heed_cpu_state *, int64_t n, int64_t strip, int64_t *indices);

heed_status heed_execute(const struct heed_plan *, const struct heed_services *,
                         const struct heed_launch *);

#endif
