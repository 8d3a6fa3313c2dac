/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The choices of a case, in the order of the bytes: troubles of run, the fields of the kit's case,
 * and last, each rarely: more terms, numbers at the ends of what is allowed or beyond, strides of
 * any kind, slots in the wrong place, a tensor field with another value.
 */
#include "produce.h"

#include <stdlib.h>
#include <string.h>

uint8_t fuzz_byte(struct rng *b)
{
    return (uint8_t)rng_below(b, 256);
}

bool fuzz_rarely(struct rng *b, uint32_t n)
{
    return fuzz_byte(b) >= 256 - 256 / n;
}

uint64_t fuzz_word(struct rng *b, uint32_t n)
{
    uint64_t word = 0;

    for (uint32_t i = 0; i < n; i++)
        word |= (uint64_t)fuzz_byte(b) << 8 * i;
    return word;
}

#define PICK(b, table) (table)[rng_below(b, (int64_t)(sizeof(table) / sizeof(*(table))))]

/* ---- the kit's case ----------------------------------------------------- */

enum { WORK = 1 << 18 };        /* of a case, as cf_case_work() counts; rarely eight times that */

/* A byte a field that means something; half of the bytes are its default. What is illegal is mended
 * as the kit does it, but for a few. */
static void case_draw(struct rng *b, heed_device *reference, struct cs *c)
{
    const int64_t limit = fuzz_rarely(b, 32) ? 8 * WORK : WORK;
    struct rng mending;

    cf_case_default(c);
    for (int i = 0; i < cf_n_fields; i++) {
        const struct field *f = &cf_fields[i];
        uint8_t byte;

        if (f->n_levels < 2 || !cf_field_active(c, i))
            continue;
        byte = fuzz_byte(b);
        if (byte < 128)
            c->v[i] = f->level[byte % f->n_levels];
    }
    cf_case_normalize(c);
    c->seed = fuzz_word(b, 2);
    mending = rng_of(c->seed);
    if (!fuzz_rarely(b, 12) || cf_case_work(c) > limit)
        (void)cf_case_mend(&mending, reference, limit, c);
    if (cf_case_work(c) > limit)
        cf_case_default(c);
}

