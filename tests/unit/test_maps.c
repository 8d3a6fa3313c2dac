/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Maps of biases against the papers' formulas written in other ways: borders of buckets by integer
 * powers, tables that the public code prints, and the statuses.
 */
#include <heed/attn.h>

#include <check.h>
#include <math.h>
#include <string.h>

#include "support/suite.h"

enum { REACH = 600, LENGTH = 2 * REACH + 1 };

static int32_t map[LENGTH];

/* ---- integers of any size: little-endian words ---- */

enum { WORDS = 64 };

struct big {
    uint32_t word[WORDS];
};

static struct big big_power(uint32_t base, int exponent)
{
    struct big x = { { 1 } };

    for (int e = 0; e < exponent; e++) {
        uint64_t carry = 0;

        for (int i = 0; i < WORDS; i++) {
            carry += (uint64_t)x.word[i] * base;
            x.word[i] = (uint32_t)carry;
            carry >>= 32;
        }
        ck_assert_uint_eq(carry, 0);
    }
    return x;
}

static struct big big_product(const struct big *a, const struct big *b)
{
    struct big x = { { 0 } };

    for (int i = 0; i < WORDS; i++) {
        uint64_t carry = 0;

        for (int j = 0; i + j < WORDS; j++) {
            carry += (uint64_t)a->word[i] * b->word[j] + x.word[i + j];
            x.word[i + j] = (uint32_t)carry;
            carry >>= 32;
        }
    }
    return x;
}

static int big_compare(const struct big *a, const struct big *b)
{
    for (int i = WORDS - 1; i >= 0; i--) {
        if (a->word[i] != b->word[i])
            return a->word[i] < b->word[i] ? -1 : 1;
    }
    return 0;
}

/* The sign of parts * ln(n / half) / ln(end / half) - k, which is that of n^parts * half^k minus
 * end^k * half^parts. */
static int step_compare(uint32_t n, uint32_t half, uint32_t end, int parts, int k)
{
    const struct big a = big_power(n, parts), b = big_power(half, k);
    const struct big c = big_power(end, k), d = big_power(half, parts);
    const struct big left = big_product(&a, &b), right = big_product(&c, &d);

    return big_compare(&left, &right);
}

/* ---- T5 ---- */

static int t5_side(uint32_t n, int buckets, uint32_t most)
{
    const int half = buckets / 2;
    int k = 0;

    if ((int)n < half)
        return (int)n;
    while (half + k + 1 < buckets &&
           step_compare(n, (uint32_t)half, most, buckets - half, k + 1) >= 0)
        k++;
    return half + k;
}

LOOP_TEST(t5_has_the_buckets_of_its_formula, 5)
{
    static const struct {
        int32_t buckets, most;
        uint32_t flags;
    } rows[] = { { 32, 128, 0 },
                 { 32, 128, HEED_MAP_ONE_SIDED },
                 { 32, 128, HEED_MAP_REVERSED },
                 { 10, 77, HEED_MAP_REVERSED | HEED_MAP_ONE_SIDED },
                 { 4, 2, 0 } };
    const uint32_t flags = rows[_i].flags;
    const int sides = flags & HEED_MAP_ONE_SIDED ? 1 : 2, n = rows[_i].buckets / sides;

    ck_assert_int_eq(heed_map_t5(map, LENGTH, REACH, rows[_i].buckets, rows[_i].most, flags),
                     HEED_OK);
    for (int i = 0; i < LENGTH; i++) {
        const int r = flags & HEED_MAP_REVERSED ? REACH - i : i - REACH;
        const int away = sides == 1 ? (r < 0 ? -r : 0) : r < 0 ? -r : r;
        const int want = t5_side((uint32_t)away, n, (uint32_t)rows[_i].most) +
                         (sides == 2 && r > 0 ? n : 0);

        ck_assert_msg(map[i] == want, "distance %d: bucket %d, wanted %d", r, map[i], want);
    }
}

