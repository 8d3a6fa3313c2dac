/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Elements and places of the field kernel: how they are read, rounded and found.
 */
#include "field.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- elements ------------------------------------------------------------------ */

int64_t field_size(uint32_t dtype)
{
    return dtype == HEED_U8                                                        ? 1
           : dtype == HEED_F16 || dtype == HEED_BF16                               ? 2
           : dtype == HEED_I64                                                     ? 8
                                                                                   : 4;
}

static float of_bits(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint32_t bits_of(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static float half_widen(uint16_t h)
{
    const int exponent = h >> 10 & 31;
    const float fraction = (float)(h & 1023);
    const float x = exponent == 31 ? (h & 1023 ? NAN : INFINITY)
                    : exponent     ? ldexpf(fraction + 1024, exponent - 25)
                                   : ldexpf(fraction, -24);

    return h >> 15 ? -x : x;
}

static uint16_t half_round(float x)
{
    const uint16_t sign = signbit(x) ? 0x8000 : 0;
    const float size = fabsf(x);
    int exponent;
    float quantum;

    if (isnan(x))
        return 0x7e00;
    if (size >= 65520)
        return (uint16_t)(sign | 0x7c00);
    exponent = size < 0x1p-14f ? -14 : ilogbf(size);
    quantum = rintf(ldexpf(size, 10 - exponent)); /* may carry into the exponent, rightly */
    return (uint16_t)(sign | ((uint32_t)((exponent + 14) << 10) + (uint32_t)quantum));
}

static uint16_t bf16_round(float x)
{
    const uint32_t bits = bits_of(x);

    if (isnan(x))
        return 0x7fc0;
    if (field_has(F_output_cut))
        return (uint16_t)(bits >> 16);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float field_rounded(uint32_t dtype, float x)
{
    return dtype == HEED_F16    ? half_widen(half_round(x))
           : dtype == HEED_BF16 ? of_bits((uint32_t)bf16_round(x) << 16)
                                : x;
}

float field_load(uint32_t dtype, const char *at)
{
    uint16_t half;
    float x;

    if (dtype != HEED_F32) {
        memcpy(&half, at, sizeof half);
        return dtype == HEED_F16 ? half_widen(half) : of_bits((uint32_t)half << 16);
    }
    memcpy(&x, at, sizeof x);
    if (field_has(F_subnormals_lost) && fabsf(x) < 0x1p-126f)
        x = 0;
    return x;
}

void field_store(uint32_t dtype, char *at, float x)
{
    const float clean = isnan(x) ? NAN : x + 0.0f;
    const uint16_t half = dtype == HEED_F16 ? half_round(clean) : bf16_round(clean);

    if (dtype != HEED_F32) {
        const uint16_t plain = half == 0x8000 ? 0 : half;

        memcpy(at, &plain, sizeof plain);
    } else {
        memcpy(at, &clean, sizeof clean);
    }
}

void *field_copy(const heed_tensor *t, const void *data, const char **first)
{
    int64_t low = 0, high = 0;
    char *copy;

    for (uint32_t i = 0; i < t->ndim; i++) {
        const int64_t reach = (t->shape[i] - 1) * t->stride[i];

        if (t->shape[i] == 0) {
            *first = NULL;
            return malloc(1);
        }
        low += reach < 0 ? reach : 0;
        high += reach > 0 ? reach : 0;
    }
    low *= field_size(t->dtype);
    high = (high + 1) * field_size(t->dtype);
    copy = malloc((size_t)(high - low));
    if (copy)
        memcpy(copy, (const char *)data + low, (size_t)(high - low));
    *first = copy ? copy - low : NULL;
    return copy;
}

/* ---- places ------------------------------------------------------------------- */

int64_t field_stride(const heed_tensor *t, uint32_t from_right)
{
    const int64_t x = from_right <= t->ndim ? t->stride[t->ndim - from_right] : 0;

    return field_has(F_stride_without_sign) && x < 0 ? -x : x;
}

int64_t field_broadcast(const heed_tensor *t, uint32_t from_right, int64_t index)
{
    return from_right <= t->ndim && t->shape[t->ndim - from_right] > 1
               ? index * field_stride(t, from_right)
               : 0;
}

int64_t field_item(const struct field_state *s, const heed_tensor *t, uint32_t trailing,
                       int64_t item)
{
    int64_t at = 0;

    for (uint32_t i = 0; i < 3; i++) {
        if (field_has(F_k_not_broadcast) && t == &s->k && i == 0) /* as many as q has */
            at += item % s->batch[i] * s->k_heads * s->n_k * s->d;
        else
            at += field_broadcast(t, trailing + 1 + i, item % s->batch[i]);
        item /= s->batch[i];
    }
    return at;
}

char *field_row_of(const struct field_state *s, const heed_tensor *t, heed_buf buf,
                    struct field_place place)
{
    const int64_t rows = field_has(F_rows_packed) && t == &s->q ? s->d : field_stride(t, 2);

    return (char *)buf.handle + buf.offset +
           (field_item(s, t, 3, place.item) + place.head * field_stride(t, 3) + place.row * rows) *
               field_size(t->dtype);
}

const char *field_slot_of(const struct field_slot *slot, const heed_attn_args *args)
{
    const heed_buf buf = slot->constant ? (heed_buf){ 0 } : args->slots[slot->number - 1];

    return slot->constant ? slot->first : (const char *)buf.handle + buf.offset;
}

static int64_t load_integer(uint32_t dtype, const char *at)
{
    int32_t x;
    int64_t y;

    if (dtype == HEED_I64) {
        memcpy(&y, at, sizeof y);
        return y;
    }
    memcpy(&x, at, sizeof x);
    return x;
}

const char *field_key(const struct field_state *s, const heed_attn_args *args,
                          const heed_tensor *t, heed_buf buf, struct field_place place,
                          int64_t key)
{
    const heed_tensor *table = &s->table.t;
    const int64_t head = field_has(F_group_modulo) ? place.head % s->k_heads
                                                   : place.head / s->group;
    const int64_t item = field_has(F_table_of_item_0) ? 0 : place.item;
    int64_t page, at;

    if (!s->paged) {
        const char *row = field_row_of(s, t, buf, (struct field_place){ place.item, head, key });

        return field_has(F_aligned_by_16) && s->d > 0 ? row - (uintptr_t)row % 16 : row;
    }
    page = load_integer(table->dtype, field_slot_of(&s->table, args) +
                                          (field_item(s, table, 1, item) +
                                           key / s->page * field_stride(table, 1)) *
                                              field_size(table->dtype));
    if (field_has(F_page_absent_is_0) && page < 0 && t->shape[0] > 0)
        page = 0;
    if (page < 0 || page >= t->shape[0])
        return NULL;
    at = page * field_stride(t, 4) + head * field_stride(t, 3) + key % s->page * field_stride(t, 2);
    return (const char *)buf.handle + buf.offset + at * field_size(t->dtype);
}

int64_t field_length(const struct field_state *s, const heed_attn_args *args, int64_t item)
{
    const heed_tensor *t = &s->length.t;
    int64_t n;

    if (s->length.number == 0 || (field_has(F_length_forgotten) && !s->paged))
        return s->n_k;
    n = load_integer(t->dtype, field_slot_of(&s->length, args) +
                                   field_item(s, t, 0, item) * field_size(t->dtype));
    n = n < 0 ? 0 : n > s->n_k ? s->n_k : n;
    return field_has(F_page_whole) && s->paged ? (n + s->page - 1) / s->page * s->page : n;
}
