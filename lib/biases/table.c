/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The list of kinds of bias as a table.
 */
#include "biases.h"

#define ROW(name) &heed_bias_##name,
static const struct heed_bias_kind *const kinds[] = { HEED_BIAS_KINDS(ROW) };
#undef ROW

const struct heed_bias_kind *heed_bias_kind_find(uint32_t kind)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        if (kinds[i]->kind == kind)
            return kinds[i];
    }
    return NULL;
}
