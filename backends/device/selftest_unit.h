/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the tests of matrix units (selftest_matrix.c) and of processors' units (selftest_halves.c)
 * share: sets of operands, and what is allowed of their sums.
 */
#ifndef HEED_BACKENDS_DEVICE_SELFTEST_UNIT_H
#define HEED_BACKENDS_DEVICE_SELFTEST_UNIT_H

#include "selftest.h"

/* In the order in which a reason is looked for: the first ones need the least of a unit. */
enum heed_unit_kind {
    HEED_UNIT_LAYOUT,
    HEED_UNIT_PASSES,
    HEED_UNIT_PRODUCT,
    HEED_UNIT_SUBNORMAL,
    HEED_UNIT_SUM,
    HEED_UNIT_SPECIAL,
    HEED_UNIT_TRADE,
    HEED_UNIT_WEIGHTS,
    HEED_UNIT_KINDS
};

/* Rows and columns of a unit's product. */
struct heed_unit_shape {
    uint32_t rows, columns;
};

enum heed_unit_kind heed_unit_kind_of(uint32_t set);

/* Why a unit is refused whose set is wrong. */
const char *heed_unit_reason(uint32_t set);

/* Set by set, in a default environment: *random is what the set before has left, none before the
 * first. */
void heed_unit_input(uint32_t dtype, uint32_t set, uint32_t *random, struct hk_unit_input *in);

int heed_unit_sums_allowed(uint32_t dtype, struct heed_unit_shape, uint32_t set,
                           const struct hk_unit_input *in, const float *got);
int heed_unit_weights_right(uint32_t dtype, struct heed_unit_shape,
                            const struct hk_unit_input *in, const float *got);

#endif
