/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Reading descriptors of mechanisms, checking their parameters, and adding sources, terms, biases
 * and slots.
 */
#include "build.h"

#include "../core/error.h"
#include "../core/sized.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* The size of the first version, frozen: the caller's size names the layout. */
enum { MECHANISM_V1 = 4120 };

_Static_assert(sizeof(heed_mechanism) == MECHANISM_V1,
               "another layout of heed_mechanism needs code that fills the first one");
_Static_assert(sizeof(heed_keys) == 432, "heed_keys is frozen");

static heed_status out_fits(const struct heed_builder *b, const heed_mechanism *out)
{
    uint32_t size;

    if (!out)
        return heed_report_fill(b->report, HEED_E_NULL, "out", 0, 0, "there is nothing to fill");
    memcpy(&size, out, sizeof(size));
    if (size == MECHANISM_V1)
        return HEED_OK;
    return heed_report_fill(b->report, size < MECHANISM_V1 ? HEED_E_SIZE : HEED_E_NEWER, "out.size",
                            MECHANISM_V1, size, "the size of heed_mechanism is %u, %d is known",
                            (unsigned)size, MECHANISM_V1);
}

void heed_builder_begin(struct heed_builder *b, heed_report *report)
{
    memset(b, 0, sizeof(*b));
    b->report = report;
    b->m.size = MECHANISM_V1;
    b->m.desc.size = (uint32_t)sizeof(heed_attn_desc);
    b->m.desc.flags = HEED_ATTN_ALIGN_START;
    b->m.desc.source_size = (uint32_t)sizeof(heed_source);
    b->m.desc.slot_size = (uint32_t)sizeof(heed_slot);
    b->m.desc.n_slots = HEED_MECHANISM_SLOTS;
}

heed_status heed_builder_open(struct heed_builder *b, const void *given, size_t v1, void *desc,
                              size_t known, uint32_t flags, const heed_mechanism *out,
                              heed_report *report)
{
    uint32_t set;
    heed_status status;

    heed_builder_begin(b, report);
    if (!given)
        return heed_report_fill(report, HEED_E_NULL, "desc", 0, 0, "the descriptor is NULL");
    status = out_fits(b, out);
    if (status >= 0)
        status = heed_sized_in(given, v1, desc, known, "size", report);
    if (status < 0)
        return status;
    memcpy(&set, (const char *)desc + sizeof(uint32_t), sizeof(set));
    if (set & ~flags)
        return heed_report_fill(report, HEED_E_FLAG, "flags", flags, set, "an unknown flag");
    return HEED_OK;
}

heed_status heed_builder_within(const struct heed_builder *b, const char *field, int64_t value,
                                int64_t low, int64_t most)
{
    if (value >= low && value <= most)
        return HEED_OK;
    return heed_report_fill(b->report, HEED_E_VALUE, field, value < low ? low : most, value,
                            "%s is %lld, from %lld to %lld is wanted", field, (long long)value,
                            (long long)low, (long long)most);
}

heed_status heed_builder_range(const struct heed_builder *b, const char *field, int64_t *value,
                               int64_t standard, int64_t most)
{
    if (*value == 0)
        *value = standard;
    return heed_builder_within(b, field, *value, 1, most);
}

heed_status heed_builder_extent(const struct heed_builder *b, const char *field,
                                const heed_tensor *t, uint32_t axis, int64_t *extent)
{
    if (t->ndim == 0)
        return heed_report_fill(b->report, HEED_E_NULL, field, 0, 0, "%s is absent", field);
    if (t->ndim < axis || t->ndim > 6)
        return heed_report_fill(b->report, HEED_E_VALUE, field, t->ndim > 6 ? 6 : axis, t->ndim,
                                "%s has %u axes, from %u to 6 are wanted", field,
                                (unsigned)t->ndim, (unsigned)axis);
    *extent = t->shape[t->ndim - axis];
    if (*extent < 0)
        return heed_report_fill(b->report, HEED_E_VALUE, field, 0, *extent,
                                "%s has a negative extent", field);
    return HEED_OK;
}

