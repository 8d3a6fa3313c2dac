/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A faulty device for the tests of heed-conform and of the programs that it writes: linked with
 * this file they find the calls of attention and of copy here. The first element of o that the
 * device "cpu" computes is wrong then, if the attention has all the features that HEED_TEST_FAULT
 * names, with blanks between them; with the name "copy" the first element of y is.
 */
#include <heed/attn.h>
#include <heed/memory.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

heed_status __real_heed_attn_plan(heed_device *, const heed_attn_desc *, heed_plan **,
                                  heed_report *);
heed_status __real_heed_attn_run(const heed_plan *, heed_queue *, const heed_attn_args *,
                                 heed_event **, heed_report *);
heed_status __wrap_heed_attn_plan(heed_device *, const heed_attn_desc *, heed_plan **,
                                  heed_report *);
heed_status __wrap_heed_attn_run(const heed_plan *, heed_queue *, const heed_attn_args *,
                                 heed_event **, heed_report *);
heed_status __real_heed_copy_plan(heed_device *, const heed_copy_desc *, heed_plan **,
                                  heed_report *);
heed_status __wrap_heed_copy_plan(heed_device *, const heed_copy_desc *, heed_plan **,
                                  heed_report *);
heed_status __real_heed_plan_run(const heed_plan *, heed_queue *, const heed_buf *, uint32_t,
                                 const heed_run *, heed_event **, heed_report *);
heed_status __wrap_heed_plan_run(const heed_plan *, heed_queue *, const heed_buf *, uint32_t,
                                 const heed_run *, heed_event **, heed_report *);

/* The faulty plan made last: heed-conform runs it before it makes another. */
static const heed_plan *last;

static bool has_anything(const heed_source *s)
{
    return s != NULL;
}

static bool has_bias(const heed_source *s)
{
    return s->n_biases > 0;
}

static bool has_window(const heed_source *s)
{
    return s->n_terms > 0 && s->terms->kind == HEED_TERM_WINDOW;
}

static bool has_mask(const heed_source *s)
{
    return s->mask_slot != 0;
}

static bool has_pages(const heed_source *s)
{
    return s->layout == HEED_LAYOUT_PAGED;
}

static bool has_list(const heed_source *s)
{
    return s->layout == HEED_LAYOUT_LISTED;
}

static bool has_bytes(const heed_source *s)
{
    return s->k.dtype == HEED_I8;
}

static bool has_width(const heed_source *s)
{
    return s->k.ndim > 1 && s->k.shape[s->k.ndim - 1] >= 64 && s->k.shape[s->k.ndim - 2] >= 64;
}

/* Of the first source; those without a function are looked at in `has`. */
static const struct {
    const char *name;
    bool (*has)(const heed_source *);
} features[] = {
    { "bias", has_bias },   { "window", has_window }, { "mask", has_mask },
    { "pages", has_pages }, { "list", has_list },     { "bytes", has_bytes },
    { "large", has_width }, { "any", has_anything },
    { "single", NULL },     { "natural", NULL },
    { "sinks", NULL },      { "groups", NULL },       { "sources", NULL },
};

static bool has(const heed_attn_desc *d, const char *name)
{
    for (size_t i = 0; i < sizeof features / sizeof *features; i++) {
        if (!strcmp(features[i].name, name) && features[i].has)
            return d->n_sources > 0 && features[i].has(&d->sources[0]);
    }
    if (!strcmp(name, "single"))
        return d->o.ndim > 3 && d->o.shape[0] == 1;
    if (!strcmp(name, "natural"))
        return d->o.ndim > 3 && d->o.stride[3] == 1 && d->o.stride[2] == d->o.shape[3];
    if (!strcmp(name, "sinks"))
        return d->sinks.ndim > 0;
    if (!strcmp(name, "sources"))
        return d->n_sources > 1;
    return d->n_sources > 0 && d->q.ndim > 2 && d->sources[0].k.ndim > 2 &&
           d->q.shape[d->q.ndim - 3] > d->sources[0].k.shape[d->sources[0].k.ndim - 3];
}

static bool is_faulty(heed_device *device)
{
    return strncmp(heed_device_name(device), "cpu", 3) == 0;
}

static void spoil(heed_buf at)
{
    if (at.handle)
        ((unsigned char *)at.handle)[at.offset] ^= 1;
}

static bool has_all(const heed_attn_desc *d)
{
    const char *const wanted = getenv("HEED_TEST_FAULT");
    char names[128] = "";

    if (!wanted || !wanted[0] || strlen(wanted) >= sizeof names)
        return false;
    memcpy(names, wanted, strlen(wanted));
    for (char *name = strtok(names, " "); name; name = strtok(NULL, " ")) {
        if (!has(d, name))
            return false;
    }
    return true;
}

heed_status __wrap_heed_attn_plan(heed_device *device, const heed_attn_desc *desc, heed_plan **plan,
                                  heed_report *report)
{
    const heed_status status = __real_heed_attn_plan(device, desc, plan, report);

    last = NULL;
    if (status >= 0 && is_faulty(device) && has_all(desc))
        last = *plan;
    return status;
}

heed_status __wrap_heed_attn_run(const heed_plan *plan, heed_queue *queue,
                                 const heed_attn_args *args, heed_event **event,
                                 heed_report *report)
{
    const heed_status status = __real_heed_attn_run(plan, queue, args, event, report);

    if (status >= 0 && plan && plan == last)
        spoil(args->o);
    return status;
}

heed_status __wrap_heed_copy_plan(heed_device *device, const heed_copy_desc *desc, heed_plan **plan,
                                  heed_report *report)
{
    const heed_status status = __real_heed_copy_plan(device, desc, plan, report);
    const char *const wanted = getenv("HEED_TEST_FAULT");

    last = NULL;
    if (status >= 0 && is_faulty(device) && wanted && !strcmp(wanted, "copy"))
        last = *plan;
    return status;
}

/* The first output is spoiled. */
heed_status __wrap_heed_plan_run(const heed_plan *plan, heed_queue *queue, const heed_buf *at,
                                 uint32_t n, const heed_run *run, heed_event **event,
                                 heed_report *report)
{
    const heed_status status = __real_heed_plan_run(plan, queue, at, n, run, event, report);
    heed_operand operands[128];

    if (status < 0 || !plan || plan != last ||
        heed_plan_operands(plan, operands, 128, sizeof *operands, NULL) < 0)
        return status;
    for (uint32_t i = 0; i < n; i++) {
        if (operands[i].role != HEED_ROLE_IN && operands[i].low != operands[i].high) {
            spoil(at[i]);
            break;
        }
    }
    return status;
}
