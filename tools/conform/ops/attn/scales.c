/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Keys and values of a byte and in blocks: their scales, and the numbers that all are.
 */
#include "slots.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

uint32_t cf_byte_at(const struct cs *c, bool key, uint64_t h, uint64_t pick, int64_t channel)
{
    const bool negative = cf_g(c, G_SCALE) == SCALE_NEGATIVE;
    int byte = (int)(h >> 32 & 255);

    switch (cf_g(c, G_FILL)) {
    case FILL_TIES:
        byte = (int)(h >> 33 & 3) - 1;
        break;
    case FILL_EXACT:
        byte = !key ? (int)(h >> 33 & 15) - 8
               : channel == 0 && cf_g(c, G_CAP) == 0 && pick % 3 == 0 ? (negative ? 64 : -64)
                                                                      : 0;
        break;
    case FILL_RISE:             /* the scale steers */
    case FILL_EDGE:
        byte = !key ? byte : channel == 0;
        break;
    default:
        break;
    }
    return (uint32_t)byte & 255;
}

/* Infinite, NaN, 0, or far from the others. */
static uint32_t odd_scale(uint32_t dtype, uint64_t h)
{
    static const uint32_t singles[] = { 0x7fc0002a, 0x7f800000, 0xff800000, 0x80000000, 0,
                                        0x7f7fffff, 0x00000001, 0x807fffff };
    static const uint32_t halves[] = { 0x7e05, 0x7c00, 0xfc00, 0x8000, 0, 0x7bff, 0x0001, 0x83ff };

    return dtype == HEED_F32 ? singles[h % 8] : halves[h % 8];
}

int64_t cf_scale_heads(const struct array *a)
{
    return a->shape[a->trailing == 3 ? 1 : 2];
}

static int64_t rows_of(const struct array *a)
{
    return a->shape[a->trailing == 3 ? 2 : 3];
}

int64_t cf_scale_entries(const struct array *a)
{
    return a->trailing == 3 ? a->shape[3] : 1;
}

int64_t cf_scale_at(const struct array *a, int64_t b, int64_t head, int64_t row, int64_t entry)
{
    return a->trailing == 3 ? cf_array_at(a, b, head, row, entry) : cf_array_at(a, b, 0, head, row);
}

/* Of row j: numbers below 1 / unit times it are about as large as the other types' elements. */
static uint32_t scale_bits(const struct cs *c, uint32_t dtype, float unit, bool key, uint64_t h,
                           int64_t j)
{
    const float sign = h >> 40 & 1 ? -1 : 1;
    const float size = sign * (1 + (float)(h >> 8 & 63) / 64) * unit;
    const bool half = dtype == HEED_F16;

    switch (cf_g(c, G_FILL)) {
    case FILL_HUGE:
        return cf_encode(dtype, size * (key ? 0x1p6f : 0x1p10f));
    case FILL_OVER:
        return cf_encode(dtype, size * (half ? 0x1p8f : key ? 0x1p61f : 0x1p100f));
    case FILL_SUBNORMAL:
        return cf_subnormal(dtype, h);
    case FILL_EXACT:
        return cf_encode(dtype, 1);
    case FILL_RISE:
        return cf_encode(dtype, key ? (float)j * 0.25f : size);
    case FILL_EDGE:
        if (key)
            return cf_encode(dtype, (float)((int64_t)(h % 2048) - 1792) * 0.125f);
        return h % 60 ? cf_encode(dtype, size) : odd_scale(dtype, h >> 16);
    case FILL_SPECIAL:
        return h % 40 ? cf_encode(dtype, size) : odd_scale(dtype, h >> 16);
    case FILL_SPECIALV:
        return key || h % 40 ? cf_encode(dtype, size) : odd_scale(dtype, h >> 16);
    default:
        return h % 23 ? cf_encode(dtype, size) : cf_encode(dtype, sign * 0.0f);
    }
}

/* What numbers of a type are to be multiplied by: they reach 127, or 8. */
static float unit_apart(const struct cs *c, uint32_t rows, bool key)
{
    if (rows == HEED_I4 && cf_g(c, G_FILL) == FILL_EXACT)
        return key ? 16 : 1;
    return rows == HEED_I4 ? 0x1p-3f : 0x1p-7f;
}

