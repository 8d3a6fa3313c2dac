/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Logarithms of a softmax with the same bits on every platform: sums, products and divisions of
 * binary64 alone.
 */
#ifndef MODEL_CHANCE_H
#define MODEL_CHANCE_H

#include <stdint.h>

/* x[i] = x[i] - ln(sum of e^x), within 2^-24 of its size and of the largest |x|. A NaN makes all of
 * them NaN. */
void log_softmax(float *x, int64_t n);

/* base^exponent of a positive base. */
double power(double base, double exponent);

#endif
