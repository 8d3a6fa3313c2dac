/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The one list of term kinds.
 */
#include "terms.h"

static const struct heed_term_kind *const kinds[] = {
    &heed_term_all,
    &heed_term_window,
    &heed_term_global,
    &heed_term_segment,
};

const struct heed_term_kind *heed_term_kind_find(uint32_t kind)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (kinds[i]->kind == kind)
            return kinds[i];
    }
    return NULL;
}
