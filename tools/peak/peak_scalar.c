/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Fused multiply-adds as plain C gets them: what the portable kernels have to work with. Where the
 * compiler may not assume the instruction this is a library call; where it may, it is free to use
 * lanes.
 */
#include "peak.h"

#include <math.h>

float peak_burn_scalar(int64_t iterations, float seed)
{
    float a[PEAK_CHAINS_SCALAR];
    const float x = 0.9999f, y = 1e-4f;     /* towards 1: no subnormals, no overflow */
    float sum = 0;

    for (int c = 0; c < PEAK_CHAINS_SCALAR; c++)
        a[c] = seed + 1e-3f * (float)c;
    for (int64_t i = 0; i < iterations; i++) {
        for (int c = 0; c < PEAK_CHAINS_SCALAR; c++)
            a[c] = fmaf(a[c], x, y);
    }
    for (int c = 0; c < PEAK_CHAINS_SCALAR; c++)
        sum += a[c];
    return sum;
}
