/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The check of a descriptor, object by object: its structure, its slots, its own numbers and
 * tensors, each source, and then what takes all of them together: outputs beside the batch,
 * positions, alignment, slots at their places of use.
 */
#include "check.h"

#include "../../launch/overlap.h"
#include "../../layouts/layouts.h"
#include "check_state.h"

#include <math.h>
#include <stdio.h>

static const uint32_t desc_flags = HEED_ATTN_ALIGN_START | HEED_ATTN_ALIGN_END |
                                   HEED_ATTN_SCALE_GIVEN | HEED_ATTN_LSE_WITH_SINK |
                                   HEED_PLAN_ALLOW_COMPOSED | HEED_PLAN_OWN_WORKSPACE;

/* ---- the descriptor's own ---- */

static bool fits_binary32(float x, bool zero)
{
    return isfinite(x) && (zero || x != 0);
}

/* The constants that kernels compute with: a finite number that is 0 only where the given one is.
 */
static heed_status constants_in(struct heed_check *c)
{
    const struct heed_constants k = heed_constants_find(c->out);

    if (!k.capped && !fits_binary32(k.c, k.scale == 0))
        return heed_check_fail(c, HEED_E_VALUE, "scale", 0, 0,
                               "scale * log2(e) leaves what binary32 can hold");
    if (k.capped && !fits_binary32(k.c2, false))
        return heed_check_fail(c, HEED_E_VALUE, "softcap", 0, 0,
                               "softcap * log2(e) leaves what binary32 can hold");
    if (k.capped && !fits_binary32(k.c1, k.scale == 0))
        return heed_check_fail(c, HEED_E_VALUE, "softcap", 0, 0,
                               "scale / softcap leaves what binary32 can hold");
    return HEED_OK;
}

static heed_status numbers_check(struct heed_check *c)
{
    const heed_attn_desc *d = &c->d;
    const struct heed_check_limit limits[] = {
        { "q_pos_step", d->q_pos_step, 0, INT32_MAX, "must not be negative" },
        { "numerics", d->numerics, 0, HEED_NUMERICS_FAST, "no such profile" },
        { "reserved1", d->reserved1, 0, 0, "must be 0" },
    };
    const uint32_t both = HEED_ATTN_ALIGN_START | HEED_ATTN_ALIGN_END;
    const struct heed_layout *layout = heed_layout_find(d->q_layout);
    const heed_status status = heed_check_flags(c, d->flags, desc_flags);
    char names[64];

    if (status < 0)
        return status;
    if ((d->flags & both) == both)
        return heed_check_fail(c, HEED_E_VALUE, "flags", HEED_ATTN_ALIGN_START, d->flags & both,
                               "ALIGN_START and ALIGN_END exclude each other");
    if (!layout || !layout->for_queries)
        return heed_check_fail(c, HEED_E_VALUE, "q_layout", heed_layout_queries(names),
                               d->q_layout, "queries are %s", names);
    if (!isfinite(d->scale))
        return heed_check_fail(c, HEED_E_VALUE, "scale", 0, 0, "must be finite");
    if (!isfinite(d->softcap) || d->softcap < 0)
        return heed_check_fail(c, HEED_E_VALUE, "softcap", 0, 0,
                               "must be finite and not negative");
    return heed_check_limits(c, limits, sizeof(limits) / sizeof(*limits));
}

static const struct heed_tensor_rule rule_q = { "q", 2, 6, 3, 6, HEED_SET_FLOATS };
static const struct heed_tensor_rule rule_o = { "o", 2, 6, 3, 6, HEED_SET_FLOATS };
static const struct heed_tensor_rule rule_state_in = { "state_in", 0, 6, 3, 6, HEED_SET_F32 };
static const struct heed_tensor_rule rule_state_out = { "state_out", 0, 6, 3, 6, HEED_SET_F32 };
static const struct heed_tensor_rule rule_lse = { "lse", 0, 5, 2, 5, HEED_SET_F32 };
static const struct heed_tensor_rule rule_sinks = { "sinks", 0, 1, 1, 6, HEED_SET_FLOATS };

/* What rows end as: o, or state_out. */
static const struct heed_tensor_rule *rule_end(const struct heed_check *c)
{
    return c->out->stops ? &rule_state_out : &rule_o;
}

static const heed_tensor *end_of(const struct heed_check *c)
{
    return c->out->stops ? &c->d.state_out : &c->d.o;
}

