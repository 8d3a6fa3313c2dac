/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The choices of a case, in the order of the bytes: troubles of run, extents, q and outputs, then
 * source after source with its slots, numbers, and last the breaking of one field.
 */
#include "produce.h"

#include <string.h>

uint8_t fuzz_byte(struct fuzz_bytes *b)
{
    return b->at < b->end ? *b->at++ : 0;
}

uint32_t fuzz_pick(struct fuzz_bytes *b, uint32_t n)
{
    return fuzz_byte(b) % n;
}

bool fuzz_rarely(struct fuzz_bytes *b, uint32_t n)
{
    return fuzz_byte(b) >= 256 - 256 / n;
}

uint64_t fuzz_word(struct fuzz_bytes *b, uint32_t n)
{
    uint64_t word = 0;

    for (uint32_t i = 0; i < n; i++)
        word |= (uint64_t)fuzz_byte(b) << 8 * i;
    return word;
}

#define PICK(b, table) (table)[fuzz_pick(b, sizeof(table) / sizeof(*(table)))]

/* Mostly near 0; rarely at the ends of what is allowed, or just beyond. */
static int64_t position(struct fuzz_bytes *b)
{
    static const int64_t far[] = {
        INT64_C(1) << 60, -(INT64_C(1) << 60), (INT64_C(1) << 60) - 7, 7 - (INT64_C(1) << 60),
        (INT64_C(1) << 60) + 1, INT64_MAX - 1, INT64_MIN, INT64_C(1) << 32, -(INT64_C(1) << 31),
    };
    const uint8_t byte = fuzz_byte(b);

    if (byte >= 250)
        return PICK(b, far);
    return byte < 200 ? (int64_t)(int8_t)(byte & 31) - (byte & 32) : (byte - 225) * 20;
}

static int32_t step_of(struct fuzz_bytes *b)
{
    static const int32_t steps[] = { 0, 0, 0, 1, 1, 2, 3, 5, 64, 7, 0, 1, INT32_MAX, 100, 2, 4 };
    const uint8_t byte = fuzz_byte(b);

    return byte == 255 ? -1 : steps[byte % (sizeof(steps) / sizeof(*steps))];
}

/* ---- arrays ------------------------------------------------------------- */

enum { PERMUTED = 1, PADDED = 2, REVERSED = 4, REPEATED = 8 };

/* Strides of any kind; never more than some multiple of the elements. Outputs must not repeat
 * elements, and so rarely do. */
static void strides(struct fuzz_bytes *b, heed_tensor *t, bool input)
{
    const bool any = input || fuzz_rarely(b, 16);
    const uint8_t byte = fuzz_byte(b), style = any ? byte : byte & (PERMUTED | PADDED | REVERSED);
    uint32_t order[6] = { 0, 1, 2, 3, 4, 5 };
    int64_t stride = 1;

    if ((style & PERMUTED) && t->ndim > 1) {
        for (uint32_t i = 0; i < t->ndim; i++) {
            const uint32_t j = fuzz_pick(b, t->ndim), swap = order[i];

            order[i] = order[j];
            order[j] = swap;
        }
    }
    if (style & PADDED)
        stride += fuzz_pick(b, 4);
    for (uint32_t i = t->ndim; i-- > 0;) {
        const uint32_t axis = order[i];

        t->stride[axis] = stride;
        stride *= t->shape[axis] > 0 ? t->shape[axis] : 1;
        if ((style & PADDED) && stride < FUZZ_ELEMENTS)
            stride += fuzz_pick(b, 4);
    }
    for (uint32_t i = 0, bits = (style & REVERSED) ? fuzz_byte(b) : 0; i < t->ndim; i++) {
        if (bits >> i & 1)
            t->stride[i] = -t->stride[i];
    }
    for (uint32_t i = 0, bits = (style & REPEATED) ? fuzz_byte(b) : 0; i < t->ndim; i++) {
        if (bits >> i & 1)
            t->stride[i] = 0;
    }
    for (uint32_t i = 0; style >= 240 && i < t->ndim; i++)
        t->stride[i] = (int64_t)fuzz_pick(b, 33) - 16;
}

