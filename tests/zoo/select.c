/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The example of selection with one fault, which the environment variable ZOO names, or none.
 * others.def has the verdict that each must get.
 */
#include <heed/plugin.h>

static heed_kernel_entry_type example_entry;
#define heed_kernel_entry example_entry
#include "../../examples/plugin/select.c"
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
    if (fault_is("token_dropped") && s->x.shape[s->x.ndim - 2] > 1)
        s->x.shape[s->x.ndim - 2]--;
    if (fault_is("place_unwritten") && s->y.shape[s->y.ndim - 1] > 1)
        s->y.shape[s->y.ndim - 1]--;
    if (fault_is("scratch_forgotten"))
        props->workspace_size = props->workspace_align = 0;
    return status;
}

heed_status heed_kernel_entry(uint32_t host_major, const heed_host_api *host, heed_kernel_api *out)
{
    const heed_status status = example_entry(host_major, host, out);

    out->prepare = faulty_prepare;
    return status;
}
