/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * SHA-256 (FIPS 180-4), for digests of test data.
 */
#ifndef HEED_TESTS_SUPPORT_SHA256_H
#define HEED_TESTS_SUPPORT_SHA256_H

#include <stddef.h>
#include <stdint.h>

struct sha256 {
    uint32_t constant[64], state[8];
    uint64_t length; /* bytes taken */
    uint8_t block[64];
};

void sha256_start(struct sha256 *);
void sha256_add(struct sha256 *, const void *bytes, size_t count);
/* Lower-case hexadecimal and a terminating zero. */
void sha256_finish(struct sha256 *, char text[65]);

#endif
