/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The order of checks, and the first two of them: structure and newer bytes. Every array of the
 * caller is copied here element by element, at the caller's element size, into scratch memory;
 * nothing later reads the caller's structs.
 */
#include "check.h"

#include "check_state.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Sizes of the first version: frozen. */
enum { TERM_V1 = 48, BIAS_V1 = 40, SOURCE_V1 = 288, SLOT_V1 = 112, DESC_V1 = 512 };

_Static_assert(sizeof(heed_tensor) == 104, "heed_tensor is part of the ABI");
_Static_assert(sizeof(heed_term) == TERM_V1, "heed_term may only grow, with new sizes here");
_Static_assert(sizeof(heed_bias) == BIAS_V1, "heed_bias may only grow, with new sizes here");
_Static_assert(sizeof(heed_source) == SOURCE_V1, "heed_source may only grow, with new sizes here");
_Static_assert(sizeof(heed_slot) == SLOT_V1, "heed_slot may only grow, with new sizes here");
_Static_assert(sizeof(heed_attn_desc) == DESC_V1,
               "heed_attn_desc may only grow, with new sizes here");

/* An array of structs of the caller's. */
struct given_array {
    const void *items;
    uint32_t count, size;     /* caller's element size */
    uint32_t v1, known, most; /* least and known element size; greatest count */
    const char *name;         /* "terms" */
    const char *size_name;    /* "term_size" */
};

const char *heed_check_at(struct heed_check *c, const char *format, ...)
{
    va_list list;

    va_start(list, format);
    vsnprintf(c->field, sizeof(c->field), format, list);
    va_end(list);
    return c->field;
}

const char *heed_check_use_path(const struct heed_check_use *use, char path[HEED_CHECK_PATH])
{
    const size_t room = HEED_CHECK_PATH;

    switch (use->level) {
    case HEED_LEVEL_SOURCE:
        snprintf(path, room, "sources[%u].%s", (unsigned)use->source, use->name);
        break;
    case HEED_LEVEL_TERM:
        snprintf(path, room, "sources[%u].terms[%u].%s", (unsigned)use->source,
                 (unsigned)use->index, use->name);
        break;
    case HEED_LEVEL_BIAS:
        snprintf(path, room, "sources[%u].biases[%u].%s", (unsigned)use->source,
                 (unsigned)use->index, use->name);
        break;
    default:
        snprintf(path, room, "%s", use->name);
        break;
    }
    return path;
}

heed_status heed_check_nomem(struct heed_check *c)
{
    return heed_report_fill(c->report, HEED_E_NOMEM, NULL, 0, 0,
                            "no memory for the checked descriptor");
}

/* Copies known bytes of each element, zero-extended, to scratch memory. */
static heed_status copy_array(struct heed_check *c, const char *prefix, const struct given_array *a,
                              void **out)
{
    const size_t take = a->size < a->known ? a->size : a->known;
    char *to;

    *out = NULL;
    if (a->count == 0)
        return HEED_OK;
    if (!a->items)
        return heed_report_fill(c->report, HEED_E_NULL, heed_check_at(c, "%s%s", prefix, a->name),
                                a->count, 0, "%u elements are stated but there is no array",
                                (unsigned)a->count);
    if (a->size < a->v1)
        return heed_report_fill(
            c->report, HEED_E_SIZE, heed_check_at(c, "%s%s", prefix, a->size_name), a->v1, a->size,
            "element size is %u, at least %u is wanted", (unsigned)a->size, (unsigned)a->v1);
    if (a->count > a->most)
        return heed_report_fill(c->report, HEED_E_UNSUPPORTED,
                                heed_check_at(c, "%sn_%s", prefix, a->name), a->most, a->count,
                                "at most %u %s are supported", (unsigned)a->most, a->name);
    to = heed_arena_array(c->scratch, a->count, a->known, _Alignof(max_align_t));
    if (!to)
        return heed_check_nomem(c);
    for (uint32_t i = 0; i < a->count; i++)
        memcpy(to + (size_t)i * a->known, (const char *)a->items + (size_t)i * a->size, take);
    *out = to;
    return HEED_OK;
}

static struct given_array slots_of(const heed_attn_desc *d)
{
    return (struct given_array){ d->slots,          d->n_slots,     d->slot_size, SLOT_V1,
                                 sizeof(heed_slot), HEED_MAX_SLOTS, "slots",      "slot_size" };
}

static struct given_array sources_of(const heed_attn_desc *d)
{
    return (struct given_array){ d->sources, d->n_sources,        d->source_size,
                                 SOURCE_V1,  sizeof(heed_source), HEED_MAX_SOURCES,
                                 "sources",  "source_size" };
}

static struct given_array terms_of(const heed_source *s)
{
    return (struct given_array){ s->terms,          s->n_terms,     s->term_size, TERM_V1,
                                 sizeof(heed_term), HEED_MAX_TERMS, "terms",      "term_size" };
}

