/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The functions HEED_ACT_* as oracles have them, in double, and how far heed/nn.h lets them be off.
 */
#ifndef HEED_TOOLS_CONFORM_OPS_ACTIVATION_H
#define HEED_TOOLS_CONFORM_OPS_ACTIVATION_H

#include <stdint.h>

#define ACTIVATION_WORDS "none relu gelu gelu_tanh silu tanh sigmoid exp elu_plus_one inverse"
#define ACTIVATION_NAMES                                                                           \
    "HEED_ACT_NONE HEED_ACT_RELU HEED_ACT_GELU HEED_ACT_GELU_TANH HEED_ACT_SILU HEED_ACT_TANH "    \
    "HEED_ACT_SIGMOID HEED_ACT_EXP HEED_ACT_ELU_PLUS_ONE HEED_ACT_INVERSE"

/* f(x); of an infinity the limit. */
double activation(uint32_t kind, double x);
/* How far f may be off, of a finite x and its value. */
double activation_error(uint32_t kind, double x, double value);
/* The same where x itself is off by `off` at most; HUGE_VAL: nothing is said. */
double activation_spread(uint32_t kind, double x, double value, double off);

#endif
