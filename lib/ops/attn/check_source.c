/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Sources: layout, numbers, k and v, and then term after term and bias after bias, each by what its
 * row in the table of kinds says.
 */
#include "check_state.h"

#include "../../biases/biases.h"
#include "../../layouts/layouts.h"
#include "../../terms/terms.h"

#include <assert.h>
#include <stdio.h>

static const uint32_t source_flags = HEED_SOURCE_CAUSAL | HEED_SOURCE_END | HEED_SOURCE_K_GROUPS |
                                     HEED_SOURCE_V_GROUPS | HEED_SOURCE_K_MINIMA |
                                     HEED_SOURCE_V_MINIMA;
static const uint32_t term_flags = HEED_TERM_KEYS | HEED_TERM_ROWS | HEED_TERM_PHASE_HEAD |
                                   HEED_TERM_PHASE_QUERY;

static int64_t or_one(int64_t value)
{
    return value == 0 ? 1 : value;
}

/* ---- terms ---- */

static heed_status term_fields(struct heed_check *c, const struct heed_term_kind *kind,
                               const heed_term *t)
{
    const struct {
        const char *name;
        uint32_t field;
        int64_t value;
    } fields[] = {
        { "left", HEED_FIELD_LEFT, t->left },    { "right", HEED_FIELD_RIGHT, t->right },
        { "step", HEED_FIELD_STEP, t->step },    { "block", HEED_FIELD_BLOCK, t->block },
        { "phase", HEED_FIELD_PHASE, t->phase },
    };
    const struct heed_check_limit limits[] = {
        { "step", t->step, 0, INT64_MAX, "must not be negative" },
        { "block", t->block, 0, INT32_MAX, "must not be negative" },
        { "reserved", t->reserved, 0, 0, "must be 0" },
    };

    for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
        if (fields[i].value != 0 && !(kind->fields & fields[i].field))
            return heed_check_fail(c, HEED_E_VALUE, fields[i].name, 0, fields[i].value,
                                   "a %s term does not take it", kind->name);
    }
    if (t->flags & ~kind->flags)
        return heed_check_fail(c, HEED_E_VALUE, "flags", kind->flags, t->flags,
                               "a %s term does not take these flags%s", kind->name,
                               heed_check_flags_hint(t->flags & ~kind->flags));
    return heed_check_limits(c, limits, sizeof(limits) / sizeof(*limits));
}

static heed_status term_reach(struct heed_check *c, const heed_term *t)
{
    heed_status status = HEED_OK;

    if (t->left != HEED_FAR)
        status = heed_check_position(c, "left", t->left);
    if (status >= 0 && t->right != HEED_FAR)
        status = heed_check_position(c, "right", t->right);
    return status >= 0 ? heed_check_position(c, "step", t->step) : status;
}

/* All steps by the query's position must be equal: strips of rows are cut by it. */
static heed_status term_dilation(struct heed_check *c, const heed_term *t)
{
    if (!(t->flags & HEED_TERM_PHASE_QUERY) || t->step <= 1)
        return HEED_OK;
    if (c->dilation != 0 && t->step != c->dilation)
        return heed_check_fail(c, HEED_E_UNSUPPORTED, "step", c->dilation, t->step,
                               "all PHASE_QUERY steps of a descriptor must be equal");
    c->dilation = t->step;
    return HEED_OK;
}

static heed_status term_check(struct heed_check *c, uint32_t s, uint32_t i,
                              struct heed_checked_term *to)
{
    const struct heed_site at = { .level = HEED_LEVEL_TERM, .source = s, .index = i };
    const heed_term *t = &c->sources[s].terms[i];
    const struct heed_term_kind *kind = heed_term_kind_find(t->kind);
    heed_status status;