/* Entry e of row j, whose hash is h: scale after scale, or each with its minimum. */
static uint32_t entry_bits(const struct cs *c, const struct array *a, uint32_t rows, bool key,
                           bool minima, uint64_t h, int64_t j, int64_t e)
{
    const int64_t fill = cf_g(c, G_FILL), group = minima ? e / 2 : e;
    const float unit = unit_apart(c, rows, key);
    const bool steers = key && (fill == FILL_EXACT || fill == FILL_RISE || fill == FILL_EDGE);

    if (group > 0 || (minima && e % 2))
        h = cf_mix2(h, (uint64_t)e);
    if (minima && e % 2) /* logits are steered through channel 0 */
        return steers ? 0 : scale_bits(c, a->dtype, fill == FILL_EXACT ? 1 : 0.5f, key, h, j);
    if (fill == FILL_EXACT)
        return cf_encode(a->dtype, rows == HEED_I4 ? unit : 1);
    return scale_bits(c, a->dtype, unit, key, h, j);
}

static void scales_fill(struct problem *p, struct array *a, uint32_t rows, bool key, bool minima,
                        int number)
{
    const uint64_t pages = cf_mix2(cf_mix2(p->c.seed, (uint64_t)number * 131 + 5), 77);

    for (int64_t b = 0; b < a->shape[0]; b++) {
        const uint64_t item =
            a->pages ? cf_mix2(pages, (uint64_t)b) : item_hash(p, a, b, number);

        for (int64_t h = 0; h < cf_scale_heads(a); h++) {
            for (int64_t i = 0; i < rows_of(a) * cf_scale_entries(a); i++) {
                const int64_t j = i / cf_scale_entries(a), e = i % cf_scale_entries(a);

                cf_array_set(a, cf_scale_at(a, b, h, j, e),
                             entry_bits(&p->c, a, rows, key, minima,
                                        cf_mix2(cf_mix2(item, (uint64_t)h), (uint64_t)j), j, e));
            }
        }
    }
}

/* Groups of a row with so many channels, of the width that the case asks for if that can be. */
static int64_t groups_of(int64_t word, int64_t channels)
{
    const int64_t width = word == GROUPS_32 ? 32 : 64;

    return word < GROUPS_32 || channels == 0 || channels % width != 0 ? 1 : channels / width;
}

int cf_scales_make(struct problem *p, int s, bool key)
{
    const struct source_data *src = &p->source[s];
    const struct cs *c = &p->c;
    const bool packed = cf_layout_of(c, s)->packed, pages = src->k.pages;
    const int number = 840 + 2 * s + key;
    const bool one = cf_mix2(c->seed, (uint64_t)number) % 3 == 0;
    const bool minima = cf_s(c, s, key ? S_KM : S_VM) != 0;
    const int64_t word = cf_s(c, s, key ? S_KG : S_VG);
    const int64_t heads = one ? 1 : src->heads;
    const int64_t entries = groups_of(word, key ? p->d : p->dv) * (minima ? 2 : 1);
    const bool inner = minima || word != GROUPS_ROW;
    int slot;

    if (!type_scaled(TYPE_KEYS, cf_s(c, s, key ? S_K : S_V)))
        return 0;
    *(key ? &p->source[s].k_minima : &p->source[s].v_minima) = minima;
    slot = slot_add(p, cf_s(c, s, key ? S_KT : S_VT) ? HEED_F16 : HEED_F32, !packed, inner ? 3 : 2,
                    inner ? heads : 1, inner ? src->total : heads, inner ? entries : src->total,
                    cf_s(c, s, key ? S_KC : S_VC) == SLOT_CONST);
    if (slot > 0 && pages) {
        struct array *a = slot_of(p, slot);

        free(a->data);
        a->pages = true;
        a->shape[0] = src->k.shape[0];
        if (!cf_array_alloc(a))
            return -1;
    }
    if (wanted(p, slot))
        scales_fill(p, slot_of(p, slot), (key ? &src->k : &src->v)->dtype, key, minima, number);
    return slot > 0 ? slot : -1;
}

struct cf_scales cf_scales_at(const struct problem *p, int s, bool key, int64_t b, int64_t head,
                              int64_t row)
{
    const struct source_data *src = &p->source[s];
    const int slot = key ? src->k_scale : src->v_scale;

    return (struct cf_scales){
        .a = slot > 0 ? &p->slot[slot - 1].a : NULL,
        .b = b,
        .head = head,
        .row = row,
        .minima = key ? src->k_minima : src->v_minima,
    };
}

uint32_t cf_scale_flags(const struct problem *p, int s)
{
    const struct source_data *src = &p->source[s];
    const bool k = src->k_scale > 0 && p->slot[src->k_scale - 1].a.trailing == 3;
    const bool v = src->v_scale > 0 && p->slot[src->v_scale - 1].a.trailing == 3;
    /* Minima say as much. */
    const bool both = p->c.seed % 2 == 0;

    return (k && (both || !src->k_minima) ? (uint32_t)HEED_SOURCE_K_GROUPS : 0) |
           (v && (both || !src->v_minima) ? (uint32_t)HEED_SOURCE_V_GROUPS : 0) |
           (k && src->k_minima ? (uint32_t)HEED_SOURCE_K_MINIMA : 0) |
           (v && src->v_minima ? (uint32_t)HEED_SOURCE_V_MINIMA : 0);
}