/* Leading axes of extent 1 may be left out. */
static void tensor(struct fuzz_bytes *b, heed_tensor *t, uint32_t dtype, uint32_t ndim,
                   const int64_t *shape, uint32_t least, bool input)
{
    const uint8_t drop = fuzz_byte(b);

    while (ndim > least && shape[0] == 1 && (drop & 3) == 1) {
        shape++;
        ndim--;
    }
    t->dtype = dtype;
    t->ndim = ndim;
    for (uint32_t i = 0; i < ndim; i++)
        t->shape[i] = shape[i];
    strides(b, t, input);
}

static struct fuzz_recipe recipe(struct fuzz_bytes *b, uint32_t content, int64_t bound)
{
    struct fuzz_recipe r = { .content = content, .bound = bound };

    r.mode = fuzz_byte(b);
    r.seed = (uint32_t)fuzz_word(b, 2);
    return r;
}

static uint32_t float_type(struct fuzz_bytes *b)
{
    static const uint32_t types[] = { HEED_F32, HEED_F32, HEED_F16, HEED_BF16 };

    return PICK(b, types);
}

static uint32_t integer_type(struct fuzz_bytes *b)
{
    return fuzz_pick(b, 2) ? HEED_I64 : HEED_I32;
}

/* ---- slots -------------------------------------------------------------- */

/* Adds a slot with axes [batch...][shape...], or rarely names another. whole: no batch axis may be
 * left out or broadcast. */
static uint32_t slot_add(struct fuzz_case *c, uint32_t dtype, uint32_t n, const int64_t *shape,
                         uint32_t batch_axes, bool whole, struct fuzz_recipe r)
{
    struct fuzz_bytes *b = &c->bytes;
    heed_slot *slot = &c->slots[c->desc.n_slots];
    const uint8_t broadcast = whole ? 0 : fuzz_byte(b);
    int64_t axes[6];

    if (c->desc.n_slots == FUZZ_SLOTS || (c->desc.n_slots > 0 && fuzz_rarely(b, 32)))
        return 1 + fuzz_pick(b, c->desc.n_slots);
    for (uint32_t i = 0; i < batch_axes; i++)
        axes[i] = broadcast >> i & 1 ? 1 : c->batch[i];
    for (uint32_t i = 0; i < n; i++)
        axes[batch_axes + i] = shape[i];
    if (batch_axes + n == 0) {
        axes[0] = 1;
        batch_axes = 1;
    }
    tensor(b, &slot->t, dtype, batch_axes + n, axes, n ? n : 1, true);
    c->constant[c->desc.n_slots] = fuzz_pick(b, 2);
    if (c->constant[c->desc.n_slots] && r.content >= FUZZ_ASCENDING && !fuzz_rarely(b, 4))
        r.mode = 0;                     /* constant indices must be sound */
    c->slot[c->desc.n_slots] = r;
    return ++c->desc.n_slots;
}

static uint32_t lengths_add(struct fuzz_case *c, uint32_t content, int64_t bound, bool whole)
{
    const uint32_t dtype = integer_type(&c->bytes);

    return slot_add(c, dtype, 0, NULL, c->n_batch, whole, recipe(&c->bytes, content, bound));
}

static uint32_t coordinates_add(struct fuzz_case *c, int64_t n)
{
    const uint32_t dtype = integer_type(&c->bytes);

    return slot_add(c, dtype, 1, &n, c->n_batch, false, recipe(&c->bytes, FUZZ_POSITIONS, 2 * n));
}

/* ---- extents ------------------------------------------------------------ */

enum { WORK = 1 << 16 };        /* products of one source, about; rarely sixteen times that */

static const int64_t row_counts[] = {
    5, 1, 16, 33, 2, 64, 65, 7, 100, 193, 200, 3, 31, 128, 63, 0, 260, 17, 48, 9,
};
static const int64_t channel_counts[] = { 8, 1, 16, 3, 32, 2, 64, 17, 24, 65, 5, 40, 0, 128, 15 };

