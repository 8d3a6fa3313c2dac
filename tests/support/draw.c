/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Drawing random checked attentions.
 */
#include "draw.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

uint64_t draw_u64(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

int64_t draw_range(uint64_t *state, int64_t low, int64_t high)
{
    return low + (int64_t)(draw_u64(state) % (uint64_t)(high - low + 1));
}

static int64_t range(struct draw *draw, int64_t low, int64_t high)
{
    return draw_range(&draw->state, low, high);
}

/* true once in n */
static int once(struct draw *draw, int64_t n)
{
    return range(draw, 1, n) == 1;
}

void draw_put(uint32_t dtype, void *base, int64_t at, int64_t mantissa, int exponent)
{
    float value = ldexpf((float)mantissa, exponent);
    uint32_t bits;

    memcpy(&bits, &value, sizeof(bits));
    if (dtype == HEED_F32) {
        ((float *)base)[at] = value;
    } else if (dtype == HEED_BF16) {
        ((uint16_t *)base)[at] = (uint16_t)(bits >> 16);
    } else {
        uint32_t magnitude = bits & 0x7fffffffu;

        if (magnitude != 0)
            magnitude = (magnitude - (UINT32_C(112) << 23)) >> 13;
        ((uint16_t *)base)[at] = (uint16_t)(bits >> 31 << 15 | magnitude);
    }
}

void draw_put_special(uint32_t dtype, void *base, int64_t at, int is_nan, int sign)
{
    if (dtype == HEED_F32)
        ((float *)base)[at] = is_nan ? NAN : sign < 0 ? -INFINITY : INFINITY;
    else
        ((uint16_t *)base)[at] =
            (uint16_t)((is_nan || sign > 0 ? 0 : 0x8000) | (dtype == HEED_F16 ? 0x7c00 : 0x7f80) |
                       (is_nan ? 1 : 0));
}

void *draw_memory(struct draw *draw, size_t bytes)
{
    void *block = calloc(bytes + 8, 1);

    if (!block || draw->n_blocks == DRAW_BLOCKS)
        abort();
    draw->blocks[draw->n_blocks++] = block;
    return block;
}

static size_t dtype_size(uint32_t dtype)
{
    switch (dtype) {
    case HEED_U8:
        return 1;
    case HEED_F16:
    case HEED_BF16:
        return 2;
    case HEED_I64:
        return 8;
    default:
        return 4;
    }
}

static uint32_t draw_float(struct draw *draw)
{
    return (uint32_t)range(draw, HEED_F32, HEED_BF16);
}

/* Strides in a random order of axes, gaps, some walking back; returns the address of element 0. */
static void *lay_out(struct draw *draw, uint32_t dtype, const int64_t shape[6], int64_t stride[6])
{
    int order[6] = { 0, 1, 2, 3, 4, 5 };
    int64_t size = 1, first = 0;

    for (int i = 5; i > 0 && !once(draw, 3); i--) {
        int j = (int)range(draw, 0, i), kept = order[i];

        order[i] = order[j];
        order[j] = kept;
    }
    for (int i = 5; i >= 0; i--) {
        int axis = order[i];
        int back = once(draw, 6);

        stride[axis] = shape[axis] == 1 ? 0 : back ? -size : size;
        first += back && shape[axis] > 0 ? (shape[axis] - 1) * size : 0;
        size *= (shape[axis] > 0 ? shape[axis] : 1) + (once(draw, 4) ? range(draw, 0, 2) : 0);
    }
    return (char *)draw_memory(draw, (size_t)(size + 1) * dtype_size(dtype)) +
           (size_t)first * dtype_size(dtype);
}

static int64_t element(const int64_t *stride, const int64_t *at)
{
    int64_t sum = 0;

    for (int i = 0; i < 6; i++)
        sum += stride[i] * at[i];
    return sum;
}

/* Calls for every index of a shape: at[] counts up, last axis fastest; 0 at the end. */
static int next_index(const int64_t shape[6], int64_t at[6])
{
    for (int i = 5; i >= 0; i--) {
        if (++at[i] < shape[i])
            return 1;
        at[i] = 0;
    }
    return 0;
}

static int is_empty(const int64_t shape[6])
{
    for (int i = 0; i < 6; i++) {
        if (shape[i] == 0)
            return 1;
    }
    return 0;
}

/* A filled tensor with the extents given; an input may repeat along axes (stride 0). */
static void *view_make(struct draw *draw, struct heed_view *view, uint32_t dtype,
                       const int64_t shape[6], int64_t magnitude, int exponent, int input)
{
    int64_t stored[6], at[6] = { 0 };
    void *base;

    view->dtype = dtype;
    for (int i = 0; i < 6; i++)
        stored[i] = input && shape[i] > 0 && once(draw, i < 5 ? 12 : 40) ? 1 : shape[i];
    base = lay_out(draw, dtype, stored, view->stride);
    memcpy(view->shape, shape, sizeof(view->shape));
    if (!is_empty(stored)) {
        do {
            draw_put(dtype, base, element(view->stride, at), range(draw, -magnitude, magnitude),
                     exponent);
        } while (next_index(stored, at));
    }
    return base;
}

/* An auxiliary array of zeros with trailing axes x, y, z; per item or for all; constant or bound.
 */
static void *aux_make(struct draw *draw, struct heed_aux *aux, uint32_t dtype, int64_t x, int64_t y,
                      int64_t z)
{
    const struct heed_checked *attn = &draw->attn;
    int all = once(draw, 2);
    int64_t shape[6] = {
        all ? 1 : attn->batch[0], all ? 1 : attn->batch[1], all ? 1 : attn->batch[2], x, y, z
    };
    void *base;

    base = lay_out(draw, dtype, shape, aux->stride);
    memcpy(aux->shape, shape, sizeof(shape));
    for (int i = 0; i < 3; i++)
        aux->shape[i] = attn->batch[i];
    aux->dtype = dtype;
    aux->slot = ++draw->attn.n_slots;
    if (once(draw, 3))
        aux->data = base;
    else
        draw->slots[aux->slot - 1] = base;
    return base;
}

/* Fills an integer array with low .. high. */
static void ints_fill(struct draw *draw, const struct heed_aux *aux, void *base, int64_t low,
                      int64_t high)
{
    int64_t at[6] = { 0 }, shape[6];

    for (int i = 0; i < 6; i++)
        shape[i] = aux->stride[i] == 0 ? 1 : aux->shape[i];
    if (is_empty(aux->shape))
        return;
    do {
        int64_t value = range(draw, low, high), i = element(aux->stride, at);

        if (aux->dtype == HEED_U8)
            ((uint8_t *)base)[i] = (uint8_t)value;
        else if (aux->dtype == HEED_I32)
            ((int32_t *)base)[i] = (int32_t)value;
        else
            ((int64_t *)base)[i] = value;
    } while (next_index(shape, at));
}

static void ints_make(struct draw *draw, struct heed_aux *aux, uint32_t dtype, int64_t x, int64_t y,
                      int64_t z, int64_t low, int64_t high)
{
    void *base = aux_make(draw, aux, dtype, x, y, z);

    ints_fill(draw, aux, base, low, high);
}

static uint32_t index_type(struct draw *draw)
{
    return once(draw, 2) ? HEED_I32 : HEED_I64;
}

/* Values for a bias, with an -Inf here and there. */
static void floats_make(struct draw *draw, struct heed_aux *aux, int64_t x, int64_t y, int64_t z,
                        int removes)
{
    uint32_t dtype = draw_float(draw);
    void *base = aux_make(draw, aux, dtype, x, y, z);
    int64_t at[6] = { 0 }, shape[6];

    for (int i = 0; i < 6; i++)
        shape[i] = aux->stride[i] == 0 ? 1 : aux->shape[i];
    if (is_empty(aux->shape))
        return;
    do {
        int64_t i = element(aux->stride, at);

        if (removes && once(draw, 20))
            draw_put_special(dtype, base, i, 0, -1);
        else
            draw_put(dtype, base, i, range(draw, -60, 60), -5);
    } while (next_index(shape, at));
}

/* An ascending list, sometimes ended by an entry that makes no sense. */
static void list_make(struct draw *draw, struct heed_aux *aux, int64_t bound)
{
    int64_t n = range(draw, 0, 6);
    int32_t *base;

    ints_make(draw, aux, HEED_I32, 1, 1, n, -3, bound + 3);
    base = aux->data ? (int32_t *)(uintptr_t)aux->data
                     : (int32_t *)(uintptr_t)draw->slots[aux->slot - 1];
    if (aux->stride[0] == 0 && aux->stride[1] == 0 && aux->stride[2] == 0 && !once(draw, 4)) {
        int64_t value = range(draw, 0, 2);

        for (int64_t i = 0; i < n; i++, value += range(draw, 1, 5))
            base[i * aux->stride[5]] = (int32_t)value;
    }
}

static void term_draw(struct draw *draw, struct heed_checked_term *term,
                      const struct heed_checked_source *source, uint32_t *globals)
{
    int64_t n_q = draw->attn.n_q;

    *term = (struct heed_checked_term){ .step = 1, .block = 1 };
    term->kind = (uint32_t)range(draw, HEED_TERM_ALL, HEED_TERM_SEGMENT);
    if (term->kind == HEED_TERM_GLOBAL) {
        term->flags = (uint32_t)range(draw, 1, 3) & ~*globals;
        *globals |= term->flags;
        if (term->flags == 0)
            term->kind = HEED_TERM_WINDOW;
        else if (once(draw, 2))
            term->block = range(draw, 1, 5);
        else
            list_make(draw, &term->slot, once(draw, 2) ? n_q : source->n_k);
    }
    if (term->kind == HEED_TERM_SEGMENT) {
        term->block = range(draw, 1, 5);
        ints_make(draw, &term->slot, HEED_I32, 1, (n_q + term->block - 1) / term->block, 2, -2,
                  source->n_k + 2);
    }
    if (term->kind == HEED_TERM_WINDOW) {
        term->block = once(draw, 2) ? 1 : range(draw, 1, 7);
        term->left = once(draw, 6) ? HEED_FAR : range(draw, -6, 12);
        term->right = once(draw, 6) ? HEED_FAR : range(draw, -6, 12);
    }
    if ((term->kind == HEED_TERM_WINDOW || term->kind == HEED_TERM_ALL) && once(draw, 2)) {
        term->step = range(draw, 1, 4);
        term->phase = range(draw, -3, 5);
        term->flags = once(draw, 2) ? HEED_TERM_PHASE_HEAD : 0;
        if (source->pos_step == 1 && once(draw, 2))
            term->flags |= HEED_TERM_PHASE_QUERY;
    }
}

static void bias_draw(struct draw *draw, struct heed_checked_bias *bias,
                      const struct heed_checked_source *source)
{
    int64_t h = draw->attn.heads, n_q = draw->attn.n_q, n_k = source->n_k;

    *bias = (struct heed_checked_bias){ .kind = (uint32_t)range(draw, HEED_BIAS_DENSE,
                                                                HEED_BIAS_TABLE) };
    if (bias->kind == HEED_BIAS_DENSE) {
        int64_t x = once(draw, 2) ? 1 : h, y = once(draw, 3) ? 1 : n_q;

        floats_make(draw, &bias->t, x, y, once(draw, 3) ? 1 : n_k, 1);
        return;
    }
    if (once(draw, 3))
        ints_make(draw, &bias->k_coord, index_type(draw), 1, 1, n_k, -20, 20);
    if (once(draw, 3))
        ints_make(draw, &bias->q_coord, index_type(draw), 1, 1, n_q, -20, 20);
    if (bias->kind == HEED_BIAS_ALIBI) {
        floats_make(draw, &bias->t, 1, 1, h, 0);
        return;
    }
    bias->zero = range(draw, -5, 20);
    h = once(draw, 2) ? 1 : h;
    floats_make(draw, &bias->t, 1, h, range(draw, 1, 20), 1);
    if (once(draw, 2))
        ints_make(draw, &bias->map, HEED_I32, 1, 1, range(draw, 1, 30), -2, bias->t.shape[5] + 1);
}

static void source_shape(struct draw *draw, struct heed_checked_source *source)
{
    const struct heed_checked *attn = &draw->attn;
    int64_t total = range(draw, 0, draw->limits.n_k);
    int ragged = source->layout == HEED_LAYOUT_RAGGED;
    int64_t k_shape[6] = { ragged ? 1 : attn->batch[0],
                           ragged ? 1 : attn->batch[1],
                           ragged ? 1 : attn->batch[2],
                           source->heads,
                           total,
                           attn->d };
    int64_t v_shape[6];
    uint32_t s = (uint32_t)(source - draw->sources);

    source->n_k = ragged ? total - range(draw, 0, total < 3 ? total : 3) : total;
    memcpy(v_shape, k_shape, sizeof(v_shape));
    v_shape[5] = attn->d_v;
    draw->k[s] = view_make(draw, &source->k, draw_float(draw), k_shape, 96, -6, 1);
    draw->v[s] = view_make(draw, &source->v, draw_float(draw), v_shape, 127, -5, 1);
    for (int i = 0; i < 3; i++)
        source->k.shape[i] = source->v.shape[i] = attn->batch[i];
    if (ragged)
        ints_make(draw, &source->index, index_type(draw), 1, 1, 1, -1, total + 1);
    if (ragged || once(draw, 3))
        ints_make(draw, &source->len, index_type(draw), 1, 1, 1, -1, total + 3);
}

static void source_draw(struct draw *draw, struct heed_checked_source *source)
{
    const struct heed_checked *attn = &draw->attn;
    uint32_t s = (uint32_t)(source - draw->sources), globals = 0;

    source->heads = once(draw, 2) ? attn->heads : attn->heads == 4 && once(draw, 2) ? 2 : 1;
    source->layout = once(draw, 4)   ? HEED_LAYOUT_LISTED
                     : once(draw, 4) ? HEED_LAYOUT_RAGGED
                                     : HEED_LAYOUT_DENSE;
    source_shape(draw, source);
    source->pos0 = range(draw, -10, 10);
    source->pos_step = once(draw, 2) ? 1 : range(draw, 1, 3);
    source->pos_span = once(draw, 2) ? 1 : range(draw, 1, 4);
    source->flags = once(draw, 3) ? HEED_SOURCE_CAUSAL : 0;
    source->flags |= once(draw, 3) ? HEED_SOURCE_END : 0;
    source->run = source->rows = 1;
    if (once(draw, 3))
        ints_make(draw, &source->mask, HEED_U8, 1,
                  once(draw, 2)   ? 1
                  : once(draw, 2) ? source->heads
                                  : attn->heads,
                  source->n_k, 0, 3);
    source->terms = draw->terms[s];
    source->biases = draw->biases[s];
    source->n_terms = 1;
    draw->terms[s][0] = (struct heed_checked_term){ .step = 1, .block = 1 };
    if (source->layout == HEED_LAYOUT_LISTED) {
        source->run = range(draw, 1, 4);
        source->rows = range(draw, 1, 5);
        int64_t heads = once(draw, 2) ? 1 : once(draw, 2) ? source->heads : attn->heads;

        ints_make(draw, &source->index, HEED_I32, heads,
                  (attn->n_q + source->rows - 1) / source->rows, range(draw, 0, 24), -2,
                  source->n_k / source->run + 2);
    } else if (!once(draw, 5)) {
        source->n_terms = (uint32_t)range(draw, 1, DRAW_TERMS);
        for (uint32_t t = 0; t < source->n_terms; t++)
            term_draw(draw, &draw->terms[s][t], source, &globals);
    }
    source->n_biases =
        draw->limits.plain || once(draw, 2) ? 0 : (uint32_t)range(draw, 1, DRAW_BIASES);
    for (uint32_t i = 0; i < source->n_biases; i++)
        bias_draw(draw, &draw->biases[s][i], source);
}

/* q, o, lse: RAGGED tensors are packed. Items of a RAGGED query do not overlap. */
static void query_draw(struct draw *draw)
{
    struct heed_checked *attn = &draw->attn;
    int ragged = once(draw, 4);
    int64_t each = range(draw, 0, draw->limits.n_q), total = ragged ? each * attn->n_batch : each;
    int64_t shape[6] = { ragged ? 1 : attn->batch[0],
                         ragged ? 1 : attn->batch[1],
                         ragged ? 1 : attn->batch[2],
                         attn->heads,
                         total,
                         attn->d };

    attn->n_q = total;
    attn->q_layout = ragged ? HEED_LAYOUT_RAGGED : HEED_LAYOUT_DENSE;
    draw->bound.q = view_make(draw, &attn->q, draw_float(draw), shape, 96, -6, 1);
    shape[5] = attn->d_v;
    draw->bound.o = view_make(draw, &attn->o, draw_float(draw), shape, 0, 0, 0);
    shape[5] = 1;
    if (!once(draw, 4))
        draw->bound.lse = view_make(draw, &attn->lse, HEED_F32, shape, 0, 0, 0);
    for (int i = 0; i < 3; i++)
        attn->q.shape[i] = attn->o.shape[i] = attn->lse.shape[i] = attn->batch[i];
    if (ragged) {
        int64_t *begins = draw_memory(draw, sizeof(*begins) * (size_t)attn->n_batch);

        for (int64_t b = 0; b < attn->n_batch; b++)
            begins[b] = once(draw, 9) ? -1 : (attn->n_batch - 1 - b) * each;
        attn->q_begin = (struct heed_aux){
            .slot = ++attn->n_slots,
            .dtype = HEED_I64,
            .data = begins,
            .shape = { attn->batch[0], attn->batch[1], attn->batch[2], 1, 1, 1 },
            .stride = { attn->batch[1] * attn->batch[2], attn->batch[2], 1, 0, 0, 0 },
        };
        ints_make(draw, &attn->q_len, index_type(draw), 1, 1, 1, -1, each);
    } else if (once(draw, 4)) {
        ints_make(draw, &attn->q_len, index_type(draw), 1, 1, 1, -1, total + 2);
    }
    attn->flags = once(draw, 2) ? HEED_ATTN_ALIGN_START : HEED_ATTN_ALIGN_END;
    attn->q_pos0 = range(draw, -4, 4);
    attn->q_pos_step = range(draw, 1, 2);
    if (once(draw, 4))
        ints_make(draw, &attn->q_pos, HEED_I64, 1, 1, 1, -5, 5);
}

static void scores_draw(struct draw *draw)
{
    static const double scales[] = { 0, 0, 0.25, 1, -0.5 };
    struct heed_checked *attn = &draw->attn;

    attn->scale = scales[range(draw, 0, 4)];
    if (once(draw, 6))
        attn->flags |= HEED_ATTN_SCALE_GIVEN;
    if (draw->limits.plain)
        return;
    attn->softcap = once(draw, 3) ? (double)range(draw, 1, 30) : 0;
    if (once(draw, 3)) {
        int64_t shape[6] = { 1, 1, 1, 1, 1, attn->heads };

        draw->bound.sinks = view_make(draw, &attn->sinks, HEED_F32, shape, 200, -5, 1);
        if (once(draw, 2))
            attn->flags |= HEED_ATTN_LSE_WITH_SINK;
    }
}

void draw_start(struct draw *draw, uint64_t seed, const struct draw_limits *limits)
{
    struct heed_checked *attn = &draw->attn;

    *draw = (struct draw){ .seed = seed, .state = seed, .limits = *limits };
    for (int i = 0; i < 3; i++)
        attn->batch[i] = i == 0 || once(draw, 3) ? range(draw, 1, 3) : 1;
    attn->n_batch = attn->batch[0] * attn->batch[1] * attn->batch[2];
    attn->heads = range(draw, 1, 4);
    attn->d = range(draw, 0, limits->d);
    attn->d_v = range(draw, 0, limits->d_v);
    query_draw(draw);
    scores_draw(draw);
    attn->n_sources = (uint32_t)range(draw, 1, once(draw, 2) ? 1 : DRAW_SOURCES);
    attn->sources = draw->sources;
    draw->bound.k = draw->k;
    draw->bound.v = draw->v;
    draw->bound.slots = draw->slots;
    for (uint32_t s = 0; s < attn->n_sources; s++)
        source_draw(draw, &draw->sources[s]);
}

void draw_finish(struct draw *draw)
{
    while (draw->n_blocks > 0)
        free(draw->blocks[--draw->n_blocks]);
}

int64_t draw_offset(const struct heed_view *view, const struct draw *draw, int64_t item,
                    int64_t head, int64_t row, int64_t channel)
{
    const int64_t *batch = draw->attn.batch;
    int64_t at[6] = { item / (batch[1] * batch[2]),
                      item / batch[2] % batch[1],
                      item % batch[2],
                      head,
                      row,
                      channel };

    return element(view->stride, at);
}
