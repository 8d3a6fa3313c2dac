/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The operations that the kit knows.
 */
#include "operations.h"
#include "conform/ops/attn/attn.h"

#include <string.h>

#define ROW(name) &fixed_##name.op,

const struct cf_op *const cf_ops[] = { &cf_op_attn, FIXED_OPERATIONS(ROW) };
const int cf_n_ops = (int)(sizeof cf_ops / sizeof *cf_ops);

const struct cf_op *cf_op_find(const char *name)
{
    for (int i = 0; i < cf_n_ops; i++) {
        if (strcmp(cf_ops[i]->name, name) == 0)
            return cf_ops[i];
    }
    return NULL;
}