static int64_t items(const struct fuzz_case *c)
{
    return c->batch[0] * c->batch[1] * c->batch[2];
}

static void extents(struct fuzz_case *c)
{
    struct fuzz_bytes *b = &c->bytes;

    for (int i = 0; i < 3; i++)
        c->batch[i] = 1;
    c->n_batch = fuzz_pick(b, 4);
    for (uint32_t i = 0; i < c->n_batch; i++)
        c->batch[i] = fuzz_rarely(b, 32) ? 0 : 1 + fuzz_pick(b, 3);
    c->key_heads = 1 + fuzz_pick(b, 3);
    c->heads = c->key_heads * (1 + fuzz_pick(b, 3));
    if (fuzz_rarely(b, 64))
        c->heads = c->key_heads = 0;
    c->d = PICK(b, channel_counts);
    c->d_v = fuzz_pick(b, 3) ? PICK(b, channel_counts) : c->d;
    c->n_q = PICK(b, row_counts);
    c->work = fuzz_rarely(b, 32) ? 16 * WORK : WORK;
    while (items(c) * c->heads * c->n_q * (c->d > c->d_v ? c->d : c->d_v) > FUZZ_ELEMENTS)
        c->n_q /= 2;
}

/* A batch axis of an input may be broadcast; rarely all of them. */
static void batched(struct fuzz_case *c, int64_t shape[6], bool packed, bool input)
{
    const uint8_t ones = input && !packed ? fuzz_byte(&c->bytes) : 0;

    for (uint32_t i = 0; i < c->n_batch; i++)
        shape[i] = packed || ones >= 0xf8 || (ones >= 0xe0 && (ones >> i & 1)) ? 1 : c->batch[i];
}

static void main_tensor(struct fuzz_case *c, heed_tensor *t, uint32_t dtype, bool packed,
                        bool input, int64_t heads, int64_t rows, int64_t channels)
{
    int64_t shape[6];
    uint32_t n = c->n_batch;

    batched(c, shape, packed, input);
    shape[n++] = heads;
    shape[n++] = rows;
    if (channels >= 0)
        shape[n++] = channels;
    tensor(&c->bytes, t, dtype, n, shape, channels >= 0 ? 2 : 1, input);
}

/* ---- queries ------------------------------------------------------------ */

static void queries(struct fuzz_case *c)
{
    struct fuzz_bytes *b = &c->bytes;
    heed_attn_desc *d = &c->desc;
    const bool packed = fuzz_pick(b, 4) == 3;

    main_tensor(c, &d->q, float_type(b), packed, true, c->heads, c->n_q, c->d);
    c->q = recipe(b, FUZZ_NUMBERS, 0);
    main_tensor(c, &d->o, float_type(b), packed, false, c->heads, c->n_q, c->d_v);
    if (fuzz_pick(b, 3))
        main_tensor(c, &d->lse, HEED_F32, packed, false, c->heads, c->n_q, -1);
    if (fuzz_pick(b, 3) == 2) {
        tensor(b, &d->sinks, HEED_F32, 1, &c->heads, 1, true);
        c->sinks = recipe(b, FUZZ_BIASES, 0);
    }
    if (packed) {
        d->q_layout = HEED_LAYOUT_RAGGED;
        d->q_slot = lengths_add(c, FUZZ_BEGINS, c->n_q, true);
    }
    if (packed || fuzz_pick(b, 4) == 3)
        d->q_len_slot = lengths_add(c, FUZZ_BELOW, packed && items(c) > 0 ? c->n_q / items(c)
                                                                          : c->n_q, false);
    if (fuzz_pick(b, 6) == 5)
        d->q_pos_slot = slot_add(c, HEED_I64, 0, NULL, c->n_batch, false,
                                 recipe(b, FUZZ_POSITIONS, 2 * c->n_q));
    d->q_pos0 = position(b);
    d->q_pos_step = step_of(b);
}

