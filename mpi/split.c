/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A source of which a rank's rows see foreign keys, without a copy of the rank's own: it becomes up
 * to three sources, the pages that come from before, the rank's keys where they lie, and the pages
 * from behind. All have the positions and terms of the whole, and pages that are another one's are
 * not there. Keys are cut at chunks, so chunks are joined in the order of the whole, as long as
 * that is the order of keys (docs/numerics.md step 2).
 */
#include "local.h"

#include <string.h>

/* What a descriptor may have, so that there is room for three sources and their slots for each. */
enum { SOURCES = HEED_MPI_SOURCES / 3, SLOTS = 24 };

static heed_term term_get(const heed_source *source, uint32_t i)
{
    heed_term term = { .kind = 0 };

    memcpy(&term, (const char *)source->terms + (size_t)i * source->term_size,
           source->term_size < sizeof term ? source->term_size : sizeof term);
    return term;
}

bool heed_mpi_may_split(const struct heed_mpi_call *call, int64_t s)
{
    const heed_source *source = &call->sources[s];
    bool may = source->layout == HEED_LAYOUT_DENSE && source->len_slot == 0 &&
               !(source->flags & HEED_SOURCE_END) && call->desc.n_sources <= SOURCES &&
               call->desc.n_slots <= SLOTS;

    for (uint32_t i = 0; i < source->n_terms; i++) {
        const heed_term term = term_get(source, i);

        may = may && term.kind != HEED_TERM_GLOBAL && term.step <= 1;
    }
    return may;
}

/* May keys be counted from the rank's first one? SEGMENT ranges count them from the whole's, and
 * ALIGN_END asks where the last one is. */
static bool counts_own(const struct heed_mpi_local *l, uint32_t s)
{
    const heed_source *source = &l->call->sources[s];
    bool may = !(l->desc.flags & HEED_ATTN_ALIGN_END);

    for (uint32_t i = 0; i < source->n_terms; i++)
        may = may && term_get(source, i).kind != HEED_TERM_SEGMENT;
    return may;
}

static int64_t *length_add(struct heed_mpi_local *l, uint32_t *slot, heed_report *report)
{
    return heed_mpi_local_slot(l, (heed_tensor){ HEED_I64, 1, { 1 }, { 1 } }, slot, report);
}

static int32_t *table_add(struct heed_mpi_local *l, int64_t pages, uint32_t *slot,
                          heed_report *report)
{
    return heed_mpi_local_slot(l, (heed_tensor){ HEED_I32, 1, { pages }, { 1 } }, slot, report);
}

/* Keys [low, high) that came, on the pages of the heap; nothing where no row sees one. */
static heed_status foreign_add(struct heed_mpi_local *l, uint32_t s, int64_t low, int64_t high,
                               uint32_t len_slot, heed_report *report)
{
    const struct heed_mpi_source *from = &l->plan->sources[s];
    struct heed_mpi_part *part = &l->plan->part[l->n_parts];
    heed_source *source = &l->parts[l->n_parts];
    bool any = false;
    int32_t *pages;

    for (int64_t i = low / from->page; i * from->page < high; i++)
        any = any || from->slot[i] >= 0;
    if (!any)
        return HEED_OK;
    *source = l->sources[s];
    pages = table_add(l, from->n_pages, &source->slot, report);
    if (!pages)
        return report->status;
    for (int64_t i = 0; i < from->n_pages; i++)
        pages[i] = i * from->page >= low && i * from->page < high ? from->slot[i] : -1;
    source->layout = HEED_LAYOUT_PAGED;
    source->len_slot = len_slot;
    heed_mpi_pages_describe(from, false, &l->call->keys[s].k, &source->k);
    heed_mpi_pages_describe(from, false, &l->call->keys[s].v, &source->v);
    *part = (struct heed_mpi_part){ .source = s, .in_place = false };
    l->n_parts++;
    return HEED_OK;
}

/* The rank's own keys: a source that begins with them, or pages of a chunk. */
static heed_status own_add(struct heed_mpi_local *l, uint32_t s, uint32_t len_slot,
                           heed_report *report)
{
    const struct heed_mpi_source *from = &l->plan->sources[s];
    const int64_t n = (from->n_k + HEED_CHUNK - 1) / HEED_CHUNK, first = from->first / HEED_CHUNK;
    heed_source *source = &l->parts[l->n_parts];
    int32_t *pages;

    *source = l->sources[s];
    l->plan->part[l->n_parts++] = (struct heed_mpi_part){ .source = s, .in_place = true };
    if (counts_own(l, s)) {
        source->k = l->call->keys[s].k;
        source->v = l->call->keys[s].v;
        source->pos0 += from->first * (source->pos_step == 0 ? 1 : source->pos_step);
        return HEED_OK;
    }
    pages = table_add(l, n, &source->slot, report);
    if (!pages)
        return report->status;
    for (int64_t i = 0; i < n; i++)
        pages[i] = i >= first && i < first + from->count / HEED_CHUNK ? (int32_t)(i - first) : -1;
    source->layout = HEED_LAYOUT_PAGED;
    source->len_slot = len_slot;
    heed_mpi_pages_describe(from, true, &l->call->keys[s].k, &source->k);
    heed_mpi_pages_describe(from, true, &l->call->keys[s].v, &source->v);
    return HEED_OK;
}

/* Of keys before the rank's the length ends there: rows that see its own look no further. */
static heed_status source_split(struct heed_mpi_local *l, uint32_t s, heed_report *report)
{
    const struct heed_mpi_source *from = &l->plan->sources[s];
    uint32_t before_slot = 0, whole_slot = 0;
    int64_t *before = length_add(l, &before_slot, report);
    int64_t *whole = before ? length_add(l, &whole_slot, report) : NULL;
    heed_status status;

    if (!whole)
        return report->status;
    *before = from->first;
    *whole = from->n_k;
    status = foreign_add(l, s, 0, from->first, before_slot, report);
    if (status >= 0)
        status = own_add(l, s, whole_slot, report);
    if (status >= 0)
        status = foreign_add(l, s, from->first + from->count, from->n_k, whole_slot, report);
    return status;
}

heed_status heed_mpi_split(struct heed_mpi_local *l, heed_report *report)
{
    heed_status status = HEED_OK;

    for (uint32_t s = 0; s < l->call->desc.n_sources && status >= 0; s++) {
        if (l->plan->sources[s].splits) {
            status = source_split(l, s, report);
            continue;
        }
        l->parts[l->n_parts] = l->sources[s];
        l->plan->part[l->n_parts++] =
            (struct heed_mpi_part){ .source = s, .in_place = l->plan->sources[s].in_place };
    }
    l->plan->n_parts = l->n_parts;
    l->desc.sources = l->parts;
    l->desc.n_sources = l->n_parts;
    return status;
}
