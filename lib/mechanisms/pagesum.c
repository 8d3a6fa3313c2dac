/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * PageSum: the decoder states of pages averaged for each row (Liu et al. 2022). Rows are batch
 * items, pages are keys, and the states are both keys and values: views.
 */
#include "build.h"

enum { DESC_V1 = 432 };
_Static_assert(sizeof(heed_pagesum_desc) == DESC_V1, "heed_pagesum_desc may only grow");

static heed_tensor axis_add(heed_tensor t, int64_t extent, int64_t stride)
{
    t.shape[t.ndim] = extent;
    t.stride[t.ndim++] = stride;
    return t;
}

/* [P][batch...][n][d] as [batch...][n][1][P][d]. */
static heed_tensor pages_as_keys(const heed_tensor *pages)
{
    const uint32_t last = pages->ndim - 1;
    heed_tensor t = { .dtype = pages->dtype };

    for (uint32_t i = 1; i < last; i++)
        t = axis_add(t, pages->shape[i], pages->stride[i]);
    t = axis_add(t, 1, 0);
    t = axis_add(t, pages->shape[0], pages->stride[0]);
    return axis_add(t, pages->shape[last], pages->stride[last]);
}

/* [batch...][n][d] as [batch...][n][1][1][d]. */
static heed_tensor states_as_rows(const heed_tensor *o)
{
    const uint32_t last = o->ndim - 1;
    heed_tensor t = *o;

    t.ndim = last;
    t = axis_add(axis_add(t, 1, 0), 1, 0);
    return axis_add(t, o->shape[last], o->stride[last]);
}

/* [batch...][P] as [batch...][1][1][P]: for all rows. */
static heed_slot mask_of_pages(const heed_slot *mask)
{
    heed_slot slot = *mask;
    const uint32_t last = mask->t.ndim - 1;

    slot.t.ndim = last;
    slot.t = axis_add(axis_add(slot.t, 1, 0), 1, 0);
    slot.t = axis_add(slot.t, mask->t.shape[last], mask->t.stride[last]);
    return slot;
}

heed_status heed_pagesum(const heed_pagesum_desc *given, heed_mechanism *out, heed_report *report)
{
    struct heed_builder b;
    heed_pagesum_desc d;
    heed_keys keys = { 0 };
    int64_t extent;
    heed_status status = heed_builder_open(&b, given, DESC_V1, &d, sizeof(d), 0, out, report);

    if (status >= 0)
        status = heed_builder_extent(&b, "pages", &d.pages, 3, &extent);
    if (status >= 0)
        status = heed_builder_within(&b, "pages.ndim", d.pages.ndim, 3, 5);
    if (status >= 0)
        status = heed_builder_extent(&b, "w", &d.w, 1, &extent);
    if (status >= 0)
        status = heed_builder_within(&b, "w.ndim", d.w.ndim, 1, 1);
    if (status >= 0)
        status = heed_builder_extent(&b, "o", &d.o, 2, &extent);
    if (status >= 0)
        status = heed_builder_within(&b, "o.ndim", d.o.ndim, d.pages.ndim - 1, d.pages.ndim - 1);
    if (status >= 0 && d.mask.t.ndim)
        status = heed_builder_within(&b, "mask.t.ndim", d.mask.t.ndim, d.pages.ndim - 2,
                                     d.pages.ndim - 2);
    if (status < 0)
        return status;
    keys.k = keys.v = pages_as_keys(&d.pages);
    if (d.mask.t.ndim)
        keys.mask = mask_of_pages(&d.mask);
    b.m.desc.q = axis_add(axis_add((heed_tensor){ .dtype = d.w.dtype }, 1, 0), 1, 0);
    b.m.desc.q = axis_add(b.m.desc.q, d.w.shape[0], d.w.stride[0]);
    b.m.desc.o = states_as_rows(&d.o);
    b.m.desc.scale = 1;
    heed_builder_source(&b, &keys, 0);
    return heed_builder_finish(&b, out);
}