    if (!kind)
        return heed_check_fail(c, HEED_E_VALUE, "kind", 0, t->kind, "no such kind of term");
    status = heed_check_flags(c, t->flags, term_flags);
    if (status < 0 || (status = term_fields(c, kind, t)) < 0 || (status = term_reach(c, t)) < 0 ||
        (status = term_dilation(c, t)) < 0)
        return status;
    if ((t->flags & HEED_TERM_PHASE_QUERY) && c->to[s].pos_step > 1)
        return heed_check_fail(c, HEED_E_VALUE, "flags", 1, c->to[s].pos_step,
                               "PHASE_QUERY needs pos_step 1");
    *to = (struct heed_checked_term){
        .kind = t->kind,
        .flags = t->flags ? t->flags : kind->default_flags,
        .left = t->left,
        .right = t->right,
        .step = or_one(t->step),
        .block = or_one(t->block),
        .phase = t->phase,
    };
    return heed_check_fields(c, at, t, to, kind->slots);
}

/* A source takes one term at most that names keys, and one that names rows. */
static heed_status term_once(struct heed_check *c, const struct heed_checked_source *source,
                             const struct heed_checked_term *t, bool *keys, bool *rows)
{
    const struct heed_term_kind *kind = heed_term_kind_find(t->kind);
    struct heed_term_form form;

    assert(kind);
    kind->lower(t, source, &form);
    if ((form.keys && *keys) || (form.rows && *rows))
        return heed_check_fail(c, HEED_E_UNSUPPORTED, "flags", 1, 2,
                               "one %s %s term per source at most", kind->name,
                               form.keys && *keys ? "KEYS" : "ROWS");
    *keys |= form.keys;
    *rows |= form.rows;
    return HEED_OK;
}

static heed_status terms_check(struct heed_check *c, uint32_t s, struct heed_checked_term *to)
{
    const heed_source *source = &c->sources[s];
    heed_status status = HEED_OK;
    bool keys = false, rows = false;

    if (source->n_terms == 0)
        to[0] = heed_term_default;
    for (uint32_t i = 0; i < source->n_terms && status >= 0; i++) {
        heed_check_object(c, "sources[%u].terms[%u].", (unsigned)s, (unsigned)i);
        status = term_check(c, s, i, &to[i]);
        if (status >= 0)
            status = term_once(c, &c->to[s], &to[i], &keys, &rows);
    }
    return status;
}

/* ---- biases ---- */

static heed_status bias_check(struct heed_check *c, uint32_t s, uint32_t i,
                              struct heed_checked_bias *to)
{
    const struct heed_site at = { .level = HEED_LEVEL_BIAS, .source = s, .index = i };
    const heed_bias *b = &c->sources[s].biases[i];
    const struct heed_bias_kind *kind = heed_bias_kind_find(b->kind);
    heed_status status;

    if (!kind)
        return heed_check_fail(c, HEED_E_VALUE, "kind", 0, b->kind, "no such kind of bias");
    status = heed_check_flags(c, b->flags, 0);
    if (status < 0)
        return status;
    if (b->zero != 0 && !kind->zero)
        return heed_check_fail(c, HEED_E_VALUE, "zero", 0, b->zero, "a %s bias does not take it",
                               kind->name);
    if (b->reserved != 0)
        return heed_check_fail(c, HEED_E_VALUE, "reserved", 0, b->reserved, "must be 0");
    status = heed_check_position(c, "zero", b->zero);
    if (status < 0)
        return status;
    if (kind->in_score && b->t == 0 && b->u == 0)
        return heed_check_fail(c, HEED_E_VALUE, "t", 1, 0, "a %s bias takes t or u or both",
                               kind->name);
    to->kind = b->kind;
    to->in_score = kind->in_score;
    to->zero = b->zero;
    return heed_check_fields(c, at, b, to, kind->slots);
}

static heed_status biases_check(struct heed_check *c, uint32_t s, struct heed_checked_bias *to)
{
    heed_status status = HEED_OK;

    for (uint32_t i = 0; i < c->sources[s].n_biases && status >= 0; i++) {
        heed_check_object(c, "sources[%u].biases[%u].", (unsigned)s, (unsigned)i);
        status = bias_check(c, s, i, &to[i]);
    }
    return status;
}

/* ---- sources ---- */

static heed_status numbers_check(struct heed_check *c, const heed_source *s,
                                 const struct heed_layout *layout)
{
    const struct heed_check_limit limits[] = {
        { "pos_step", s->pos_step, 0, INT32_MAX, "must not be negative" },
        { "pos_span", s->pos_span, 0, INT32_MAX, "must not be negative" },
        { "run", s->run, 0, layout->takes_run ? INT32_MAX : 0,
          "must be 0 or, where the layout takes it, positive" },
        { "rows", s->rows, 0, layout->takes_rows ? INT32_MAX : 0,
          "must be 0 or, where the layout takes it, positive" },
    };

    return heed_check_limits(c, limits, sizeof(limits) / sizeof(*limits));
}

