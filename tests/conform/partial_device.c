/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A partial device for the tests of heed-conform, which is linked with this file so that it finds
 * heed_attn_check, heed_attn_plan and heed_attn_run here. The device "cpu" then takes what a kernel
 * of somebody's own may take: one dense source of f16 with 64 or 128 channels, a window or none,
 * nothing else. HEED_TEST_FAULT puts a fault into it: "window", rows 63 modulo 64 see one key too
 * many on the left; "channels", those from 64 on are wrong; "silent", refusals name no field;
 * "late", plan refuses what check takes.
 */
#include <heed/attn.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

heed_status __real_heed_attn_check(heed_device *, const heed_attn_desc *, heed_report *);
heed_status __real_heed_attn_plan(heed_device *, const heed_attn_desc *, heed_plan **,
                                  heed_report *);
heed_status __real_heed_plan_run(const heed_plan *, heed_queue *, const heed_buf *, uint32_t,
                                 const heed_run *, heed_event **, heed_report *);
heed_status __wrap_heed_attn_check(heed_device *, const heed_attn_desc *, heed_report *);
heed_status __wrap_heed_attn_plan(heed_device *, const heed_attn_desc *, heed_plan **,
                                  heed_report *);
heed_status __wrap_heed_plan_run(const heed_plan *, heed_queue *, const heed_buf *, uint32_t,
                                 const heed_run *, heed_event **, heed_report *);

/* The plan made last: heed-conform runs it before it makes another. */
static struct {
    const heed_plan *plan;
    heed_plan *wider; /* the same with one key more on the left; NULL: no fault in windows */
    heed_tensor o;
} last;

static bool fault_is(const char *name)
{
    const char *const fault = getenv("HEED_TEST_FAULT");

    return fault && strcmp(fault, name) == 0;
}

static bool is_partial(heed_device *device)
{
    heed_device_props props = { .size = sizeof props };

    return heed_device_info(device, &props) >= 0 && strncmp(props.name, "cpu", 3) == 0;
}

static int64_t channels(const heed_tensor *t)
{
    return t->ndim ? t->shape[t->ndim - 1] : 0;
}

/* The first field that the device does not take; NULL: it takes the call. */
static const char *refused_field(const heed_attn_desc *d)
{
    const heed_source *const s = d->sources;
    const int64_t width = channels(&d->q);

    if (d->q.dtype != HEED_F16)
        return "q.dtype";
    if (d->n_sources != 1)
        return "n_sources";
    if (s->layout != HEED_LAYOUT_DENSE || d->q_layout != HEED_LAYOUT_DENSE)
        return s->layout != HEED_LAYOUT_DENSE ? "sources[0].layout" : "q_layout";
    if (s->k.dtype != HEED_F16 || s->v.dtype != HEED_F16)
        return s->k.dtype != HEED_F16 ? "sources[0].k.dtype" : "sources[0].v.dtype";
    if (width != 64 && width != 128)
        return "q.shape";
    if (channels(&s->v) != width)
        return "sources[0].v.shape";
    if (d->o.dtype != HEED_F32 || d->lse.ndim || d->sinks.ndim)
        return d->o.dtype != HEED_F32 ? "o.dtype" : d->lse.ndim ? "lse" : "sinks";
    if (d->state_in.ndim)
        return "state_in";
    if (s->n_biases || s->mask_slot || s->row_mask_slot)
        return s->n_biases    ? "sources[0].biases"
               : s->mask_slot ? "sources[0].mask_slot"
                              : "sources[0].row_mask_slot";
    if (s->n_terms > 1 || (s->n_terms && (s->terms->kind != HEED_TERM_WINDOW ||
                                          s->terms->step > 1 || s->terms->block > 1)))
        return "sources[0].terms[0].kind";
    return NULL;
}

static heed_status refuse(const char *field, heed_report *report)
{
    if (report) {
        report->status = HEED_E_UNSUPPORTED;
        snprintf(report->field, sizeof report->field, "%s", fault_is("silent") ? "" : field);
        snprintf(report->message, sizeof report->message, "this kernel does not take that");
    }
    return HEED_E_UNSUPPORTED;
}

heed_status __wrap_heed_attn_check(heed_device *device, const heed_attn_desc *desc,
                                   heed_report *report)
{
    const heed_status status = __real_heed_attn_check(device, desc, report);
    const char *const field =
        status >= 0 && is_partial(device) && !fault_is("late") ? refused_field(desc) : NULL;

    return field ? refuse(field, report) : status;
}

