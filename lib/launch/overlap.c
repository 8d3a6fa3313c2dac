/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Both questions are one: has c[0]*x[0] + ... = target a solution with 0 <= x[i] <= m[i]?
 * Coefficients are made positive, equal ones are merged and they are sorted downwards; the search
 * then goes from the largest to the smallest, at each level only through the x that leave the rest
 * inside its range and a multiple of its common divisor. A tail that reaches every such value
 * answers at once, which is what ordinary layouts are: for them the search is a few steps long.
 */
#include "overlap.h"

#include "../core/alloc.h"
#include "../types/types.h"

#define MAX_UNKNOWNS 14 /* six axes each and the byte within the element */

struct equation {
    int count;
    uint32_t work; /* steps left */
    bool overflow; /* left 63 bits: the caller refuses */
    int64_t target;
    int64_t c[MAX_UNKNOWNS], m[MAX_UNKNOWNS];
    int64_t reach[MAX_UNKNOWNS + 1];   /* sum of c*m from here on */
    int64_t divisor[MAX_UNKNOWNS + 1]; /* of c from here on */
    bool full[MAX_UNKNOWNS + 1];       /* every multiple of divisor in [0, reach] is reached */
};

static int64_t gcd(int64_t a, int64_t b)
{
    while (b != 0) {
        const int64_t r = a % b;

        a = b;
        b = r;
    }
    return a;
}

/* Adds c * x with low <= x <= low + m to the left side. */
static void add_unknown(struct equation *eq, int64_t c, int64_t low, int64_t m)
{
    int64_t fixed;
    int i = 0;

    if (c == 0)
        return;
    if (c == INT64_MIN) {
        eq->overflow = true;
        return;
    }
    if (c < 0) { /* x = -(x'), x' from -(low + m) */
        c = -c;
        low = -low - m;
    }
    if (!heed_mul_i64(c, low, &fixed) || fixed == INT64_MIN ||
        !heed_add_i64(eq->target, -fixed, &eq->target)) {
        eq->overflow = true;
        return;
    }
    if (m == 0)
        return;
    while (i < eq->count && eq->c[i] > c)
        i++;
    if (i < eq->count && eq->c[i] == c) {
        eq->overflow |= !heed_add_i64(eq->m[i], m, &eq->m[i]);
        return;
    }
    for (int j = eq->count; j > i; j--) {
        eq->c[j] = eq->c[j - 1];
        eq->m[j] = eq->m[j - 1];
    }
    eq->c[i] = c;
    eq->m[i] = m;
    eq->count++;
}

static void prepare(struct equation *eq)
{
    eq->reach[eq->count] = 0;
    eq->divisor[eq->count] = 0;
    eq->full[eq->count] = true;
    for (int i = eq->count - 1; i >= 0; i--) {
        int64_t span;

        if (!heed_mul_i64(eq->c[i], eq->m[i], &span) ||
            !heed_add_i64(span, eq->reach[i + 1], &eq->reach[i])) {
            eq->overflow = true;
            return;
        }
        eq->divisor[i] = gcd(eq->c[i], eq->divisor[i + 1]);
        /* the tail's copies, c apart, leave no gap */
        eq->full[i] = eq->full[i + 1] && (eq->divisor[i + 1] == 0 ||
                                          (eq->c[i] % eq->divisor[i + 1] == 0 &&
                                           eq->c[i] - eq->divisor[i + 1] <= eq->reach[i + 1]));
    }
    eq->work = HEED_OVERLAP_WORK;
}

/* Smallest x >= 0 with c*x = t modulo g; g divides t once gcd(c, g) does (checked by the caller).
 */
static int64_t first_multiple(int64_t c, int64_t t, int64_t g)
{
    int64_t r0 = g, r1 = c % g, s0 = 0, s1 = 1, d, period, x;

    while (r1 != 0) { /* s0 becomes the inverse of c / d modulo g / d */
        const int64_t q = r0 / r1, r = r0 - q * r1, s = s0 - q * s1;

        r0 = r1;
        r1 = r;
        s0 = s1;
        s1 = s;
    }
    d = r0;
    period = g / d;
    s0 %= period;
    if (s0 < 0)
        s0 += period;
    x = 0;
    for (int64_t b = (t / d) % period; b != 0;
         b >>= 1) { /* x = b * s0 modulo period, without 128 bits */
        if (b & 1)
            x = x >= period - s0 ? x - (period - s0) : x + s0;
        s0 = s0 >= period - s0 ? s0 - (period - s0) : s0 + s0;
    }
    return x;
}