static const struct heed_tensor_rule rule_k = { "k", 2, 6, 3, 6, HEED_SET_KEYS };
static const struct heed_tensor_rule rule_v = { "v", 2, 6, 3, 6, HEED_SET_KEYS };
/* [P][H_k][page][d]: view axis 2 counts pages. */
static const struct heed_tensor_rule rule_k_pages = { "k", 4, 4, 3, 6, HEED_SET_KEYS };
static const struct heed_tensor_rule rule_v_pages = { "v", 4, 4, 3, 6, HEED_SET_KEYS };

/* Values whose heads are others than those of the keys: legal, but no kernel has it. */
static heed_status value_heads_check(struct heed_check *c, const heed_tensor *v, int64_t heads)
{
    char name[HEED_CHECK_NAME] = "v.ndim";

    if ((v->ndim < 3 ? 1 : v->shape[v->ndim - 3]) == heads)
        return HEED_OK;
    if (v->ndim >= 3)
        snprintf(name, sizeof(name), "v.shape[%u]", (unsigned)(v->ndim - 3));
    return heed_check_fail(c, HEED_E_UNSUPPORTED, name, heads,
                           v->ndim < 3 ? 1 : v->shape[v->ndim - 3],
                           "k and v have as many heads, others are not supported");
}

/* H_k = 0, legal with H = 0 only, counts as 1 later, so that nobody divides by it. */
static heed_status tensors_check(struct heed_check *c, const heed_source *s,
                                 const struct heed_layout *layout,
                                 struct heed_checked_source *to)
{
    const bool pages = layout->items == HEED_ITEMS_PAGES;
    const struct heed_tensor_rule *k = pages ? &rule_k_pages : &rule_k,
                                  *v = pages ? &rule_v_pages : &rule_v;
    const int64_t heads = c->out->heads;
    heed_status status;
    int64_t key_heads;

    if ((status = heed_tensor_check(&c->where, k, &s->k, &to->k)) < 0 ||
        (status = heed_tensor_check(&c->where, v, &s->v, &to->v)) < 0)
        return status;
    key_heads = to->k.shape[3];
    if (key_heads == 0 ? heads != 0 : heads % key_heads != 0)
        return heed_tensor_axis(&c->where, k, &s->k, 3, heads,
                                "key heads must divide the heads of q");
    if ((status = heed_tensor_axis(&c->where, k, &s->k, 5, c->out->d, "channels of q and k")) < 0 ||
        (status = value_heads_check(c, &s->v, key_heads)) < 0 ||
        (status = heed_tensor_axis(&c->where, v, &s->v, 4, to->k.shape[4],
                                   pages ? "rows of a page" : "keys of k and v")) < 0 ||
        (status = heed_tensor_axis(&c->where, v, &s->v, 5, c->out->d_v, "channels of v and o")) < 0)
        return status;
    to->heads = or_one(key_heads);
    to->n_k = to->k.shape[4];
    return pages ? heed_tensor_axis(&c->where, v, &s->v, 2, to->k.shape[2], "pages of k and v")
                 : HEED_OK;
}

/* The type of rows says whether they have scales. */
static heed_status scales_check(struct heed_check *c, const heed_source *s)
{
    const struct {
        const char *name;
        uint32_t dtype, slot, flags;
    } rows[] = {
        { "k_scale_slot", s->k.dtype, s->k_scale_slot,
          HEED_SOURCE_K_GROUPS | HEED_SOURCE_K_MINIMA },
        { "v_scale_slot", s->v.dtype, s->v_scale_slot,
          HEED_SOURCE_V_GROUPS | HEED_SOURCE_V_MINIMA },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const bool with = rows[i].slot != 0;

        if (!heed_dtype_scaled(rows[i].dtype, with))
            return heed_check_fail(c, HEED_E_VALUE, rows[i].name, !with, rows[i].slot,
                                   "rows of %s %s scales", heed_dtype_name(rows[i].dtype),
                                   with ? "have no" : "need their");
        if (!with && (s->flags & rows[i].flags) != 0)
            return heed_check_fail(c, HEED_E_VALUE, "flags", s->flags & ~rows[i].flags, s->flags,
                                   "groups of channels without scales: %s is 0", rows[i].name);
    }
    return HEED_OK;
}

