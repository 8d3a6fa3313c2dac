/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The operations that the kit knows: the one list.
 */
#include "fixed.h"

#include <string.h>

const struct cf_op *const cf_ops[] = {
    &cf_op_attn,
    &fixed_copy.op,
    &fixed_pool.op,
    &fixed_select.op,
    &fixed_push.op,
    &fixed_merge.op,
    &fixed_lsg.op,
    &fixed_poolingformer2.op,
};
const int cf_n_ops = (int)(sizeof cf_ops / sizeof *cf_ops);

const struct cf_op *cf_op_find(const char *name)
{
    for (int i = 0; i < cf_n_ops; i++) {
        if (strcmp(cf_ops[i]->name, name) == 0)
            return cf_ops[i];
    }
    return NULL;
}

const struct fixed *fixed_of(const struct cf_op *op)
{
    return op == &cf_op_attn ? NULL : (const struct fixed *)(const void *)op;
}
