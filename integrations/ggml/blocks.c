/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The types of GGUF files. Blocks that heed does not read are unpacked here, from their published
 * layouts: a scale, which is a half, then the elements in order, from the lowest bits of each byte.
 * Compiled once for each instruction set, with the name of its table in HEED_ATTEND_ROWS.
 */
#include "blocks.h"
#include "attend.h"
#include "halves.h"

/* A scale of a block. */
static float scale_at(const uint8_t *bytes)
{
    return heed_half_value((uint16_t)(bytes[0] | bytes[1] << 8));
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
        [HEED_ATTEND_Q8_0] = { 32, 34, HEED_Q8_0, NULL },
        [HEED_ATTEND_Q4_0] = { 32, 18, HEED_Q4_0, NULL },
        [HEED_ATTEND_Q4_1] = { 32, 20, HEED_Q4_1, NULL },
        [HEED_ATTEND_Q5_0] = { 32, 22, HEED_Q5_0, NULL },
        [HEED_ATTEND_Q5_1] = { 32, 24, HEED_Q5_1, NULL },
        [HEED_ATTEND_IQ4_NL] = { 32, 18, HEED_IQ4_NL, NULL },
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

/* Is one of n entries neither a zero nor -Inf? */
static int any_number(const uint16_t *mask, int64_t n)
{
    int other = 0;

    for (int64_t i = 0; i < n; i++)
        other |= (mask[i] & 0x7fff) != 0 && mask[i] != INFINITE;
    return other;
}

/* What is seen is found from both ends, so no entry is read twice but those of two steps, and those
 * of rows that are no range of zeros. */
static unsigned scan(const uint16_t *mask, int64_t n, int32_t ends[2])
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
    if (all_zeros(mask + begin, end - begin))
        return 0;
    return any_number(mask + begin, end - begin) ? HEED_ATTEND_NUMBERS_IN : HEED_ATTEND_HOLES_IN;
}

static uint32_t word_of(const uint16_t *mask, int64_t n)
{
    uint32_t word = 0;

    for (int64_t i = 0; i < n; i++)
        word |= (uint32_t)(mask[i] != INFINITE) << i;
    return word;
}

static void bits(const uint16_t *mask, int64_t n, uint32_t *words)
{
    int64_t i = 0;

    for (; i + 32 <= n; i += 32)
        *words++ = word_of(mask + i, 32);
    if (i < n)
        *words = word_of(mask + i, n - i);
}

const struct heed_attend_rows HEED_ATTEND_ROWS = {
    .type = type_of,
    .convert = convert,
    .scan = scan,
    .bits = bits,
};
