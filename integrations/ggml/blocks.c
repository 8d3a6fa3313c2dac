/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The block types of GGUF files, from their published layouts: scales are halves, fields begin at
 * the byte where the one before ends, and of a byte with two elements the low half is element j of
 * the block, the high half element j + elements / 2. Compiled once for each instruction set, with
 * the name of its table in HEED_ATTEND_ROWS.
 */
#include "blocks.h"
#include "attend.h"
#include "halves.h"

/* A scale of a block. */
static float scale_at(const uint8_t *bytes)
{
    return heed_half_value((uint16_t)(bytes[0] | bytes[1] << 8));
}

/* q8_0: scale, 32 signed bytes. */
static void unpack_q8_0(const uint8_t *block, float *x)
{
    const float scale = scale_at(block);
    const int8_t *const q = (const int8_t *)(block + 2);

    for (int j = 0; j < 32; j++)
        x[j] = (float)q[j] * scale;
}

/* q4_0: scale, 16 bytes; an element is its 4 bits less 8, times the scale. */
static void unpack_q4_0(const uint8_t *block, float *x)
{
    const float scale = scale_at(block);
    const uint8_t *const q = block + 2;

    for (int j = 0; j < 16; j++) {
        x[j] = (float)((q[j] & 15) - 8) * scale;
        x[j + 16] = (float)((q[j] >> 4) - 8) * scale;
    }
}

/* q4_1: scale, minimum, 16 bytes; an element is its 4 bits times the scale, plus the minimum. */
static void unpack_q4_1(const uint8_t *block, float *x)
{
    const float scale = scale_at(block), low = scale_at(block + 2);
    const uint8_t *const q = block + 4;

    for (int j = 0; j < 16; j++) {
        x[j] = (float)(q[j] & 15) * scale + low;
        x[j + 16] = (float)(q[j] >> 4) * scale + low;
    }
}

/* The fifth bits of 32 elements: bit j is element j's. */
static uint32_t fifth_bits(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
           (uint32_t)bytes[3] << 24;
}

/* The 5 bits of every element of a block. */
static void five_bits(const uint8_t *high, const uint8_t *low, int32_t *q)
{
    const uint32_t fifth = fifth_bits(high);

    for (int j = 0; j < 16; j++) {
        q[j] = (int32_t)((low[j] & 15u) | (fifth >> j & 1) << 4);
        q[j + 16] = (int32_t)((uint32_t)low[j] >> 4 | (fifth >> (j + 16) & 1) << 4);
    }
}

/* q5_0: scale, 4 bytes of fifth bits, 16 bytes; an element is its 5 bits less 16, times the
 * scale. */
static void unpack_q5_0(const uint8_t *block, float *x)
{
    const float scale = scale_at(block);
    int32_t q[32];

    five_bits(block + 2, block + 6, q);
    for (int j = 0; j < 32; j++)
        x[j] = (float)(q[j] - 16) * scale;
}

/* q5_1: scale, minimum, 4 bytes of fifth bits, 16 bytes. */
static void unpack_q5_1(const uint8_t *block, float *x)
{
    const float scale = scale_at(block), low = scale_at(block + 2);
    int32_t q[32];

    five_bits(block + 4, block + 8, q);
    for (int j = 0; j < 32; j++)
        x[j] = (float)q[j] * scale + low;
}

/* iq4_nl: scale, 16 bytes; 4 bits choose a level, which is multiplied by the scale. */
static void unpack_iq4_nl(const uint8_t *block, float *x)
{
    static const int8_t levels[16] = { -127, -104, -83, -65, -49, -35, -22, -10,
                                       1,    13,   25,  38,  53,  69,  89,  113 };
    const float scale = scale_at(block);
    const uint8_t *const q = block + 2;

    for (int j = 0; j < 16; j++) {
        x[j] = (float)levels[q[j] & 15] * scale;
        x[j + 16] = (float)levels[q[j] >> 4] * scale;
    }
}

