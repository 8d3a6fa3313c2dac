/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The terms of one rank's attention: what counts rows counts those of the rank, and no list of keys
 * names more of them than the rank's source has.
 */
#include "local.h"

#include <string.h>

/* ---- lists and ranges ---- */

/* What a list has of [low, low + n), counted from low, and then negative entries. */
static void list_cut(const int32_t *from, int64_t stride, int64_t entries, int64_t low, int64_t n,
                     int32_t *to)
{
    int64_t kept = 0;

    for (int64_t i = 0; i < entries; i++) {
        const int64_t entry = from[i * stride];

        if (entry >= low && entry < low + n)
            to[kept++] = (int32_t)(entry - low);
    }
    while (kept < entries)
        to[kept++] = -1;
}

/* A list of GLOBAL keys or rows: those that each item has at the rank. */
static heed_status list_make(struct heed_mpi_local *l, uint32_t source, bool rows, uint32_t *slot,
                             heed_report *report)
{
    const heed_slot *from = &l->call->slots[*slot - 1];
    const int64_t entries = from->t.shape[from->t.ndim - 1];
    const int64_t stride = from->t.stride[from->t.ndim - 1];
    int64_t batch[3] = { 1, 1, 1 }, at[3];
    int32_t *list;

    if (rows)
        memcpy(batch, l->batch, sizeof batch);
    heed_mpi_batch_join(batch, &from->t, 1);
    list = heed_mpi_local_slot(l, heed_mpi_batch_array(HEED_I32, batch, 1, &entries), slot, report);
    if (!list)
        return report->status;
    for (int64_t item = 0; item < heed_mpi_batch_items(batch); item++, list += entries) {
        struct heed_mpi_rows_of there = { 0, l->keys[source] };

        heed_mpi_batch_at(batch, item, at);
        if (rows)
            there = heed_mpi_local_rows(l, at);
        list_cut((const int32_t *)from->data + heed_mpi_slot_offset(&from->t, 1, at), stride,
                 entries, there.before, there.n, list);
    }
    return HEED_OK;
}

/* SEGMENT ranges, one for each row of the rank. */
static heed_status ranges_make(struct heed_mpi_local *l, uint32_t source, int64_t block,
                               uint32_t *slot, heed_report *report)
{
    const heed_slot *from = &l->call->slots[*slot - 1];
    const int64_t *stride = &from->t.stride[from->t.ndim - 2];
    const int64_t extents[2] = { l->most, 2 }, keys = l->keys[source];
    int64_t batch[3], at[3];
    int32_t *pairs;

    memcpy(batch, l->batch, sizeof batch);
    heed_mpi_batch_join(batch, &from->t, 2);
    pairs =
        heed_mpi_local_slot(l, heed_mpi_batch_array(HEED_I32, batch, 2, extents), slot, report);
    if (!pairs)
        return report->status;
    for (int64_t item = 0; item < heed_mpi_batch_items(batch); item++, pairs += 2 * l->most) {
        struct heed_mpi_rows_of rows;
        const int32_t *ranges;

        heed_mpi_batch_at(batch, item, at);
        rows = heed_mpi_local_rows(l, at);
        ranges = (const int32_t *)from->data + heed_mpi_slot_offset(&from->t, 2, at);
        memset(pairs, 0, (size_t)l->most * 2 * sizeof *pairs);
        for (int64_t i = 0; i < rows.n; i++) {
            const int32_t *pair = ranges + (rows.before + i) / block * stride[0];

            pairs[2 * i] = (int32_t)heed_mpi_min(pair[0], keys);
            pairs[2 * i + 1] = (int32_t)heed_mpi_min(pair[stride[1]], keys);
        }
    }
    return HEED_OK;
}

/* ---- GLOBAL rows ---- */

/* How many of an item's first rows, which the term names, the rank has. */
static int64_t first_rows(const struct heed_mpi_rows_of *rows, int64_t named)
{
    const int64_t n = heed_mpi_min(named - rows->before, rows->n);

    return n > 0 ? n : 0;
}

