/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * See activation.h.
 */
#include "activation.h"

#include <heed/nn.h>

#include <math.h>

static const double u = 0x1p-24, least = 0x1p-149;

double activation(uint32_t kind, double x)
{
    switch (kind) {
    case HEED_ACT_RELU:
        return x > 0 ? x : 0;
    case HEED_ACT_GELU:
        return x == -HUGE_VAL ? 0 : x * erfc(-x / sqrt(2)) / 2;
    case HEED_ACT_GELU_TANH:
        return x < -1e6 ? 0 : x / (1 + exp(-sqrt(8 / acos(-1)) * (x + 0.044715 * x * x * x)));
    case HEED_ACT_SILU:
        return x == -HUGE_VAL ? 0 : x / (1 + exp(-x));
    case HEED_ACT_TANH:
        return tanh(x);
    case HEED_ACT_SIGMOID:
        return 1 / (1 + exp(-x));
    case HEED_ACT_EXP:
        return exp(x);
    case HEED_ACT_ELU_PLUS_ONE:
        return x > 0 ? x + 1 : exp(x);
    case HEED_ACT_INVERSE:
        return 1 / x;
    case HEED_ACT_NONE:
        return x;
    }
    return (double)NAN; /* a kind without a value fails */
}

double activation_error(uint32_t kind, double x, double value)
{
    const double size = fabs(x), result = fabs(value);

    switch (kind) {
    case HEED_ACT_GELU:
        return (x < 0 && x >= -5.5 ? fmin(1.1e-7 * size, 5e-7 * result) : 1.1e-7 * size) + least;
    case HEED_ACT_GELU_TANH:
        return 1.6e-7 * size + least;
    case HEED_ACT_SILU:
        return 1.5e-7 * size + least;
    case HEED_ACT_TANH:
        return 1.8e-7 * result + least;
    case HEED_ACT_SIGMOID:
        return 2.2e-7 * result + least;
    case HEED_ACT_EXP:
    case HEED_ACT_ELU_PLUS_ONE:
        return 1.2e-7 * result + least;
    case HEED_ACT_INVERSE:
        return u * result + least;
    default:
        return 0;
    }
}

/* How far f moves where x moves by `off`: no slope is above 1.13 but those of two. */
static double moved(uint32_t kind, double x, double value, double off)
{
    switch (kind) {
    case HEED_ACT_NONE:
    case HEED_ACT_RELU:
        return off;
    case HEED_ACT_EXP:
        return value * expm1(off);
    case HEED_ACT_INVERSE:
        return fabs(x) > off ? off / (fabs(x) * (fabs(x) - off)) : HUGE_VAL;
    default:
        return 1.2 * off;
    }
}

double activation_spread(uint32_t kind, double x, double value, double off)
{
    const double far = moved(kind, x, value, off);

    if (!(far < 0x1p127))
        return HUGE_VAL;
    return far + fmax(activation_error(kind, x - off, value + far),
                      activation_error(kind, x + off, fabs(value) + far));
}