static bool solve(struct equation *eq, int i, int64_t t)
{
    int64_t low, high, step, first;

    if (t < 0 || t > eq->reach[i])
        return false;
    if (eq->divisor[i] == 0 || t == 0)
        return t == 0;
    if (t % eq->divisor[i] != 0)
        return false;
    if (eq->full[i])
        return true;
    high = t / eq->c[i];
    if (high > eq->m[i])
        high = eq->m[i];
    low = t - eq->reach[i + 1];
    low = low <= 0 ? 0 : (low - 1) / eq->c[i] + 1;
    /* not full, so there is a tail; only x with t - c*x a multiple of its divisor can do */
    step = eq->divisor[i + 1] / eq->divisor[i];
    first = first_multiple(eq->c[i], t, eq->divisor[i + 1]);
    if (first < low)
        first += ((low - first - 1) / step + 1) * step;
    for (int64_t x = first; x <= high; x += step) {
        if (eq->work == 0)
            return true;
        eq->work--;
        if (solve(eq, i + 1, t - eq->c[i] * x))
            return true;
        if (x > INT64_MAX - step)
            break;
    }
    return false;
}

static bool solvable(struct equation *eq)
{
    if (eq->overflow)
        return true;
    prepare(eq);
    return eq->overflow || solve(eq, 0, eq->target);
}

bool heed_view_empty(const struct heed_view *v)
{
    for (int i = 0; i < 6; i++) {
        if (v->shape[i] == 0)
            return true;
    }
    return false;
}

/* Of axis i, in what strides count: of a type in blocks the last axis has blocks. */
static int64_t extent(const struct heed_view *v, int i)
{
    return i == 5 ? v->shape[i] / (int64_t)heed_dtype_elements(v->dtype) : v->shape[i];
}

bool heed_view_range(const struct heed_view *v, int64_t *low, int64_t *high)
{
    *low = *high = 0;
    if (heed_view_empty(v))
        return true;
    for (int i = 0; i < 6; i++) {
        int64_t far;

        if (!heed_mul_i64(v->stride[i], extent(v, i) - 1, &far) ||
            !heed_add_i64(far < 0 ? *low : *high, far, far < 0 ? low : high))
            return false;
    }
    return true;
}

bool heed_view_injective(const struct heed_view *v)
{
    int axis[6], n = 0;

    if (heed_view_empty(v))
        return true;
    for (int i = 0; i < 6; i++) {
        int at = n;

        if (extent(v, i) == 1)
            continue;
        if (v->stride[i] == 0 || v->stride[i] == INT64_MIN)
            return false;
        for (; at > 0; at--) { /* by |stride|, largest first */
            const int64_t a = v->stride[axis[at - 1]], b = v->stride[i];

            if ((a < 0 ? -a : a) >= (b < 0 ? -b : b))
                break;
            axis[at] = axis[at - 1];
        }
        axis[at] = i;
        n++;
    }
    /* Two indices with one address differ first, in this order of axes, on some axis; there by 1 ..
     * extent - 1. */
    for (int first = 0; first < n; first++) {
        struct equation eq = { 0 };

        add_unknown(&eq, v->stride[axis[first]], 1, extent(v, axis[first]) - 2);
        for (int j = first + 1; j < n; j++) {
            const int64_t m = extent(v, axis[j]) - 1;

            if (m > INT64_MAX / 2)
                return false;
            add_unknown(&eq, v->stride[axis[j]], -m, 2 * m);
        }
        if (solvable(&eq))
            return false;
    }
    return true;
}

/* Bytes touched: from first to last inclusive, relative to element 0. */
static bool byte_range(const struct heed_view *v, size_t size, int64_t *first, int64_t *last)
{
    return size - 1 <= INT32_MAX && heed_view_range(v, first, last) &&
           heed_mul_i64(*first, (int64_t)size, first) && heed_mul_i64(*last, (int64_t)size, last) &&
           heed_add_i64(*last, (int64_t)size - 1, last);
}

static void add_view(struct equation *eq, const struct heed_view *v, int64_t scale)
{
    for (int i = 0; i < 6; i++) {
        int64_t c;

        if (extent(v, i) == 1)
            continue;
        if (heed_mul_i64(v->stride[i], scale, &c))
            add_unknown(eq, c, 0, extent(v, i) - 1);
        else
            eq->overflow = true;
    }
}

bool heed_overlap(const struct heed_view *a, uint64_t pa, size_t ea, const struct heed_view *b,
                     uint64_t pb, size_t eb)
{
    const bool up = pb >= pa;
    const uint64_t apart = up ? pb - pa : pa - pb;
    int64_t first_a, last_a, first_b, last_b, shift, edge;
    struct equation eq = { 0 };

    if (heed_view_empty(a) || heed_view_empty(b) || ea == 0 || eb == 0)
        return false;
    if (!byte_range(a, ea, &first_a, &last_a) || !byte_range(b, eb, &first_b, &last_b) ||
        apart > INT64_MAX)
        return true;
    shift = up ? (int64_t)apart : -(int64_t)apart;
    if (!heed_add_i64(first_b, shift, &edge))
        return true;
    if (edge > last_a)
        return false;
    if (!heed_add_i64(last_b, shift, &edge))
        return true;
    if (edge < first_a)
        return false;
    /* address in a + byte in a = shift + address in b + byte in b */
    eq.target = shift;
    add_view(&eq, a, (int64_t)ea);
    add_view(&eq, b, -(int64_t)eb);
    add_unknown(&eq, 1, -(int64_t)(eb - 1), (int64_t)(ea - 1) + (int64_t)(eb - 1));
    return solvable(&eq);
}
