/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Floating-point types by the widths of their fields: a number is a mantissa and a power of two.
 * Types in blocks by the places of their fields.
 */
#include "types.h"

#include <heed/heed.h>

#include <assert.h>
#include <math.h>
#include <string.h>

#define ROW(NAME, name, ...) [HEED_##NAME] = { HEED_##NAME, name, "HEED_" #NAME, __VA_ARGS__ }
/* Without blocks. */
#define PLAIN                                                                                      \
    {                                                                                              \
        0, 0, 0, 0, 0, 0, NULL                                                                     \
    }

static const int8_t iq4_nl[] = { -127, -104, -83, -65, -49, -35, -22, -10,
                                 1,    13,   25,  38,  53,  69,  89,  113 };

static const int8_t signed_digits[] = { 0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1 };

const struct type type_rows[TYPE_ROWS_END] = {
    ROW(F32, "f32", 4, 8, 23, 0x7f800000, 0x7f800000, 0x7fc00000, { "f4" }, PLAIN),
    ROW(F16, "f16", 2, 5, 10, 0x7c00, 0x7c00, 0x7e00, { "f2" }, PLAIN),
    ROW(BF16, "bf16", 2, 8, 7, 0x7f80, 0x7f80, 0x7fc0, { "u2", "V2" }, PLAIN),
    ROW(F8E4M3, "f8e4m3", 1, 4, 3, 0x7e, 0, 0x7f, { "u1" }, PLAIN),
    ROW(F8E5M2, "f8e5m2", 1, 5, 2, 0x7b, 0x7c, 0x7e, { "u1" }, PLAIN),
    ROW(U8, "u8", 1, 0, 0, 0, 0, 0, { "u1", "b1" }, PLAIN),
    ROW(I32, "i32", 4, 0, 0, 0, 0, 0, { "i4" }, PLAIN),
    ROW(I64, "i64", 8, 0, 0, 0, 0, 0, { "i8" }, PLAIN),
    ROW(I8, "i8", 1, 0, 0, 0, 0, 0, { "i1" }, PLAIN),
    ROW(Q8_0, "q8_0", 34, 0, 0, 0, 0, 0, { "u1" }, { 32, 0, 0, 2, 8, 0, NULL }),
    ROW(Q4_0, "q4_0", 18, 0, 0, 0, 0, 0, { "u1" }, { 32, 0, 0, 2, 4, 8, NULL }),
    ROW(Q4_1, "q4_1", 20, 0, 0, 0, 0, 0, { "u1" }, { 32, 2, 0, 4, 4, 0, NULL }),
    ROW(Q5_0, "q5_0", 22, 0, 0, 0, 0, 0, { "u1" }, { 32, 0, 2, 6, 4, 16, NULL }),
    ROW(Q5_1, "q5_1", 24, 0, 0, 0, 0, 0, { "u1" }, { 32, 2, 4, 8, 4, 0, NULL }),
    ROW(IQ4_NL, "iq4_nl", 18, 0, 0, 0, 0, 0, { "u1" }, { 32, 0, 0, 2, 4, 0, iq4_nl }),
    ROW(I4, "i4", 1, 0, 0, 0, 0, 0, { "u1" }, { 2, 0, 0, 0, 4, 0, signed_digits }),
};

const struct type *type_named(const char *name)
{
    for (const struct type *t = type_rows; t < type_rows + TYPE_ROWS_END; t++) {
        if (t->name != NULL && strcmp(t->name, name) == 0)
            return t;
    }
    return NULL;
}

static const char *word_nth(const char *words, int64_t i)
{
    for (; i > 0 && strchr(words, ' ') != NULL; i--)
        words = strchr(words, ' ') + 1;
    assert(i == 0);
    return words;
}

uint32_t type_nth(const char *words, int64_t i)
{
    const char *const word = word_nth(words, i);
    char name[16] = "";

    assert(strcspn(word, " -") < sizeof name);
    memcpy(name, word, strcspn(word, " -"));
    assert(type_named(name) != NULL);
    return type_named(name)->dtype;
}

bool type_scaled(const char *words, int64_t i)
{
    const char *const word = word_nth(words, i), *scaled = TYPE_APART;
    const size_t length = strcspn(word, " ");

    while (strcspn(scaled, " ") != length || memcmp(scaled, word, length) != 0) {
        if (strchr(scaled, ' ') == NULL)
            return false;
        scaled = strchr(scaled, ' ') + 1;
    }
    return true;
}

int64_t type_place(const char *words, uint32_t dtype)
{
    int64_t i = 0;

    while (type_nth(words, i) != dtype)
        i++;
    return i;
}

