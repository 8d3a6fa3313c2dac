/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The list of layouts as a table, by number.
 */
#include "layouts.h"

#include <assert.h>
#include <stdio.h>

#define ROW(name) &heed_layout_##name,
static const struct heed_layout *const kinds[] = { HEED_LAYOUTS(ROW) };
#undef ROW
enum { KINDS = sizeof kinds / sizeof *kinds };

const struct heed_layout *heed_layout_find(uint32_t kind)
{
    assert(kind >= KINDS || kinds[kind]->kind == kind);
    return kind < KINDS ? kinds[kind] : NULL;
}

uint32_t heed_layout_last(void)
{
    return KINDS - 1;
}

uint32_t heed_layout_queries(char names[64])
{
    uint32_t last = 0;
    size_t used = 0;

    for (uint32_t i = 0; i < KINDS; i++) {
        if (!kinds[i]->for_queries)
            continue;
        used += (size_t)snprintf(names + used, 64 - used, "%s%s", used ? " or " : "",
                                 kinds[i]->name);
        last = i;
    }
    return last;
}

bool heed_layout_packed(uint32_t kind)
{
    assert(kind < KINDS);
    return kinds[kind]->items == HEED_ITEMS_PACKED;
}
