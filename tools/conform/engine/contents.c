/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What is in the arrays of an operation with fixed arrays: floats of the case's class; indices,
 * lengths and masks, also such as make no sense.
 */
#include "table.h"

#include <string.h>

uint64_t part_hash(const struct fixed_problem *p, const struct part *part, int64_t index)
{
    return cf_mix2(cf_mix2(p->c.seed, (uint64_t)part->number + 1), (uint64_t)index);
}

/* NaN with any payload and sign, infinities if there are any, -0, the least and the largest number.
 */
static uint32_t special_bits(uint32_t dtype, uint64_t hash)
{
    const struct type *type = type_find(dtype);
    const uint32_t sign = 1u << (8 * type->bytes - 1), fraction = (1u << type->fraction) - 1;
    const uint32_t inf = type->infinity ? type->infinity : type->nan;
    const uint32_t bits = (uint32_t)(hash >> 30);

    switch (hash % 8) {
    case 0:
    case 1:
        return inf | (bits & sign) | (bits & fraction) | 1;
    case 2:
        return inf;
    case 3:
        return inf | sign;
    case 4:
        return sign;
    case 5:
        return (bits & sign) | 1;
    case 6:
        return (inf - 1) | (bits & sign);
    default:
        return 0;
    }
}

static uint32_t float_bits(int64_t fill, uint32_t dtype, uint64_t h)
{
    const bool half = dtype == HEED_F16;

    switch (fill) {
    case DATA_EXACT:
        return cf_encode(dtype, (float)((int)(h >> 33 & 15) - 8));
    case DATA_TIES:
        return cf_encode(dtype, (float)((int)(h >> 33 & 3) - 1) * (h >> 40 & 7 ? 1.0f : -0.0f));
    case DATA_HUGE:
        return cf_small(dtype, h, half ? 0x1p10f : 0x1p100f);
    case DATA_OVER:
        return cf_small(dtype, h, half ? 0x1p14f : 0x1p126f);
    case DATA_SUBNORMAL:
        return cf_subnormal(dtype, h);
    case DATA_SPECIAL:
        return h >> 50 & 7 ? cf_small(dtype, h, 1) : special_bits(dtype, h);
    case DATA_BITS:
        return (uint32_t)(h >> 20) & (UINT32_MAX >> (32 - 8 * type_find(dtype)->bytes));
    default:
        return cf_small(dtype, h, 1);
    }
}

/* The elements of row 0, from another one on. */
static int64_t alike(const struct fixed_problem *p, const struct part *part, int64_t i)
{
    const int64_t n = part->a.shape[3], turn = (int64_t)(part_hash(p, part, i / n) >> 1);

    return (i % n + turn % n) % n;
}

/* Any integers, under scales and minima of the case's class. */
static void fill_blocks(struct fixed_problem *p, struct part *part)
{
    const uint32_t dtype = part->a.dtype;
    const int64_t n = cf_array_count(&part->a);

    for (int64_t i = 0; i < n; i++)
        cf_array_set(&part->a, i, (uint32_t)(part_hash(p, part, i) >> 20) & 255);
    for (int64_t i = 0; i < n; i++) {
        if (i % part->a.shape[3] % type_elements(dtype) == 0)
            type_block_put(dtype, cf_array_piece(&part->a, i),
                           float_bits(p->c.v[F_FILL], HEED_F16, part_hash(p, part, -1 - i)),
                           float_bits(p->c.v[F_FILL], HEED_F16, part_hash(p, part, -2 - n - i)));
    }
}

void fill_floats(struct fixed_problem *p, struct part *part)
{
    const int64_t n = cf_array_count(&part->a), fill = p->c.v[F_FILL];

    if (type_elements(part->a.dtype) > 1) {
        fill_blocks(p, part);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        const int64_t from = fill == DATA_ALIKE ? alike(p, part, i) : i;

        cf_array_set(&part->a, i, float_bits(fill, part->a.dtype, part_hash(p, part, from)));
    }
}

/* Bytes have no classes of contents: any bits. */
void fill_rows(struct fixed_problem *p, struct part *part)
{
    if (part->a.dtype != HEED_I8) {
        fill_floats(p, part);
        return;
    }
    for (int64_t i = 0; i < cf_array_count(&part->a); i++)
        cf_array_set(&part->a, i, (uint32_t)(part_hash(p, part, i) >> 24 & 255));
}

int64_t part_hostile(const struct part *part, uint64_t hash)
{
    const bool wide = part->a.dtype == HEED_I64;
    const int64_t far = wide ? INT64_C(1) << (40 + hash % 23) : (int64_t)1 << 30;

    switch (hash >> 10 & 7) {
    case 0:
        return -1;
    case 1:
        return part->bound;
    case 2:
        return part->bound + 1 + (int64_t)(hash >> 20 & 15);
    case 3:
        return wide ? INT64_MIN : INT32_MIN;
    case 4:
        return wide ? INT64_MAX : INT32_MAX;
    case 5:
        return far;
    case 6:
        return -far;
    default:
        return -2 - (int64_t)(hash >> 20 & 15);
    }
}

void fill_lengths(struct fixed_problem *p, struct part *part)
{
    enum { RT = 1, SHORT, ZERO, HOSTILE };
    const int64_t n = cf_array_count(&part->a);
    const int64_t how =
        part->holds + (part->table->holds[0] == 'n' ? 0 : 1); /* some must be there */

    for (int64_t i = 0; i < n; i++) {
        const uint64_t h = part_hash(p, part, i);
        int64_t value = (int64_t)(h % (uint64_t)(part->bound + 1));

        if (how == SHORT)
            value = part->bound - (int64_t)(h % 3);
        if (how == ZERO)
            value = 0;
        if (how == HOSTILE && h >> 40 & 3)
            value = part_hostile(part, h);
        cf_array_set_int(&part->a, i, value < 0 && how != HOSTILE ? 0 : value);
    }
}

void fill_indices(struct fixed_problem *p, struct part *part)
{
    enum { GOOD = 1, HOSTILE };
    const int64_t n = cf_array_count(&part->a);
    const int64_t how = part->holds + (part->table->holds[0] == 'n' ? 0 : 1);

    for (int64_t i = 0; i < n; i++) {
        const uint64_t h = part_hash(p, part, i);
        int64_t value = part->bound > 0 ? (int64_t)(h % (uint64_t)part->bound) : -1;

        if (how == HOSTILE && h >> 40 & 1)
            value = part_hostile(part, h);
        cf_array_set_int(&part->a, i, value);
    }
}

void fill_mask(struct fixed_problem *p, struct part *part)
{
    enum { SOME = 1, ALL };
    const int64_t n = cf_array_count(&part->a);

    for (int64_t i = 0; i < n; i++) {
        const uint64_t h = part_hash(p, part, i);
        const bool on = part->holds == ALL || (part->holds == SOME && h % 5 < 3);

        cf_array_set(&part->a, i, on ? (uint32_t)(1 + (h >> 20 & 127)) : 0);
    }
}

void fill_nothing(struct fixed_problem *p, struct part *part)
{
    (void)p;
    (void)part;
}
