/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Tables of rotary positions (heed/nn.h). Angles are counted in turns, of which whole ones do not
 * matter: a position times the high half of a frequency is exact, so nothing is lost of what is
 * left.
 */
#include <heed/nn.h>

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum { SCALING_V1 = 56 };
_Static_assert(sizeof(heed_rope_scaling) == SCALING_V1, "heed_rope_scaling may only grow");

static const double positions_max = 0x1p31, pi = 0x1.921fb54442d18p+1;
static const double ln_2_high = 0x1.62e42fee00000p-1, ln_2_low = 0x1.a39ef35793c76p-33;

/* The largest integer that is not above x, which lies within 2^62. */
static double floor_of(double x)
{
    const double whole = (double)(int64_t)x;

    return whole > x ? whole - 1 : whole;
}

/* ---- functions by series, within some units of binary64 ---- */

/* x positive and normal: 2^k m, and ln m = 2 atanh((m - 1) / (m + 1)). */
static double ln(double x)
{
    int k = 0;
    double m = x, t, square, sum = 0;

    for (; m > 0x1.6a09e667f3bcdp+0; m /= 2)
        k++;
    for (; m < 0x1.6a09e667f3bcdp-1; m *= 2)
        k--;
    t = (m - 1) / (m + 1);
    square = t * t;
    for (int i = 23; i > 0; i -= 2)
        sum = sum * square + 1.0 / i;
    return k * ln_2_high + (2 * t * sum + k * ln_2_low);
}

/* e^x of |x| up to 700. */
static double power_of_e(double x)
{
    const double k = floor_of(x / 0x1.62e42fefa39efp-1 + 0.5);
    const double r = x - k * ln_2_high - k * ln_2_low;
    double sum = 1;

    for (int i = 16; i > 0; i--)
        sum = sum * r / i + 1;
    for (int i = 0; i < (int)(k < 0 ? -k : k); i++)
        sum = k > 0 ? sum * 2 : sum / 2;
    return sum;
}

/* cos and sin of |x| up to pi / 4. */
static void small_angle(double x, double *cosine, double *sine)
{
    const double square = x * x;

    *cosine = *sine = 1;
    for (int i = 20; i > 0; i -= 2) {
        *cosine = 1 - *cosine * square / ((i - 1) * i);
        *sine = 1 - *sine * square / (i * (i + 1));
    }
    *sine *= x;
}

/* Of a turn's share in [-1/2, 1/2]. */
static void angle(double turn, double *cosine, double *sine)
{
    const double quarter = floor_of(4 * turn + 0.5);
    double c, s;

    small_angle((turn - quarter / 4) * 2 * pi, &c, &s);
    switch ((int)quarter & 3) {
    case 0:
        *cosine = c;
        *sine = s;
        return;
    case 1:
        *cosine = -s;
        *sine = c;
        return;
    case 2:
        *cosine = -c;
        *sine = -s;
        return;
    default:
        *cosine = s;
        *sine = -c;
    }
}

/* ---- frequencies ---- */

static double within(double x, double low, double high)
{
    return x < low ? low : x > high ? high : x;
}

/* The pair that makes so many turns within the training. */
static double pair_of(const heed_rope_scaling *s, double turns, double pairs)
{
    return within(pairs * ln(s->trained / (2 * pi * turns)) / ln(s->base), 0, 2 * pairs - 1);
}

static double yarn_share(const heed_rope_scaling *s, double pair, double pairs)
{
    const double low = floor_of(pair_of(s, s->fast, pairs));
    const double high = -floor_of(-pair_of(s, s->slow, pairs));
    const double w = within((pair - low) / (high > low ? high - low : 0.001), 0, 1);

    return 1 - w + w / s->factor;
}

/* Turns of a pair from position to position. */
static double turns_of(const heed_rope_scaling *s, double pair, double pairs)
{
    double log_base = ln(s->base), share = 1;

    if (s->kind == HEED_ROPE_SCALING_NTK)
        log_base += ln(s->factor) * pairs / (pairs - 1);
    if (s->kind == HEED_ROPE_SCALING_LINEAR)
        share = 1 / s->factor;
    if (s->kind == HEED_ROPE_SCALING_YARN)
        share = yarn_share(s, pair, pairs);
    return power_of_e(-log_base * pair / pairs) * share / (2 * pi);
}

