/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * heed as a plug-in, of every operation, whose first output has another word in its first element
 * where what must not matter is so: which that is says the environment variable ZOO; nudged.def has
 * the property that is broken then.
 */
#include <heed/plugin.h>

static heed_kernel_entry_type right_entry;
#define heed_kernel_entry right_entry
#include "heed.c"
#undef heed_kernel_entry

enum { OPERANDS = 128 };

/* A plan of heed's, and what of it decides. */
struct nudged {
    void *plan;
    int output;    /* number of the first output that has elements; -1: there is none */
    int64_t count; /* its elements */
    int64_t runs;
};

static uint32_t width;

static int is(const char *name)
{
    const char *const zoo = getenv("ZOO");

    return zoo && strcmp(zoo, name) == 0;
}

static void output_find(struct nudged *s)
{
    heed_operand list[OPERANDS];
    uint32_t n = 0;

    s->output = -1;
    if (heed_plan_operands(s->plan, list, OPERANDS, sizeof *list, &n) < 0)
        return;
    for (uint32_t i = 0; i < n && i < OPERANDS && s->output < 0; i++) {
        const heed_tensor *const t = &list[i].tensor;

        if (list[i].role == HEED_ROLE_IN || list[i].high <= list[i].low)
            continue;
        s->output = (int)i;
        s->count = 1;
        for (uint32_t axis = 0; axis < t->ndim; axis++)
            s->count *= t->shape[axis];
    }
}

static heed_status nudged_prepare(void *self, const char *op, const void *desc, void **out,
                                  heed_plan_props *props)
{
    struct nudged *const s = calloc(1, sizeof *s);
    heed_status status;

    if (!s)
        return HEED_E_NOMEM;
    status = prepare(self, op, desc, &s->plan, props);
    if (status < 0) {
        free(s);
        return status;
    }
    output_find(s);
    *out = s;
    return status;
}

static int matters(const struct nudged *s, const heed_buf *at)
{
    return (is("of_run") && s->runs > 1) || (is("of_width") && width == 8) ||
           (is("of_place") &&
            ((uintptr_t)at[s->output].handle + (uintptr_t)at[s->output].offset) % 64 != 0) ||
           (is("of_count") && s->count > 1);
}

static heed_status nudged_run(void *state, const heed_buf *at, uint32_t n, const heed_run *how)
{
    struct nudged *const s = state;
    const heed_status status = run(s->plan, at, n, how);

    s->runs++;
    if (s->output >= 0 && matters(s, at))
        *((unsigned char *)at[s->output].handle + at[s->output].offset) ^= 1;
    return status;
}

static void nudged_release(void *state)
{
    struct nudged *const s = state;

    release(s->plan);
    free(s);
}

heed_status heed_kernel_entry(uint32_t host_major, const heed_host_api *host, heed_kernel_api *out)
{
    const heed_status status = right_entry(host_major, host, out);

    width = host->executor->width;
    out->prepare = nudged_prepare;
    out->run = nudged_run;
    out->release = nudged_release;
    return status;
}