/* A row that ends as a state has no end of its own. */
static heed_status ends_check(struct heed_check *c)
{
    const struct heed_check_limit limits[] = {
        { "o.ndim", c->d.o.ndim, 0, 0, "must be absent beside state_out" },
        { "lse.ndim", c->d.lse.ndim, 0, 0, "must be absent beside state_out" },
        { "sinks.ndim", c->d.sinks.ndim, 0, 0, "must be absent beside state_out" },
    };

    return c->out->stops ? heed_check_limits(c, limits, sizeof(limits) / sizeof(*limits)) : HEED_OK;
}

static heed_status state_check(struct heed_check *c, const struct heed_tensor_rule *rule,
                               const heed_tensor *t, struct heed_view *view)
{
    const heed_status status = heed_tensor_check(&c->where, rule, t, view);
    char name[HEED_CHECK_NAME];

    if (status < 0 || t->ndim == 0 || view->shape[5] >= HEED_STATE_SUMS)
        return status;
    snprintf(name, sizeof(name), "%s.shape[%u]", rule->name, (unsigned)(t->ndim - 1));
    return heed_check_fail(c, HEED_E_VALUE, name, HEED_STATE_SUMS, view->shape[5],
                           "a state has that many channels before the sums of o");
}

static heed_status injective_check(struct heed_check *c, const char *name,
                                   const struct heed_view *view)
{
    return view->dtype == 0 || heed_view_injective(view)
               ? HEED_OK
               : heed_check_fail(c, HEED_E_STRIDE, name, 0, 0, "two elements have one address");
}

static heed_status tensors_check(struct heed_check *c)
{
    struct heed_checked *out = c->out;
    heed_status status;

    out->stops = c->d.state_out.ndim != 0;
    if ((status = heed_tensor_check(&c->where, &rule_q, &c->d.q, &out->q)) < 0 ||
        (status = ends_check(c)) < 0 ||
        (status = out->stops ? state_check(c, &rule_state_out, &c->d.state_out, &out->o)
                             : heed_tensor_check(&c->where, &rule_o, &c->d.o, &out->o)) < 0 ||
        (status = heed_tensor_check(&c->where, &rule_lse, &c->d.lse, &out->lse)) < 0 ||
        (status = heed_tensor_check(&c->where, &rule_sinks, &c->d.sinks, &out->sinks)) < 0 ||
        (status = state_check(c, &rule_state_in, &c->d.state_in, &out->state_in)) < 0 ||
        (status = injective_check(c, out->stops ? "state_out.stride" : "o.stride", &out->o)) < 0 ||
        (status = injective_check(c, "lse.stride", &out->lse)) < 0)
        return status;
    out->heads = out->q.shape[3];
    out->n_q = out->q.shape[4];
    out->d = out->q.shape[5];
    out->d_v = out->o.shape[5] - (out->stops ? HEED_STATE_SUMS : 0);
    return HEED_OK;
}

static heed_status desc_check(struct heed_check *c)
{
    const struct heed_site at = { .level = HEED_LEVEL_DESC };
    const struct heed_slot_rule *rules;
    heed_status status;

    heed_check_object(c, "%s", "");
    if ((status = numbers_check(c)) < 0 || (status = tensors_check(c)) < 0 ||
        (status = constants_in(c)) < 0)
        return status;
    rules = heed_layout_find(c->d.q_layout)->desc;
    status = heed_check_fields(c, at, &c->d, c->out, rules);
    if (status < 0)
        return status;
    if (!heed_layout_packed(c->d.q_layout))
        return heed_check_batch(c, &rule_q, &c->d.q);
    if ((status = heed_check_no_batch(c, &rule_q, &c->d.q)) < 0 ||
        (status = heed_check_no_batch(c, rule_end(c), end_of(c))) < 0 ||
        (c->d.lse.ndim != 0 && (status = heed_check_no_batch(c, &rule_lse, &c->d.lse)) < 0) ||
        (c->d.state_in.ndim != 0 &&
         (status = heed_check_no_batch(c, &rule_state_in, &c->d.state_in)) < 0))
        return status;
    status = heed_check_items(c, c->d.q_slot, rules[HEED_DESC_BEGIN].use->trailing);
    if (status < 0 || c->d.o_slot == 0)
        return status;
    if (c->out->n_q > c->out->o.shape[4])
        c->out->n_q = c->out->o.shape[4];
    return heed_check_items(c, c->d.o_slot, rules[HEED_DESC_O_BEGIN].use->trailing);
}

/* ---- what takes all of them ---- */

