/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 */
#include "plans.h"

#include <string.h>

static heed_tensor tensor_of(uint32_t type, const int64_t shape[4], const int64_t stride[3])
{
    heed_tensor t = { .dtype = type, .ndim = 4 };

    for (int i = 0; i < 4; i++) {
        t.shape[i] = shape[i];
        t.stride[i] = i < 3 ? stride[i] : 1;
    }
    return t;
}

/* Ranges, i32 [items][n_q][2], dense; one source has them as its only term. */
static void describe_ranges(const struct heed_attend_shape *s, struct heed_attend_described *out)
{
    out->slots[0].t = (heed_tensor){
        .dtype = HEED_I32,
        .ndim = 3,
        .shape = { s->mask_items, s->rows, 2 },
        .stride = { 2 * s->rows, 2, 1 },
    };
    out->term = (heed_term){ .kind = HEED_TERM_SEGMENT, .slot = 1 };
    out->source.terms = &out->term;
    out->source.n_terms = 1;
    out->source.term_size = sizeof out->term;
    out->desc.n_slots = 1;
}

/* Bits, i32 [items][1][n_q][ceil(n_k / 32)], dense. */
static void describe_bits(const struct heed_attend_shape *s, struct heed_attend_described *out)
{
    const int64_t words = (s->keys + 31) / 32;
    const int64_t shape[4] = { s->mask_items, 1, s->rows, words };
    const int64_t stride[3] = { s->rows * words, 0, words };

    out->slots[1].t = tensor_of(HEED_I32, shape, stride);
    out->source.row_mask_slot = 2;
    out->desc.n_slots = 2;
}

/* The mask as it lies; with slopes, f32 [H]. */
static void describe_bias(const struct heed_attend_shape *s, struct heed_attend_described *out)
{
    const int64_t shape[4] = { s->mask_items, 1, s->rows, s->keys };
    const int64_t stride[3] = { s->mask[0], 0, s->mask[1] };

    out->slots[1].t = tensor_of(HEED_F16, shape, stride);
    out->bias = (heed_bias){ .kind = HEED_BIAS_DENSE, .t = 2 };
    out->source.biases = &out->bias;
    out->source.n_biases = 1;
    out->source.bias_size = sizeof out->bias;
    out->desc.n_slots = 2;
}

static void describe_slopes(const struct heed_attend_shape *s, struct heed_attend_described *out)
{
    out->slots[2].t =
        (heed_tensor){ .dtype = HEED_F32, .ndim = 1, .shape = { s->heads }, .stride = { 1 } };
    out->bias.u = 3;
    out->desc.n_slots = 3;
}

static void describe_source(const struct heed_attend_shape *s, struct heed_attend_described *out)
{
    const int64_t k[4] = { s->k_items, s->kv_heads, s->keys, s->d };
    const int64_t v[4] = { s->v_items, s->kv_heads, s->keys, s->d_v };

    out->source.k = tensor_of(s->k_type, k, s->k);
    out->source.v = tensor_of(s->v_type, v, s->v);
    if (s->form != HEED_ATTEND_ALL)
        describe_ranges(s, out);
    if (s->form == HEED_ATTEND_BITS)
        describe_bits(s, out);
    if (s->form == HEED_ATTEND_BIAS || s->form == HEED_ATTEND_SLOPED)
        describe_bias(s, out);
    if (s->form == HEED_ATTEND_SLOPED)
        describe_slopes(s, out);
}

void heed_attend_describe(const struct heed_attend_shape *s, struct heed_attend_described *out)
{
    const int64_t q[4] = { s->batch, s->heads, s->rows, s->d };
    const int64_t o[4] = { s->batch, s->heads, s->rows, s->d_v };

    memset(out, 0, sizeof *out);
    out->desc = (heed_attn_desc){
        .size = sizeof out->desc,
        .flags = HEED_ATTN_SCALE_GIVEN,
        .q = tensor_of(HEED_F32, q, s->q),
        .o = tensor_of(HEED_F32, o, s->o),
        .sources = &out->source,
        .n_sources = 1,
        .source_size = sizeof out->source,
        .slots = out->slots,
        .slot_size = sizeof out->slots[0],
        .scale = (double)s->scale,
        .softcap = (double)s->softcap,
        .numerics = HEED_NUMERICS_EXACT,
    };
    if (s->sinks != 0) {
        out->desc.sinks =
            (heed_tensor){ .dtype = HEED_F32, .ndim = 1, .shape = { s->heads }, .stride = { 1 } };
    }
    describe_source(s, out);
}

/* FNV-1a by words. */
static uint64_t digest_of(const struct heed_attend_shape *shape)
{
    uint64_t words[sizeof *shape / sizeof(uint64_t)], digest = 0xcbf29ce484222325;

    _Static_assert(sizeof *shape % sizeof(uint64_t) == 0, "whole words");
    memcpy(words, shape, sizeof words);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        digest = (digest ^ words[i]) * 0x100000001b3;
    return digest;
}

static void drop_one(struct heed_attend_plans *plans, uint32_t i)
{
    const uint32_t last = --plans->n;

    plans->bytes -= plans->kept[i].props.host_bytes;
    heed_plan_drop(plans->kept[i].plan);
    plans->kept[i] = plans->kept[last];
    plans->digests[i] = plans->digests[last];
}

static uint32_t oldest(const struct heed_attend_plans *plans)
{
    uint32_t found = 0;

    for (uint32_t i = 1; i < plans->n; i++) {
        if (plans->kept[i].used < plans->kept[found].used)
            found = i;
    }
    return found;
}

static heed_status make(struct heed_attend_plans *plans, heed_device *device,
                        const struct heed_attend_shape *shape, heed_report *report)
{
    struct heed_attend_described described;
    struct heed_attend_planned one = { .shape = *shape, .props = { .size = sizeof one.props } };
    heed_status status;

    heed_attend_describe(shape, &described);
    status = heed_attn_plan(device, &described.desc, &one.plan, report);
    if (status < 0)
        return status;
    status = heed_plan_info(one.plan, &one.props);
    if (status < 0) {
        heed_plan_drop(one.plan);
        return status;
    }
    if (plans->n == HEED_ATTEND_PLANS)
        drop_one(plans, oldest(plans));
    plans->made++;
    plans->bytes += one.props.host_bytes;
    plans->digests[plans->n] = digest_of(shape);
    plans->kept[plans->n++] = one;
    return HEED_OK;
}

/* The place of a shape, or n. */
static uint32_t find(const struct heed_attend_plans *plans, const struct heed_attend_shape *shape)
{
    const uint64_t digest = digest_of(shape);

    for (uint32_t i = 0; i < plans->n; i++) {
        if (plans->digests[i] == digest && memcmp(&plans->kept[i].shape, shape, sizeof *shape) == 0)
            return i;
    }
    return plans->n;
}

heed_status heed_attend_plan(struct heed_attend_plans *plans, heed_device *device,
                             const struct heed_attend_shape *shape,
                             const struct heed_attend_planned **out, heed_report *report)
{
    uint32_t i = find(plans, shape);

    if (i == plans->n) {
        const heed_status status = make(plans, device, shape, report);

        if (status < 0)
            return status;
        i = plans->n - 1;
    }
    plans->kept[i].used = ++plans->clock;
    *out = &plans->kept[i];
    return HEED_OK;
}

void heed_attend_forget(struct heed_attend_plans *plans)
{
    while (plans->n > 0)
        drop_one(plans, plans->n - 1);
}