/* ---- sources ------------------------------------------------------------ */

static int64_t blocks(int64_t rows, int64_t block)
{
    return (rows + block - 1) / (block > 0 ? block : 1);
}

static void term(struct fuzz_case *c, const heed_source *s, heed_term *t, int64_t n_k)
{
    struct fuzz_bytes *b = &c->bytes;
    int64_t shape[2];

    t->kind = fuzz_pick(b, 4);
    if (t->kind == HEED_TERM_ALL || t->kind == HEED_TERM_WINDOW) {
        t->step = step_of(b);
        if (t->step > 1) {
            t->phase = (int32_t)(int8_t)fuzz_byte(b);
            t->flags = fuzz_byte(b) & (HEED_TERM_PHASE_HEAD | HEED_TERM_PHASE_QUERY);
            if (s->pos_step > 1 && !fuzz_rarely(b, 16))
                t->flags &= HEED_TERM_PHASE_HEAD;
        }
    }
    if (t->kind == HEED_TERM_WINDOW) {
        t->left = fuzz_rarely(b, 8) ? HEED_FAR : position(b);
        t->right = fuzz_rarely(b, 8) ? HEED_FAR : position(b);
        t->block = step_of(b);
    } else if (t->kind == HEED_TERM_GLOBAL) {
        t->flags = fuzz_byte(b) & (HEED_TERM_KEYS | HEED_TERM_ROWS);
        t->block = fuzz_pick(b, 2) ? (int32_t)fuzz_pick(b, 80) : step_of(b);
        shape[0] = fuzz_pick(b, 20);
        if (fuzz_pick(b, 2))
            t->slot = slot_add(c, HEED_I32, 1, shape, c->n_batch, false,
                               recipe(b, FUZZ_ASCENDING, n_k < c->n_q ? n_k : c->n_q));
        if (t->slot)
            t->block = 0;
    } else if (t->kind == HEED_TERM_SEGMENT) {
        t->block = step_of(b);
        shape[0] = blocks(c->n_q, t->block > 0 ? t->block : 1);
        shape[1] = 2;
        t->slot = slot_add(c, HEED_I32, 2, shape, c->n_batch, false,
                           recipe(b, FUZZ_RANGES, n_k));
    }
}

static void bias(struct fuzz_case *c, heed_bias *bias, int64_t n_k)
{
    struct fuzz_bytes *b = &c->bytes;
    const uint32_t dtype = float_type(b);
    int64_t shape[3] = { c->heads, c->n_q, n_k }, length = fuzz_pick(b, 40);

    bias->kind = 1 + fuzz_pick(b, 3);
    if (bias->kind == HEED_BIAS_ALIBI) {
        bias->t = slot_add(c, dtype, 1, shape, 0, true, recipe(b, FUZZ_NUMBERS, 0));
    } else if (bias->kind == HEED_BIAS_TABLE) {
        shape[0] = fuzz_pick(b, 2) ? c->heads : 1;
        shape[1] = length;
        bias->t = slot_add(c, dtype, 2, shape, 0, true, recipe(b, FUZZ_BIASES, 0));
        bias->zero = position(b);
        if (fuzz_pick(b, 3) == 2) {
            shape[0] = fuzz_pick(b, 60);
            bias->map = slot_add(c, HEED_I32, 1, shape, 0, true, recipe(b, FUZZ_BELOW, length - 1));
        }
    } else {
        const uint8_t ones = fuzz_byte(b);

        for (int i = 0; i < 3; i++)
            shape[i] = ones >> i & 1 ? 1 : shape[i];
        while (items(c) * shape[0] * shape[1] * shape[2] > FUZZ_ELEMENTS)
            shape[shape[0] > 1 ? 0 : 1] = 1;
        bias->t = slot_add(c, dtype, 3, shape, c->n_batch, false, recipe(b, FUZZ_BIASES, 0));
    }
    if (bias->kind != HEED_BIAS_DENSE && fuzz_pick(b, 4) == 3)
        bias->q_coord = coordinates_add(c, c->n_q);
    if (bias->kind != HEED_BIAS_DENSE && fuzz_pick(b, 4) == 3)
        bias->k_coord = coordinates_add(c, n_k);
}