/* What has the rows of o, when the batch is known. */
static heed_status output_check(struct heed_check *c, const struct heed_tensor_rule *rule,
                                const heed_tensor *t)
{
    const bool packed = heed_layout_packed(c->d.q_layout), apart = c->d.o_slot != 0;
    heed_status status = HEED_OK;

    for (uint32_t a = 0; a < 3 && status >= 0 && !packed; a++)
        status = heed_tensor_axis(&c->where, rule, t, a, c->out->batch[a],
                                  "outputs have every batch item");
    if (status >= 0)
        status = heed_tensor_axis(&c->where, rule, t, 3, c->out->heads, "heads of q");
    if (status >= 0)
        status = heed_tensor_axis(&c->where, rule, t, 4,
                                  (apart ? &c->out->o : &c->out->q)->shape[4],
                                  apart ? "rows of o" : "rows of q");
    return status;
}

/* Rows as those of o, and as many channels as a state of d_v has. */
static heed_status state_in_check(struct heed_check *c)
{
    const heed_status status = output_check(c, &rule_state_in, &c->d.state_in);

    return status < 0 ? status
                      : heed_tensor_axis(&c->where, &rule_state_in, &c->d.state_in, 5,
                                         HEED_STATE_SUMS + c->out->d_v,
                                         "a state has 18 channels more than o");
}

static void expand(const struct heed_checked *out, struct heed_view *v)
{
    for (int a = 0; a < 3; a++) {
        if (v->shape[a] == 1)
            v->shape[a] = out->batch[a];
    }
}

/* Batch items times heads times rows is what a backend counts its tasks in, packed rows too. */
static heed_status batch_check(struct heed_check *c)
{
    struct heed_checked *out = c->out;
    const int64_t factors[] = { out->batch[0], out->batch[1], out->batch[2], out->heads, out->n_q };
    int64_t product = 1;

    for (size_t i = 0; i < sizeof(factors) / sizeof(*factors); i++) {
        if (factors[i] > 1 && !heed_mul_i64(product, factors[i], &product))
            return heed_check_fail(c, HEED_E_OVERFLOW, "q.shape", INT64_MAX, 0,
                                   "batch items times heads times rows leave 63 bits");
    }
    out->n_batch = out->batch[0] * out->batch[1] * out->batch[2];
    expand(out, &out->q);
    for (uint32_t s = 0; s < out->n_sources; s++) {
        if (heed_layout_find(c->to[s].layout)->items == HEED_ITEMS_PAGES)   /* no batch axes */
            continue;
        expand(out, &c->to[s].k);
        expand(out, &c->to[s].v);
    }
    return HEED_OK;
}

/* start + steps * step + more. */
static bool travel(int64_t start, int64_t steps, int64_t step, int64_t more, int64_t *out)
{
    int64_t way;

    return heed_mul_i64(steps, step, &way) && heed_add_i64(start, way, &way) &&
           heed_add_i64(way, more, out);
}

/* The first position that the first key covers and the last one of the last key. END: the first
 * key of the longest item. */
static heed_status source_positions(struct heed_check *c, uint32_t s)
{
    const struct heed_checked_source *to = &c->to[s];
    const int64_t first = to->flags & HEED_SOURCE_END ? -to->n_k : 0;
    int64_t low = 0, high = 0;
    heed_status status;
    bool known;

    heed_check_object(c, "sources[%u].", (unsigned)s);
    status = heed_check_position(c, "pos0", to->pos0);
    if (status < 0 || to->n_k == 0)
        return status;
    known = travel(to->pos0, first, to->pos_step, 0, &low);
    status = heed_check_reached(c, "pos_step", known, low);
    if (status < 0)
        return status;
    known = travel(to->pos0, first + to->n_k - 1, to->pos_step, to->pos_span - 1, &high);
    return heed_check_reached(c, "pos_step", known, high);
}

static heed_status query_positions(struct heed_check *c)
{
    const struct heed_checked *out = c->out;
    const int64_t steps = out->n_q > 0 ? out->n_q - 1 : 0;
    int64_t far = 0;
    heed_status status = heed_check_position(c, "q_pos0", out->q_pos0);
    bool known;

    if (status < 0)
        return status;
    known = travel(out->q_pos0, out->flags & HEED_ATTN_ALIGN_END ? -steps : steps, out->q_pos_step,
                   0, &far);
    return heed_check_reached(c, "q_pos_step", known, far);
}

static bool run_time(const struct heed_check *c, uint32_t slot)
{
    return slot != 0 && !c->slots[slot - 1].data;
}

