/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * BigBird: windows of three blocks, the first and the last block as global ones, and random blocks
 * (Zaheer et al. 2020, section 2 and appendix D).
 */
#include "build.h"

enum { DESC_V1 = 768 };
_Static_assert(sizeof(heed_bigbird_desc) == DESC_V1, "heed_bigbird_desc may only grow");

/* With `first` tokens before the last block, and blocks of so many: rows before the last block lie
 * in the first of these, rows of the last block, which is not longer, in the second. Rows of the
 * first see the one after theirs, where only the last block has keys; rows of the second see the
 * one before theirs. What lies beyond on the other sides does not exist. */
static void last_block(struct heed_builder *b, int64_t first)
{
    *heed_builder_term(b) = (heed_term){
        .kind = HEED_TERM_WINDOW, .left = -first, .right = first, .block = (int32_t)first
    };
    *heed_builder_term(b) = (heed_term){
        .kind = HEED_TERM_WINDOW, .left = first, .right = -first, .block = (int32_t)first
    };
}

heed_status heed_bigbird(const heed_bigbird_desc *given, heed_mechanism *out, heed_report *report)
{
    struct heed_builder b;
    heed_bigbird_desc d;
    heed_source *chosen;
    int64_t n = 0, blocks;
    heed_status status = heed_builder_open(&b, given, DESC_V1, &d, sizeof(d), 0, out, report);

    if (status >= 0)
        status = heed_builder_self(&b, &d.q, &d.o, &d.text, &n);
    if (status >= 0)
        status = heed_builder_within(&b, "text.k", n, 0, INT32_MAX);
    if (status >= 0)
        status = heed_builder_range(&b, "block", &d.block, 64, INT32_MAX);
    if (status < 0)
        return status;
    blocks = n / d.block + (n % d.block != 0);
    heed_builder_source(&b, &d.text, 0);
    *heed_builder_term(&b) = (heed_term){
        .kind = HEED_TERM_WINDOW, .left = d.block, .right = d.block, .block = (int32_t)d.block
    };
    if (blocks > 1) {
        *heed_builder_term(&b) = (heed_term){
            .kind = HEED_TERM_GLOBAL,
            .flags = HEED_TERM_KEYS | HEED_TERM_ROWS,
            .block = (int32_t)d.block,
        };
        last_block(&b, (blocks - 1) * d.block);
    }
    if (d.random.t.ndim) {
        chosen = heed_builder_source(&b, &d.text, 0);
        chosen->layout = HEED_LAYOUT_LISTED;
        chosen->slot = heed_builder_slot(&b, HEED_MECHANISM_LIST, &d.random);
        chosen->run = (int32_t)d.block;
        chosen->rows = (int32_t)d.block;
    }
    return heed_builder_finish(&b, out);
}
