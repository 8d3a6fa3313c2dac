/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The one list of kinds of bias.
 */
#include "biases.h"

static const struct heed_bias_kind *const kinds[] = {
    &heed_bias_dense,
    &heed_bias_alibi,
    &heed_bias_table,
    &heed_bias_dot,
};

const struct heed_bias_kind *heed_bias_kind_find(uint32_t kind)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        if (kinds[i]->kind == kind)
            return kinds[i];
    }
    return NULL;
}
