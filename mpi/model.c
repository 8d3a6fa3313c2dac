/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What plans of ranks would move, without ranks: the rules of needs.c, messages.c and rows.c over
 * pages that are counted and not listed. What a rank gets, its owner sends.
 */
#include "model.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

/* K or V: bytes of a key of one item and head, and how many of these there are. */
struct width {
    int64_t one, groups;
};

/* A source, for rank after rank. */
struct source {
    struct heed_mpi_owners owners;
    struct heed_mpi_pages small, block, chunks;
    struct width width[2];
};

struct model {
    struct heed_mpi_memory memory;
    struct heed_mpi_call call;  /* of the rank at hand */
    struct heed_mpi_plan plan;  /* what rules of plans ask for */
    heed_attn_desc desc;        /* without biases */
    heed_source plain[HEED_MPI_SOURCES];
    struct source sources[HEED_MPI_SOURCES];
    heed_mpi_parts *parts; /* [ranks], checked */
    struct heed_mpi_held *held;
    heed_mpi_props *props;
    int64_t *asked, *cut; /* [ranks]: pages that the rank at hand asks for; 1: without an end */
    heed_key_run *runs;
    int64_t most_runs, n_runs;
    int ranks, rank;
    bool rows_may;
};

static heed_status no_memory(heed_report *report)
{
    return heed_mpi_fill(report, HEED_E_NOMEM, "", 0, 0, "no memory for the model of ranks");
}

/* ---- what is given ---- */

static heed_status ranks_check(struct model *m, heed_device *device, const heed_attn_desc *desc,
                               const heed_mpi_parts *parts, heed_report *report)
{
    heed_status status = HEED_OK;

    for (m->rank = 0; m->rank < m->ranks && status >= 0; m->rank++) {
        const char *const at = (const char *)parts + (size_t)m->rank * parts->size;
        const heed_mpi_parts *const given = (const heed_mpi_parts *)(const void *)at;
        heed_mpi_parts *to = &m->parts[m->rank];

        if (given->size != parts->size)
            status = heed_mpi_fill(report, HEED_E_SIZE, "parts", parts->size, given->size,
                                   "all parts have the size of the first one");
        else
            status = heed_mpi_check(device, desc, given, &m->call, report);
        *to = m->call.parts;
        if (status >= 0 && to->message_bytes != m->parts[0].message_bytes)
            status = heed_mpi_fill(report, HEED_E_MISMATCH, "parts.message_bytes",
                                   m->parts[0].message_bytes, to->message_bytes,
                                   "not that of rank 0");
        for (uint32_t s = 0; s < m->call.desc.n_sources && status >= 0; s++) {
            m->held[m->rank].first[s] = m->call.keys[s].first;
            m->held[m->rank].count[s] = m->call.keys[s].count;
        }
        if (status < 0)
            break;
    }
    return status;
}

static struct width width_of(const heed_tensor *t)
{
    struct width w = { t->shape[t->ndim - 1] * heed_mpi_size_of(t->dtype), 1 };

    for (uint32_t i = 0; i + 2 < t->ndim; i++)
        w.groups *= t->shape[i];
    return w;
}

static heed_status sources_begin(struct model *m, heed_report *report)
{
    heed_status status = HEED_OK;

    for (uint32_t s = 0; s < m->call.desc.n_sources && status >= 0; s++) {
        const heed_source *from = &m->call.sources[s];
        const int64_t n_k = from->k.shape[from->k.ndim - 2];
        struct source *to = &m->sources[s];

        to->width[0] = width_of(&from->k);
        to->width[1] = width_of(&from->v);
        if (n_k / HEED_MPI_SMALL_PAGE >= INT32_MAX)
            return heed_mpi_fill(report, HEED_E_OVERFLOW, "sources", INT32_MAX,
                                 n_k / HEED_MPI_SMALL_PAGE, "too many pages of keys");
        status = heed_mpi_owners_find(&m->memory, m->held, m->ranks, s, n_k, &to->owners, report);
        if (status >= 0)
            status = heed_mpi_pages_make(&to->small, &m->memory, &to->owners, n_k,
                                         HEED_MPI_SMALL_PAGE, report);
        if (status >= 0)
            status = heed_mpi_pages_make(&to->block, &m->memory, &to->owners, n_k,
                                         HEED_MPI_BLOCK_PAGE, report);
        if (status >= 0)
            status =
                heed_mpi_pages_make(&to->chunks, &m->memory, &to->owners, n_k, HEED_CHUNK, report);
        m->plan.sources[s].items = 1;
        for (uint32_t i = 0; i + 3 < from->k.ndim; i++)
            m->plan.sources[s].items *= from->k.shape[i];
        m->plan.sources[s].n_pages = to->chunks.n_pages;
    }
    m->plan.team.ranks = m->ranks;
    m->plan.message_bytes = m->parts[0].message_bytes ? m->parts[0].message_bytes : INT_MAX;
    memcpy(m->plain, m->call.sources, sizeof m->plain);
    for (int s = 0; s < HEED_MPI_SOURCES; s++)
        m->plain[s].n_biases = 0;
    m->desc = m->call.desc;
    m->desc.sources = m->plain;
    return status;
}