/* q1_0: scale, 128 bits in order; 0 is minus the scale, 1 the scale. */
static void unpack_q1_0(const uint8_t *block, float *x)
{
    const float scale = scale_at(block);
    const uint8_t *const q = block + 2;

    for (int j = 0; j < 128; j++)
        x[j] = (q[j / 8] >> (j % 8) & 1) != 0 ? scale : -scale;
}

/* q2_0: scale, 64 fields of 2 bits in order; an element is its field less 1, times the scale. */
static void unpack_q2_0(const uint8_t *block, float *x)
{
    const float scale = scale_at(block);
    const uint8_t *const q = block + 2;

    for (int j = 0; j < 64; j++)
        x[j] = (float)((q[j / 4] >> (j % 4 * 2) & 3) - 1) * scale;
}

/* The one list of types. A type that heed learns to read gets its HEED_* in place of a function. */
static const struct heed_attend_type *type_of(uint32_t type)
{
    static const struct heed_attend_type types[] = {
        [HEED_ATTEND_F32] = { 1, 4, HEED_F32, NULL },
        [HEED_ATTEND_F16] = { 1, 2, HEED_F16, NULL },
        [HEED_ATTEND_BF16] = { 1, 2, HEED_BF16, NULL },
        [HEED_ATTEND_Q8_0] = { 32, 34, 0, unpack_q8_0 },
        [HEED_ATTEND_Q4_0] = { 32, 18, 0, unpack_q4_0 },
        [HEED_ATTEND_Q4_1] = { 32, 20, 0, unpack_q4_1 },
        [HEED_ATTEND_Q5_0] = { 32, 22, 0, unpack_q5_0 },
        [HEED_ATTEND_Q5_1] = { 32, 24, 0, unpack_q5_1 },
        [HEED_ATTEND_IQ4_NL] = { 32, 18, 0, unpack_iq4_nl },
        [HEED_ATTEND_Q1_0] = { 128, 18, 0, unpack_q1_0 },
        [HEED_ATTEND_Q2_0] = { 64, 18, 0, unpack_q2_0 },
    };

    return type < sizeof types / sizeof *types && types[type].bytes > 0 ? &types[type] : NULL;
}

static void convert(const struct heed_attend_type *type, const uint8_t *blocks, uint16_t *halves,
                    int64_t n)
{
    for (int64_t i = 0; i < n; i += type->elements, blocks += type->bytes) {
        float x[HEED_ATTEND_BLOCK];

        type->unpack(blocks, x);
        heed_halves_of(x, halves + i, type->elements);
    }
}

static void scale(const uint16_t *halves, float factor, float *out, int64_t n)
{
    heed_halves_values(halves, out, n);
    for (int64_t i = 0; i < n; i++)
        out[i] *= factor;
}

enum { INFINITE = 0xfc00, STEP = 128 }; /* -Inf as a half; entries looked at together */

/* Is one of STEP entries not -Inf? */
static int any_seen(const uint16_t *mask)
{
    unsigned other = 0;

    for (int i = 0; i < STEP; i++)
        other |= mask[i] ^ (unsigned)INFINITE;
    return other != 0;
}

/* Are n entries zeros, of whatever sign? */
static int all_zeros(const uint16_t *mask, int64_t n)
{
    uint16_t bits = 0;

    for (int64_t i = 0; i < n; i++)
        bits |= mask[i];
    return (bits & 0x7fff) == 0;
}

/* What is seen is found from both ends, so no entry is read twice but those of two steps. */
static int scan(const uint16_t *mask, int64_t n, int32_t ends[2])
{
    int64_t begin = 0, end = n;

    while (begin + STEP <= n && !any_seen(mask + begin))
        begin += STEP;
    while (begin < n && mask[begin] == INFINITE)
        begin++;
    while (end - STEP >= begin && !any_seen(mask + end - STEP))
        end -= STEP;
    while (end > begin && mask[end - 1] == INFINITE)
        end--;
    ends[0] = begin < end ? (int32_t)begin : 0;
    ends[1] = begin < end ? (int32_t)end : 0;
    return all_zeros(mask + begin, end - begin);
}

const struct heed_attend_rows HEED_ATTEND_ROWS = {
    .type = type_of,
    .convert = convert,
    .scale = scale,
    .scan = scan,
};