/* ---- what no drawn case has --------------------------------------------- */

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
static void terms_add(struct fuzz_case *c, struct rng *b)
{
    heed_source *s = &c->call.source[0];

    for (uint32_t n = fuzz_byte(b) % 4; n > 0 && s->n_terms < MAX_TERMS; n--) {
        heed_term *t = &c->call.term[0][s->n_terms++];

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

static void number_break(struct fuzz_case *c, struct rng *b)
{
    heed_attn_desc *d = &c->call.desc;
    const int i = (int)rng_below(b, MAX_SOURCES), s = i < c->call.n_sources ? i : 0;
    heed_source *source = &c->call.source[s];
    heed_term *term = &c->call.term[s][fuzz_byte(b) % MAX_TERMS];
    heed_bias *bias = &c->call.bias[s][fuzz_byte(b) % MAX_BIASES];
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

static void scale_break(struct fuzz_case *c, struct rng *b)
{
    static const double scales[] = { 0, 1, 0.125, -0.5, 1e30, -1e300, 1e-40, 5e-324 };
    static const double caps[] = { 0, 30, 1, 1e-30, 1e300, 5e-324, 0.01, 50, -1, 3e38 };

    c->call.desc.scale = PICK(b, scales);
    c->call.desc.softcap = PICK(b, caps);
}

static heed_tensor *tensor_pick(struct fuzz_case *c, struct rng *b)
{
    heed_attn_desc *d = &c->call.desc;
    heed_tensor *const fixed[] = {
        &d->q, &d->o, &d->lse, &d->sinks, &c->call.source[0].k, &c->call.source[0].v,
    };
    const uint32_t n = sizeof(fixed) / sizeof(*fixed), i = fuzz_byte(b) % (n + d->n_slots);

    return i < n ? fixed[i] : &c->call.slot[i - n].t;
}

static void strides_break(struct fuzz_case *c, struct rng *b)
{
    heed_tensor *t = tensor_pick(c, b);

    for (uint32_t i = 0; i < t->ndim && i < 6; i++)
        t->stride[i] = rng_range(b, -16, 16);
}

/* A use of slots names another one. */
static void slot_swap(struct fuzz_case *c, struct rng *b)
{
    heed_attn_desc *d = &c->call.desc;
    heed_source *s = &c->call.source[0];
    uint32_t *const uses[] = {
        &d->q_pos_slot, &d->q_slot, &d->q_len_slot, &s->slot, &s->len_slot, &s->mask_slot,
        &c->call.term[0][0].slot, &c->call.bias[0][0].t, &c->call.bias[0][0].u,
        &c->call.bias[0][0].map, &c->call.bias[0][0].q_coord, &c->call.bias[0][0].k_coord,
        &s->k_scale_slot, &s->v_scale_slot, &d->o_slot,
    };

    *PICK(b, uses) = fuzz_byte(b) % (d->n_slots + 2);
}

static void field_break(struct fuzz_case *c, struct rng *b)
{
    static const int64_t values[] = {
        0, 1, -1, 2, INT64_MAX, INT64_MIN, INT64_C(1) << 31, INT64_C(1) << 40, 3, 1000,
    };
    heed_tensor *t = tensor_pick(c, b);
    const uint32_t field = fuzz_byte(b) % 14;
    const int64_t value = PICK(b, values);

    if (field < 6)
        t->shape[field] = value;
    else if (field < 12)
        t->stride[field - 6] = value;
    else if (field == 12)
        t->dtype = fuzz_byte(b);
    else
        t->ndim = fuzz_byte(b) % 9;
}

/* Each alone or with others. */
static void case_break(struct fuzz_case *c, struct rng *b)
{
    static void (*const ways[])(struct fuzz_case *, struct rng *) = {
        terms_add, number_break, scale_break, strides_break, slot_swap, field_break,
    };

    for (uint32_t n = fuzz_rarely(b, 3) ? 1 + fuzz_byte(b) % 3 : 0; n > 0; n--)
        PICK(b, ways)(c, b);
}

void fuzz_case_make(struct fuzz_case *c, heed_device *reference, const uint8_t *data,
                    size_t size)
{
    struct rng bytes = rng_of_bytes(data, size), *const b = &bytes;
    struct cs cs;

    memset(c, 0, sizeof(*c));
    c->at_end = ~fuzz_word(b, 8);
    c->rounding = fuzz_byte(b) % 4;
    c->lanes = 1 + fuzz_byte(b) % 4;
    c->trouble = fuzz_rarely(b, 8) ? fuzz_byte(b) % FUZZ_TROUBLES : FUZZ_SOUND;
    c->alias = fuzz_rarely(b, 8) ? fuzz_byte(b) % FUZZ_ALIASES : FUZZ_APART;
    c->alias_at = c->alias ? (uint32_t)fuzz_word(b, 2) : 0;
    c->row = (uint32_t)fuzz_word(b, 2);
    c->head = fuzz_byte(b);
    c->item = fuzz_byte(b);
    case_draw(b, reference, &cs);
    c->p = cf_problem_make(&cs, NULL, 0, true);
    if (!c->p || !cf_call_describe(&c->call, c->p, 0))
        abort();
    case_break(c, b);
}

void fuzz_case_finish(struct fuzz_case *c)
{
    job_finish(&c->call.job);
    cf_problem_free(c->p);
}

/* ---- tensors ------------------------------------------------------------ */

uint32_t fuzz_dtype_size(uint32_t dtype)
{
    return type_is(dtype) ? type_find(dtype)->bytes : 0;
}

bool fuzz_extent(const heed_tensor *t, int64_t *low, int64_t *high)
{
    const int64_t size = fuzz_dtype_size(t->dtype);
    int64_t left = size ? INT64_MAX / size - 1 : 0;     /* what the spans may still add up to */

    *low = 0;
    *high = 0;
    if (size == 0 || t->ndim > 6)
        return false;
    for (uint32_t i = 0; i < t->ndim; i++) {
        if (t->shape[i] < 0)
            return false;
    }
    for (uint32_t i = 0; i < t->ndim; i++) {
        if (t->shape[i] == 0)
            return true;
    }
    for (uint32_t i = 0; i < t->ndim; i++) {
        const int64_t steps = t->shape[i] - 1, stride = t->stride[i];
        int64_t far;

        if (steps == 0 || stride == 0)
            continue;
        if (stride < -INT64_MAX || (stride < 0 ? -stride : stride) > left / steps)
            return false;
        far = steps * stride;
        left -= far < 0 ? -far : far;
        *(far < 0 ? low : high) += far;
    }
    *low *= size;
    *high = (*high + 1) * size;
    return true;
}

int64_t fuzz_count(const heed_tensor *t, int64_t most)
{
    int64_t n = 1;

    if (t->ndim == 0 || t->ndim > 6)
        return t->ndim == 0 ? 0 : -1;
    for (uint32_t i = 0; i < t->ndim; i++) {
        if (t->shape[i] <= 0)
            return t->shape[i] < 0 ? -1 : 0;
    }
    for (uint32_t i = 0; i < t->ndim; i++) {
        if (t->shape[i] > most / n)
            return -1;
        n *= t->shape[i];
    }
    return n;
}

int64_t fuzz_offset(const heed_tensor *t, int64_t i)
{
    int64_t offset = 0;

    for (uint32_t a = t->ndim; a-- > 0;) {
        offset += i % t->shape[a] * t->stride[a];
        i /= t->shape[a];
    }
    return offset;
}

void fuzz_fill(uint8_t *to, size_t size, const struct place *from)
{
    int64_t low, high;
    const uint8_t *image;

    if (!fuzz_extent(&from->t, &low, &high) || high == low)
        return;
    image = from->snapshot + (int64_t)from->buf.offset + low;
    for (size_t i = 0; i < size; i++)
        to[i] = image[i % (size_t)(high - low)];
}