static heed_status memory_take(struct model *m, heed_report *report)
{
    m->parts = heed_mpi_take(&m->memory, m->ranks, sizeof *m->parts, false);
    m->held = heed_mpi_take(&m->memory, m->ranks, sizeof *m->held, false);
    m->props = heed_mpi_take(&m->memory, m->ranks, sizeof *m->props, false);
    m->asked = heed_mpi_take(&m->memory, m->ranks, sizeof *m->asked, false);
    m->cut = heed_mpi_take(&m->memory, m->ranks, sizeof *m->cut, false);
    return m->parts && m->held && m->props && m->asked && m->cut ? HEED_OK : no_memory(report);
}

/* ---- what a rank sees ---- */

static heed_status runs_find(struct model *m, uint32_t s, heed_report *report)
{
    const heed_mpi_parts *parts = &m->parts[m->rank];
    heed_status status = HEED_OK;

    for (m->n_runs = m->most_runs + 1; m->n_runs > m->most_runs && status >= 0;) {
        report->size = sizeof *report;
        status = heed_attn_key_runs(&m->desc, NULL, parts->first_row, parts->n_rows, s, m->runs,
                                    m->most_runs, &m->n_runs, report);
        if (status < 0 || m->n_runs <= m->most_runs)
            break;
        m->most_runs = 0;
        m->runs = heed_mpi_take(&m->memory, 2 * m->n_runs, sizeof *m->runs, true);
        if (!m->runs)
            return no_memory(report);
        m->most_runs = 2 * m->n_runs;
        m->n_runs = m->most_runs + 1;
    }
    return status;
}

/* Does the rank at hand hold the keys of the segment that the walk has just counted? */
static bool is_own(const struct model *m, uint32_t s, const struct heed_mpi_pages_walk *w)
{
    const int64_t key = m->sources[s].owners.segment[w->segment - 1].key;
    const int64_t first = m->held[m->rank].first[s];

    return key >= first && key < first + m->held[m->rank].count[s];
}

static int64_t foreign_keys(const struct model *m, uint32_t s, const struct heed_mpi_pages *pages)
{
    struct heed_mpi_pages_walk w = { 0, 0, 0, 0 };
    int64_t keys = 0;

    while (heed_mpi_pages_next(pages, &w))
        keys += is_own(m, s, &w) ? 0 : w.keys;
    return keys;
}

/* ---- keys that move ---- */

static uint64_t bytes_of(const struct source *source, int64_t keys)
{
    return (uint64_t)keys * (uint64_t)(source->width[0].one * source->width[0].groups +
                                       source->width[1].one * source->width[1].groups);
}

/* Messages of so many pages that are whole, and of one that the end cuts. */
static uint64_t messages_of(const struct model *m, const struct width *width, int64_t page,
                            int64_t whole, int64_t cut)
{
    const int64_t one = page * width->one, limit = m->plan.message_bytes;
    int64_t most;

    if (one == 0 || width->groups == 0)
        return 0;
    const bool together = one <= limit / width->groups;

    most = limit / (together ? one * width->groups : one);
    most = most < 1 ? 1 : most;
    return (uint64_t)((together ? 1 : width->groups) * ((whole + most - 1) / most + cut));
}

/* The pages that are asked of a rank, now that all are counted. */
static void asked_count(struct model *m, const struct source *source,
                        const struct heed_mpi_pages *pages, int holder)
{
    const int64_t cut = m->cut[holder], n = m->asked[holder];
    const int64_t keys = n * pages->page - (cut ? pages->n_pages * pages->page - pages->n_k : 0);
    heed_mpi_props *in = &m->props[m->rank], *out = &m->props[holder];
    uint64_t messages = 0;

    for (int v = 0; v < 2; v++)
        messages += messages_of(m, &source->width[v], pages->page, n - cut, cut);
    in->bytes_in += bytes_of(source, keys);
    out->bytes_out += bytes_of(source, keys);
    in->messages_in += messages;
    out->messages_out += messages;
    m->asked[holder] = m->cut[holder] = 0;
}