/* 8 buckets of one side lie between 8 and 128: their borders are 8 * 2^(k/2). */
TEST(t5_changes_where_the_public_code_does)
{
    static const int borders[] = { 8, 12, 16, 23, 32, 46, 64, 91 };

    ck_assert_int_eq(heed_map_t5(map, LENGTH, REACH, 32, 128, 0), HEED_OK);
    for (int k = 0; k < 8; k++) {
        ck_assert_int_eq(map[REACH - borders[k]], 8 + k);
        ck_assert_int_eq(map[REACH - borders[k] + 1], 7 + k);
        ck_assert_int_eq(map[REACH + borders[k]], 24 + k);
    }
    ck_assert_int_eq(map[REACH], 0);
    ck_assert_int_eq(map[REACH + 1], 17);
    ck_assert_int_eq(map[0], 15);
    ck_assert_int_eq(map[LENGTH - 1], 31);
}

/* ---- DeBERTa ---- */

static int log_side(uint32_t n, int buckets, uint32_t positions)
{
    const int mid = buckets / 2;
    int k = 0;

    if ((int)n <= mid)
        return (int)n;
    while (mid + k <= 2 * buckets && step_compare(n, (uint32_t)mid, positions - 1, mid - 1, k) > 0)
        k++;
    return mid + k;
}

LOOP_TEST(log_has_the_buckets_of_its_formula, 3)
{
    static const int32_t rows[][2] = { { 32, 128 }, { 16, 65 }, { 9, 600 } };
    const int32_t n = rows[_i][0];

    ck_assert_int_eq(heed_map_log(map, LENGTH, REACH, n, rows[_i][1], HEED_MAP_REVERSED), HEED_OK);
    for (int i = 0; i < LENGTH; i++) {
        const int r = REACH - i, side = log_side((uint32_t)(r < 0 ? -r : r), n,
                                                 (uint32_t)rows[_i][1]);
        const int b = n + (r < 0 ? -side : side);
        const int want = b < 0 ? 0 : b > 2 * n - 1 ? 2 * n - 1 : b;

        ck_assert_msg(map[i] == want, "distance %d: bucket %d, wanted %d", r, map[i], want);
    }
}

/* The released models: 256 buckets, 512 positions. */
TEST(log_of_the_released_models)
{
    ck_assert_int_eq(heed_map_log(map, LENGTH, REACH, 256, 512, HEED_MAP_REVERSED), HEED_OK);
    ck_assert_int_eq(map[REACH], 256);
    ck_assert_int_eq(map[REACH - 128], 384);
    ck_assert_int_eq(map[REACH - 129], 385);
    ck_assert_int_eq(map[REACH - 511], 511);
    ck_assert_int_eq(map[REACH + 511], 1);
    ck_assert_int_eq(map[REACH + 512], 0);
    ck_assert_int_eq(map[0], 511);
    for (int i = 1; i < LENGTH; i++)
        ck_assert_int_le(map[i], map[i - 1]);
}

TEST(log_turned_is_the_same_table_from_its_end)
{
    static int32_t turned[LENGTH];

    ck_assert_int_eq(heed_map_log(map, LENGTH, REACH, 64, 300, 0), HEED_OK);
    ck_assert_int_eq(heed_map_log(turned, LENGTH, REACH, 64, 300, HEED_MAP_REVERSED), HEED_OK);
    for (int i = 0; i < LENGTH; i++)
        ck_assert_int_eq(map[i], turned[LENGTH - 1 - i]);
}

/* ---- even ---- */

TEST(even_buckets_have_as_many_distances)
{
    int count[20] = { 0 };

    ck_assert_int_eq(heed_map_even(map, 1000, 500, 10, 500, 0), HEED_OK);
    for (int i = 0; i < 1000; i++) {
        ck_assert(map[i] >= 0 && map[i] < 20);
        count[map[i]]++;
        if (i > 0)
            ck_assert_int_ge(map[i], map[i - 1]);
    }
    ck_assert_int_eq(count[0], 51);     /* with -500, which is beyond */
    ck_assert_int_eq(count[9], 49);     /* without 0 */
    for (int i = 1; i < 20; i++) {
        if (i != 9)
            ck_assert_int_eq(count[i], 50);
    }
    ck_assert_int_eq(heed_map_even(map, 3, 0, 1 << 29, INT32_MAX, 0), HEED_OK);
    ck_assert_int_eq(map[0], 1 << 29);
}

