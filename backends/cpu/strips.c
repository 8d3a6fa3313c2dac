/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * How the query rows of an item are cut into strips. Rows of a strip share the residue of every
 * PHASE_QUERY comb, so they lie row_step apart; with LISTED sources they share a list, so they stay
 * within one group.
 */
#include "state.h"

static int64_t parts(int64_t n, int64_t size)
{
    return n / size + (n % size != 0);
}

static int64_t step_of(const struct heed_cpu_state *state, int64_t n)
{
    if (state->group > 0)
        return 1;
    return state->row_step < n ? state->row_step : n;
}

static int64_t group_of(const struct heed_cpu_state *state, int64_t n)
{
    return state->group > 0 && state->group < n ? state->group : n;
}

int64_t heed_strips_count(const struct heed_cpu_state *state, int64_t n)
{
    if (n <= 0)
        return 0;
    const int64_t step = step_of(state, n), group = group_of(state, n);

    return parts(n, group) * step * parts(parts(group, step), state->rows);
}

int64_t heed_strips_rows(const struct heed_cpu_state *state, int64_t n, int64_t strip,
                         int64_t *indices)
{
    const int64_t step = step_of(state, n), group = group_of(state, n);
    const int64_t per_residue = parts(parts(group, step), state->rows),
                  per_group = step * per_residue;
    const int64_t base = strip / per_group * group, end = base + group < n ? base + group : n;
    const int64_t residue = strip % per_group / per_residue, part = strip % per_residue;
    int64_t count = 0;

    for (int64_t i = 0; i < state->rows; i++) {
        const int64_t row = base + residue + step * (part * state->rows + i);

        if (row >= end)
            break;
        indices[count++] = row;
    }
    return count;
}