/* Must the alignment be stated? */
static heed_status alignment_check(struct heed_check *c)
{
    const heed_attn_desc *d = &c->d;
    const bool q_open = heed_layout_packed(d->q_layout) || run_time(c, d->q_len_slot);

    heed_check_object(c, "%s", "");
    if (d->flags & (HEED_ATTN_ALIGN_START | HEED_ATTN_ALIGN_END))
        return HEED_OK;
    for (uint32_t s = 0; s < d->n_sources; s++) {
        const struct heed_checked_source *source = &c->to[s];

        if (!heed_check_positional(source))
            continue;
        if (source->n_k != c->out->n_q)
            return heed_check_fail(
                c, HEED_E_AMBIGUOUS, "flags", c->out->n_q, source->n_k,
                "source %u compares positions and has %lld keys for %lld rows: state ALIGN_START "
                "or ALIGN_END",
                (unsigned)s, (long long)source->n_k, (long long)c->out->n_q);
        if (q_open || heed_layout_packed(source->layout) || run_time(c, source->len.slot))
            return heed_check_fail(
                c, HEED_E_AMBIGUOUS, "flags", 0, 0,
                "source %u compares positions and lengths are known only to run: state "
                "ALIGN_START or ALIGN_END",
                (unsigned)s);
    }
    c->out->flags |= HEED_ATTN_ALIGN_START;
    return HEED_OK;
}

static heed_status together_check(struct heed_check *c)
{
    heed_status status;

    heed_check_object(c, "%s", "");
    if ((status = output_check(c, rule_end(c), end_of(c))) < 0 ||
        (c->d.lse.ndim != 0 && (status = output_check(c, &rule_lse, &c->d.lse)) < 0) ||
        (c->d.state_in.ndim != 0 && (status = state_in_check(c)) < 0) ||
        (c->d.sinks.ndim != 0 && (status = heed_tensor_axis(&c->where, &rule_sinks, &c->d.sinks, 5,
                                                            c->out->heads, "heads of q")) < 0) ||
        (status = batch_check(c)) < 0 || (status = query_positions(c)) < 0)
        return status;
    for (uint32_t s = 0; s < c->d.n_sources && status >= 0; s++)
        status = source_positions(c, s);
    if (status >= 0)
        status = alignment_check(c);
    if (status >= 0)
        status = heed_check_sites(c);
    return status < 0 ? status : heed_check_constants(c);
}

/* The checked form, to be filled. */
static heed_status form_take(struct heed_check *c)
{
    const heed_attn_desc *d = &c->d;
    uint64_t sites = HEED_DESC_SLOTS;

    for (uint32_t s = 0; s < d->n_sources; s++)
        sites += HEED_SOURCE_SLOTS + (uint64_t)c->sources[s].n_terms * HEED_TERM_SLOTS +
                  (uint64_t)c->sources[s].n_biases * HEED_BIAS_SLOTS;
    c->sites = heed_arena_array(c->arena, sites, sizeof(*c->sites), 8);
    c->aux = heed_arena_array(c->scratch, sites, sizeof(*c->aux), 8);
    c->out = heed_arena_take(c->arena, sizeof(*c->out), 8);
    c->to = d->n_sources == 0 ? NULL
                              : heed_arena_array(c->arena, d->n_sources, sizeof(*c->to), 8);
    if (!c->sites || !c->aux || !c->out || (d->n_sources != 0 && !c->to))
        return heed_check_nomem(c);
    *c->out = (struct heed_checked){
        .batch = { 1, 1, 1 },
        .q_layout = d->q_layout,
        .flags = d->flags,
        .q_pos0 = d->q_pos0,
        .q_pos_step = d->q_pos_step == 0 ? 1 : d->q_pos_step,
        .scale = d->scale,
        .softcap = d->softcap,
        .numerics = d->numerics,
        .n_sources = d->n_sources,
        .sources = c->to,
        .sites = c->sites,
        .n_slots = d->n_slots,
    };
    return HEED_OK;
}

heed_status heed_check_attn(const heed_attn_desc *desc, struct heed_arena *arena,
                            const struct heed_checked **out, heed_report *report)
{
    struct heed_arena scratch;
    struct heed_check c = {
        .given = desc, .arena = arena, .scratch = &scratch, .where.report = report
    };
    heed_status status;

    heed_arena_init(&scratch, arena->runtime);
    status = heed_check_copy(&c);
    if (status >= 0)
        status = form_take(&c);
    if (status >= 0)
        status = heed_check_slots(&c);
    if (status >= 0)
        status = desc_check(&c);
    for (uint32_t s = 0; s < c.d.n_sources && status >= 0; s++)
        status = heed_check_source(&c, s);
    if (status >= 0)
        status = together_check(&c);
    heed_arena_finish(&scratch);
    if (status < 0)
        return status;
    *out = c.out;
    return heed_report_ok(report);
}
