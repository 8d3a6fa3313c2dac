/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Point 6 of the check for q, o, lse, sinks, k and v: puts their axes in place, finds the batch
 * extents all agree on and compares the rest. The slots follow in check_slot.c.
 */
#include "check_state.h"

#include <stdio.h>

void heed_check_place(const heed_tensor *t, uint32_t trailing, uint32_t end, int64_t shape[6],
                      int64_t stride[6])
{
    bool empty = false;

    for (int i = 0; i < 6; i++) {
        shape[i] = 1;
        stride[i] = 0;
    }
    for (uint32_t j = 0; j < t->ndim; j++) { /* j-th axis from the last */
        const uint32_t from = t->ndim - 1 - j, to = j < trailing ? end - 1 - j : 2 - (j - trailing);

        shape[to] = t->shape[from];
        stride[to] = shape[to] == 1 ? 0 : t->stride[from];
        empty |= shape[to] == 0;
    }
    for (int i = 0; i < 6 && empty; i++)
        stride[i] = 0;
}

heed_status heed_check_shape_fail(struct heed_check *c, const char *prefix, const heed_tensor *t,
                                  uint32_t trailing, uint32_t end, uint32_t axis, int64_t wanted,
                                  const char *why)
{
    const uint32_t j = axis < 3 ? trailing + 2 - axis : end - 1 - axis;
    const int64_t got = j < t->ndim ? t->shape[t->ndim - 1 - j] : 1;

    if (j < t->ndim)
        heed_check_at(c, "%s.shape[%u]", prefix, (unsigned)(t->ndim - 1 - j));
    else
        heed_check_at(c, "%s.ndim", prefix);
    return heed_report_fill(c->report, HEED_E_SHAPE, c->field, wanted, got,
                            "%s: extent %lld, wanted %lld: %s", prefix, (long long)got,
                            (long long)wanted, why);
}

static void place_main(const heed_tensor *t, struct heed_view *v)
{
    v->dtype = t->dtype;
    heed_check_place(t, 3, 6, v->shape, v->stride);
}

/* Merges one input's batch extents into the common ones. */
static heed_status batch_merge(struct heed_check *c, const char *prefix, const heed_tensor *t,
                               uint32_t trailing, const int64_t shape[6])
{
    for (uint32_t a = 0; a < 3; a++) {
        int64_t *common = &c->out->batch[a];

        if (shape[a] == 1 || shape[a] == *common)
            continue;
        if (*common != 1)
            return heed_check_shape_fail(c, prefix, t, trailing, 6, a, *common,
                                         "batch extents disagree");
        *common = shape[a];
    }
    return HEED_OK;
}

static heed_status batch_one(struct heed_check *c, const char *prefix, const heed_tensor *t,
                             uint32_t trailing, uint32_t end, const int64_t shape[6])
{
    for (uint32_t a = 0; a < 3; a++) {
        if (shape[a] != 1)
            return heed_check_shape_fail(c, prefix, t, trailing, end, a, 1,
                                         "RAGGED tensors have batch extent 1");
    }
    return HEED_OK;
}

/* What one input says about the batch: itself, or for RAGGED its begins. */
static heed_status batch_of(struct heed_check *c, const char *prefix, const heed_tensor *t,
                            const int64_t shape[6], uint32_t layout, uint32_t slot)
{
    int64_t begins[6], stride[6];
    char name[HEED_CHECK_PATH];
    heed_status status;

    if (layout != HEED_LAYOUT_RAGGED)
        return batch_merge(c, prefix, t, 3, shape);
    status = batch_one(c, prefix, t, 3, 6, shape);
    if (status < 0)
        return status;
    snprintf(name, sizeof(name), "slots[%u].t", (unsigned)(slot - 1));
    heed_check_place(&c->slots[slot - 1].t, 0, 3, begins, stride);
    return batch_merge(c, name, &c->slots[slot - 1].t, 0, begins);
}

static heed_status batch_find(struct heed_check *c)
{
    struct heed_checked *out = c->out;
    heed_status status;

    for (int a = 0; a < 3; a++)
        out->batch[a] = 1;
    place_main(&c->d.q, &out->q);
    status = batch_of(c, "q", &c->d.q, out->q.shape, c->d.q_layout, c->d.q_slot);
    for (uint32_t s = 0; s < c->d.n_sources && status >= 0; s++) {
        const heed_source *source = &c->sources[s].s;
        struct heed_checked_source *to = c->sources[s].to;
        char name[HEED_CHECK_PATH];

        place_main(&source->k, &to->k);
        place_main(&source->v, &to->v);
        snprintf(name, sizeof(name), "sources[%u].k", (unsigned)s);
        status = batch_of(c, name, &source->k, to->k.shape, source->layout, source->slot);
        snprintf(name, sizeof(name), "sources[%u].v", (unsigned)s);
        if (status >= 0)
            status = batch_of(c, name, &source->v, to->v.shape, source->layout, source->slot);
    }
    return status;
}