/* ---- the tables ---- */

static double or_else(double x, double absent)
{
    return x == 0 ? absent : x;
}

/* Defaults resolved, then checked. */
static heed_status scaling_check(const heed_rope_scaling *given, heed_rope_scaling *s,
                                 int64_t pairs)
{
    const double most = 0x1p500;
    bool good;

    s->base = or_else(given->base, 10000);
    s->factor = or_else(given->factor, 1);
    s->fast = or_else(given->fast, 32);
    s->slow = or_else(given->slow, 1);
    good = s->kind <= HEED_ROPE_SCALING_YARN && s->base > 1 && s->base <= most && s->factor >= 1 &&
           s->factor <= positions_max && s->fast > 0 && s->fast <= most && s->slow > 0 &&
           s->slow <= most;
    if (good && s->kind == HEED_ROPE_SCALING_NTK)
        good = pairs >= 2;
    if (good && s->kind == HEED_ROPE_SCALING_YARN)
        good = s->trained >= 1 && s->trained <= positions_max && s->fast >= 0x1p-500 &&
               s->slow >= 0x1p-500;
    if (!good)
        return HEED_E_VALUE;
    s->amplitude =
        or_else(given->amplitude, s->kind == HEED_ROPE_SCALING_YARN ? 1 + ln(s->factor) / 10 : 1);
    return s->amplitude > 0 && s->amplitude <= 0x1p100 ? HEED_OK : HEED_E_VALUE;
}

/* The rest of a copy that is longer than what this library knows has to be zero. */
static heed_status scaling_copy(const heed_rope_scaling *given, heed_rope_scaling *to)
{
    if (given->size < SCALING_V1)
        return HEED_E_SIZE;
    for (size_t i = sizeof(*to); i < given->size; i++) {
        if (((const unsigned char *)given)[i] != 0)
            return HEED_E_NEWER;
    }
    memcpy(to, given, given->size < sizeof(*to) ? given->size : sizeof(*to));
    return HEED_OK;
}

static heed_status counts_check(int64_t first, int64_t positions, int64_t pairs, const float *cos,
                                const float *sin)
{
    if (first < 0 || positions < 0 || pairs < 0)
        return HEED_E_VALUE;
    if ((double)first + (double)positions > positions_max ||
        (positions > 0 && pairs > INT64_MAX / 4 / positions))
        return HEED_E_OVERFLOW;
    return positions > 0 && pairs > 0 && (!cos || !sin) ? HEED_E_NULL : HEED_OK;
}

static void pair_fill(const heed_rope_scaling *s, int64_t first, int64_t positions, double turns,
                      float *cos, float *sin, int64_t step)
{
    /* 21 bits and the rest: a position has 31. */
    const double split = turns * 0x1p32, high = (turns + split) - split, low = turns - high;

    for (int64_t p = 0; p < positions; p++) {
        const double at = (double)(first + p), whole = at * high;
        double share = whole - floor_of(whole) + at * low, c, sn;

        share -= floor_of(share + 0.5);
        angle(share, &c, &sn);
        cos[p * step] = (float)(s->amplitude * c);
        sin[p * step] = (float)(s->amplitude * sn);
    }
}

heed_status heed_rope_tables(const heed_rope_scaling *scaling, int64_t first, int64_t positions,
                             int64_t pairs, float *cos, float *sin)
{
    heed_rope_scaling s = { .size = sizeof(s) };
    heed_status status = scaling ? scaling_copy(scaling, &s) : HEED_OK;

    if (status >= 0) {
        const heed_rope_scaling given = s;

        status = scaling_check(&given, &s, pairs);
    }
    if (status >= 0)
        status = counts_check(first, positions, pairs, cos, sin);
    if (status < 0)
        return status;
    for (int64_t i = 0; i < pairs && positions > 0; i++)
        pair_fill(&s, first, positions, turns_of(&s, (double)i, (double)pairs), cos + i, sin + i,
                  pairs);
    return HEED_OK;
}