static void keys_move(struct model *m, uint32_t s, const struct heed_mpi_pages *pages, bool stay)
{
    const struct source *source = &m->sources[s];
    struct heed_mpi_pages_walk w = { 0, 0, 0, 0 };
    heed_mpi_props *props = &m->props[m->rank];

    while (heed_mpi_pages_next(pages, &w)) {
        const int holder = source->owners.segment[w.segment - 1].rank;

        props->keys_seen += (uint64_t)w.keys;
        if (is_own(m, s, &w) && stay)
            continue;
        props->host_bytes += bytes_of(source, w.pages * pages->page);
        if (is_own(m, s, &w)) {
            props->bytes_copied += bytes_of(source, w.keys);
            continue;
        }
        m->asked[holder] += w.pages;
        m->cut[holder] |= w.keys < w.pages * pages->page;
    }
    for (int holder = 0; holder < m->ranks; holder++) {
        if (m->asked[holder] > 0)
            asked_count(m, source, pages, holder);
    }
}

/* ---- rows that move ---- */

struct parcel {
    int64_t end; /* of what was asked for last */
    int holder;  /* -1: nothing was */
};

/* Keys that one rank is asked for, perhaps right behind the last ones. */
static void parcel_count(struct model *m, struct parcel *p, int holder, int64_t key, int64_t end)
{
    const bool more = p->holder == holder && p->end == key;
    const uint64_t bytes =
        (uint64_t)((end - key + HEED_CHUNK - 1) / HEED_CHUNK *
                   heed_mpi_states_bytes(&m->call, m->call.parts.n_rows));
    heed_mpi_props *in = &m->props[m->rank], *out = &m->props[holder];

    in->bytes_in += bytes;
    out->bytes_out += bytes;
    in->messages_in += !more;
    out->messages_out += !more;
    if (m->asked[holder]++ == 0) {
        const uint64_t q = (uint64_t)heed_mpi_q_bytes(&m->call, m->call.parts.n_rows);

        in->bytes_out += q;
        out->bytes_in += q;
        in->messages_out++;
        out->messages_in++;
    }
    *p = (struct parcel){ end, holder };
}

/* One source, whose keys are spans. */
static void rows_move(struct model *m)
{
    const struct source *source = &m->sources[0];
    const struct heed_mpi_pages *pages = &source->chunks;
    struct heed_mpi_pages_walk w = { 0, 0, 0, 0 };
    struct parcel p = { 0, -1 };
    heed_mpi_props *props = &m->props[m->rank];
    int64_t at = 0;

    props->rows_move = 1;
    props->host_bytes +=
        (uint64_t)(pages->n_pages * heed_mpi_states_bytes(&m->call, m->call.parts.n_rows));
    while (heed_mpi_pages_next(pages, &w)) {
        const struct heed_mpi_segment *segment = &source->owners.segment[w.segment - 1];

        props->keys_seen += (uint64_t)w.keys;
        if (is_own(m, 0, &w)) {
            p.holder = -1;
            continue;
        }
        while (at > 0 && pages->spans[at - 1].end * HEED_CHUNK > segment->key)
            at--;
        for (; at < pages->n_spans && pages->spans[at].first * HEED_CHUNK < segment->end; at++) {
            const int64_t first = pages->spans[at].first * HEED_CHUNK;
            const int64_t end = heed_mpi_min(pages->spans[at].end * HEED_CHUNK, segment->end);
            const int64_t key = first > segment->key ? first : segment->key;

            if (key < end)
                parcel_count(m, &p, segment->rank, key, end);
        }
    }
    memset(m->asked, 0, (size_t)m->ranks * sizeof *m->asked);
}

/* ---- ranks ---- */

static const struct heed_mpi_pages *pages_of(const struct source *source,
                                             const struct heed_mpi_foreign *in)
{
    const int64_t page = heed_mpi_page_of(in);

    return page == HEED_MPI_SMALL_PAGE   ? &source->small
           : page == HEED_MPI_BLOCK_PAGE ? &source->block
                                         : &source->chunks;
}

static heed_status source_count(struct model *m, uint32_t s, heed_report *report)
{
    struct source *source = &m->sources[s];
    heed_status status = runs_find(m, s, report);
    struct heed_mpi_foreign in;

    m->props[m->rank].keys_held += (uint64_t)m->held[m->rank].count[s];
    if (status >= 0)
        status = heed_mpi_pages_set(&source->small, m->runs, m->n_runs, report);
    if (status >= 0)
        status = heed_mpi_pages_set(&source->block, m->runs, m->n_runs, report);
    if (status >= 0)
        status = heed_mpi_pages_set(&source->chunks, m->runs, m->n_runs, report);
    if (status < 0)
        return status;
    in.small = foreign_keys(m, s, &source->small);
    in.block = foreign_keys(m, s, &source->block);
    in.chunks = foreign_keys(m, s, &source->chunks);
    if (m->rows_may &&
        heed_mpi_rows_cheaper(&m->plan, &m->call, heed_mpi_min(in.small, in.chunks)))
        rows_move(m);
    else
        keys_move(m, s, pages_of(source, &in),
                  (in.chunks == 0 || heed_mpi_may_split(&m->call, s)) &&
                      heed_mpi_may_stay(m->call.sources[s].layout == HEED_LAYOUT_RAGGED,
                                        m->plan.sources[s].items, m->held[m->rank].count[s],
                                        source->chunks.n_k));
    return HEED_OK;
}

