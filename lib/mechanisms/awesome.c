/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * AWESOME, compressive memory: a segment sees two memories of the segments before it, which may be
 * rings (Cao and Wang 2023, section 3.1, equations 7 and 8).
 */
#include "memory.h"

#include "../core/error.h"

enum { DESC_V1 = 1736 };
_Static_assert(sizeof(heed_awesome_desc) == DESC_V1, "heed_awesome_desc may only grow");

static heed_status ring_has_length(const struct heed_builder *b, const char *field,
                                   const heed_slot *head, const heed_keys *memory)
{
    if (head->t.ndim == 0 || memory->len.t.ndim > 0)
        return HEED_OK;
    return heed_report_fill(b->report, HEED_E_NULL, field, 0, 0,
                            "%s is absent, a ring has a length", field);
}

static void ring_add(struct heed_builder *b, const heed_keys *memory, uint32_t set, int64_t end,
                     uint32_t number, const heed_slot *head)
{
    heed_source *source = heed_builder_memory(b, memory, set, end);

    source->slot = heed_builder_slot(b, number, head);
    if (source->slot)
        source->layout = HEED_LAYOUT_RING;
}

heed_status heed_awesome(const heed_awesome_desc *given, heed_mechanism *out, heed_report *report)
{
    struct heed_builder b;
    heed_awesome_desc d;
    int64_t n = 0, n_m = 0, n_c = 0;
    heed_status status = heed_builder_open(&b, given, DESC_V1, &d, sizeof(d), HEED_AWESOME_CAUSAL,
                                           out, report);

    if (status >= 0)
        status = d.flags ? heed_builder_segment(&b, &d.q, &d.o, &d.text)
                         : heed_builder_self(&b, &d.q, &d.o, &d.text, &n);
    if (status >= 0)
        status = heed_builder_keys(&b, "memory", &d.memory, &n_m);
    if (status >= 0)
        status = heed_builder_keys(&b, "compressed", &d.compressed, &n_c);
    if (status >= 0)
        status = ring_has_length(&b, "memory.len", &d.memory_head, &d.memory);
    if (status >= 0)
        status = ring_has_length(&b, "compressed.len", &d.compressed_head, &d.compressed);
    if (status < 0)
        return status;
    ring_add(&b, &d.compressed, 2, -n_m, HEED_MECHANISM_HEAD_2, &d.compressed_head);
    ring_add(&b, &d.memory, 1, 0, HEED_MECHANISM_HEAD, &d.memory_head);
    heed_builder_source(&b, &d.text, 0)->flags = d.flags ? HEED_SOURCE_CAUSAL : 0;
    return heed_builder_finish(&b, out);
}
