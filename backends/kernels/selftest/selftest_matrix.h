/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a matrix unit is tested with (selftest_matrix.cl): sets of operands made and judged by
 * backends/device/selftest_matrix.c. A set has room for the largest unit; smaller ones take its
 * first rows and columns. Sums are also taken for scores of 16 keys.
 */
#ifndef HEED_BACKENDS_KERNELS_SELFTEST_SELFTEST_MATRIX_H
#define HEED_BACKENDS_KERNELS_SELFTEST_SELFTEST_MATRIX_H

#include "../dialect/dialect.h"

enum { HK_UNIT_SIDE = 16, HK_UNIT_WORDS = 16 * 8, HK_UNIT_SUMS = 16 * 16 };

/* Halves in pairs, neighbours in the direction of the sum. */
struct hk_unit_input {
    hk_u32 a[HK_UNIT_WORDS];    /* [row][pair] */
    hk_u32 b[HK_UNIT_WORDS];    /* [column][pair] */
    float c[HK_UNIT_SUMS];      /* [row][column], [row][key] */
};

struct hk_unit_output {
    float sum[HK_UNIT_SUMS];    /* [row][column]: c and the product of a and b */
    float top[HK_UNIT_SUMS];    /* [row][i]: the largest of c, as thread i of the row has it */
    float weighed[HK_UNIT_SUMS];        /* [row][column]: the product of c, as halves, and b */
};

#endif
