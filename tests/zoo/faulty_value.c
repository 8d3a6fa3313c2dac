/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Numbers of element types, and elements of arrays.
 */
#include "faulty.h"

#include <math.h>
#include <string.h>

/* ---- numbers ------------------------------------------------------------------------- */

int64_t faulty_bytes(uint32_t dtype)
{
    switch (dtype) {
    case HEED_F32:
    case HEED_I32:
        return 4;
    case HEED_F16:
    case HEED_BF16:
        return 2;
    case HEED_I64:
        return 8;
    case HEED_U8:
    case HEED_I8:
    case HEED_F8E4M3:
    case HEED_F8E5M2:
        return 1;
    }
    return 0; /* elements come in blocks */
}

bool faulty_float(uint32_t dtype)
{
    return dtype == HEED_F32 || dtype == HEED_F16 || dtype == HEED_BF16;
}

static float f32_of(uint32_t bits)
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

static double f16_value(uint16_t h)
{
    const int e = h >> 10 & 31, m = h & 1023;
    const double x =
        e == 31 ? (m ? (double)NAN : (double)INFINITY) : ldexp(e ? 1024 + m : m, (e ? e : 1) - 25);

    return h & 0x8000 ? -x : x;
}

/* The nearest f16, ties to even, by the digits that it has at this size. */
static uint16_t f16_bits(double x)
{
    const uint16_t sign = signbit(x) ? 0x8000 : 0;
    int e;
    double unit, n;

    if (isnan(x))
        return 0x7e00;
    x = fabs(x);
    if (isinf(x))
        return sign | 0x7c00;
    frexp(x, &e);
    e = e - 11 < -24 ? -24 : e - 11;
    unit = ldexp(1, e);
    n = nearbyint(x / unit);
    if (n * unit >= 65520)
        return sign | 0x7c00;
    if (n >= 2048) {
        n /= 2;
        e++;
    }
    return (uint16_t)(sign | (n < 1024 ? (int)n : ((e + 25) << 10) + ((int)n - 1024)));
}

static uint16_t bf16_bits(float x)
{
    const uint32_t bits = bits_of(x);

    if (isnan(x))
        return 0x7fc0;
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

double faulty_value(const unsigned char *at, uint32_t dtype)
{
    uint32_t word = 0;
    uint16_t half;
    int64_t whole = 0;
    int32_t i;

    switch (dtype) {
    case HEED_F32:
        memcpy(&word, at, 4);
        return (double)f32_of(word);
    case HEED_F16:
        memcpy(&half, at, 2);
        return f16_value(half);
    case HEED_BF16:
        memcpy(&half, at, 2);
        return (double)f32_of((uint32_t)half << 16);
    case HEED_I32:
        memcpy(&i, at, 4);
        return i;
    case HEED_I64:
        memcpy(&whole, at, 8);
        return (double)whole;
    case HEED_I8:
        return (int8_t)*at;
    }
    return *at;
}

void faulty_put(unsigned char *at, uint32_t dtype, double x)
{
    const float single = (float)x;
    uint16_t half = f16_bits(x);

    if (dtype == HEED_F32) {
        memcpy(at, &single, 4);
        return;
    }
    if (dtype == HEED_BF16)
        half = bf16_bits(single);
    memcpy(at, &half, 2);
}

double faulty_rounded(double x, uint32_t dtype)
{
    return dtype == HEED_F16 ? f16_value(f16_bits(x))
                             : (double)f32_of((uint32_t)bf16_bits((float)x) << 16);
}

/* ---- elements ------------------------------------------------------------------------ */

bool faulty_view(struct view *v, unsigned char *at, const heed_tensor *t)
{
    int axis = AXES;

    *v = (struct view){ .at = at, .dtype = t->dtype, .bytes = faulty_bytes(t->dtype), .n = 1 };
    for (uint32_t a = 0; a < AXES; a++) {
        const int64_t skipped = AXES - (int64_t)t->ndim;

        v->shape[a] = (int64_t)a < skipped ? 1 : t->shape[(int64_t)a - skipped];
        v->stride[a] = (int64_t)a < skipped ? 0 : t->stride[(int64_t)a - skipped] * v->bytes;
        v->n *= v->shape[a];
    }
    v->channel = v->row = v->head = v->item = -1;
    while (--axis >= 0 && v->shape[axis] < 2)
        ;
    v->channel = axis;
    while (--axis >= 0 && v->shape[axis] < 2)
        ;
    v->row = axis < 0 ? -1 : axis;
    while (--axis >= 0 && v->shape[axis] < 2)
        ;
    v->head = axis < 0 ? -1 : axis;
    for (axis = 0; axis < AXES && v->shape[axis] < 2; axis++)
        ;
    v->item = axis < v->channel ? axis : -1;
    return v->bytes > 0 && v->n > 0;
}

void faulty_place(const struct view *v, int64_t i, int64_t *c)
{
    for (int a = AXES - 1; a >= 0; a--) {
        c[a] = i % v->shape[a];
        i /= v->shape[a];
    }
}

int64_t faulty_offset(const struct view *v, const int64_t *c)
{
    int64_t sum = 0;

    for (int a = 0; a < AXES; a++)
        sum += c[a] * v->stride[a];
    return sum;
}