/* The first rows of every item, of which one item has some elsewhere: a list for each item. */
static heed_status first_rows_list(struct heed_mpi_local *l, int64_t named, int64_t entries,
                                   uint32_t *slot, heed_report *report)
{
    int32_t *list =
        heed_mpi_local_slot(l, heed_mpi_batch_array(HEED_I32, l->batch, 1, &entries), slot, report);

    if (!list)
        return report->status;
    for (int64_t item = 0; item < heed_mpi_batch_items(l->batch); item++, list += entries) {
        struct heed_mpi_rows_of rows;
        int64_t at[3];

        heed_mpi_batch_at(l->batch, item, at);
        rows = heed_mpi_local_rows(l, at);
        for (int64_t i = 0; i < entries; i++)
            list[i] = i < first_rows(&rows, named) ? (int32_t)i : -1;
    }
    return HEED_OK;
}

/* The first rows of every item. */
static heed_status first_rows_add(struct heed_mpi_local *l, heed_source *source, heed_term term,
                                  heed_term *terms, heed_report *report)
{
    const int64_t named = term.block == 0 ? 1 : term.block;
    int64_t before = 0, most = 0;
    heed_status status = HEED_OK;

    for (int64_t item = 0; item < heed_mpi_batch_items(l->batch); item++) {
        struct heed_mpi_rows_of rows;
        int64_t at[3];

        heed_mpi_batch_at(l->batch, item, at);
        rows = heed_mpi_local_rows(l, at);
        before += rows.n > 0 ? rows.before : 0;
        if (first_rows(&rows, named) > most)
            most = first_rows(&rows, named);
    }
    if (most == 0)
        return HEED_OK;
    if (before > 0 && l->desc.q_layout == HEED_LAYOUT_DENSE) {
        term.block = (int32_t)(named - before);
    } else if (before > 0) {
        term.block = 0;
        status = first_rows_list(l, named, most, &term.slot, report);
    }
    terms[source->n_terms++] = term;
    return status;
}

/* GLOBAL keys apart from GLOBAL rows. */
static heed_status globals_add(struct heed_mpi_local *l, uint32_t s, heed_term term,
                               heed_report *report)
{
    heed_source *source = &l->sources[s];
    const bool rows = (term.flags & HEED_TERM_ROWS) != 0;
    heed_term keys = term;
    heed_status status = HEED_OK;

    if (!rows || (term.flags & HEED_TERM_KEYS)) {
        keys.flags = HEED_TERM_KEYS;
        if (keys.slot && l->plan->sources[s].packed)
            status = list_make(l, s, false, &keys.slot, report);
        l->terms[s][source->n_terms++] = keys;
    }
    if (!rows || status < 0)
        return status;
    term.flags = HEED_TERM_ROWS;
    if (!term.slot)
        return first_rows_add(l, source, term, l->terms[s], report);
    status = list_make(l, s, true, &term.slot, report);
    l->terms[s][source->n_terms++] = term;
    return status;
}

/* ---- all terms ---- */

heed_status heed_mpi_local_terms(struct heed_mpi_local *l, uint32_t s, heed_report *report)
{
    const heed_source *whole = &l->call->sources[s];
    heed_source *source = &l->sources[s];
    heed_term *terms = l->terms[s];
    heed_status status = HEED_OK;

    source->n_terms = 0;
    for (uint32_t i = 0; i < whole->n_terms && status >= 0; i++) {
        heed_term term = { 0 };

        memcpy(&term, (const char *)whole->terms + (size_t)i * whole->term_size,
               whole->term_size < sizeof term ? whole->term_size : sizeof term);
        if (term.kind == HEED_TERM_GLOBAL) {
            status = globals_add(l, s, term, report);
            continue;
        }
        if (term.kind == HEED_TERM_SEGMENT) {
            status = ranges_make(l, s, term.block == 0 ? 1 : term.block, &term.slot, report);
            term.block = 1;
        }
        terms[source->n_terms++] = term;
    }
    /* No term would mean everything: a window whose ends have crossed shows nothing. */
    if (source->n_terms == 0 && whole->n_terms > 0)
        terms[source->n_terms++] = (heed_term){ .kind = HEED_TERM_WINDOW, .left = -1, .right = -1 };
    source->terms = terms;
    source->term_size = sizeof *terms;
    return status;
}
