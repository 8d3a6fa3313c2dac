/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * SHA-256 as in FIPS 180-4, sections 4.1.2, 5 and 6.2. The constants of section 4.2.2 are the first
 * 32 bits of the fractional parts of the cube roots of the first 64 primes, the start values
 * (5.3.3) those of the square roots of the first 8; both are computed here in integers.
 */
#include "sha256.h"

#include <string.h>

static int is_prime(uint32_t n)
{
    for (uint32_t d = 2; d * d <= n; d++) {
        if (n % d == 0)
            return 0;
    }
    return 1;
}

/* a^power <= n * 2^(32 * power)? power 2 or 3; the products have at most 105 bits and are formed
 * from 32-bit limbs. */
static int is_below(uint64_t a, uint32_t n, int power)
{
    uint32_t product[4] = { 1, 0, 0, 0 }, limit[4] = { 0, 0, 0, 0 };
    uint32_t limb[2] = { (uint32_t)a, (uint32_t)(a >> 32) };

    for (int step = 0; step < power; step++) {
        uint32_t next[4] = { 0, 0, 0, 0 };

        for (int j = 0; j < 2; j++) {
            uint64_t carry = 0;

            for (int i = 0; i + j < 4; i++) {
                carry += (uint64_t)product[i] * limb[j] + next[i + j];
                next[i + j] = (uint32_t)carry;
                carry >>= 32;
            }
        }
        memcpy(product, next, sizeof(product));
    }
    limit[power] = n;
    for (int i = 3; i >= 0; i--) {
        if (product[i] != limit[i])
            return product[i] < limit[i];
    }
    return 1;
}

/* First 32 fractional bits of the square or cube root of n < 2^9. */
static uint32_t root_fraction(uint32_t n, int power)
{
    uint64_t root = 0; /* floor(n^(1/power) * 2^32), at most 5 integer bits */

    for (int bit = 36; bit >= 0; bit--) {
        if (is_below(root | (uint64_t)1 << bit, n, power))
            root |= (uint64_t)1 << bit;
    }
    return (uint32_t)root;
}

static void constants_find(uint32_t *out, int count, int power)
{
    uint32_t n = 2;

    for (int i = 0; i < count; n++) {
        if (is_prime(n))
            out[i++] = root_fraction(n, power);
    }
}

static uint32_t rotate(uint32_t x, int by)
{
    return x >> by | x << (32 - by);
}

static void block_take(struct sha256 *hash)
{
    uint32_t w[64], s[8];

    for (int t = 0; t < 16; t++) {
        const uint8_t *b = hash->block + 4 * t;

        w[t] = (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
    }
    for (int t = 16; t < 64; t++) {
        uint32_t s0 = rotate(w[t - 15], 7) ^ rotate(w[t - 15], 18) ^ w[t - 15] >> 3;
        uint32_t s1 = rotate(w[t - 2], 17) ^ rotate(w[t - 2], 19) ^ w[t - 2] >> 10;

        w[t] = s1 + w[t - 7] + s0 + w[t - 16];
    }
    memcpy(s, hash->state, sizeof(s));
    for (int t = 0; t < 64; t++) {
        uint32_t sum1 = rotate(s[4], 6) ^ rotate(s[4], 11) ^ rotate(s[4], 25);
        uint32_t choice = (s[4] & s[5]) ^ (~s[4] & s[6]);
        uint32_t t1 = s[7] + sum1 + choice + hash->constant[t] + w[t];
        uint32_t sum0 = rotate(s[0], 2) ^ rotate(s[0], 13) ^ rotate(s[0], 22);
        uint32_t majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);

        memmove(s + 1, s, 7 * sizeof(*s));
        s[4] += t1;
        s[0] = t1 + sum0 + majority;
    }
    for (int i = 0; i < 8; i++)
        hash->state[i] += s[i];
}

void sha256_start(struct sha256 *hash)
{
    memset(hash, 0, sizeof(*hash));
    constants_find(hash->state, 8, 2);
    constants_find(hash->constant, 64, 3);
}

void sha256_add(struct sha256 *hash, const void *bytes, size_t count)
{
    const uint8_t *from = bytes;

    for (size_t i = 0; i < count; i++) {
        hash->block[hash->length++ % 64] = from[i];
        if (hash->length % 64 == 0)
            block_take(hash);
    }
}

void sha256_finish(struct sha256 *hash, char text[65])
{
    static const char digits[] = "0123456789abcdef";
    const uint8_t one = 0x80, zero = 0;
    uint64_t bits = hash->length * 8;
    uint8_t length[8];

    for (int i = 0; i < 8; i++)
        length[i] = (uint8_t)(bits >> (56 - 8 * i));
    sha256_add(hash, &one, 1);
    while (hash->length % 64 != 56)
        sha256_add(hash, &zero, 1);
    sha256_add(hash, length, 8);
    for (int i = 0; i < 64; i++)
        text[i] = digits[hash->state[i / 8] >> (28 - 4 * (i % 8)) & 15];
    text[64] = '\0';
}
