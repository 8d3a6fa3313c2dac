/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The example of pooling with one fault, which the environment variable ZOO names, or none.
 * others.def has the verdict that each must get.
 */
#include <heed/plugin.h>

static heed_kernel_entry_type example_entry;
#define heed_kernel_entry example_entry
#include "../../examples/plugin/pool.c"
#undef heed_kernel_entry

static int fault_is(const char *name)
{
    const char *const zoo = getenv("ZOO");

    return zoo && strcmp(zoo, name) == 0;
}

static heed_status faulty_prepare(void *self, const char *op, const void *desc, void **out,
                                  heed_plan_props *props)
{
    const heed_status status = prepare(self, op, desc, out, props);
    struct state *const s = *out;

    if (status < 0)
        return status;
    if (fault_is("window_short") && s->kernel > 1)
        s->kernel--;
    if (fault_is("row_unwritten") && s->y.shape[s->y.ndim - 2] > 0)
        s->y.shape[s->y.ndim - 2]--;
    return status;
}

static heed_status faulty_run(void *state, const heed_buf *at, uint32_t n, const heed_run *how)
{
    const struct state *const s = state;
    const heed_status status = run(state, at, n, how);
    int64_t elements = 1;

    for (uint32_t axis = 0; axis < s->y.ndim; axis++)
        elements *= s->y.shape[axis];
    if (fault_is("writes_input") && at[X].handle && elements > 0)
        *(volatile float *)((char *)at[X].handle + at[X].offset) = 1;
    return status;
}

heed_status heed_kernel_entry(uint32_t host_major, const heed_host_api *host, heed_kernel_api *out)
{
    const heed_status status = example_entry(host_major, host, out);

    out->prepare = faulty_prepare;
    out->run = faulty_run;
    return status;
}
