/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Maps of biases: from a distance to a bucket of distances, as models were trained with them
 * (Raffel et al. 2020, section 2.1; He et al. 2021). Logarithms are formed here from operations
 * that IEEE 754 rounds correctly, since those of C libraries differ in their last bits.
 */
#include "../../plan.h"

#include <math.h>
#include <stddef.h>

/* What a bucket is found from: half: up to here, or below, a distance is its own bucket. span:
 * ln(end / half), end being where the last bucket is reached; even buckets: the end. */
struct shape {
    int64_t buckets, half;
    double span;
    int64_t end;
};

static int64_t clamp(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

static int64_t magnitude(int64_t r)
{
    return r < 0 ? -r : r;
}

/* ln x for x >= 1: x = 2^k * m with m in [1, 2), and ln m = 2 atanh(z) with z = (m - 1) / (m + 1),
 * which is below 1/3, by its series: term 20 is below 2^-64. */
static double ln(double x)
{
    const double ln_2 = 0x1.62e42fefa39efp-1;
    double k = 0, z, square, sum = 0;

    for (; x >= 2; x /= 2)      /* exact */
        k++;
    z = (x - 1) / (x + 1);
    square = z * z;
    for (int i = 20; i >= 0; i--)
        sum = sum * square + 1.0 / (2 * i + 1);
    return k * ln_2 + 2 * z * sum;
}

/* How many of `parts` steps the distance n >= half is beyond half. */
static double steps(const struct shape *s, int64_t n, int64_t parts)
{
    const double x = (double)parts * ln((double)n / (double)s->half) / s->span;
    const double whole = floor(x + 0.5);

    return fabs(x - whole) < 1e-6 ? whole : x;
}

/* ---- the buckets of a distance ---- */

static int64_t t5_side(const struct shape *s, int64_t n)
{
    if (n < s->half)
        return n;
    return clamp(s->half + (int64_t)floor(steps(s, n, s->buckets - s->half)), 0, s->buckets - 1);
}

static int64_t t5_bucket(const struct shape *s, int64_t r)
{
    return t5_side(s, magnitude(r)) + (r > 0 ? s->buckets : 0);
}

static int64_t t5_past(const struct shape *s, int64_t r)
{
    return t5_side(s, r < 0 ? -r : 0);
}

static int64_t log_bucket(const struct shape *s, int64_t r)
{
    int64_t b = magnitude(r);

    if (b > s->half)
        b = s->half + (int64_t)ceil(steps(s, b, s->half - 1));
    return clamp(s->buckets + (r < 0 ? -b : b), 0, 2 * s->buckets - 1);
}

static int64_t even_bucket(const struct shape *s, int64_t r)
{
    const int64_t n = magnitude(r);
    const int64_t b = n < s->end ? n * s->buckets / s->end : s->buckets - 1;

    return r >= 0 ? s->buckets + b : s->buckets - 1 - b;
}

/* ---- maps ---- */

static heed_status fill(int32_t *map, int64_t length, int64_t zero, uint32_t flags,
                        const struct shape *s, int64_t (*bucket)(const struct shape *, int64_t))
{
    for (int64_t i = 0; i < length; i++)
        map[i] = (int32_t)bucket(s, flags & HEED_MAP_REVERSED ? zero - i : i - zero);
    return HEED_OK;
}

/* What all three ask; high: the most buckets. */
static heed_status check(const int32_t *map, int64_t length, int64_t zero, int32_t buckets,
                         int32_t low, int32_t high, uint32_t unknown)
{
    if (map == NULL && length != 0)
        return HEED_E_NULL;
    if (unknown != 0)
        return HEED_E_FLAG;
    if (length < 0 || buckets < low || buckets > high)
        return HEED_E_VALUE;
    return zero < -HEED_POSITION_MAX || zero > HEED_POSITION_MAX || length > HEED_POSITION_MAX
               ? HEED_E_OVERFLOW
               : HEED_OK;
}

heed_status heed_map_t5(int32_t *map, int64_t length, int64_t zero, int32_t buckets,
                        int32_t max_distance, uint32_t flags)
{
    const uint32_t known = HEED_MAP_REVERSED | HEED_MAP_ONE_SIDED;
    const int32_t sides = flags & HEED_MAP_ONE_SIDED ? 1 : 2;
    const heed_status status =
        check(map, length, zero, buckets, 2 * sides, 1 << 30, flags & ~known);
    struct shape s = { .buckets = buckets / sides, .half = buckets / sides / 2 };

    if (status < 0)
        return status;
    if (buckets % sides != 0 || max_distance <= s.half)
        return HEED_E_VALUE;
    s.span = ln((double)max_distance / (double)s.half);
    return fill(map, length, zero, flags, &s, sides == 1 ? t5_past : t5_bucket);
}

heed_status heed_map_log(int32_t *map, int64_t length, int64_t zero, int32_t buckets,
                         int32_t max_position, uint32_t flags)
{
    const uint32_t known = HEED_MAP_REVERSED;
    const heed_status status = check(map, length, zero, buckets, 2, 1 << 29, flags & ~known);
    struct shape s = { .buckets = buckets, .half = buckets / 2 };

    if (status < 0)
        return status;
    if (max_position <= s.half + 1)
        return HEED_E_VALUE;
    s.span = ln((double)(max_position - 1) / (double)s.half);
    return fill(map, length, zero, flags, &s, log_bucket);
}

heed_status heed_map_even(int32_t *map, int64_t length, int64_t zero, int32_t buckets,
                          int32_t max_distance, uint32_t flags)
{
    const uint32_t known = HEED_MAP_REVERSED;
    const heed_status status = check(map, length, zero, buckets, 1, 1 << 29, flags & ~known);
    const struct shape s = { .buckets = buckets, .end = max_distance };

    if (status < 0)
        return status;
    if (max_distance < 1)
        return HEED_E_VALUE;
    return fill(map, length, zero, flags, &s, even_bucket);
}
