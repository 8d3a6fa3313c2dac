/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Halves, blocks and masks of integrations/ggml/blocks.h, by every compiled instruction set that
 * the processor has.
 */
#include "attend_world.h"
#include "integrations/ggml/blocks.h"
#include "support/suite.h"

#include <math.h>
#include <string.h>

enum { TYPES = sizeof world_types / sizeof *world_types };

/* Those of every compiled instruction set that the processor has. */
static int sets(const struct heed_attend_rows *out[2])
{
    out[0] = &heed_attend_rows_base;
    out[1] = heed_attend_rows();
    return out[1] == out[0] ? 1 : 2;
}

/* A block of 128 ones, times the scale. */
TEST(every_scale_is_read)
{
    const struct heed_attend_rows *set[2];

    for (int s = sets(set) - 1; s >= 0; s--) {
        const struct heed_attend_type *const type = set[s]->type(HEED_ATTEND_Q1_0);

        for (unsigned half = 0; half < 0x10000; half++) {
            unsigned char block[18];
            uint16_t got[HEED_ATTEND_BLOCK];

            memset(block, 0xff, sizeof block);
            memcpy(block, (const uint16_t[]){ (uint16_t)half }, 2);
            set[s]->convert(type, block, got, HEED_ATTEND_BLOCK);
            for (int j = 0; j < HEED_ATTEND_BLOCK; j += 13) {
                ck_assert_msg(isnan(world_half_value(half)) ? isnan(world_half_value(got[j]))
                                                            : got[j] == half,
                              "%04x became %04x", half, (unsigned)got[j]);
            }
        }
    }
}

/* Blocks with any bytes, scales without a meaning apart: as the published layouts say. */
LOOP_TEST(blocks_become_the_nearest_halves, TYPES)
{
    const struct heed_attend_rows *set[2];
    uint32_t seed = 1;

    for (int s = sets(set) - 1; s >= 0; s--) {
        const struct heed_attend_type *const type = set[s]->type(world_types[_i]);
        unsigned char block[64];
        uint16_t halves[HEED_ATTEND_BLOCK];

        for (int round = 0; round < 300 && type->unpack != NULL; round++) {
            for (int32_t i = 0; i < type->bytes; i++)
                block[i] = (unsigned char)((seed = seed * 1664525u + 1013904223u) >> 24);
            block[1] &= round % 2 == 0 ? 0xbb : 0xbf; /* a scale that is finite: small ones, too */
            block[3] &= 0xbf;
            set[s]->convert(type, block, halves, type->elements);
            for (int32_t j = 0; j < type->elements; j++) {
                const double x = world_element(world_types[_i], block, j);

                ck_assert_msg(halves[j] == world_half_bits(x) || (x == 0 && !(halves[j] & 0x7fff)),
                              "type %u, element %d: %g became %04x", world_types[_i], j, x,
                              (unsigned)halves[j]);
            }
        }
    }
}

static void check_scan(const struct heed_attend_rows *rows, const uint16_t *mask, int64_t n)
{
    int64_t begin = 0, end = n;
    unsigned found = 0;
    int32_t ends[2];

    while (begin < n && mask[begin] == 0xfc00)
        begin++;
    while (end > begin && mask[end - 1] == 0xfc00)
        end--;
    for (int64_t i = begin; i < end; i++) {
        if (mask[i] == 0xfc00)
            found |= HEED_ATTEND_HOLES_IN;
        else if ((mask[i] & 0x7fff) != 0)
            found |= HEED_ATTEND_NUMBERS_IN;
    }
    if (found & HEED_ATTEND_NUMBERS_IN)
        found = HEED_ATTEND_NUMBERS_IN;
    ck_assert_uint_eq(rows->scan(mask, n, ends), found);
    ck_assert_int_eq(ends[0], begin < end ? begin : 0);
    ck_assert_int_eq(ends[1], begin < end ? end : 0);
}

/* The word behind the last one is nobody's. */
static void check_bits(const struct heed_attend_rows *rows, const uint16_t *mask, int64_t n)
{
    uint32_t words[32];
    const int64_t used = (n + 31) / 32;

    memset(words, 0xa5, sizeof words);
    rows->bits(mask, n, words);
    for (int64_t i = 0; i < used * 32; i++) {
        const bool seen = i < n && mask[i] != 0xfc00;

        ck_assert_int_eq(words[i / 32] >> (i % 32) & 1, seen);
    }
    ck_assert_uint_eq(words[used], 0xa5a5a5a5);
}

TEST(masks_are_read_into_ranges_and_bits)
{
    enum { MOST = 700 };
    const struct heed_attend_rows *set[2];
    uint32_t seed = 1;

    for (int s = sets(set) - 1; s >= 0; s--) {
        for (int round = 0; round < 3000; round++) {
            const int64_t n = (seed = seed * 1664525u + 1013904223u) % MOST;
            const int64_t from = (seed >> 8) % (n + 1), to = (seed >> 16) % (n + 1);
            uint16_t mask[MOST];

            for (int64_t i = 0; i < n; i++)
                mask[i] = (uint16_t)(i >= from && i < to ? (i % 3 == 0) << 15 : 0xfc00);
            if (round % 3 == 0 && n > 0)
                mask[(seed >> 4) % n] = (uint16_t)(seed >> 12);
            if (round % 4 == 1 && n > 0)
                mask[(seed >> 5) % n] = 0xfc00;
            check_scan(set[s], mask, n);
            check_bits(set[s], mask, n);
        }
    }
}

int main(void)
{
    return suite_run("attend_rows", 0, NULL, NULL);
}
