/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Lowering: the terms of a source are sorted into sub-sources in the order of docs/numerics.md step
 * 2 - the keys of its GLOBAL terms, its unit-step terms, then one STRIDED for each distinct (step,
 * phase, phase flags) by ascending step and first term. Each sub-source leaves out what an earlier
 * one of its source has shown.
 */
#include "../../spans.h"

#include "../../core/alloc.h"
#include "../../core/error.h"
#include "../../layouts/layouts.h"
#include "../../terms/terms.h"

#include <math.h>
#include <stdio.h>

#define PHASE_FLAGS (HEED_TERM_PHASE_HEAD | HEED_TERM_PHASE_QUERY)

struct build {
    const struct heed_checked *attn;
    struct hk_sub *subs;
    struct heed_sub_slots *slots;
    struct heed_lowered_source *sources;
    uint32_t n_subs;
    heed_report *report;
};

static bool same_aux(const struct heed_aux *a, const struct heed_aux *b)
{
    return a->slot == b->slot;
}

static bool same_range(const struct hk_range *a, const struct hk_range *b)
{
    return a->kind == b->kind && a->lo == b->lo && a->hi == b->hi && a->block == b->block &&
           a->open == b->open;
}

/* A sub-source with the fields that all of a source's share. */
static struct hk_sub *sub_add(struct build *b, const struct heed_checked_source *source,
                              uint32_t kind)
{
    struct hk_sub *sub = &b->subs[b->n_subs++];

    *sub = (struct hk_sub) {
        .pos0 = source->pos0,
        .pos_step = source->pos_step,
        .pos_span = source->pos_span,
        .step = 1,
        .run = 1,
        .kind = kind,
    };
    if (source->flags & HEED_SOURCE_CAUSAL)
        sub->flags |= HK_CAUSAL;
    if (source->flags & HEED_SOURCE_END)
        sub->flags |= HK_END;
    return sub;
}

static heed_status range_add(struct build *b, struct hk_sub *sub, struct heed_sub_slots *slots,
                             uint32_t source, uint32_t term, const struct heed_checked_term *t,
                             const struct heed_term_form *form)
{
    char field[64];

    for (uint32_t r = 0; r < sub->n_ranges; r++) {
        if (sub->range[r].kind == HK_RANGE_ALL)
            return HEED_OK;
        if (same_range(&sub->range[r], &form->range) &&
            (!form->pairs || same_aux(slots->pairs[r], &t->slot)))
            return HEED_OK;
    }
    if (form->range.kind == HK_RANGE_ALL)       /* swallows what came before */
        sub->n_ranges = 0;
    if (sub->n_ranges == HK_RANGES) {
        snprintf(field, sizeof field, "sources[%u].terms[%u]", (unsigned)source, (unsigned)term);
        return heed_report_fill(b->report, HEED_E_UNSUPPORTED, field, HK_RANGES, HK_RANGES + 1,
                                "more than %d ranges in one sub-source", HK_RANGES);
    }
    slots->pairs[sub->n_ranges] = form->pairs ? &t->slot : NULL;
    sub->range[sub->n_ranges++] = form->range;
    return HEED_OK;
}

/* Do two terms belong to one strided sub-source? */
static bool same_strided(const struct heed_checked_term *a, const struct heed_checked_term *b)
{
    return a->step == b->step && a->phase == b->phase &&
           (a->flags & PHASE_FLAGS) == (b->flags & PHASE_FLAGS);
}

/* The sub-source of all ranged terms with step 1 (leader NULL) or in the leader's STRIDED. */
static heed_status group_build(struct build *b, uint32_t s, struct hk_sub *sub,
                               const struct heed_checked_term *leader)
{
    const struct heed_checked_source *source = &b->attn->sources[s];
    struct heed_sub_slots *slots = &b->slots[sub - b->subs];

    for (uint32_t t = 0; t < source->n_terms; t++) {
        const struct heed_checked_term *term = &source->terms[t];
        struct heed_term_form form;

        heed_term_kind_find(term->kind)->lower(term, source, &form);
        if (!form.has_range || (leader ? !same_strided(term, leader) : term->step != 1))
            continue;
        const heed_status status = range_add(b, sub, slots, s, t, term, &form);

        if (status < 0)
            return status;
    }
    return HEED_OK;
}