/* An axis of a tensor placed with trailing axes before view axis `end`. */
static heed_status axis_is(struct heed_check *c, const char *prefix, const heed_tensor *t,
                           uint32_t end, uint32_t axis, int64_t got, int64_t wanted,
                           const char *why)
{
    if (got == wanted)
        return HEED_OK;
    return heed_check_shape_fail(c, prefix, t, end - 3, end, axis, wanted, why);
}

static heed_status source_shape(struct heed_check *c, uint32_t s)
{
    const heed_source *source = &c->sources[s].s;
    struct heed_checked_source *to = c->sources[s].to;
    const int64_t heads = c->out->heads, key_heads = to->k.shape[3];
    char k[HEED_CHECK_PATH], v[HEED_CHECK_PATH];
    heed_status status;

    snprintf(k, sizeof(k), "sources[%u].k", (unsigned)s);
    snprintf(v, sizeof(v), "sources[%u].v", (unsigned)s);
    if (key_heads == 0 ? heads != 0 : heads % key_heads != 0)
        return heed_check_shape_fail(c, k, &source->k, 3, 6, 3, heads,
                                     "key heads must divide the heads of q");
    if ((status = axis_is(c, k, &source->k, 6, 5, to->k.shape[5], c->out->d,
                          "channels of q and k")) < 0 ||
        (status = axis_is(c, v, &source->v, 6, 3, to->v.shape[3], key_heads, "heads of k and v")) <
            0 ||
        (status = axis_is(c, v, &source->v, 6, 4, to->v.shape[4], to->k.shape[4],
                          "keys of k and v")) < 0 ||
        (status = axis_is(c, v, &source->v, 6, 5, to->v.shape[5], c->out->d_v,
                          "channels of v and o")) < 0)
        return status;
    to->heads = key_heads == 0 ? 1 : key_heads;
    to->n_k = to->k.shape[4];
    return HEED_OK;
}

/* o, or lse without a channel axis. */
static heed_status output_shape(struct heed_check *c, const char *name, const heed_tensor *t,
                                uint32_t end, struct heed_view *v)
{
    heed_status status;

    v->dtype = t->dtype;
    heed_check_place(t, end - 3, end, v->shape, v->stride);
    if (c->d.q_layout == HEED_LAYOUT_RAGGED) {
        status = batch_one(c, name, t, end - 3, end, v->shape);
        if (status < 0)
            return status;
    }
    for (uint32_t a = 0; a < 3 && c->d.q_layout != HEED_LAYOUT_RAGGED; a++) {
        status = axis_is(c, name, t, end, a, v->shape[a], c->out->batch[a],
                         "outputs have every batch item");
        if (status < 0)
            return status;
    }
    status = axis_is(c, name, t, end, 3, v->shape[3], c->out->heads, "heads of q");
    if (status < 0)
        return status;
    return axis_is(c, name, t, end, 4, v->shape[4], c->out->q.shape[4], "rows of q");
}

static heed_status sinks_shape(struct heed_check *c)
{
    struct heed_view *v = &c->out->sinks;

    if (c->d.sinks.ndim == 0)
        return HEED_OK;
    v->dtype = c->d.sinks.dtype;
    heed_check_place(&c->d.sinks, 1, 6, v->shape, v->stride);
    if (v->shape[5] == c->out->heads)
        return HEED_OK;
    return heed_check_shape_fail(c, "sinks", &c->d.sinks, 1, 6, 5, c->out->heads, "heads of q");
}

static void expand(const struct heed_checked *out, struct heed_view *v)
{
    for (int a = 0; a < 3; a++) {
        if (v->shape[a] == 1)
            v->shape[a] = out->batch[a];
    }
}

static heed_status shapes_compare(struct heed_check *c)
{
    struct heed_checked *out = c->out;
    heed_status status = HEED_OK;

    out->heads = out->q.shape[3];
    out->n_q = out->q.shape[4];
    out->d = out->q.shape[5];
    out->d_v = c->d.o.shape[c->d.o.ndim - 1];
    for (uint32_t s = 0; s < c->d.n_sources && status >= 0; s++)
        status = source_shape(c, s);
    if (status >= 0)
        status = output_shape(c, "o", &c->d.o, 6, &out->o);
    if (status >= 0 && c->d.lse.ndim != 0)
        status = output_shape(c, "lse", &c->d.lse, 5, &out->lse);
    if (status >= 0)
        status = sinks_shape(c);
    return status;
}

heed_status heed_check_shapes(struct heed_check *c)
{
    heed_status status = heed_check_slots_axes(c);

    if (status >= 0)
        status = batch_find(c);
    if (status >= 0)
        status = shapes_compare(c);
    if (status < 0)
        return status;
    expand(c->out, &c->out->q);
    for (uint32_t s = 0; s < c->d.n_sources; s++) {
        expand(c->out, &c->sources[s].to->k);
        expand(c->out, &c->sources[s].to->v);
    }
    heed_check_slots_cut(c);
    return heed_check_slots_shape(c);
}
