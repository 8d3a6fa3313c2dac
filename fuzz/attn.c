/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What attention adds: terms and numbers of its descriptor, slots in the wrong place; which rows of
 * its outputs are unspecified, NaN and zero canonical, rows without a key +0 and -Inf as
 * heed_attn_visible() has it, and results within the bound of the conformance kit's oracle, which
 * makes a problem of any descriptor.
 */
#include "fuzz.h"
#include "own.h"

#include "conform/ops/attn/attn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { Q, O, LSE, SINKS, KV };  /* operands; then k and v of each source, then the slots */

#define PICK(b, table) (table)[rng_below(b, (int64_t)(sizeof(table) / sizeof(*(table))))]

/* ---- the descriptor ----------------------------------------------------- */

/* Near 0, at the ends of what is allowed, or just beyond. */
static int64_t far_position(struct rng *b)
{
    static const int64_t far[] = {
        INT64_C(1) << 60, -(INT64_C(1) << 60), (INT64_C(1) << 60) - 7, 7 - (INT64_C(1) << 60),
        (INT64_C(1) << 60) + 1, INT64_MAX - 1, INT64_MIN, INT64_C(1) << 32, -(INT64_C(1) << 31),
        HEED_FAR, 0, 1, -1, 20, -20, 100,
    };

    return PICK(b, far);
}

static int32_t odd_step(struct rng *b)
{
    static const int32_t steps[] = { 0, 1, 2, 3, 5, 64, 7, INT32_MAX, 100, -1, INT32_MIN, 4 };

    return PICK(b, steps);
}

/* Terms that need no slot. */
static void terms_add(struct call *call, struct rng *b)
{
    heed_source *s = &call->source[0];

    for (uint32_t n = fuzz_byte(b) % 4; n > 0 && s->n_terms < MAX_TERMS; n--) {
        heed_term *t = &call->term[0][s->n_terms++];

        *t = (heed_term){ .kind = fuzz_byte(b) % (HEED_TERM_GLOBAL + 1) };
        t->block = fuzz_byte(b) % 4 ? fuzz_byte(b) % 80 : odd_step(b);
        if (t->kind == HEED_TERM_GLOBAL) {
            t->flags = fuzz_byte(b) & (HEED_TERM_KEYS | HEED_TERM_ROWS);
            continue;
        }
        t->block = t->kind == HEED_TERM_WINDOW ? t->block : 0;
        t->left = t->kind == HEED_TERM_WINDOW ? rng_range(b, -40, 87) : 0;
        t->right = t->kind == HEED_TERM_WINDOW ? rng_range(b, -40, 87) : 0;
        t->step = fuzz_byte(b) % 5;
        t->phase = t->step > 1 ? (int32_t)rng_range(b, -128, 127) : 0;
        t->flags = t->step > 1 ? fuzz_byte(b) & (HEED_TERM_PHASE_HEAD | HEED_TERM_PHASE_QUERY) : 0;
    }
}

static void number_break(struct call *call, struct rng *b)
{
    heed_attn_desc *d = &call->desc;
    const int i = (int)rng_below(b, MAX_SOURCES), s = i < call->n_sources ? i : 0;
    heed_source *source = &call->source[s];
    heed_term *term = &call->term[s][fuzz_byte(b) % MAX_TERMS];
    heed_bias *bias = &call->bias[s][fuzz_byte(b) % MAX_BIASES];
    int64_t *const wide[] = { &d->q_pos0, &source->pos0, &term->left, &term->right, &term->step,
                              &bias->zero };
    int32_t *const narrow[] = { &d->q_pos_step, &source->pos_step, &source->pos_span, &source->run,
                                &source->rows,  &term->block,      &term->phase };
    const uint32_t which = fuzz_byte(b) % 13;

    if (which < 6)
        *wide[which] = far_position(b);
    else
        *narrow[which - 6] = odd_step(b);
}

static void scale_break(struct call *call, struct rng *b)
{
    static const double scales[] = { 0, 1, 0.125, -0.5, 1e30, -1e300, 1e-40, 5e-324 };
    static const double caps[] = { 0, 30, 1, 1e-30, 1e300, 5e-324, 0.01, 50, -1, 3e38 };

    call->desc.scale = PICK(b, scales);
    call->desc.softcap = PICK(b, caps);
}

/* A use of slots names another one. */
static void slot_swap(struct call *call, struct rng *b)
{
    heed_attn_desc *d = &call->desc;
    heed_source *s = &call->source[0];
    uint32_t *const uses[] = {
        &d->q_pos_slot, &d->q_slot, &d->q_len_slot, &s->slot, &s->len_slot, &s->mask_slot,
        &call->term[0][0].slot, &call->bias[0][0].t, &call->bias[0][0].u,
        &call->bias[0][0].map, &call->bias[0][0].q_coord, &call->bias[0][0].k_coord,
        &s->k_scale_slot, &s->v_scale_slot, &d->o_slot, &s->row_mask_slot,
    };

    *PICK(b, uses) = fuzz_byte(b) % (d->n_slots + 2);
}

