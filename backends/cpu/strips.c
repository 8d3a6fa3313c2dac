/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * How the query rows of an item are cut into strips: as the device kernels do it
 * (kernels/strips.h).
 */
#include "../kernels/strips.h"

#include "state.h"

int64_t heed_strips_count(const struct heed_cpu_state *state, int64_t n)
{
    return hk_strips_count(state->rows, state->row_step, state->group, n);
}

int64_t heed_strips_rows(const struct heed_cpu_state *state, int64_t n, int64_t strip,
                         int64_t *indices)
{
    struct hk_strip_rows rows;

    hk_strips_rows(state->rows, state->row_step, state->group, n, strip, &rows);
    for (int64_t i = 0; i < rows.count; i++)
        indices[i] = rows.first + i * rows.step;
    return rows.count;
}
