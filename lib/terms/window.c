/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * WINDOW: keys whose covered positions meet [a - left, a + block - 1 + right], a = floor(q / block)
 * * block. With block 1 a sliding window (Beltagy et al. 2020), with block b a blockwise one
 * (Condevaux and Harispe 2022).
 */
#include "terms.h"

static void lower(const struct heed_checked_term *term, const struct heed_checked_source *source,
                  struct heed_term_form *out)
{
    struct hk_range range = { .block = term->block, .kind = HK_RANGE_AFFINE };

    /* Ends that have crossed meet nothing, not even a wide key. */
    if (term->left != HEED_FAR && term->right != HEED_FAR &&
        term->left + term->right + term->block - 1 < 0) {
        *out = (struct heed_term_form){ .has_range = true,
                                        .range = { .lo = 1, .block = 1, .kind = HK_RANGE_AFFINE } };
        return;
    }
    /* The last covered position of a key must reach a - left, its first must not pass a + block - 1
     * + right. */
    if (term->left == HEED_FAR)
        range.open |= HK_OPEN_LO;
    else
        range.lo = -term->left - (source->pos_span - 1);
    if (term->right == HEED_FAR)
        range.open |= HK_OPEN_HI;
    else
        range.hi = term->block - 1 + term->right;
    *out = (struct heed_term_form) { .has_range = true, .range = range };
}

/* Toward -Inf; b > 0. */
static int64_t floor_multiple(int64_t a, int64_t b)
{
    const int64_t rest = a % b;

    return rest < 0 ? a - rest - b : a - rest;
}

/* Do the positions covered meet [a - left, a + block - 1 + right]? An interval whose ends are
 * crossed meets nothing. */
static bool sees(const struct heed_look *look, const struct heed_checked_term *term, int64_t key)
{
    const int64_t a = floor_multiple(look->position, term->block);
    const int64_t first = heed_look_first(look, key), last = first + look->source->pos_span - 1;
    const int64_t low = term->left == HEED_FAR ? INT64_MIN : a - term->left;
    const int64_t high = term->right == HEED_FAR ? INT64_MAX : a + term->block - 1 + term->right;

    return low <= high && last >= low && first <= high;
}

const struct heed_term_kind heed_term_window = {
    .kind = HEED_TERM_WINDOW,
    .name = "WINDOW",
    .fields =
        HEED_FIELD_LEFT | HEED_FIELD_RIGHT | HEED_FIELD_STEP | HEED_FIELD_PHASE | HEED_FIELD_BLOCK,
    .flags = HEED_TERM_PHASE_HEAD | HEED_TERM_PHASE_QUERY,
    .positional = true,
    .lower = lower,
    .sees = sees,
};
