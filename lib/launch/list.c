/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The operand table as users see it.
 */
#include "../core/sized.h"
#include "operands.h"

#include <string.h>

_Static_assert(sizeof(heed_operand) == HEED_OPERAND_V1, "the first version of heed_operand");
_Static_assert(sizeof(((heed_operand *)0)->name) == HEED_FIELD, "names are copied whole");

static void describe(const struct heed_plan_operand *x, heed_operand *to)
{
    memset(to, 0, sizeof(*to));
    heed_operand_name(to->name, x->name, x->index);
    to->role = x->role;
    to->same_as = x->same_as;
    if (x->view.dtype == 0)
        return;
    to->flags = x->constant != NULL ? HEED_OPERAND_CONSTANT : 0;
    to->tensor.dtype = x->view.dtype;
    to->tensor.ndim = 6;
    memcpy(to->tensor.shape, x->view.shape, sizeof(to->tensor.shape));
    memcpy(to->tensor.stride, x->view.stride, sizeof(to->tensor.stride));
    if (x->constant != NULL)
        return;
    to->low = x->low;
    to->high = x->high;
}

heed_status heed_plan_operands(const heed_plan *plan, heed_operand *operands, uint32_t n,
                               uint32_t operand_size, uint32_t *count)
{
    const size_t copied = operand_size < sizeof(*operands) ? operand_size : sizeof(*operands);
    heed_operand operand;

    if (plan == NULL || (operands == NULL && n > 0))
        return HEED_E_NULL;
    if (operand_size < HEED_OPERAND_V1)
        return HEED_E_SIZE;
    for (uint32_t i = 0; i < plan->n_operands && i < n; i++) {
        char *to = (char *)operands + (size_t)i * operand_size;

        describe(&plan->operands[i], &operand);
        memset(to, 0, operand_size);
        memcpy(to, &operand, copied);
    }
    if (count != NULL)
        *count = plan->n_operands;
    return HEED_OK;
}
