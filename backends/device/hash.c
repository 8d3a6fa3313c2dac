/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * SHA-256 as FIPS 180-4 (2015) describes it: section 4.1.2 the functions, 4.2.2 the constants,
 * 5.3.3 the first state, 6.2.2 the rounds.
 */
#include "hash.h"

#include <string.h>

static const uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotate(uint32_t x, int by)
{
    return x >> by | x << (32 - by);
}

/* The 16 words of a block become 64. */
static void expand(uint32_t w[64], const uint8_t block[64])
{
    for (int t = 0; t < 16; t++)
        w[t] = (uint32_t)block[4 * t] << 24 | (uint32_t)block[4 * t + 1] << 16 |
               (uint32_t)block[4 * t + 2] << 8 | block[4 * t + 3];
    for (int t = 16; t < 64; t++) {
        const uint32_t near = w[t - 2], far = w[t - 15];

        w[t] = w[t - 16] + (rotate(far, 7) ^ rotate(far, 18) ^ far >> 3) + w[t - 7] +
               (rotate(near, 17) ^ rotate(near, 19) ^ near >> 10);
    }
}

static void take_block(struct heed_hash *hash)
{
    uint32_t w[64], v[8];

    expand(w, hash->block);
    memcpy(v, hash->state, sizeof(v));
    for (int t = 0; t < 64; t++) {
        const uint32_t a = v[0], e = v[4];
        const uint32_t t1 = v[7] + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) +
                            ((e & v[5]) ^ (~e & v[6])) + round_constants[t] + w[t];
        const uint32_t t2 = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) +
                            ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));

        for (int i = 7; i > 0; i--)
            v[i] = v[i - 1];
        v[4] += t1;
        v[0] = t1 + t2;
    }
    for (int i = 0; i < 8; i++)
        hash->state[i] += v[i];
}

void heed_hash_init(struct heed_hash *hash)
{
    static const uint32_t first[8] = {
        0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
        0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
    };

    *hash = (struct heed_hash){ .length = 0 };
    memcpy(hash->state, first, sizeof(first));
}

void heed_hash_add(struct heed_hash *hash, const void *bytes, size_t count)
{
    const uint8_t *from = bytes;

    while (count > 0) {
        const size_t at = (size_t)(hash->length % 64);
        const size_t n = count < 64 - at ? count : 64 - at;

        memcpy(hash->block + at, from, n);
        hash->length += n;
        from += n;
        count -= n;
        if (at + n == 64)
            take_block(hash);
    }
}

void heed_hash_add_text(struct heed_hash *hash, const char *text)
{
    const uint64_t length = text != NULL ? strlen(text) : 0;
    uint8_t bytes[8];

    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(length >> 8 * i);
    heed_hash_add(hash, bytes, sizeof(bytes));
    heed_hash_add(hash, text, (size_t)length);
}

void heed_hash_finish(struct heed_hash *hash, uint8_t digest[HEED_HASH_BYTES])
{
    static const uint8_t padding[64] = { 0x80 };
    const uint64_t bits = hash->length * 8;
    const size_t used = (size_t)(hash->length % 64);
    uint8_t length[8];

    for (int i = 0; i < 8; i++)
        length[i] = (uint8_t)(bits >> (56 - 8 * i));
    heed_hash_add(hash, padding, used < 56 ? 56 - used : 120 - used);
    heed_hash_add(hash, length, sizeof(length));
    for (int i = 0; i < HEED_HASH_BYTES; i++)
        digest[i] = (uint8_t)(hash->state[i / 4] >> (24 - 8 * (i % 4)));
}