static int64_t head_group(struct fuzz_case *c)
{
    const int64_t groups[] = { 1, c->key_heads, c->heads };

    return PICK(&c->bytes, groups);
}

static void layout(struct fuzz_case *c, heed_source *s, int64_t n_k)
{
    static const uint32_t layouts[] = {
        HEED_LAYOUT_DENSE, HEED_LAYOUT_DENSE, HEED_LAYOUT_RAGGED, HEED_LAYOUT_LISTED,
    };
    struct fuzz_bytes *b = &c->bytes;
    int64_t shape[3], run;

    s->layout = PICK(b, layouts);
    if (s->layout == HEED_LAYOUT_RAGGED) {
        s->slot = lengths_add(c, FUZZ_BEGINS, n_k, false);
    } else if (s->layout == HEED_LAYOUT_LISTED) {
        s->run = step_of(b);
        s->rows = step_of(b);
        run = s->run > 0 ? s->run : 1;
        shape[0] = head_group(c);
        shape[1] = blocks(c->n_q, s->rows > 0 ? s->rows : 1);
        shape[2] = fuzz_pick(b, 12);
        s->slot = slot_add(c, HEED_I32, 3, shape, c->n_batch, false,
                           recipe(b, FUZZ_BELOW, blocks(n_k, run) - 1));
    }
    if (s->layout == HEED_LAYOUT_RAGGED || fuzz_pick(b, 4) == 3)
        s->len_slot = lengths_add(c, FUZZ_BELOW, n_k, false);
    if (fuzz_pick(b, 4) == 3) {
        shape[0] = head_group(c);
        shape[1] = n_k;
        s->mask_slot = slot_add(c, HEED_U8, 2, shape, c->n_batch, false,
                                recipe(b, FUZZ_BYTES, 0));
    }
}

static void source(struct fuzz_case *c, uint32_t number)
{
    struct fuzz_bytes *b = &c->bytes;
    heed_source *s = &c->sources[number];
    const int64_t wide = c->d > c->d_v ? c->d : c->d_v;
    int64_t n_k = fuzz_pick(b, 3) ? PICK(b, row_counts) : c->n_q;
    bool packed;

    while (items(c) * c->key_heads * n_k * wide > FUZZ_ELEMENTS ||
           items(c) * c->heads * c->n_q * n_k * (wide + 4) > c->work)
        n_k /= 2;
    layout(c, s, n_k);
    packed = s->layout == HEED_LAYOUT_RAGGED;
    main_tensor(c, &s->k, float_type(b), packed, true, c->key_heads, n_k, c->d);
    c->k[number] = recipe(b, FUZZ_NUMBERS, 0);
    main_tensor(c, &s->v, float_type(b), packed, true, c->key_heads, n_k, c->d_v);
    c->v[number] = recipe(b, FUZZ_NUMBERS, 0);
    s->pos0 = position(b);
    s->pos_step = step_of(b);
    s->pos_span = step_of(b);
    s->flags = (uint32_t)fuzz_byte(b) << 8 & (HEED_SOURCE_CAUSAL | HEED_SOURCE_END);
    s->n_terms = s->layout == HEED_LAYOUT_LISTED && !fuzz_rarely(b, 16)
                     ? 0 : fuzz_pick(b, FUZZ_TERMS + 1);
    for (uint32_t i = 0; i < s->n_terms; i++)
        term(c, s, &c->terms[number][i], n_k);
    s->n_biases = fuzz_pick(b, 2) ? fuzz_pick(b, FUZZ_BIASES_MOST + 1) : 0;
    for (uint32_t i = 0; i < s->n_biases; i++)
        bias(c, &c->biases[number][i], n_k);
    s->terms = c->terms[number];
    s->term_size = sizeof(heed_term);
    s->biases = c->biases[number];
    s->bias_size = sizeof(heed_bias);
}

