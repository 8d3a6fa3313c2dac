/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The list of patterns.
 */
#ifndef HEED_TOOLS_PATTERNS_KINDS_H
#define HEED_TOOLS_PATTERNS_KINDS_H

#include "patterns/pattern.h"

struct pattern_kind {
    const char *name, *title;
    const char *paper, *picture;        /* "key=value,...": its own numbers, the same in both */
    /* Fills `m`, `sets` and memory of its own; HEED_E_NOMEM: none is left for it. */
    heed_status (*make)(const struct pattern_choice *, struct pattern *, heed_report *);
};

extern const struct pattern_kind pattern_kinds[];
extern const uint32_t pattern_n_kinds;

#endif