/* ---- blocks ------------------------------------------------------------- */

/* The largest power of two that is a number of the type, and its code. */
static int power_of(uint32_t dtype, uint32_t *code)
{
    int most = 0;

    for (uint32_t i = 0; i < type_codes(dtype); i++) {
        const int x = type_number(dtype, i);

        if (x > most && (x & (x - 1)) == 0) {
            most = x;
            *code = i;
        }
    }
    return most;
}

/* A power of two that is no less than a number of the type, its sign apart; 1 over that. */
static float unit_of(uint32_t dtype)
{
    float unit = 1;

    for (uint32_t i = 0; i < type_codes(dtype); i++) {
        while (fabsf((float)type_number(dtype, i)) * unit > 1)
            unit *= 0.5f;
    }
    return unit;
}

/* What channel 0 of a key is to be, where the logits are steered through it. */
static bool steered(const struct cs *c, uint64_t pick, int64_t j, float *value)
{
    const float sign = cf_g(c, G_SCALE) == SCALE_NEGATIVE ? -1 : 1;

    switch (cf_g(c, G_FILL)) {
    case FILL_EXACT:
        *value = cf_g(c, G_CAP) == 0 && pick % 3 == 0 ? -64 * sign : 0;
        return true;
    case FILL_RISE:
        *value = (float)j * 0.25f;
        return true;
    case FILL_EDGE:
        *value = (float)((int64_t)(pick % 2048) - 1792) * 0.125f;
        return true;
    default:
        return false;
    }
}

static void block_fill(const struct cs *c, uint32_t dtype, void *block, bool key, uint64_t h,
                       uint64_t pick, int64_t j, bool first)
{
    uint32_t code = 0, minimum = 0, scale;
    const int power = power_of(dtype, &code);
    const float unit = unit_of(dtype);
    const bool ties = cf_g(c, G_FILL) == FILL_TIES;
    float value = 0;

    for (uint32_t i = 0; i < type_elements(dtype); i++)
        type_code_put(dtype, block, i, (uint32_t)cf_mix2(h, i) & (ties ? 3 : UINT32_MAX));
    scale = scale_bits(c, HEED_F16, unit, key && cf_g(c, G_FILL) != FILL_EDGE, h, j);
    if (cf_g(c, G_FILL) != FILL_EDGE || !key)
        minimum =
            scale_bits(c, HEED_F16, cf_g(c, G_FILL) == FILL_EXACT ? 1 : 0.5f, key, h >> 13, j);
    if (key && first && steered(c, pick, j, &value)) {
        type_code_put(dtype, block, 0, code);
        scale = cf_encode(HEED_F16, value / (float)power);
        minimum = 0;
    }
    type_block_put(dtype, block, scale, minimum);
}

void cf_blocks_fill(const struct cs *c, struct array *a, int64_t at, bool key, uint64_t row,
                    int64_t j)
{
    const int64_t elements = type_elements(a->dtype);

    if (type_block_head(a->dtype) == 0) { /* steered by scales that lie apart */
        for (int64_t t = 0; t < a->shape[3]; t++) {
            const uint32_t byte = cf_byte_at(c, key, cf_mix2(row, (uint64_t)t), cf_mix(row), t);
            const bool sixteen = key && cf_g(c, G_FILL) == FILL_EXACT;

            cf_array_set(a, at + t, (sixteen ? byte >> 4 : byte) & 15);
        }
        return;
    }
    for (int64_t t = 0; t < a->shape[3]; t += elements)
        block_fill(c, a->dtype, cf_array_piece(a, at + t), key, cf_mix2(row, (uint64_t)t),
                   cf_mix(row), j, t == 0);
}

void cf_blocks_poison(struct array *a, int64_t at, uint64_t hash)
{
    static const uint32_t scales[] = { 0x7e2a, 0x7c00, 0xfc00, 0x7800 };
    const int64_t elements = type_elements(a->dtype);

    for (int64_t t = 0; t < a->shape[3]; t += elements) {
        void *const block = cf_array_piece(a, at + t);
        const uint64_t h = cf_mix2(hash, (uint64_t)t);

        for (uint32_t i = 0; i < elements; i++)
            type_code_put(a->dtype, block, i, (uint32_t)cf_mix2(h, i));
        type_block_put(a->dtype, block, scales[h % 4], scales[h >> 2 & 3]);
    }
}