/* Combs in ascending step, then first term: repeatedly take the next leader after the last one. */
static heed_status strided_build(struct build *b, uint32_t s, uint32_t unit)
{
    const struct heed_checked_source *source = &b->attn->sources[s];
    const struct heed_checked_term *last = NULL;
    uint32_t n = 0;

    for (;;) {
        const struct heed_checked_term *leader = NULL;

        for (uint32_t t = 0; t < source->n_terms; t++) {
            const struct heed_checked_term *term = &source->terms[t];
            bool first = term->step > 1;

            for (uint32_t u = 0; u < t && first; u++)
                first = !same_strided(&source->terms[u], term);
            if (!first ||
                (last && (term->step < last->step || (term->step == last->step && term <= last))))
                continue;
            if (!leader || term->step < leader->step)
                leader = term;
        }
        if (!leader)
            return HEED_OK;
        struct hk_sub *sub = sub_add(b, source, HK_SUB_STRIDED);

        sub->step = leader->step;
        sub->phase = leader->phase;
        if (leader->flags & HEED_TERM_PHASE_HEAD)
            sub->flags |= HK_PHASE_HEAD;
        if (leader->flags & HEED_TERM_PHASE_QUERY)
            sub->flags |= HK_PHASE_QUERY;
        sub->n_earlier = unit + n++;
        const heed_status status = group_build(b, s, sub, leader);

        if (status < 0)
            return status;
        last = leader;
    }
}

/* What kernels need to find rows. A list of keys is its sub-source's. */
static void layout_build(const struct heed_checked_source *source, struct heed_lowered_source *out)
{
    const struct heed_layout *layout = heed_layout_find(source->layout);

    out->layout = layout->lowered;
    out->items = layout->items;
    out->gaps = layout->there != NULL;
    if (source->index.slot && !layout->lists) {
        out->index = &source->index;
        out->value = layout->source[HEED_SOURCE_SLOT].use->trailing == 0;
    }
}

static heed_status source_build(struct build *b, uint32_t s)
{
    const struct heed_checked_source *source = &b->attn->sources[s];
    struct heed_lowered_source *out = &b->sources[s];
    bool unit = false, keys = false;
    int64_t first_n = 0;
    heed_status status;

    out->first = b->n_subs;
    layout_build(source, out);
    if (heed_layout_find(source->layout)->lists) {
        b->slots[b->n_subs].list = &source->index;
        sub_add(b, source, HK_SUB_GATHER)->run = source->run;
        out->n = 1;
        return HEED_OK;
    }
    for (uint32_t t = 0; t < source->n_terms; t++) {
        const struct heed_checked_term *term = &source->terms[t];
        struct heed_term_form form;

        heed_term_kind_find(term->kind)->lower(term, source, &form);
        if (form.keys) {
            keys = true;
            out->keys = term->slot.slot ? &term->slot : NULL;
            first_n = term->slot.slot ? 0 : term->block;
        }
        if (form.rows) {
            out->rows = term->slot.slot ? &term->slot : NULL;
            out->rows_first_n = term->slot.slot ? 0 : term->block;
        }
        unit = unit || form.rows || (form.has_range && term->step == 1);
    }
    if (keys) {
        b->slots[b->n_subs].list = out->keys;
        sub_add(b, source, out->keys ? HK_SUB_LIST : HK_SUB_FIRST_N)->first_n = first_n;
    }
    const uint32_t rest = b->n_subs;

    out->has_keys = unit;
    if (unit) {
        status = group_build(b, s, sub_add(b, source, HK_SUB_KEYS), NULL);
        if (status < 0)
            return status;
    }
    status = strided_build(b, s, unit);
    if (status < 0)
        return status;
    for (uint32_t i = rest; i < b->n_subs; i++) {
        b->subs[i].first_n = first_n;
        if (out->keys)
            b->subs[i].flags |= HK_NOT_GLOBAL;
    }
    out->n = b->n_subs - out->first;
    return HEED_OK;
}

/* by_head: some strided sub-source's phase depends on the query head. */
static int64_t stack_find(const struct heed_checked *attn, bool by_head)
{
    int64_t stack = attn->heads;

    for (uint32_t s = 0; s < attn->n_sources; s++) {
        const struct heed_checked_source *source = &attn->sources[s];
        const int64_t mask_heads = source->mask.slot ? source->mask.shape[4] : 1;
        const int64_t list_heads =
            heed_layout_find(source->layout)->lists ? source->index.shape[3] : 1;

        if (source->heads == 0)
            continue;
        stack = hk_gcd(stack, attn->heads / source->heads);
        if (mask_heads > source->heads || list_heads > source->heads)
            return 1;
    }
    return by_head || stack < 1 ? 1 : stack;
}

/* The strides of an array: is it the same for all batch items? */
static bool batch_shared(const int64_t stride[6])
{
    return stride[0] == 0 && stride[1] == 0 && stride[2] == 0;
}

static bool slot_shared(const struct heed_aux *slot)
{
    return slot->slot == 0 || batch_shared(slot->stride);
}

/* Do all items see and weigh a key that they have in common in the same way? */
static bool is_seen_alike(const struct heed_checked_source *source)
{
    bool common = slot_shared(&source->mask) && slot_shared(&source->row_mask);

    for (uint32_t i = 0; i < source->n_terms; i++)
        common = common && slot_shared(&source->terms[i].slot);
    for (uint32_t i = 0; i < source->n_biases; i++) {
        const struct heed_checked_bias *bias = &source->biases[i];

        common = common && slot_shared(&bias->t) && slot_shared(&bias->u) &&
                 slot_shared(&bias->map) && slot_shared(&bias->q_coord) &&
                 slot_shared(&bias->k_coord);
    }
    return common;
}

