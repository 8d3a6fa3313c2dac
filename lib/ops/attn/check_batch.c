/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The batch axes of attention's tensors.
 */
#include "check_state.h"

heed_status heed_check_no_batch(struct heed_check *c, const struct heed_tensor_rule *rule,
                                const heed_tensor *t)
{
    heed_status status = HEED_OK;

    for (uint32_t a = 0; a < 3 && status >= 0; a++)
        status = heed_tensor_axis(&c->where, rule, t, a, 1, "packed tensors have batch extent 1");
    return status;
}

heed_status heed_check_batch(struct heed_check *c, const struct heed_tensor_rule *rule,
                             const heed_tensor *t)
{
    int64_t shape[6], stride[6];

    heed_tensor_place(rule, t, shape, stride);
    for (uint32_t a = 0; a < 3; a++) {
        int64_t *common = &c->out->batch[a];

        if (shape[a] == 1)
            continue;
        if (*common != 1 && *common != shape[a])
            return heed_tensor_axis(&c->where, rule, t, a, *common, "batch extents disagree");
        *common = shape[a];
    }
    return HEED_OK;
}
