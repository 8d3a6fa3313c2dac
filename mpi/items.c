/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Batch items, and what constant slots say of them. A slot has an item's entries behind its batch
 * axes, of which those that are missing or have extent 1 are the same for all items.
 */
#include "ranks.h"

/* The slot's axis that is axis i of the batch; -1: it is missing. */
static int axis_of(const heed_tensor *t, uint32_t own, int i)
{
    return i + (int)(t->ndim - own) - 3;
}

void heed_mpi_batch_join(int64_t batch[3], const heed_tensor *t, uint32_t own)
{
    for (int i = 0; i < 3; i++) {
        const int axis = axis_of(t, own, i);

        if (axis >= 0 && t->shape[axis] != 1)
            batch[i] = t->shape[axis];
    }
}

int64_t heed_mpi_batch_items(const int64_t batch[3])
{
    return batch[0] * batch[1] * batch[2];
}

void heed_mpi_batch_at(const int64_t batch[3], int64_t item, int64_t at[3])
{
    for (int i = 2; i >= 0; i--) {
        at[i] = item % batch[i];
        item /= batch[i];
    }
}

heed_tensor heed_mpi_batch_array(uint32_t dtype, const int64_t batch[3], uint32_t own,
                                 const int64_t *extents)
{
    int64_t shape[6] = { batch[0], batch[1], batch[2] };

    for (uint32_t i = 0; i < own; i++)
        shape[3 + i] = extents[i];
    return heed_array_dense(dtype, NULL, 3 + own, shape).t;
}

int64_t heed_mpi_slot_offset(const heed_tensor *t, uint32_t own, const int64_t at[3])
{
    int64_t offset = 0;

    for (int i = 0; i < 3; i++) {
        const int axis = axis_of(t, own, i);

        if (axis >= 0 && t->shape[axis] != 1)
            offset += at[i] * t->stride[axis];
    }
    return offset;
}

int64_t heed_mpi_slot_get(const heed_slot *slot, const int64_t at[3])
{
    const int64_t offset = heed_mpi_slot_offset(&slot->t, 0, at);

    return slot->t.dtype == HEED_I64 ? ((const int64_t *)slot->data)[offset]
                                     : ((const int32_t *)slot->data)[offset];
}