/* Of a source whose rows of K and V all items share: is all else the same for them, too? */
static bool is_common(const struct heed_checked_source *source)
{
    return slot_shared(&source->index) && slot_shared(&source->len) && is_seen_alike(source);
}

/* Is it worth a look whether tables name the same pages? Chunks of keys in their order alone, so
 * that keys are shared as chunks are. */
static bool has_tables(const struct build *b, uint32_t s)
{
    const struct heed_lowered_source *source = &b->sources[s];

    return source->items == HEED_ITEMS_PAGES && source->n == 1 &&
           b->subs[source->first].kind == HK_SUB_KEYS && is_seen_alike(&b->attn->sources[s]);
}

/* What strips of query rows must keep to. */
static void strips_find(const struct build *b, struct heed_lowered *out)
{
    const struct heed_checked *attn = b->attn;
    bool by_head = false;

    out->row_step = 1;
    for (uint32_t i = 0; i < b->n_subs; i++) {
        if (b->subs[i].flags & HK_PHASE_QUERY)
            out->row_step = b->subs[i].step;
        if (b->subs[i].flags & HK_PHASE_HEAD)
            by_head = true;
    }
    out->stack = stack_find(attn, by_head);
    for (uint32_t s = 0; s < attn->n_sources; s++) {
        const struct heed_checked_source *source = &attn->sources[s];

        if (heed_layout_find(source->layout)->lists)
            out->group = hk_gcd(out->group, source->rows);
        b->sources[s].shared =
            b->sources[s].layout == HK_LAYOUT_EVEN &&
            b->sources[s].items == HEED_ITEMS_BATCH && batch_shared(source->k.stride) &&
            batch_shared(source->v.stride) && batch_shared(source->k_scale.stride) &&
            batch_shared(source->v_scale.stride);
        b->sources[s].common = b->sources[s].shared && is_common(source);
        b->sources[s].tables = has_tables(b, s);
    }
}

/* numerics.md step 1. volatile: each intermediate is rounded to double, whatever the compiler would
 * keep. */
struct heed_constants heed_constants_find(const struct heed_checked *attn)
{
    struct heed_constants out = { .capped = attn->softcap != 0 };
    volatile double scale = attn->scale, root, product;

    if (!(attn->flags & HEED_ATTN_SCALE_GIVEN) && attn->scale == 0) {
        root = sqrt((double)attn->d);
        scale = attn->d == 0 ? 0 : 1 / root;
    }
    out.scale = scale;
    product = scale * 1.4426950408889634;
    out.c = (float)product;
    if (out.capped) {
        product = scale / attn->softcap;
        out.c1 = (float)product;
        product = attn->softcap * 1.4426950408889634;
        out.c2 = (float)product;
    }
    return out;
}

heed_status heed_spans_build(const struct heed_checked *attn, struct heed_arena *arena,
                             const struct heed_lowered **out, heed_report *report)
{
    struct heed_lowered *lowered =
        heed_arena_take(arena, sizeof *lowered, _Alignof(struct heed_lowered));
    const struct heed_constants constants = heed_constants_find(attn);
    struct build b = { .attn = attn, .report = report };
    uint64_t max = 1;

    for (uint32_t s = 0; s < attn->n_sources; s++)
        max += (uint64_t)attn->sources[s].n_terms + 2;
    b.subs = heed_arena_array(arena, max, sizeof *b.subs, _Alignof(struct hk_sub));
    b.slots = heed_arena_array(arena, max, sizeof *b.slots, _Alignof(struct heed_sub_slots));
    b.sources = heed_arena_array(arena, (uint64_t)attn->n_sources + 1, sizeof *b.sources,
                                 _Alignof(struct heed_lowered_source));
    if (!lowered || !b.subs || !b.slots || !b.sources)
        return heed_report_fill(report, HEED_E_NOMEM, "", 0, 0, "no memory for the lowered form");
    for (uint32_t s = 0; s < attn->n_sources; s++) {
        const heed_status status = source_build(&b, s);

        if (status < 0)
            return status;
    }
    lowered->n_subs = b.n_subs;
    lowered->n_sources = attn->n_sources;
    lowered->q_packed = heed_layout_packed(attn->q_layout);
    lowered->subs = b.subs;
    lowered->slots = b.slots;
    lowered->sources = b.sources;
    strips_find(&b, lowered);
    lowered->capped = constants.capped;
    lowered->c = constants.c;
    lowered->c1 = constants.c1;
    lowered->c2 = constants.c2;
    *out = lowered;
    return HEED_OK;
}
