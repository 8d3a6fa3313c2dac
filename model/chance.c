/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 */
#include "chance.h"

#include <math.h>

static const double ln2_high = 0x1.62e42fefa0000p-1, ln2_low = 0x1.cf79abc9e3b39p-40;

/* e^x for x from -745 to 709: e^r of the rest r within ln 2 / 2 by its series, 14 terms of which
 * are within 2^-53. */
static double exponential(double x)
{
    const double turns = floor(x * 0x1.71547652b82fep0 + 0.5);
    const double r = x - turns * ln2_high - turns * ln2_low;
    double sum = 1;

    for (int i = 14; i > 0; i--)
        sum = 1 + sum * r / i;
    return ldexp(sum, (int)turns);
}

/* ln x of a positive x: ln m + e ln 2, with m within sqrt(2) of 1, ln m = 2 atanh((m-1)/(m+1)). */
static double logarithm(double x)
{
    double sum = 0, t, square;
    int exponent;
    double m = frexp(x, &exponent);

    if (m < 0x1.6a09e667f3bcdp-1) {
        m *= 2;
        exponent--;
    }
    t = (m - 1) / (m + 1);
    square = t * t;
    for (int i = 25; i > 0; i -= 2)
        sum = sum * square + 1.0 / i;
    return 2 * t * sum + exponent * ln2_low + exponent * ln2_high;
}

void log_softmax(float *x, int64_t n)
{
    double sum = 0, most = -INFINITY;

    for (int64_t i = 0; i < n; i++)
        if (!((double)x[i] <= most))
            most = x[i];                /* a NaN stays */
    for (int64_t i = 0; i < n; i++)
        if ((double)x[i] - most > -700)
            sum += exponential((double)x[i] - most);
    sum = isfinite(most) ? most + logarithm(sum) : NAN;
    for (int64_t i = 0; i < n; i++)
        x[i] = (float)((double)x[i] - sum);
}

double power(double base, double exponent)
{
    const double x = exponent * logarithm(base);

    return x < -700 ? 0 : x > 700 ? INFINITY : exponent == 0 ? 1 : exponential(x);
}
