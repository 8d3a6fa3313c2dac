/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * DOT: content to position and position to content. Not implemented.
 */
#include "biases.h"

const struct heed_bias_kind heed_bias_dot = { .kind = HEED_BIAS_DOT, .name = "DOT" };