static heed_status ranks_count(struct model *m, heed_report *report)
{
    heed_status status = HEED_OK;

    for (m->rank = 0; m->rank < m->ranks; m->rank++) {
        m->call.parts = m->parts[m->rank];
        m->props[m->rank].rank = m->rank;
        m->props[m->rank].ranks = m->ranks;
        m->rows_may = heed_mpi_rows_may(&m->call);
        for (uint32_t s = 0; s < m->call.desc.n_sources && status >= 0; s++)
            status = source_count(m, s, report);
        if (status < 0)
            break;
    }
    return status;
}

static heed_status given_check(heed_device *device, const heed_attn_desc *desc,
                               const heed_mpi_parts *parts, int32_t ranks,
                               const heed_mpi_props *props, heed_report *report)
{
    const struct {
        const char *field;
        bool there;
    } rules[] = { { "device", device != NULL },
                  { "desc", desc != NULL },
                  { "parts", parts != NULL },
                  { "props", props != NULL } };

    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        if (!rules[i].there)
            return heed_mpi_fill(report, HEED_E_NULL, rules[i].field, 0, 0, "%s is NULL",
                                 rules[i].field);
    }
    if (ranks < 1)
        return heed_mpi_fill(report, HEED_E_VALUE, "ranks", 1, ranks, "there is a rank at least");
    if (parts->size < HEED_MPI_PARTS_V1 || parts->size % sizeof(int64_t) != 0)
        return heed_mpi_fill(report, HEED_E_SIZE, "parts", HEED_MPI_PARTS_V1, parts->size,
                             "not the size of any version");
    if (props->size < HEED_MPI_PROPS_V1 || props->size % sizeof(uint64_t) != 0)
        return heed_mpi_fill(report, HEED_E_SIZE, "props", HEED_MPI_PROPS_V1, props->size,
                             "not the size of any version");
    return HEED_OK;
}

static void props_write(const struct model *m, heed_mpi_props *props)
{
    const uint32_t size = props->size;

    for (int rank = 0; rank < m->ranks; rank++) {
        char *const to = (char *)props + (size_t)rank * size;

        memset(to, 0, size);
        memcpy(to, &m->props[rank], size < sizeof *props ? size : sizeof *props);
        memcpy(to, &size, sizeof size);
    }
}

static heed_status model_run(struct model *m, heed_device *device, const heed_attn_desc *desc,
                             const heed_mpi_parts *parts, heed_report *report)
{
    heed_status status = memory_take(m, report);

    if (status >= 0)
        status = ranks_check(m, device, desc, parts, report);
    if (status < 0)
        return status;
    m->rank = -1; /* what is wrong now is no rank's */
    status = sources_begin(m, report);
    return status < 0 ? status : ranks_count(m, report);
}

heed_status heed_mpi_model(heed_device *device, const heed_attn_desc *desc,
                           const heed_mpi_parts *parts, int32_t ranks, heed_mpi_props *props,
                           heed_report *report)
{
    struct heed_mpi_memory scratch = { .device = device };
    heed_report mine = { .size = sizeof mine };
    heed_status status = given_check(device, desc, parts, ranks, props, &mine);
    struct model *m = status < 0 ? NULL : heed_mpi_take(&scratch, 1, sizeof *m, false);

    if (status >= 0 && !m)
        status = no_memory(&mine);
    if (status >= 0) {
        m->memory.device = device;
        m->ranks = ranks;
        status = model_run(m, device, desc, parts, &mine);
        if (status < 0 && m->rank >= 0) {
            char text[sizeof mine.message];

            snprintf(text, sizeof text, "rank %d: %.180s", m->rank, mine.message);
            memcpy(mine.message, text, sizeof text);
        } else if (status >= 0) {
            props_write(m, props);
            mine = (heed_report){ .size = sizeof mine };
        }
        heed_mpi_release(&m->memory);
    }
    heed_mpi_release(&scratch);
    mine.status = status;
    heed_mpi_tell(report, &mine);
    return status;
}
