/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A case in memory that the parent shares with a child: every array on pages of its own, flush with
 * a page that nobody may touch.
 */
#define _DEFAULT_SOURCE

#include "place.h"
#include "plugin.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { GUARD = 1 << 16 }; /* bytes; a multiple of any page */

static void region_add(struct memory *m, struct place *place, int role, const char *name,
                       int number)
{
    struct region *r = &m->region[m->n++];
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);

    *r = (struct region){ .role = role, .place = place };
    snprintf(r->name, sizeof r->name, number < 0 ? "%s" : "%s%d", name, number);
    place_span(place, &r->low, &r->high);
    r->bytes = ((size_t)(r->high - r->low) + page - 1) / page * page;
}

static bool memory_make(struct memory *m, struct call *call)
{
    unsigned char *at;

    region_add(m, &call->q, INPUT, "q", -1);
    m->region[m->n - 1].rows = true;
    region_add(m, &call->o, OUTPUT, "o", -1);
    if (call->has_lse)
        region_add(m, &call->lse, OUTPUT, "lse", -1);
    if (call->sinks.snapshot)
        region_add(m, &call->sinks, INPUT, "sinks", -1);
    for (int s = 0; s < call->n_sources; s++) {
        region_add(m, &call->k[s], INPUT, "k", s);
        region_add(m, &call->v[s], INPUT, "v", s);
        m->region[m->n - 1].rows = m->region[m->n - 2].rows = true;
    }
    for (int i = 0; i < call->n_slots; i++)
        region_add(m, &call->aux[i], call->slot[i].data ? CONSTANT : INPUT, "slot", i + 1);
    m->bytes = GUARD;
    for (int i = 0; i < m->n; i++)
        m->bytes += m->region[i].bytes + GUARD;
    m->base = mmap(NULL, m->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (m->base == MAP_FAILED) {
        m->base = NULL;
        return false;
    }
    at = m->base + GUARD;
    for (int i = 0; i < m->n; i++) {
        m->region[i].pages = at;
        at += m->region[i].bytes + GUARD;
    }
    return true;
}

static bool output_make(struct array *out, struct array *old)
{
    return cf_array_alloc(out) && cf_array_alloc(old);
}

static void input_make(struct place *place, const struct array *a, uint64_t seed)
{
    place_pattern(place, seed);
    place_store(place, a);
}

bool plugin_trial_make(struct trial *t, const struct problem *p)
{
    struct call *call = &t->call;
    const uint64_t seed = cf_mix(p->c.seed);

    memset(t, 0, sizeof *t);
    t->p = p;
    if (!cf_call_describe(call, p, 0) || !output_make(&call->out, &call->old) ||
        (call->has_lse && !output_make(&call->out_lse, &call->old_lse)))
        return false;
    input_make(&call->q, &p->q, seed + 1);
    if (p->sinks.data)
        input_make(&call->sinks, &p->sinks, seed + 2);
    for (int s = 0; s < p->n_sources; s++) {
        input_make(&call->k[s], &p->source[s].k, seed + 3);
        input_make(&call->v[s], &p->source[s].v, seed + 4);
    }
    return memory_make(&t->memory, call);
}

void plugin_trial_finish(struct trial *t)
{
    if (t->memory.base)
        munmap(t->memory.base, t->memory.bytes);
    cf_call_finish(&t->call);
}

/* ---- contents -------------------------------------------------------------- */

/* What lies beside the elements. */
static unsigned char around(const struct memory *m, const struct region *r, size_t i)
{
    return (unsigned char)(cf_mix(m->pattern + (uint64_t)(r - m->region) * 7919 + i / 8) >>
                           i % 8 * 8);
}

/* The elements' bytes in a block of the place. */
static unsigned char *in_block(const struct region *r, unsigned char *block)
{
    return block + (int64_t)r->place->buf.offset + r->low;
}

static void region_fill(const struct memory *m, struct region *r, bool at_end)
{
    for (size_t i = 0; i < r->bytes; i++)
        r->pages[i] = around(m, r, i);
    r->origin = at_end ? r->pages + r->bytes - r->high : r->pages - r->low;
    memcpy(r->origin + r->low, in_block(r, r->place->snapshot), (size_t)(r->high - r->low));
}

void plugin_memory_refill(const struct memory *m)
{
    for (int i = 0; i < m->n; i++) {
        const struct region *r = &m->region[i];

        if (r->role == OUTPUT)
            memcpy(r->origin + r->low, in_block(r, r->place->snapshot), (size_t)(r->high - r->low));
    }
}

bool plugin_memory_rows(const struct memory *m, bool zeros)
{
    for (int i = 0; i < m->n; i++) {
        const struct region *r = &m->region[i];
        unsigned char *const at = r->origin + r->low;

        if (!r->rows || r->bytes == 0)
            continue;
        if (mprotect(r->pages, r->bytes, PROT_READ | PROT_WRITE))
            return false;
        if (zeros)
            memset(at, 0, (size_t)(r->high - r->low));
        else
            memcpy(at, in_block(r, r->place->snapshot), (size_t)(r->high - r->low));
        if (mprotect(r->pages, r->bytes, PROT_READ))
            return false;
    }
    return true;
}

static void old_make(struct place *place, struct array *old, uint64_t poison)
{
    place_pattern(place, poison);
    place_load(place, place->snapshot, old);
}

/* An address and a distance, which a kernel must add. */
static heed_buf buf_of(const struct memory *m, const struct place *place)
{
    for (int i = 0; i < m->n; i++) {
        const struct region *r = &m->region[i];

        if (r->place == place)
            return (heed_buf){ r->pages, (uint64_t)(r->origin - r->pages) };
    }
    return (heed_buf){ 0 };
}

void plugin_trial_fill(struct trial *t, bool at_end, uint64_t poison)
{
    struct memory *m = &t->memory;
    struct call *call = &t->call;

    old_make(&call->o, &call->old, poison);
    if (call->has_lse)
        old_make(&call->lse, &call->old_lse, poison + 99);
    m->pattern = cf_mix(poison);
    for (int i = 0; i < m->n; i++)
        region_fill(m, &m->region[i], at_end);
    for (int s = 0; s < call->n_sources; s++)
        t->kv[s] = (heed_kv_bufs){ buf_of(m, &call->k[s]), buf_of(m, &call->v[s]) };
    for (int i = 0; i < call->n_slots; i++) {
        t->slots[i] = buf_of(m, &call->aux[i]);
        if (call->slot[i].data)
            call->slot[i].data = (char *)t->slots[i].handle + t->slots[i].offset;
    }
    t->args = (heed_attn_args){
        .size = sizeof(heed_attn_args),
        .kv_size = sizeof(heed_kv_bufs),
        .q = buf_of(m, &call->q),
        .o = buf_of(m, &call->o),
        .lse = buf_of(m, &call->lse),
        .sinks = buf_of(m, &call->sinks),
        .kv = t->kv,
        .slots = t->slots,
        .n_slots = (uint32_t)call->n_slots,
    };
}

/* ---- protection ------------------------------------------------------------ */

bool plugin_memory_allow(const struct memory *m, int role, int protection)
{
    bool ok = true;

    for (int i = 0; i < m->n; i++) {
        const struct region *r = &m->region[i];

        if (r->role == role && r->bytes)
            ok = mprotect(r->pages, r->bytes, protection) == 0 && ok;
    }
    return ok;
}

bool plugin_memory_protect(const struct memory *m)
{
    return mprotect(m->base, m->bytes, PROT_NONE) == 0 &&
           plugin_memory_allow(m, INPUT, PROT_READ) &&
           plugin_memory_allow(m, CONSTANT, PROT_READ) &&
           plugin_memory_allow(m, OUTPUT, PROT_READ | PROT_WRITE);
}

const struct region *plugin_memory_find(const struct memory *m, uintptr_t address, int64_t *beside)
{
    for (int i = 0; i < m->n; i++) {
        const struct region *r = &m->region[i];
        const uintptr_t low = (uintptr_t)r->pages, high = low + r->bytes;

        *beside = address < low    ? -(int64_t)(low - address)
                  : address < high ? 0
                                   : (int64_t)(address - high) + 1;
        if (*beside > -GUARD / 2 && *beside <= GUARD / 2)
            return r;
    }
    return NULL;
}

/* ---- afterwards ------------------------------------------------------------ */

static void region_check(const struct memory *m, const struct region *r, struct verdict *v)
{
    const size_t first = (size_t)(r->origin + r->low - r->pages),
                 end = (size_t)(r->origin + r->high - r->pages);

    for (size_t i = 0; i < r->bytes && !v->failed; i++) {
        if ((i < first || i >= end) && r->pages[i] != around(m, r, i))
            cf_fail(v, "beside: memory %zu bytes %s %s was written",
                    i < first ? first - i : i - end + 1, i < first ? "before" : "behind", r->name);
    }
    if (r->role != OUTPUT &&
        memcmp(r->origin + r->low, in_block(r, r->place->snapshot), (size_t)(r->high - r->low)))
        cf_fail(v, "input: %s was written", r->name);
}

static void output_read(const struct memory *m, struct place *place, struct array *out,
                        struct array *old, struct verdict *v)
{
    const struct region *r = m->region;

    while (r->place != place)
        r++;
    place->after = malloc(place->bytes);
    if (!place->after) {
        cf_fail(v, "no memory");
        return;
    }
    memcpy(place->after, place->snapshot, place->bytes);
    memcpy(in_block(r, place->after), r->origin + r->low, (size_t)(r->high - r->low));
    place_load(place, place->after, out);
    if (!place_gaps_same(place, out, old))
        cf_fail(v, "beside: memory between the elements of %s was written", r->name);
}

void plugin_trial_read(struct trial *t, struct verdict *v)
{
    struct call *call = &t->call;

    for (int i = 0; i < t->memory.n; i++)
        region_check(&t->memory, &t->memory.region[i], v);
    output_read(&t->memory, &call->o, &call->out, &call->old, v);
    if (call->has_lse)
        output_read(&t->memory, &call->lse, &call->out_lse, &call->old_lse, v);
    munmap(t->memory.base, t->memory.bytes); /* no later child has it */
    t->memory.base = NULL;
}