heed_status heed_builder_keys(const struct heed_builder *b, const char *name,
                              const heed_keys *keys, int64_t *n)
{
    char field[32];
    int64_t extent;
    heed_status status;

    snprintf(field, sizeof(field), "%s.k", name);
    status = heed_builder_extent(b, field, &keys->k, 2, n);
    if (status < 0)
        return status;
    snprintf(field, sizeof(field), "%s.v", name);
    return heed_builder_extent(b, field, &keys->v, 2, &extent);
}

heed_status heed_builder_cross(struct heed_builder *b, const heed_tensor *q, const heed_tensor *o,
                               const heed_keys *text)
{
    int64_t extent;
    heed_status status = heed_builder_extent(b, "q", q, 2, &extent);

    if (status >= 0)
        status = heed_builder_extent(b, "o", o, 2, &extent);
    if (status >= 0)
        status = heed_builder_keys(b, "text", text, &extent);
    b->m.desc.q = *q;
    b->m.desc.o = *o;
    return status;
}

heed_status heed_builder_self(struct heed_builder *b, const heed_tensor *q, const heed_tensor *o,
                              const heed_keys *text, int64_t *n)
{
    int64_t n_k = 0;
    heed_status status = heed_builder_cross(b, q, o, text);

    if (status >= 0)
        status = heed_builder_extent(b, "q", q, 2, n);
    if (status >= 0)
        status = heed_builder_extent(b, "text.k", &text->k, 2, &n_k);
    if (status >= 0 && n_k != *n)
        status = heed_report_fill(b->report, HEED_E_SHAPE, "text.k", *n, n_k,
                                  "the text has %lld keys and q has %lld rows", (long long)n_k,
                                  (long long)*n);
    if (status >= 0)
        heed_builder_row_lengths(b, text);
    return status;
}

void heed_builder_row_lengths(struct heed_builder *b, const heed_keys *text)
{
    b->m.desc.q_len_slot = heed_builder_slot(b, HEED_MECHANISM_LEN, &text->len);
}

uint32_t heed_builder_slot(struct heed_builder *b, uint32_t number, const heed_slot *slot)
{
    assert(number >= 1 && number <= HEED_MECHANISM_SLOTS);
    if (slot->t.ndim == 0)
        return 0;
    b->m.slots[number - 1] = *slot;
    return number;
}

heed_source *heed_builder_source(struct heed_builder *b, const heed_keys *keys, uint32_t set)
{
    const uint32_t at = b->m.desc.n_sources++;
    heed_source *source = &b->m.sources[at];

    assert(at < HEED_MECHANISM_SOURCES && set < HEED_MECHANISM_KEYS);
    *source = (heed_source){
        .k = keys->k,
        .v = keys->v,
        .len_slot = heed_builder_slot(b, HEED_MECHANISM_LEN + set, &keys->len),
        .mask_slot = heed_builder_slot(b, HEED_MECHANISM_MASK + set, &keys->mask),
        .term_size = sizeof(heed_term),
        .bias_size = sizeof(heed_bias),
    };
    b->m.keys[at] = set;
    b->m.first_term[at] = b->n_terms;
    b->m.first_bias[at] = b->n_biases;
    return source;
}

heed_term *heed_builder_term(struct heed_builder *b)
{
    assert(b->m.desc.n_sources > 0 && b->n_terms < HEED_MECHANISM_TERMS);
    b->m.sources[b->m.desc.n_sources - 1].n_terms++;
    return &b->m.terms[b->n_terms++];
}

heed_bias *heed_builder_bias(struct heed_builder *b)
{
    assert(b->m.desc.n_sources > 0 && b->n_biases < HEED_MECHANISM_BIASES);
    b->m.sources[b->m.desc.n_sources - 1].n_biases++;
    return &b->m.biases[b->n_biases++];
}

heed_status heed_builder_finish(const struct heed_builder *b, heed_mechanism *out)
{
    *out = b->m;
    heed_mechanism_link(out);
    return heed_report_ok(b->report);
}
