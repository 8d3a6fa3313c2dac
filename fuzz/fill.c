/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Sizes, offsets and contents of arrays. Contents come from a short seed, by Marsaglia's
 * xorshift64* generator, so that inputs stay small.
 */
#include "produce.h"

#include <string.h>

uint32_t fuzz_dtype_size(uint32_t dtype)
{
    switch (dtype) {
    case HEED_F32:
    case HEED_I32:
        return 4;
    case HEED_F16:
    case HEED_BF16:
        return 2;
    case HEED_U8:
        return 1;
    case HEED_I64:
        return 8;
    default:
        return 0;
    }
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

static uint64_t draw(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(0x2545f4914f6cdd1d) >> 8;
}

/* ---- floats, as bits ---------------------------------------------------- */

/* One layout for all: sign, e bits of exponent, m bits of mantissa. */
static uint64_t float_special(uint32_t e, uint32_t m, uint64_t r)
{
    const uint64_t sign = (r >> 4 & 1) << (e + m), top = ((UINT64_C(1) << e) - 1) << m;
    const uint64_t below = (UINT64_C(1) << m) - 1, random = r >> 8 & below;

    switch (r & 7) {
    case 0:
        return sign;
    case 1:
        return sign | top;
    case 2:
        return sign | top | (random ? random : 1);              /* NaN, also signalling */
    case 3:
        return sign | (random ? random : 1);                    /* subnormal */
    case 4:
        return sign | (top - (UINT64_C(1) << m)) | below;       /* largest */
    case 5:
        return sign | 1;
    case 6:
        return sign | (top >> 1 & top);                         /* one, for odd widths 2^-k */
    default:
        return sign | (top - (UINT64_C(2) << m)) | random;      /* huge */
    }
}

static uint64_t float_bits(uint32_t dtype, const struct fuzz_recipe *recipe, uint64_t r)
{
    const uint32_t e = dtype == HEED_F16 ? 5 : 8, m = dtype == HEED_F32 ? 23
                                                      : dtype == HEED_F16 ? 10 : 7;
    const uint64_t sign = (r & 1) << (e + m), low = r >> 12 & ((UINT64_C(1) << m) - 1);
    const uint64_t one = (UINT64_C(1) << (e - 1)) - 1;

    if (recipe->content == FUZZ_BIASES && (r >> 1 & 15) == 15)
        return UINT64_C(1) << (e + m) | ((UINT64_C(1) << e) - 1) << m;      /* -Inf */
    switch (recipe->mode & 7) {
    case 1:
        return r;
    case 2:
        return float_special(e, m, r >> 5);
    case 3:
        if ((r >> 1 & 31) == 31)
            return float_special(e, m, r >> 6);
        break;
    case 4:
        return 0;
    case 5:
        return sign | (one + 4 + (r >> 1) % 3) << m | low;      /* scores in the hundreds */
    default:
        break;
    }
    return sign | (one - 3 + (r >> 1) % 4) << m | low;          /* 1/8 .. 2 */
}

/* ---- integers ----------------------------------------------------------- */

static int64_t integer_hostile(uint64_t r, int64_t bound)
{
    static const int64_t odd[] = {
        -1, INT32_MIN, INT32_MAX, INT64_MIN, INT64_MAX, INT64_C(1) << 31, INT64_C(1) << 32,
        INT64_C(1) << 60, -(INT64_C(1) << 60), (INT64_C(1) << 60) + 1, INT64_C(1) << 62, -2,
    };
    const uint64_t n = sizeof(odd) / sizeof(*odd);

    return r % (n + 4) < n ? odd[r % (n + 4)] : bound + (int64_t)(r % (n + 4) - n) - 1;
}

static int64_t integer_sound(const struct fuzz_recipe *recipe, int64_t i, int64_t last, uint64_t r)
{
    const int64_t bound = recipe->bound < 0 ? 0 : recipe->bound;
    const int64_t below = (int64_t)(r % (uint64_t)(bound + 1)), place = i % last;

    switch (recipe->content) {
    case FUZZ_ASCENDING:        /* spread over the bound; beyond it the list has ended */
        return place * (1 + recipe->seed % 3) + recipe->seed % 5 < bound
                   ? place * (1 + recipe->seed % 3) + recipe->seed % 5 : -1;
    case FUZZ_RANGES:
        return i % 2 == 0 ? below / 2 : bound - below / 2;
    case FUZZ_BEGINS:
        return recipe->seed % 4 ? place * (bound / last) : below;
    case FUZZ_POSITIONS:
        return below - bound / 2;
    default:
        return recipe->seed % 3 ? below : bound;
    }
}

static int64_t integer(const struct fuzz_recipe *recipe, int64_t i, int64_t last, uint64_t r)
{
    switch (recipe->mode & 7) {
    case 1:
        return (int64_t)(r % (uint64_t)(recipe->bound < 0 ? 7 : recipe->bound + 7)) - 3;
    case 2:
        return integer_hostile(r, recipe->bound);
    case 3:
        return (int64_t)(r << 8 ^ r);
    case 4:
        if (r % 8 == 0)
            return integer_hostile(r >> 4, recipe->bound);
        break;
    default:
        break;
    }
    return integer_sound(recipe, i, last, r >> 3);
}

static uint64_t element(uint32_t dtype, const struct fuzz_recipe *recipe, int64_t i, int64_t last,
                        uint64_t r)
{
    if (dtype == HEED_F32 || dtype == HEED_F16 || dtype == HEED_BF16)
        return float_bits(dtype, recipe, r);
    if (dtype == HEED_U8)
        return recipe->mode & 1 ? r & 255 : (uint64_t)((r >> 3) % (2 + recipe->mode % 5) != 0);
    return (uint64_t)integer(recipe, i, last, r);
}

void fuzz_fill(uint8_t *origin, const heed_tensor *t, const struct fuzz_recipe *recipe)
{
    const int64_t n = fuzz_count(t, INT64_MAX), size = fuzz_dtype_size(t->dtype);
    const int64_t last = t->ndim ? t->shape[t->ndim - 1] : 1;
    uint64_t state = UINT64_C(0x9e3779b97f4a7c15) ^ (uint64_t)recipe->seed << 17;

    for (int64_t i = 0; i < n; i++) {
        const uint64_t bits = element(t->dtype, recipe, i, last, draw(&state));
        const uint32_t half = (uint32_t)bits;
        const uint16_t quarter = (uint16_t)bits;
        const uint8_t byte = (uint8_t)bits;
        uint8_t *const to = origin + fuzz_offset(t, i) * size;

        if (size == 8)
            memcpy(to, &bits, 8);
        else if (size == 4)
            memcpy(to, &half, 4);
        else if (size == 2)
            memcpy(to, &quarter, 2);
        else
            memcpy(to, &byte, 1);
    }
}
