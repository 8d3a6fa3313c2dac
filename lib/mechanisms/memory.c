/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Transformer-XL (Dai et al. 2019, section 3.2) and Compressive Transformer (Rae et al. 2020,
 * section 3): memories of earlier segments before a causal segment. Relative positions (Dai et al.,
 * section 3.3) are the same biases in all sources.
 */
#include "memory.h"

#include "../core/error.h"

enum { XL_V1 = 1312, COMPRESSIVE_V1 = 1744 };
_Static_assert(sizeof(heed_transformer_xl_desc) == XL_V1, "heed_transformer_xl_desc may only grow");
_Static_assert(sizeof(heed_compressive_desc) == COMPRESSIVE_V1,
               "heed_compressive_desc may only grow");

heed_status heed_builder_segment(struct heed_builder *b, const heed_tensor *q,
                                 const heed_tensor *o, const heed_keys *text)
{
    int64_t n_q = 0, n_k = 0;
    heed_status status = heed_builder_cross(b, q, o, text);

    if (status >= 0)
        status = heed_builder_extent(b, "q", q, 2, &n_q);
    if (status >= 0)
        status = heed_builder_extent(b, "text.k", &text->k, 2, &n_k);
    if (status < 0)
        return status;
    if (n_q > n_k)
        return heed_report_fill(b->report, HEED_E_SHAPE, "text.k", n_q, n_k,
                                "the segment has %lld keys, fewer than q has rows, %lld",
                                (long long)n_k, (long long)n_q);
    if (n_q == n_k)
        heed_builder_row_lengths(b, text);
    else
        b->m.desc.flags = HEED_ATTN_ALIGN_END;
    return HEED_OK;
}

static heed_status relative_check(const struct heed_builder *b, const heed_relative *r)
{
    if (r->shift.t.ndim == 0 || r->r.t.ndim > 0)
        return HEED_OK;
    return heed_report_fill(b->report, HEED_E_VALUE, "relative.shift", 0, r->shift.t.ndim,
                            "relative.shift has no meaning without relative.r");
}

/* Of the source added last. */
static void relative_add(struct heed_builder *b, const heed_relative *r)
{
    if (r->r.t.ndim)
        *heed_builder_bias(b) = (heed_bias){
            .kind = HEED_BIAS_DOT,
            .zero = r->zero,
            .t = heed_builder_slot(b, HEED_MECHANISM_TABLE, &r->r),
        };
    if (r->shift.t.ndim)
        *heed_builder_bias(b) = (heed_bias){
            .kind = HEED_BIAS_TABLE,
            .zero = r->zero,
            .t = heed_builder_slot(b, HEED_MECHANISM_TABLE_2, &r->shift),
        };
}

heed_source *heed_builder_memory(struct heed_builder *b, const heed_keys *memory, uint32_t set,
                                 int64_t end)
{
    heed_source *source = heed_builder_source(b, memory, set);

    source->flags = HEED_SOURCE_END;
    source->pos0 = end;
    return source;
}

static void remember(struct heed_builder *b, const heed_keys *memory, uint32_t set, int64_t end,
                     const heed_relative *relative)
{
    heed_builder_memory(b, memory, set, end);
    relative_add(b, relative);
}

static heed_status remembered(struct heed_builder *b, const heed_keys *text,
                              const heed_relative *relative, heed_mechanism *out)
{
    heed_builder_source(b, text, 0)->flags = HEED_SOURCE_CAUSAL;
    relative_add(b, relative);
    return heed_builder_finish(b, out);
}

heed_status heed_transformer_xl(const heed_transformer_xl_desc *given, heed_mechanism *out,
                                heed_report *report)
{
    struct heed_builder b;
    heed_transformer_xl_desc d;
    int64_t n = 0;
    heed_status status = heed_builder_open(&b, given, XL_V1, &d, sizeof(d), 0, out, report);

    if (status >= 0)
        status = heed_builder_segment(&b, &d.q, &d.o, &d.text);
    if (status >= 0)
        status = heed_builder_keys(&b, "memory", &d.memory, &n);
    if (status >= 0)
        status = relative_check(&b, &d.relative);
    if (status < 0)
        return status;
    remember(&b, &d.memory, 1, 0, &d.relative);
    return remembered(&b, &d.text, &d.relative, out);
}

heed_status heed_compressive(const heed_compressive_desc *given, heed_mechanism *out,
                             heed_report *report)
{
    struct heed_builder b;
    heed_compressive_desc d;
    int64_t n = 0, n_c = 0;
    heed_status status = heed_builder_open(&b, given, COMPRESSIVE_V1, &d, sizeof(d), 0, out,
                                           report);

    if (status >= 0)
        status = heed_builder_segment(&b, &d.q, &d.o, &d.text);
    if (status >= 0)
        status = heed_builder_keys(&b, "memory", &d.memory, &n);
    if (status >= 0)
        status = heed_builder_keys(&b, "compressed", &d.compressed, &n_c);
    if (status >= 0)
        status = relative_check(&b, &d.relative);
    if (status < 0)
        return status;
    remember(&b, &d.compressed, 2, -n, &d.relative);
    remember(&b, &d.memory, 1, 0, &d.relative);
    return remembered(&b, &d.text, &d.relative, out);
}
