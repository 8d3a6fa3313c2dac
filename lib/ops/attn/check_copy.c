/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Structure. Every array of the caller is copied element by element, at the caller's element size,
 * into scratch memory; bytes that this library does not know must be zero. Nothing later reads the
 * caller's structs.
 */
#include "check_state.h"

#include <stdio.h>
#include <string.h>

/* Sizes of the first version: frozen; and what has grown since. */
enum { TERM_V1 = 48, BIAS_V1 = 40, SOURCE_V1 = 288, SLOT_V1 = 112, DESC_V1 = 512 };
enum { SOURCE_NOW = SOURCE_V1 + 8, DESC_NOW = DESC_V1 + 2 * (int)sizeof(heed_tensor) };

_Static_assert(sizeof(heed_tensor) == 104, "heed_tensor is part of the ABI");
_Static_assert(sizeof(heed_term) == TERM_V1, "heed_term may only grow, with new sizes here");
_Static_assert(sizeof(heed_bias) == BIAS_V1, "heed_bias may only grow, with new sizes here");
_Static_assert(sizeof(heed_source) == SOURCE_NOW, "heed_source may only grow, with new sizes here");
_Static_assert(sizeof(heed_slot) == SLOT_V1, "heed_slot may only grow, with new sizes here");
_Static_assert(sizeof(heed_attn_desc) == DESC_NOW,
               "heed_attn_desc may only grow, with new sizes here");

/* An array of structs of the caller's. */
struct given_array {
    const void *items;
    uint32_t count, size;           /* the caller's element size */
    uint32_t v1, known, max;        /* least and known element size; greatest count */
    const char *name, *size_name;   /* "terms", "term_size" */
};

static heed_status newer_in(struct heed_check *c, const char *name, const void *item, size_t size,
                            size_t known)
{
    for (size_t i = known; i < size; i++) {
        if (((const unsigned char *)item)[i] != 0)
            return heed_check_fail(c, HEED_E_NEWER, name, (int64_t)known, (int64_t)i,
                                   "byte %zu is not zero; this library knows the first %zu", i,
                                   known);
    }
    return HEED_OK;
}

static heed_status array_fits(struct heed_check *c, const struct given_array *a)
{
    char name[HEED_CHECK_NAME];

    if (!a->items)
        return heed_check_fail(c, HEED_E_NULL, a->name, a->count, 0,
                               "%u elements are stated but there is no array",
                               (unsigned)a->count);
    if (a->size < a->v1)
        return heed_check_fail(c, HEED_E_SIZE, a->size_name, a->v1, a->size,
                               "element size is %u, at least %u is wanted", (unsigned)a->size,
                               (unsigned)a->v1);
    if (a->count <= a->max)
        return HEED_OK;
    snprintf(name, sizeof(name), "n_%s", a->name);
    return heed_check_fail(c, HEED_E_UNSUPPORTED, name, a->max, a->count,
                           "at most %u %s are supported", (unsigned)a->max, a->name);
}

/* Copies the known bytes of each element, zero-extended, to scratch memory. */
static heed_status array_copy(struct heed_check *c, const struct given_array *a, void **out)
{
    const size_t take = a->size < a->known ? a->size : a->known;
    heed_status status;
    char *to;

    *out = NULL;
    if (a->count == 0)
        return HEED_OK;
    status = array_fits(c, a);
    if (status < 0)
        return status;
    to = heed_arena_array(c->scratch, a->count, a->known, _Alignof(max_align_t));
    if (!to)
        return heed_check_nomem(c);
    for (uint32_t i = 0; i < a->count && status >= 0; i++) {
        const char *item = (const char *)a->items + (size_t)i * a->size;
        char name[HEED_CHECK_NAME];

        snprintf(name, sizeof(name), "%s[%u]", a->name, (unsigned)i);
        status = newer_in(c, name, item, a->size, a->known);
        memcpy(to + (size_t)i * a->known, item, take);
    }
    *out = to;
    return status;
}

static heed_status source_copy(struct heed_check *c, heed_source *s)
{
    const struct given_array terms = {
        s->terms, s->n_terms, s->term_size, TERM_V1, sizeof(heed_term), HEED_MAX_TERMS,
        "terms",  "term_size",
    };
    const struct given_array biases = {
        s->biases, s->n_biases, s->bias_size, BIAS_V1, sizeof(heed_bias), HEED_MAX_BIASES,
        "biases",  "bias_size",
    };
    void *copy = NULL;
    heed_status status = array_copy(c, &terms, &copy);

    s->terms = copy;
    if (status >= 0)
        status = array_copy(c, &biases, &copy);
    s->biases = copy;
    return status;
}

heed_status heed_check_copy(struct heed_check *c)
{
    heed_attn_desc *d = &c->d;
    struct given_array array;
    void *copy = NULL;
    heed_status status;
    uint32_t size;

    if (!c->given)
        return heed_check_fail(c, HEED_E_NULL, "desc", 0, 0, "the descriptor is NULL");
    memcpy(&size, c->given, sizeof(size));
    if (size < DESC_V1)
        return heed_check_fail(c, HEED_E_SIZE, "size", DESC_V1, size,
                               "descriptor size is %u, at least %d is wanted", (unsigned)size,
                               DESC_V1);
    memcpy(d, c->given, size < sizeof(*d) ? size : sizeof(*d));
    status = newer_in(c, "size", c->given, size, sizeof(*d));
    if (status < 0)
        return status;
    array = (struct given_array){ d->sources,          d->n_sources,     d->source_size, SOURCE_V1,
                                  sizeof(heed_source), HEED_MAX_SOURCES, "sources",
                                  "source_size" };
    status = array_copy(c, &array, &copy);
    c->sources = copy;
    if (status < 0)
        return status;
    array = (struct given_array){ d->slots,          d->n_slots,     d->slot_size, SLOT_V1,
                                  sizeof(heed_slot), HEED_MAX_SLOTS, "slots",      "slot_size" };
    status = array_copy(c, &array, &copy);
    c->slots = copy;
    for (uint32_t s = 0; s < d->n_sources && status >= 0; s++) {
        heed_check_object(c, "sources[%u].", (unsigned)s);
        status = source_copy(c, &c->sources[s]);
    }
    return status;
}