static float float_of(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

/* What the exponents of binary32 have more than those of the type. */
static uint32_t bias_above(const struct type *t)
{
    return 128 - (1u << (t->exponent - 1));
}

float type_largest(uint32_t dtype)
{
    const struct type *t = type_find(dtype);

    return t->exponent ? type_decode(dtype, t->over) : 127;
}

float type_decode(uint32_t dtype, uint32_t bits)
{
    const struct type *t = type_find(dtype);
    const uint32_t sign = 1u << (8 * t->bytes - 1), rest = bits & (sign - 1);
    float x;

    if (t->exponent == 0)
        return (float)((int64_t)rest - (int64_t)(bits & sign));
    if (t->exponent == 8)
        return float_of(bits << (32 - 8 * t->bytes));
    if (t->infinity && rest == t->infinity)
        x = INFINITY;
    else if (rest > t->over)
        x = NAN;
    else if (rest >> t->fraction)
        x = float_of((rest << (23 - t->fraction)) + (bias_above(t) << 23));
    else
        x = (float)rest * float_of((bias_above(t) + 1 - t->fraction) << 23);
    return bits & sign ? -x : x;
}

uint32_t type_encode(uint32_t dtype, float x)
{
    const struct type *t = type_find(dtype);
    uint32_t word, sign, rest, whole, shift = 23 - t->fraction;
    int exponent;

    assert(t->exponent > 0);
    memcpy(&word, &x, sizeof word);
    sign = word >> 31 << (8 * t->bytes - 1);
    rest = word & 0x7fffffffu;
    if (rest > 0x7f800000u)
        return t->nan;
    exponent = (int)(rest >> 23) - (int)bias_above(t);
    if (t->exponent == 8) {             /* fields of the same width, where nothing moves */
        exponent = 0;
    } else {
        rest = (rest & 0x7fffffu) | 0x800000u;
        shift += exponent > 0 ? 0 : (uint32_t)(1 - exponent);
    }
    if (shift > 24)
        return sign;
    whole = rest >> shift;
    if (shift > 0) {
        const uint32_t half = 1u << (shift - 1), left = rest & (2 * half - 1);

        whole += left > half || (left == half && (whole & 1));
    }
    /* The hidden bit carries into the exponent. */
    whole += exponent > 0 ? (uint32_t)(exponent - 1) << t->fraction : 0;
    return sign | (whole < t->over ? whole : t->over);
}

/* ---- blocks ---------------------------------------------------------------------------- */

uint32_t type_codes(uint32_t dtype)
{
    const struct type *t = type_find(dtype);

    return 1u << (t->block.width + (t->block.high ? 1 : 0));
}

/* Where the digit of element j begins, by bits; of two in a byte the lower one comes first. */
static uint32_t digit_at(const struct type *t, uint32_t j)
{
    const uint32_t bytes = t->block.elements * t->block.width / 8;

    return 8 * (t->block.digits + j % bytes) + (j >= bytes ? t->block.width : 0);
}

static uint32_t bits_get(const void *block, uint32_t at, uint32_t n)
{
    return (uint32_t)((const unsigned char *)block)[at / 8] >> at % 8 & ((1u << n) - 1);
}

static void bits_put(void *block, uint32_t at, uint32_t n, uint32_t bits)
{
    unsigned char *const byte = (unsigned char *)block + at / 8;
    const uint32_t mask = ((1u << n) - 1) << at % 8;

    *byte = (unsigned char)((*byte & ~mask) | (bits << at % 8 & mask));
}

uint32_t type_code(uint32_t dtype, const void *block, uint32_t j)
{
    const struct type *t = type_find(dtype);
    const uint32_t digit = bits_get(block, digit_at(t, j), t->block.width);

    return t->block.high ? digit | bits_get(block, 8 * t->block.high + j, 1) << 4 : digit;
}

void type_code_put(uint32_t dtype, void *block, uint32_t j, uint32_t code)
{
    const struct type *t = type_find(dtype);

    bits_put(block, digit_at(t, j), t->block.width, code);
    if (t->block.high)
        bits_put(block, 8 * t->block.high + j, 1, code >> 4);
}

int type_number(uint32_t dtype, uint32_t code)
{
    const struct type *t = type_find(dtype);

    if (t->block.numbers)
        return t->block.numbers[code];
    return t->block.width == 8 ? (int8_t)(uint8_t)code : (int)code - t->block.less;
}

static float half_get(const void *block, uint32_t at)
{
    return type_decode(HEED_F16, bits_get(block, 8 * at, 8) | bits_get(block, 8 * at + 8, 8) << 8);
}

float type_block_scale(uint32_t dtype, const void *block)
{
    return type_block_head(dtype) > 0 ? half_get(block, 0) : 1;
}

float type_block_minimum(uint32_t dtype, const void *block)
{
    const uint32_t at = type_find(dtype)->block.minimum;

    return at ? half_get(block, at) : 0;
}

static void half_put(void *block, uint32_t at, uint32_t bits)
{
    bits_put(block, 8 * at, 8, bits);
    bits_put(block, 8 * at + 8, 8, bits >> 8);
}

void type_block_put(uint32_t dtype, void *block, uint32_t scale, uint32_t minimum)
{
    const uint32_t at = type_find(dtype)->block.minimum;

    if (type_block_head(dtype) > 0)
        half_put(block, 0, scale);
    if (at)
        half_put(block, at, minimum);
}

uint32_t type_block_head(uint32_t dtype)
{
    const struct type *t = type_find(dtype);

    return t->block.digits == 0 ? 0 : t->block.minimum ? 4 : 2;
}

uint32_t type_code_of_zero(uint32_t dtype)
{
    uint32_t code = type_find(dtype)->block.less > 0 ? (uint32_t)type_find(dtype)->block.less : 0;

    while (type_number(dtype, code) < 0)
        code++;
    return code;
}
