/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The list of term kinds as a table.
 */
#include "terms.h"

#define ROW(name) &heed_term_##name,
static const struct heed_term_kind *const kinds[] = { HEED_TERM_KINDS(ROW) };
#undef ROW

const struct heed_term_kind *heed_term_kind_find(uint32_t kind)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (kinds[i]->kind == kind)
            return kinds[i];
    }
    return NULL;
}