static void spoil(struct job *job, struct rng *b)
{
    static void (*const ways[])(struct call *, struct rng *) = {
        terms_add, number_break, scale_break, slot_swap,
    };

    PICK(b, ways)(cf_call_of(job), b);
}

/* ---- the arguments ------------------------------------------------------ */

static void confuse(struct job *job, uint32_t which)
{
    heed_attn_args *const args = &cf_call_of(job)->args;

    switch (which % 5) {
    case 0:
        args->kv = NULL;
        break;
    case 1:
        args->slots = NULL;
        break;
    case 2:
        args->n_slots++;
        break;
    case 3:
        args->n_wait = 1;
        break;
    default:
        args->kv_size = sizeof(heed_kv_bufs) - 8;
        break;
    }
}

static heed_status validate(const heed_plan *plan, heed_queue *queue, const void *args,
                            heed_report *report)
{
    return heed_attn_validate(plan, queue, args, report);
}

static const heed_attn_desc *desc_of(const struct fuzz_arrays *a)
{
    return a->c->job->desc;
}

/* Entries of a PAGED source's table; of another source 1. */
static int64_t pages_of(const heed_attn_desc *d, const heed_source *source)
{
    const heed_tensor *table;

    if (source->layout != HEED_LAYOUT_PAGED || source->slot == 0 || source->slot > d->n_slots)
        return 1;
    table = &d->slots[source->slot - 1].t;
    return table->ndim >= 1 && table->ndim <= 6 ? table->shape[table->ndim - 1] : 1;
}

static bool heavy(const struct fuzz_arrays *a)
{
    const heed_attn_desc *d = desc_of(a);
    double rows = 1, keys = 1;

    for (uint32_t i = 0; i < d->q.ndim; i++)
        rows *= (double)(d->q.shape[i] > 0 ? d->q.shape[i] : 1);
    for (uint32_t i = 0; i < d->n_slots; i++) {     /* of RAGGED queries the begins are items */
        const int64_t n = fuzz_count(&d->slots[i].t, INT64_MAX);

        if (d->q_layout == HEED_LAYOUT_RAGGED && d->q_slot == i + 1)
            rows *= (double)(n > 0 ? n : 1);
    }
    for (uint32_t i = 0; i < d->n_sources; i++) {
        const heed_tensor *v = &d->sources[i].v;

        if (v->ndim >= 2 && v->ndim <= 6)
            keys += (double)v->shape[v->ndim - 2] * (double)(v->shape[v->ndim - 1] + 4) *
                    (double)pages_of(d, &d->sources[i]);
    }
    return rows * keys > 64.0 * (1 << 20);
}

/* ---- outputs ------------------------------------------------------------ */

/* How many items own a row of packed o, up to 2: a shared row is unspecified, one of nobody is not
 * written. NULL for DENSE queries; without a problem nobody knows. */
static uint8_t *owners(const heed_attn_desc *d, const struct problem *p)
{
    const int64_t rows = d->o.shape[d->o.ndim - 2];
    struct item_view view;
    uint8_t *owned;

    if (d->q_layout != HEED_LAYOUT_RAGGED)
        return NULL;
    owned = fuzz_copy(NULL, (size_t)rows);
    for (int64_t r = 0; !p && r < rows; r++)
        owned[r] = 2;
    for (int64_t b = 0; p && b < p->n_items; b++) {
        cf_item_view(p, b, &view);
        for (int64_t r = view.o_begin; r < view.o_begin + view.q_n; r++)
            owned[r] = (uint8_t)(owned[r] + (owned[r] < 2));
    }
    return owned;
}

static bool is_canonical(uint32_t dtype, const uint8_t *at)
{
    uint32_t word = 0;
    uint16_t half = 0;

    if (dtype == HEED_F32) {
        memcpy(&word, at, 4);
        return word != 0x80000000u && ((word & 0x7fffffffu) <= 0x7f800000u || word == 0x7fc00000u);
    }
    memcpy(&half, at, 2);
    if (dtype == HEED_F16)
        return half != 0x8000u && ((half & 0x7fffu) <= 0x7c00u || half == 0x7e00u);
    return half != 0x8000u && ((half & 0x7fffu) <= 0x7f80u || half == 0x7fc0u);
}

/* An output of the first device; row_axis counts from the last. */
static void output_judge(struct fuzz_array *x, int64_t row_axis, const uint8_t *owned)
{
    const int64_t n = fuzz_elements(x), size = fuzz_dtype_size(x->t->dtype);
    const int64_t *const end = x->t->shape + x->t->ndim;
    const int64_t inner = row_axis == 2 ? end[-1] : 1, rows = n ? end[-row_axis] : 1;

    if (n && owned)
        x->loose = fuzz_copy(NULL, (size_t)n);
    for (int64_t i = 0; i < n; i++) {
        const int64_t row = i / inner % rows;
        const uint8_t *const at = x->wanted + i * size;

        if (owned && owned[row] > 1) {
            x->loose[i] = 1;
            continue;
        }
        FUZZ_REQUIRE(is_canonical(x->t->dtype, at), "%s[%lld] is not canonical", x->x->name,
                     (long long)i);
        FUZZ_REQUIRE(!owned || owned[row] ||
                         (at[0] == FUZZ_PATTERN && at[size - 1] == FUZZ_PATTERN),
                     "%s[%lld] is of nobody and was written", x->x->name, (long long)i);
    }
}