/* Batch extents of k and v, or of what says where an item lies. */
static heed_status batch_check(struct heed_check *c, const heed_source *s,
                               const struct heed_layout *layout)
{
    heed_status status = HEED_OK;

    if (layout->items == HEED_ITEMS_BATCH) {
        status = heed_check_batch(c, &rule_k, &s->k);
        return status < 0 ? status : heed_check_batch(c, &rule_v, &s->v);
    }
    if (layout->items == HEED_ITEMS_PACKED &&
        ((status = heed_check_no_batch(c, &rule_k, &s->k)) < 0 ||
         (status = heed_check_no_batch(c, &rule_v, &s->v)) < 0))
        return status;
    return heed_check_items(c, s->slot, layout->source[HEED_SOURCE_SLOT].use->trailing);
}

/* No term becomes one ALL. */
static heed_status kinds_check(struct heed_check *c, uint32_t s, bool lists)
{
    const heed_source *source = &c->sources[s];
    struct heed_checked_source *to = &c->to[s];
    struct heed_checked_term *terms;
    struct heed_checked_bias *biases;
    heed_status status;

    to->n_terms = source->n_terms ? source->n_terms : 1;
    to->n_biases = source->n_biases;
    to->terms = terms = heed_arena_array(c->arena, to->n_terms, sizeof(*terms), 8);
    to->biases = biases = source->n_biases == 0 ? NULL
                                                : heed_arena_array(c->arena, to->n_biases,
                                                                   sizeof(*biases), 8);
    if (!terms || (to->n_biases != 0 && !biases))
        return heed_check_nomem(c);
    status = terms_check(c, s, terms);
    if (status >= 0 && lists)
        terms[0] = heed_term_default;   /* phase has no meaning without a step */
    return status < 0 ? status : biases_check(c, s, biases);
}

heed_status heed_check_source(struct heed_check *c, uint32_t s)
{
    const struct heed_site at = { .level = HEED_LEVEL_SOURCE, .source = s };
    const heed_source *source = &c->sources[s];
    const struct heed_layout *layout = heed_layout_find(source->layout);
    struct heed_checked_source *to = &c->to[s];
    heed_status status;

    heed_check_object(c, "sources[%u].", (unsigned)s);
    if (!layout)
        return heed_check_fail(c, HEED_E_VALUE, "layout", heed_layout_last(), source->layout,
                               "no such layout");
    if ((status = heed_check_flags(c, source->flags, source_flags)) < 0 ||
        (status = numbers_check(c, source, layout)) < 0 ||
        (status = tensors_check(c, source, layout, to)) < 0 ||
        (status = scales_check(c, source)) < 0)
        return status;
    to->pos0 = source->pos0;
    to->pos_step = or_one(source->pos_step);
    to->pos_span = or_one(source->pos_span);
    to->layout = source->layout;
    to->flags = source->flags;
    to->run = 1;
    to->rows = or_one(source->rows);
    if ((status = heed_check_fields(c, at, source, to, layout->source)) < 0 ||
        (layout->check && (status = layout->check(c, s)) < 0) ||
        (status = kinds_check(c, s, layout->lists)) < 0)
        return status;
    heed_check_object(c, "sources[%u].", (unsigned)s);
    return batch_check(c, source, layout);
}

bool heed_check_positional(const struct heed_checked_source *source)
{
    bool found = (source->flags & HEED_SOURCE_CAUSAL) != 0;

    for (uint32_t t = 0; t < source->n_terms; t++)
        found |= heed_term_kind_find(source->terms[t].kind)->positional;
    for (uint32_t b = 0; b < source->n_biases; b++)
        found |= heed_bias_kind_find(source->biases[b].kind)->positional &&
                 source->biases[b].q_coord.slot == 0;
    return found;
}