static void wider_plan(heed_device *device, const heed_attn_desc *desc)
{
    heed_attn_desc wide = *desc;
    heed_source source = desc->sources[0];
    heed_term term;

    if (source.n_terms == 0 || source.terms->left == HEED_FAR)
        return;
    term = source.terms[0];
    term.left++;
    source.terms = &term;
    wide.sources = &source;
    wide.flags |= HEED_PLAN_OWN_WORKSPACE;
    if (__real_heed_attn_plan(device, &wide, &last.wider, NULL) < 0)
        last.wider = NULL;
}

heed_status __wrap_heed_attn_plan(heed_device *device, const heed_attn_desc *desc,
                                  heed_plan **plan, heed_report *report)
{
    heed_status status = __real_heed_attn_check(device, desc, NULL);
    const char *const field = status >= 0 && is_partial(device) ? refused_field(desc) : NULL;

    if (field)
        return refuse(field, report);
    status = __real_heed_attn_plan(device, desc, plan, report);
    heed_plan_drop(last.wider);
    last.wider = NULL;
    last.plan = NULL;
    if (status >= 0 && is_partial(device)) {
        last.plan = *plan;
        last.o = desc->o;
        if (fault_is("window"))
            wider_plan(device, desc);
    }
    return status;
}

/* The element of o with that number in row-major order, its row and its channel. */
static unsigned char *element(heed_buf o, int64_t i, int64_t *row, int64_t *channel)
{
    unsigned char *at = (unsigned char *)o.handle + o.offset;

    for (uint32_t axis = last.o.ndim; axis-- > 0;) {
        const int64_t index = i % last.o.shape[axis];

        i /= last.o.shape[axis];
        at += index * last.o.stride[axis] * (int64_t)sizeof(float);
        *row = axis + 2 == last.o.ndim ? index : *row;
        *channel = axis + 1 == last.o.ndim ? index : *channel;
    }
    return at;
}

static int64_t elements(void)
{
    int64_t n = 1;

    for (uint32_t axis = 0; axis < last.o.ndim; axis++)
        n *= last.o.shape[axis];
    return n;
}

/* Operand 1 of attention is o. */
enum { O = 1 };

/* Writes the results of the wider plan into the rows before the ends of blocks of 64. */
static heed_status run_both(const heed_plan *plan, heed_queue *queue, const heed_buf *at_all,
                            uint32_t n_at, const heed_run *run, heed_event **event,
                            heed_report *report)
{
    const int64_t n = elements();
    const heed_buf o = at_all[O];
    float *const kept = malloc((size_t)n * sizeof *kept + 1);
    heed_status status = kept ? __real_heed_plan_run(last.wider, queue, at_all, n_at, NULL, NULL,
                                                     report)
                              : HEED_E_NOMEM;
    int64_t row = 0, channel = 0;

    for (int64_t i = 0; status >= 0 && i < n; i++)
        memcpy(&kept[i], element(o, i, &row, &channel), sizeof *kept);
    if (status >= 0)
        status = __real_heed_plan_run(plan, queue, at_all, n_at, run, event, report);
    for (int64_t i = 0; status >= 0 && i < n; i++) {
        unsigned char *const at = element(o, i, &row, &channel);

        if (row % 64 == 63)
            memcpy(at, &kept[i], sizeof *kept);
    }
    free(kept);
    return status;
}

static void spoil_channels(heed_buf o)
{
    int64_t row = 0, channel = 0;

    for (int64_t i = 0; i < elements(); i++) {
        unsigned char *const at = element(o, i, &row, &channel);

        at[0] ^= channel >= 64;
    }
}

/* The first element is another one where there are several items. */
static void spoil_batch(heed_buf o)
{
    int64_t row = 0, channel = 0;

    if (last.o.ndim > 3 && last.o.shape[0] > 1 && elements() > 0)
        element(o, 0, &row, &channel)[0] ^= 1;
}

heed_status __wrap_heed_plan_run(const heed_plan *plan, heed_queue *queue, const heed_buf *at,
                                 uint32_t n, const heed_run *run, heed_event **event,
                                 heed_report *report)
{
    heed_status status;

    if (plan && plan == last.plan && last.wider)
        return run_both(plan, queue, at, n, run, event, report);
    status = __real_heed_plan_run(plan, queue, at, n, run, event, report);
    if (status >= 0 && plan == last.plan && fault_is("channels"))
        spoil_channels(at[O]);
    if (status >= 0 && plan == last.plan && fault_is("batch"))
        spoil_batch(at[O]);
    return status;
}