static struct given_array biases_of(const heed_source *s)
{
    return (struct given_array){ s->biases,         s->n_biases,     s->bias_size, BIAS_V1,
                                 sizeof(heed_bias), HEED_MAX_BIASES, "biases",     "bias_size" };
}

heed_status heed_check_structure(struct heed_check *c)
{
    struct given_array array;
    heed_source *sources = NULL;
    void *copy = NULL;
    uint32_t size;
    heed_status status;

    if (!c->given)
        return heed_report_fill(c->report, HEED_E_NULL, "desc", 0, 0, "the descriptor is NULL");
    memcpy(&size, c->given, sizeof(size));
    if (size < DESC_V1)
        return heed_report_fill(c->report, HEED_E_SIZE, "size", DESC_V1, size,
                                "descriptor size is %u, at least %d is wanted", (unsigned)size,
                                DESC_V1);
    memcpy(&c->d, c->given, size < sizeof(c->d) ? size : sizeof(c->d));
    array = sources_of(&c->d);
    status = copy_array(c, "", &array, &copy);
    sources = copy;
    if (status < 0)
        return status;
    array = slots_of(&c->d);
    status = copy_array(c, "", &array, &copy);
    c->slots = copy;
    if (status < 0 || c->d.n_sources == 0)
        return status;
    c->sources = heed_arena_array(c->scratch, c->d.n_sources, sizeof(*c->sources),
                                  _Alignof(max_align_t));
    if (!c->sources)
        return heed_check_nomem(c);
    for (uint32_t s = 0; s < c->d.n_sources; s++) {
        char prefix[32];

        snprintf(prefix, sizeof(prefix), "sources[%u].", (unsigned)s);
        c->sources[s].s = sources[s];
        array = terms_of(&sources[s]);
        status = copy_array(c, prefix, &array, &copy);
        c->sources[s].terms = copy;
        if (status < 0)
            return status;
        array = biases_of(&sources[s]);
        status = copy_array(c, prefix, &array, &copy);
        c->sources[s].biases = copy;
        if (status < 0)
            return status;
    }
    return HEED_OK;
}

static heed_status newer_in(struct heed_check *c, const char *field, const void *item, size_t size,
                            size_t known)
{
    for (size_t i = known; i < size; i++) {
        if (((const unsigned char *)item)[i] != 0)
            return heed_report_fill(c->report, HEED_E_NEWER, field, (int64_t)known, (int64_t)i,
                                    "byte %zu is not zero; this library knows the first %zu", i,
                                    known);
    }
    return HEED_OK;
}

static heed_status newer_in_array(struct heed_check *c, const char *prefix,
                                  const struct given_array *a)
{
    for (uint32_t i = 0; i < a->count; i++) {
        const heed_status status = newer_in(
            c, heed_check_at(c, "%s%s[%u]", prefix, a->name, (unsigned)i),
            (const char *)a->items + (size_t)i * a->size, a->size, a->known);

        if (status < 0)
            return status;
    }
    return HEED_OK;
}

heed_status heed_check_newer(struct heed_check *c)
{
    const struct given_array sources = sources_of(&c->d), slots = slots_of(&c->d);
    heed_status status = newer_in(c, "size", c->given, c->d.size, sizeof(c->d));

    if (status >= 0)
        status = newer_in_array(c, "", &sources);
    if (status >= 0)
        status = newer_in_array(c, "", &slots);
    for (uint32_t s = 0; s < c->d.n_sources && status >= 0; s++) {
        const struct given_array terms = terms_of(&c->sources[s].s),
                                 biases = biases_of(&c->sources[s].s);
        char prefix[32];

        snprintf(prefix, sizeof(prefix), "sources[%u].", (unsigned)s);
        status = newer_in_array(c, prefix, &terms);
        if (status >= 0)
            status = newer_in_array(c, prefix, &biases);
    }
    return status;
}

heed_status heed_check_attn(const heed_attn_desc *desc, struct heed_arena *arena,
                            const struct heed_checked **out, heed_report *report)
{
    static heed_status (*const points[])(struct heed_check *) = {
        heed_check_structure, heed_check_newer,  heed_check_flags,     heed_check_values,
        heed_check_kinds,     heed_check_build,  heed_check_shapes,    heed_check_overflow,
        heed_check_strides,   heed_check_dtypes, heed_check_ambiguity, heed_check_constants,
        heed_check_support,
    };
    struct heed_arena scratch;
    struct heed_check c = { .given = desc, .arena = arena, .scratch = &scratch, .report = report };
    heed_status status = HEED_OK;

    heed_arena_init(&scratch, arena->runtime);
    for (size_t i = 0; i < sizeof(points) / sizeof(*points) && status >= 0; i++)
        status = points[i](&c);
    heed_arena_finish(&scratch);
    if (status < 0)
        return status;
    *out = c.out;
    return heed_report_ok(report);
}
