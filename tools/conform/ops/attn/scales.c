/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Keys and values of a byte: the scales of their rows, and the numbers that both are.
 */
#include "slots.h"

#include <math.h>
#include <stdlib.h>

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

/* Of row j: bytes times it are about as large as the other types' elements. */
static uint32_t scale_bits(const struct cs *c, uint32_t dtype, bool key, uint64_t h, int64_t j)
{
    const float sign = h >> 40 & 1 ? -1 : 1;
    const float size = sign * (1 + (float)(h >> 8 & 63) / 64) * 0x1p-7f;
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

static void scales_fill(struct problem *p, struct array *a, bool key, int number)
{
    const uint64_t pages = cf_mix2(cf_mix2(p->c.seed, (uint64_t)number * 131 + 5), 77);

    for (int64_t b = 0; b < a->shape[0]; b++) {
        const uint64_t item =
            a->pages ? cf_mix2(pages, (uint64_t)b) : item_hash(p, a, b, number);

        for (int64_t h = 0; h < a->shape[2]; h++) {
            for (int64_t j = 0; j < a->shape[3]; j++)
                cf_array_set(a, cf_array_at(a, b, 0, h, j),
                             scale_bits(&p->c, a->dtype, key,
                                        cf_mix2(cf_mix2(item, (uint64_t)h), (uint64_t)j), j));
        }
    }
}

int cf_scales_make(struct problem *p, int s, bool key)
{
    const struct source_data *src = &p->source[s];
    const struct cs *c = &p->c;
    const bool packed = cf_layout_of(c, s)->packed, pages = src->k.pages;
    const int number = 840 + 2 * s + key;
    const bool one = cf_mix2(c->seed, (uint64_t)number) % 3 == 0;
    int slot;

    if (!type_scaled(TYPE_ROWS, cf_s(c, s, key ? S_K : S_V)))
        return 0;
    slot = slot_add(p, cf_s(c, s, key ? S_KT : S_VT) ? HEED_F16 : HEED_F32, !packed, 2, 1,
                    one ? 1 : src->heads, src->total,
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
        scales_fill(p, slot_of(p, slot), key, number);
    return slot > 0 ? slot : -1;
}

float cf_scale_at(const struct problem *p, int slot, int64_t b, int64_t head, int64_t row)
{
    const struct array *a = slot > 0 ? &p->slot[slot - 1].a : NULL;

    return a ? cf_decode(a->dtype, cf_array_bits(a, cf_array_at(a, b, 0, head, row))) : 1.0f;
}

/* The product of a number and a scale is exact in double. */
float cf_scaled(const struct array *a, int64_t index, float scale)
{
    return (float)((double)cf_decode(a->dtype, cf_array_bits(a, index)) * (double)scale);
}

static bool array_widen(const struct problem *p, struct array *a, int *slot)
{
    const int64_t items = *slot > 0 ? p->slot[*slot - 1].a.shape[0] : 0;
    struct array wide = *a;

    if (type_find(a->dtype)->bytes > 1)
        return true;
    wide.dtype = HEED_F32;
    wide.laid = LAID_NATURAL;
    wide.shape[0] = items > a->shape[0] && a->shape[0] == 1 ? items : a->shape[0];
    if (!cf_array_alloc(&wide))
        return false;
    for (int64_t i = 0; i < cf_array_count(&wide); i++) {
        const int64_t t = i % wide.shape[3], row = i / wide.shape[3] % wide.shape[2],
                      h = i / wide.shape[3] / wide.shape[2] % wide.shape[1],
                      b = i / wide.shape[3] / wide.shape[2] / wide.shape[1];
        const float x = cf_scaled(a, cf_array_at(a, b, h, row, t),
                                  cf_scale_at(p, *slot, b, h, row));

        cf_array_set(&wide, i, cf_encode(HEED_F32, x));
    }
    free(a->data);
    *a = wide;
    *slot = 0;
    return true;
}

bool cf_rows_widen(struct problem *p)
{
    bool ok = true;

    for (int s = 0; s < p->n_sources && ok; s++) {
        struct source_data *src = &p->source[s];

        ok = array_widen(p, &src->k, &src->k_scale) && array_widen(p, &src->v, &src->v_scale);
    }
    return ok;
}