/* ---- what they refuse ---- */

typedef heed_status map_make(int32_t *, int64_t, int64_t, int32_t, int32_t, uint32_t);

LOOP_TEST(faults_are_statuses_and_write_nothing, 3)
{
    static map_make *const makers[] = { heed_map_t5, heed_map_log, heed_map_even };
    const int64_t far = INT64_C(1) << 60;
    map_make *const make = makers[_i];

    memset(map, 0x5a, sizeof(map));
    ck_assert_int_eq(make(NULL, 0, 0, 8, 64, 0), HEED_OK);
    ck_assert_int_eq(make(NULL, 1, 0, 8, 64, 0), HEED_E_NULL);
    ck_assert_int_eq(make(map, 4, 0, 8, 64, 4), HEED_E_FLAG);
    ck_assert_int_eq(make(map, 4, 0, 8, 64, HEED_MAP_ONE_SIDED),
                     make == heed_map_t5 ? HEED_OK : HEED_E_FLAG);
    memset(map, 0x5a, sizeof(map));
    ck_assert_int_eq(make(map, -1, 0, 8, 64, 0), HEED_E_VALUE);
    ck_assert_int_eq(make(map, 4, 0, 0, 64, 0), HEED_E_VALUE);
    ck_assert_int_eq(make(map, 4, 0, -8, 64, 0), HEED_E_VALUE);
    ck_assert_int_eq(make(map, 4, 0, INT32_MAX, 64, 0), HEED_E_VALUE);
    ck_assert_int_eq(make(map, 4, 0, 8, 0, 0), HEED_E_VALUE);
    ck_assert_int_eq(make(map, 4, 0, 8, INT32_MIN, 0), HEED_E_VALUE);
    ck_assert_int_eq(make(map, 4, far + 1, 8, 64, 0), HEED_E_OVERFLOW);
    ck_assert_int_eq(make(map, 4, -far - 1, 8, 64, 0), HEED_E_OVERFLOW);
    ck_assert_int_eq(make(map, far + 1, 0, 8, 64, 0), HEED_E_OVERFLOW);
    ck_assert_int_eq(map[0], 0x5a5a5a5a);
    ck_assert_int_eq(make(map, 4, far, 8, 64, 0), HEED_OK);
    ck_assert_int_eq(make(map, 4, -far, 8, 64, HEED_MAP_REVERSED), HEED_OK);
}

TEST(bounds_of_the_numbers)
{
    ck_assert_int_eq(heed_map_t5(map, 4, 0, 7, 64, 0), HEED_E_VALUE);
    ck_assert_int_eq(heed_map_t5(map, 4, 0, 7, 64, HEED_MAP_ONE_SIDED), HEED_OK);
    ck_assert_int_eq(heed_map_t5(map, 4, 0, 2, 64, 0), HEED_E_VALUE);
    ck_assert_int_eq(heed_map_t5(map, 4, 0, 2, 64, HEED_MAP_ONE_SIDED), HEED_OK);
    ck_assert_int_eq(heed_map_t5(map, 4, 0, 32, 8, 0), HEED_E_VALUE);
    ck_assert_int_eq(heed_map_t5(map, 4, 0, 32, 9, 0), HEED_OK);
    ck_assert_int_eq(heed_map_log(map, 4, 0, 1, 64, 0), HEED_E_VALUE);
    ck_assert_int_eq(heed_map_log(map, 4, 0, 8, 5, 0), HEED_E_VALUE);
    ck_assert_int_eq(heed_map_log(map, 4, 0, 8, 6, 0), HEED_OK);
    ck_assert_int_eq(heed_map_even(map, 4, 0, 1, 1, 0), HEED_OK);
}

int main(void)
{
    return suite_run("maps", 0, NULL, NULL);
}
