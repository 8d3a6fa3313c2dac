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

enum { TYPES = sizeof world_types / sizeof *world_types };

/* Those of every compiled instruction set that the processor has. */
static int sets(const struct heed_attend_rows *out[2])
{
    out[0] = &heed_attend_rows_base;
    out[1] = heed_attend_rows();
    return out[1] == out[0] ? 1 : 2;
}

TEST(every_half_has_its_value)
{
    const struct heed_attend_rows *set[2];

    for (int s = sets(set) - 1; s >= 0; s--) {
        for (unsigned half = 0; half < 0x10000; half += 8) {
            uint16_t halves[8];
            float values[8];

            for (unsigned i = 0; i < 8; i++)
                halves[i] = (uint16_t)(half + i);
            set[s]->scale(halves, 1, values, 8);
            for (unsigned i = 0; i < 8; i++) {
                const double right = world_half_value(half + i);

                ck_assert_msg(isnan(right) ? isnan(values[i]) : (double)values[i] == right,
                              "%04x: %g", half + i, (double)values[i]);
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
    bool zeros = true;
    int32_t ends[2];
    int got;

    while (begin < n && mask[begin] == 0xfc00)
        begin++;
    while (end > begin && mask[end - 1] == 0xfc00)
        end--;
    for (int64_t i = begin; i < end; i++)
        zeros = zeros && (mask[i] & 0x7fff) == 0;
    got = rows->scan(mask, n, ends);
    ck_assert_int_eq(got, zeros);
    ck_assert_int_eq(ends[0], begin < end ? begin : 0);
    ck_assert_int_eq(ends[1], begin < end ? end : 0);
}

TEST(masks_are_read_into_ranges)
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
            check_scan(set[s], mask, n);
        }
    }
}

int main(void)
{
    return suite_run("attend_rows", 0, NULL, NULL);
}
