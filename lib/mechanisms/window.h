/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The sliding window with global tokens, which Longformer and Poolingformer have in common.
 */
#ifndef HEED_LIB_MECHANISMS_WINDOW_H
#define HEED_LIB_MECHANISMS_WINDOW_H

#include "build.h"

struct heed_global_window {
    int64_t n;
    heed_slot globals;
    int64_t n_globals, window, dilation;
    uint32_t flags;             /* HEED_TERM_KEYS, HEED_TERM_ROWS */
};

/* Adds the text as a source with both terms; HEED_E_VALUE for what G cannot be. */
HEED_MUST_CHECK
heed_status heed_builder_window(struct heed_builder *b, const heed_keys *text,
                                const struct heed_global_window *w);

#endif