void cf_blocks_multiply(struct array *a, float factor)
{
    for (int64_t i = 0; i < cf_array_count(a); i += type_elements(a->dtype)) {
        void *const block = cf_array_piece(a, i);
        const float scale = type_block_scale(a->dtype, block),
                    minimum = type_block_minimum(a->dtype, block);

        type_block_put(a->dtype, block, cf_encode(HEED_F16, scale * factor),
                       cf_encode(HEED_F16, minimum * factor));
    }
}

static double entry_of(const struct cf_scales *scales, int64_t entry)
{
    const struct array *a = scales->a;

    return (double)cf_decode(
        a->dtype, cf_array_bits(a, cf_scale_at(a, scales->b, scales->head, scales->row, entry)));
}

/* The scale of the channel in an array of its own. */
static void apart_take(const struct cf_scales *scales, int64_t channel, int64_t channels,
                       struct cf_stored *to)
{
    const int64_t per = scales->minima ? 2 : 1, groups = cf_scale_entries(scales->a) / per;
    const int64_t group = channel / (channels / groups);

    to->scale = entry_of(scales, group * per);
    to->minima = scales->minima;
    to->minimum = scales->minima ? entry_of(scales, group * per + 1) : 0;
    to->channels = channels / groups;
}

double cf_number_at(const struct array *a, int64_t index)
{
    const int64_t elements = type_elements(a->dtype);
    const void *const block = cf_array_piece(a, index);

    return elements == 1
               ? (double)cf_decode(a->dtype, cf_array_bits(a, index))
               : type_number(a->dtype, type_code(a->dtype, block, (uint32_t)(index % elements)));
}

struct cf_stored cf_stored_at(const struct array *a, int64_t index, const struct cf_scales *scales)
{
    const int64_t elements = type_elements(a->dtype);
    const void *const block = cf_array_piece(a, index);
    struct cf_stored out = { .number = cf_number_at(a, index), .scale = 1 };

    if (type_block_head(a->dtype) > 0) {
        out.scale = (double)type_block_scale(a->dtype, block);
        out.minimum = (double)type_block_minimum(a->dtype, block);
        out.minima = type_find(a->dtype)->block.minimum != 0;
        out.channels = elements;
    } else if (scales->a) {
        apart_take(scales, index % a->shape[3], a->shape[3], &out);
    }
    return out;
}

float cf_scaled(const struct array *a, int64_t index, const struct cf_scales *scales)
{
    const struct cf_stored x = cf_stored_at(a, index, scales);

    return x.minima ? fmaf((float)x.number, (float)x.scale, (float)x.minimum)
                    : (float)(x.number * x.scale);
}

/* ---- the same bits by other types ----------------------------------------------- */

/* The type in blocks that has all numbers of this one. */
static uint32_t widest(uint32_t dtype)
{
    return type_find(dtype)->block.minimum ? HEED_Q5_1 : HEED_Q8_0;
}

static void block_widen(uint32_t from, const void *block, uint32_t to, void *wide)
{
    const unsigned char *const bytes = block;
    const uint32_t at = type_find(from)->block.minimum;

    type_block_put(to, wide, bytes[0] | (uint32_t)bytes[1] << 8,
                   at ? bytes[at] | (uint32_t)bytes[at + 1] << 8 : 0);
    for (uint32_t i = 0; i < type_elements(to); i++) {
        const int x = type_number(from, type_code(from, block, i));

        type_code_put(to, wide, i, (uint32_t)x + (uint32_t)type_find(to)->block.less);
    }
}

static bool array_widen(struct array *a, bool scaled)
{
    const bool blocks = type_block_head(a->dtype) > 0;
    struct array wide = *a;

    if (scaled || (!blocks && type_find(a->dtype)->bytes > 1))
        return true;
    wide.dtype = blocks ? widest(a->dtype) : HEED_F32;
    wide.laid = LAID_NATURAL;
    if (!cf_array_alloc(&wide))
        return false;
    for (int64_t i = 0; i < cf_array_count(&wide); i += type_elements(wide.dtype)) {
        if (blocks)
            block_widen(a->dtype, cf_array_piece(a, i), wide.dtype, cf_array_piece(&wide, i));
        else
            cf_array_set(&wide, i, cf_encode(HEED_F32, cf_decode(a->dtype, cf_array_bits(a, i))));
    }
    free(a->data);
    *a = wide;
    return true;
}

bool cf_rows_widen(struct problem *p)
{
    bool ok = true;

    for (int s = 0; s < p->n_sources && ok; s++) {
        struct source_data *src = &p->source[s];

        ok = array_widen(&src->k, src->k_scale != 0) && array_widen(&src->v, src->v_scale != 0);
    }
    return ok;
}
