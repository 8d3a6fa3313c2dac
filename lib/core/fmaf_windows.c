/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * fmaf() of IEEE 754, in place of mingw-w64's, which adds in the x87's 64 bits and rounds that
 * again. The product of two floats is a double. Its sum with the third is rounded to odd: to the
 * neighbour whose last bit is 1, where it is no double itself, so that rounding it to a float is as
 * if nothing had been rounded before (Boldo and Melquiond 2008, Emulation of FMA and correctly
 * rounded sums).
 */
#include <math.h>
#include <stdint.h>
#include <string.h>

/* What a + b lacks of the sum, exactly (Knuth, TAOCP 2, 4.2.2). */
static double rest_of(double a, double b, double sum)
{
    const double b_seen = sum - a, a_seen = sum - b_seen;

    return (a - a_seen) + (b - b_seen);
}

float fmaf(float x, float y, float z)
{
    const double product = (double)x * y;
    double sum = product + z, rest;
    int64_t word;

    if (!isfinite(sum))
        return (float)sum;
    rest = rest_of(product, z, sum);
    memcpy(&word, &sum, sizeof(word));
    if (rest != 0 && (word & 1) == 0) {
        word += (rest > 0) == (sum > 0) ? 1 : -1; /* away from 0, or towards it */
        memcpy(&sum, &word, sizeof(sum));
    }
    return (float)sum;
}