/* How many keys the row sees, each source asked. */
static int64_t seen_by(const struct fuzz_arrays *a, int64_t item, int64_t head, int64_t row)
{
    const heed_attn_desc *d = desc_of(a);
    int64_t sum = 0;

    for (uint32_t s = 0; s < d->n_sources; s++) {
        const heed_source *const source = &d->sources[s];
        const int64_t n = source->k.shape[source->k.ndim - 2] * pages_of(d, source);
        uint8_t *const seen = fuzz_copy(NULL, (size_t)n);
        const heed_status status = heed_attn_visible(d, &cf_call_of(a->c->job)->args, item, head,
                                                     row, s, seen, NULL);

        FUZZ_REQUIRE(status == HEED_OK, "visible answers %s", heed_status_name(status));
        for (int64_t i = 0; i < n; i++)
            sum += seen[i];
        free(seen);
    }
    return sum;
}

/* A row that sees no key is +0 and -Inf. DENSE queries only: others have no row numbers of o. */
static void visible_judge(const struct fuzz_arrays *a)
{
    static const float none = -INFINITY;
    const heed_attn_desc *d = desc_of(a);
    const int64_t n_q = d->q.shape[d->q.ndim - 2], d_v = d->o.shape[d->o.ndim - 1];
    const int64_t n = d_v ? fuzz_elements(&a->at[O]) / d_v : 0;     /* rows of all */
    const int64_t heads = d->q.ndim > 2 ? d->q.shape[d->q.ndim - 3] : 1;
    const int64_t size = fuzz_dtype_size(d->o.dtype);
    int64_t at;

    if (n == 0 || d->q_layout != HEED_LAYOUT_DENSE)
        return;
    at = (((int64_t)(a->c->pick >> 24) * heads + (a->c->pick >> 16 & 255)) * n_q +
          (a->c->pick & 65535)) % n;
    if (seen_by(a, at / n_q / heads, at / n_q % heads, at % n_q) > 0)
        return;
    for (int64_t i = 0; i < d_v * size; i++)
        FUZZ_REQUIRE(a->at[O].wanted[at * d_v * size + i] == 0,
                     "row %lld sees nothing and is not 0", (long long)at);
    FUZZ_REQUIRE(!d->lse.ndim || d->flags & HEED_ATTN_LSE_WITH_SINK ||
                     memcmp(a->at[LSE].wanted + at * 4, &none, 4) == 0,
                 "row %lld sees nothing, lse is not so", (long long)at);
}

/* Scales that binary32 holds well: what others round to is not the oracle's matter. */
static bool is_plain(const heed_attn_desc *d)
{
    const double s = fabs(d->scale);

    return (s == 0 || (s > 1e-3 && s < 1e3)) &&
           (d->softcap == 0 || (d->softcap > 1e-2 && d->softcap < 1e3));
}

static bool is_small(const struct problem *p)
{
    int64_t keys = 1;

    for (int s = 0; s < p->n_sources; s++)
        keys += p->source[s].total;
    return (double)p->n_items * (double)p->heads * (double)p->n_q * (double)keys < 1 << 20;
}

static void elements_give(const struct fuzz_array *from, struct array *to)
{
    memcpy(to->data, from->wanted, cf_array_bytes(to));
}

static void oracle_compare(const struct fuzz_arrays *a, const struct problem *p, struct call *ran)
{
    struct verdict v = { .failed = false };
    char line[LINE];

    elements_give(&a->at[O], &ran->out);
    if (ran->has_lse)
        elements_give(&a->at[LSE], &ran->out_lse);
    if (is_plain(desc_of(a)) && is_small(p))
        cf_judge_bound(p, ran, &v);
    cf_case_print(&a->c->cs, line);
    FUZZ_REQUIRE(!v.failed, "%s%s: %s", line, a->c->strange ? ", changed" : "", v.why);
}

/* Everything lies as before the run, which may have written over what only its plan read. */
static void judge(struct fuzz_arrays *a, bool first)
{
    struct call ran;
    struct problem *p;
    uint8_t *owned;

    if (!first)
        return;
    fuzz_arrays_restore(a);
    fuzz_arrays_bind(a);
    p = cf_problem_of(desc_of(a), &cf_call_of(a->c->job)->args, &ran);
    owned = owners(desc_of(a), p);
    output_judge(&a->at[O], 2, owned);
    output_judge(&a->at[LSE], 1, owned);
    free(owned);
    visible_judge(a);
    if (!p)
        return;
    oracle_compare(a, p, &ran);
    job_finish(&ran.job);
    cf_problem_free(p);
}

const struct fuzz_own fuzz_attn = {
    .heavy = heavy, .spoil = spoil, .confuse = confuse, .validate = validate, .judge = judge,
};
