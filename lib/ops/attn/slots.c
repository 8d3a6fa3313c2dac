/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Reading single entries of auxiliary arrays on the host.
 */
#include "slots.h"

#include "../../types/types.h"

const void *heed_slots_base(const struct heed_aux *aux, const void *const *slots)
{
    if (aux->slot == 0 || aux->data)
        return aux->data;
    return slots ? slots[aux->slot - 1] : NULL;
}

bool heed_slots_empty(const struct heed_aux *aux)
{
    for (int i = 0; i < 6; i++) {
        if (aux->shape[i] == 0)
            return true;
    }
    return false;
}

int64_t heed_slots_get(const struct heed_aux *aux, const void *base, const int64_t index[6])
{
    int64_t offset = 0;

    for (int i = 0; i < 6; i++)
        offset += index[i] * aux->stride[i];
    return heed_dtype_load_i64(aux->dtype,
                               (const char *)base + offset * (int64_t)heed_dtype_size(aux->dtype));
}

void heed_slots_item(const struct heed_checked *attn, int64_t item, int64_t index[6])
{
    index[2] = item % attn->batch[2];
    item /= attn->batch[2];
    index[1] = item % attn->batch[1];
    index[0] = item / attn->batch[1];
}

int heed_slots_next(int64_t index[6], const int64_t limit[6])
{
    for (int i = 5; i >= 0; i--) {
        if (++index[i] < limit[i])
            return 1;
        index[i] = 0;
    }
    return 0;
}
