/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Numbers for tests: multiples of 1/512 from -2 up to 2, the same for the same state.
 */
#ifndef HEED_TESTS_SUPPORT_NUMBERS_H
#define HEED_TESTS_SUPPORT_NUMBERS_H

#include <stddef.h>
#include <stdint.h>

static inline void numbers_fill(float *to, size_t n, uint64_t state)
{
    for (size_t i = 0; i < n; i++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
        to[i] = (float)(int)(state >> 33 & 2047) / 512 - 2;
    }
}

#endif
