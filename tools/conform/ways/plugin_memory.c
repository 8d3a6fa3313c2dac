/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A case in memory that the parent shares with a child: every array on pages of its own, flush with
 * a page that nobody may touch. As images of memory of a device, where no page can be closed,
 * arrays are flush with guards, whose contents are looked at.
 */
#define _DEFAULT_SOURCE

#include "plugin.h"
#include "conform/engine/place.h"
#include "conform/engine/subject.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { GUARD = 1 << 16, DEVICE_GUARD = 1 << 14 }; /* bytes; multiples of any page, of canaries */

/* Bytes of the place before its first element. */
static int64_t shift_of(const struct region *r)
{
    return r->high > r->low ? (int64_t)r->x->place->buf.offset - PLACE_GUARD + r->low : 0;
}

static void region_add(struct memory *m, const struct operand *x)
{
    struct region *r = &m->region[m->n++];
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);

    *r = (struct region){ .role = x->out ? OUTPUT : x->constant ? CONSTANT : INPUT, .x = x };
    place_span(x->place, &r->low, &r->high);
    r->guard = m->imaged && r->role != CONSTANT ? DEVICE_GUARD : 0;
    r->bytes = ((size_t)(r->high - r->low + shift_of(r)) + page - 1) / page * page + 2 * r->guard;
}

static bool memory_make(struct memory *m, const struct job *job)
{
    unsigned char *at;

    for (int i = 0; i < job->n; i++)
        region_add(m, &job->operand[i]);
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

/* The order of the operands is that of a plan. */
static bool order_find(struct trial *t, heed_device *reference)
{
    heed_plan *plan = NULL;

    if (t->job->plan(reference, t->job->desc, &plan, NULL) < 0)
        return false;
    t->n_at = job_order(t->job, plan, t->order);
    heed_plan_drop(plan);
    return t->n_at >= 0;
}

bool plugin_trial_of(struct trial *t, struct job *job, const struct plugin *plugin)
{
    memset(t, 0, sizeof *t);
    t->job = job;
    t->memory.imaged = plugin->memory != 0;
    return job && order_find(t, plugin->session->reference.device) &&
           memory_make(&t->memory, job);
}

bool plugin_trial_make(struct trial *t, const struct cs *c, const struct plugin *plugin)
{
    const bool made = plugin_trial_of(t, cf_open(c, 0, true), plugin);

    t->c = c;
    return made;
}

void plugin_trial_unmap(struct trial *t)
{
    if (t->memory.base)
        munmap(t->memory.base, t->memory.bytes);
    t->memory.base = NULL;
}

void plugin_trial_finish(struct trial *t)
{
    plugin_trial_unmap(t);
    cf_close(t->job);
}

/* ---- contents -------------------------------------------------------------- */

/* What lies beside the elements. In memory of a device nothing stops a kernel that reads it: in one
 * of the two runs of a case it is NaN for f32, f16 and bf16, which no weight of 0 takes away. */
static unsigned char around(const struct memory *m, const struct region *r, size_t i)
{
    const unsigned char random =
        (unsigned char)(cf_mix(m->pattern + (uint64_t)(r - m->region) * 7919 + i / 8) >>
                        i % 8 * 8);

    return !m->nan || !r->guard ? random : i % 2 ? 0xff : 0xc0 | random;
}

/* The elements' bytes in a block of the place. */
static unsigned char *in_block(const struct region *r, unsigned char *block)
{
    return block + (int64_t)r->x->place->buf.offset + r->low;
}

static void region_fill(const struct memory *m, struct region *r, bool at_end)
{
    for (size_t i = 0; i < r->bytes; i++)
        r->pages[i] = around(m, r, i);
    r->origin = at_end ? r->pages + r->bytes - r->guard - r->high
                       : r->pages + r->guard - r->low + (m->shifted ? shift_of(r) : 0);
    memcpy(r->origin + r->low, in_block(r, r->x->place->snapshot), (size_t)(r->high - r->low));
}

void plugin_memory_refill(const struct memory *m)
{
    for (int i = 0; i < m->n; i++) {
        const struct region *r = &m->region[i];

        if (r->role == OUTPUT)
            memcpy(r->origin + r->low, in_block(r, r->x->place->snapshot),
                   (size_t)(r->high - r->low));
    }
}

bool plugin_memory_rows(const struct memory *m, bool zeros)
{
    for (int i = 0; i < m->n; i++) {
        const struct region *r = &m->region[i];
        unsigned char *const at = r->origin + r->low;

        if (!r->x->rows || r->bytes == 0)
            continue;
        if (mprotect(r->pages, r->bytes, PROT_READ | PROT_WRITE))
            return false;
        if (zeros)
            memset(at, 0, (size_t)(r->high - r->low));
        else
            memcpy(at, in_block(r, r->x->place->snapshot), (size_t)(r->high - r->low));
        if (mprotect(r->pages, r->bytes, PROT_READ))
            return false;
    }
    return true;
}

/* An address and a distance, which a kernel must add. */
static heed_buf buf_of(const struct region *r)
{
    return (heed_buf){ r->pages, (uint64_t)(r->origin - r->pages) };
}

void plugin_trial_fill(struct trial *t, bool at_end, uint64_t poison)
{
    struct memory *m = &t->memory;

    m->pattern = cf_mix(poison);
    m->nan = at_end;
    for (int i = 0; i < m->n; i++) {
        struct operand *const x = &t->job->operand[i];

        if (!x->constant)
            job_fill(x, poison + (uint64_t)i * 99);
        region_fill(m, &m->region[i], at_end);
        if (x->constant)
            *x->constant = m->region[i].origin;
    }
    for (int i = 0; i < t->n_at; i++)
        t->at[i] = t->order[i] >= 0 ? buf_of(&m->region[t->order[i]]) : (heed_buf){ NULL, 0 };
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
    const unsigned char *const was = in_block(r, r->x->place->snapshot);

    for (size_t i = 0; i < r->bytes && !v->failed; i++) {
        if ((i < first || i >= end) && r->pages[i] != around(m, r, i))
            cf_fail(v, "beside: memory %zu bytes %s %s was written: wanted 0x%02x got 0x%02x",
                    i < first ? first - i : i - end + 1, i < first ? "before" : "behind",
                    r->x->name, around(m, r, i), r->pages[i]);
    }
    for (size_t i = first; i < end && r->role != OUTPUT && !v->failed; i++) {
        if (r->pages[i] != was[i - first])
            cf_fail(v, "input: %s was written, byte %zu of it: wanted 0x%02x got 0x%02x",
                    r->x->name, i - first, was[i - first], r->pages[i]);
    }
}

static void output_read(const struct region *r, struct verdict *v)
{
    struct place *const place = r->x->place;

    place->after = malloc(place->bytes);
    if (!place->after) {
        cf_fail(v, "no memory");
        return;
    }
    memcpy(place->after, place->snapshot, place->bytes);
    memcpy(in_block(r, place->after), r->origin + r->low, (size_t)(r->high - r->low));
    place_load(place, place->after, r->x->out);
    if (!place_gaps_same(place, r->x->out, r->x->old))
        cf_fail(v, "beside: memory between the elements of %s was written", r->x->name);
}

void plugin_trial_read(struct trial *t, struct verdict *v)
{
    for (int i = 0; i < t->memory.n; i++)
        region_check(&t->memory, &t->memory.region[i], v);
    for (int i = 0; i < t->memory.n; i++) {
        if (t->memory.region[i].role == OUTPUT)
            output_read(&t->memory.region[i], v);
    }
    munmap(t->memory.base, t->memory.bytes); /* no later child has it */
    t->memory.base = NULL;
}
