/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the oracle knows of an element of an output of attention.
 */
#ifndef HEED_TOOLS_CONFORM_OPS_ATTN_CELL_H
#define HEED_TOOLS_CONFORM_OPS_ATTN_CELL_H

/* It must be as `kind` says, or within `bound` of `want`. */
enum { CELL_ANYTHING, CELL_WITHIN, CELL_NAN, CELL_NOT_FINITE };
struct cf_cell {
    int kind;
    double want, bound;
};

#endif