/* ---- the rest ----------------------------------------------------------- */

static void numbers(struct fuzz_case *c)
{
    static const double scales[] = { 0, 1, 0.125, -0.5, 1e30, -1e300, 1e-40, 5e-324 };
    static const double caps[] = { 0, 0, 0, 30, 1, 1e-30, 1e300, 5e-324, 0.01, 50 };
    static const uint32_t aligns[] = {
        HEED_ATTN_ALIGN_START, HEED_ATTN_ALIGN_END, HEED_ATTN_ALIGN_END, 0,
    };
    struct fuzz_bytes *b = &c->bytes;

    c->desc.scale = PICK(b, scales);
    c->desc.softcap = fuzz_rarely(b, 128) ? -1 : PICK(b, caps);
    c->desc.numerics = fuzz_pick(b, 4);
    c->desc.flags = PICK(b, aligns);
    c->desc.flags |= fuzz_byte(b) & (HEED_ATTN_SCALE_GIVEN | HEED_ATTN_LSE_WITH_SINK);
    c->desc.flags |= fuzz_pick(b, 3) == 2 ? (uint32_t)HEED_PLAN_OWN_WORKSPACE : 0u;
}

/* A field of some tensor gets another value. */
static void field_break(struct fuzz_case *c)
{
    static const int64_t values[] = {
        0, 1, -1, 2, INT64_MAX, INT64_MIN, INT64_C(1) << 31, INT64_C(1) << 40, 3, 1000,
    };
    struct fuzz_bytes *b = &c->bytes;
    heed_tensor *const fixed[] = {
        &c->desc.q, &c->desc.o, &c->desc.lse, &c->desc.sinks, &c->sources[0].k, &c->sources[0].v,
    };
    const uint32_t n = sizeof(fixed) / sizeof(*fixed), i = fuzz_pick(b, n + c->desc.n_slots);
    heed_tensor *t = i < n ? fixed[i] : &c->slots[i - n].t;
    const uint32_t field = fuzz_pick(b, 14);
    const int64_t value = PICK(b, values);

    if (field < 6)
        t->shape[field] = value;
    else if (field < 12)
        t->stride[field - 6] = value;
    else if (field == 12)
        t->dtype = fuzz_byte(b);
    else
        t->ndim = fuzz_pick(b, 9);
}

void fuzz_case_make(struct fuzz_case *c, const uint8_t *data, size_t size)
{
    struct fuzz_bytes *b = &c->bytes;

    memset(c, 0, sizeof(*c));
    *b = (struct fuzz_bytes){ data, data + size };
    c->at_end = ~fuzz_word(b, 8);
    c->rounding = fuzz_pick(b, 4);
    c->lanes = 1 + fuzz_pick(b, 4);
    c->trouble = fuzz_rarely(b, 8) ? fuzz_pick(b, FUZZ_TROUBLES) : FUZZ_SOUND;
    c->alias = fuzz_rarely(b, 8) ? fuzz_pick(b, FUZZ_ALIASES) : FUZZ_APART;
    c->alias_at = c->alias ? (uint32_t)fuzz_word(b, 2) : 0;
    c->row = (uint32_t)fuzz_word(b, 2);
    c->head = fuzz_byte(b);
    c->item = fuzz_byte(b);
    extents(c);
    queries(c);
    c->desc.n_sources = (fuzz_pick(b, 5) + 1) % (FUZZ_SOURCES + 1);
    for (uint32_t i = 0; i < c->desc.n_sources; i++)
        source(c, i);
    numbers(c);
    if (fuzz_rarely(b, 10))
        field_break(c);
    c->desc.size = sizeof(c->desc);
    c->desc.sources = c->sources;
    c->desc.source_size = sizeof(heed_source);
    c->desc.slots = c->slots;
    c->desc.slot_size = sizeof(heed_slot);
}
