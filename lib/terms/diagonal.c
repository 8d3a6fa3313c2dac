/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * DIAGONAL: keys that cover the query's position less `left`.
 */
#include "terms.h"

static void lower(const struct heed_checked_term *term, const struct heed_checked_source *source,
                  struct heed_term_form *out)
{
    struct hk_range range = { .lo = 1, .block = 1, .kind = HK_RANGE_AFFINE };   /* FAR: nothing */

    if (term->left != HEED_FAR) {
        range.lo = -term->left - (source->pos_span - 1);
        range.hi = -term->left;
    }
    *out = (struct heed_term_form) { .has_range = true, .range = range };
}

static bool sees(const struct heed_look *look, const struct heed_checked_term *term, int64_t key)
{
    const int64_t first = heed_look_first(look, key);

    return term->left != HEED_FAR && first <= look->position - term->left &&
           look->position - term->left < first + look->source->pos_span;
}

const struct heed_term_kind heed_term_diagonal = {
    .kind = HEED_TERM_DIAGONAL,
    .name = "DIAGONAL",
    .fields = HEED_FIELD_LEFT,
    .positional = true,
    .lower = lower,
    .sees = sees,
};
