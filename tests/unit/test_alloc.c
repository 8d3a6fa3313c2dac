/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Host memory: alignment, accounts, arenas, checked arithmetic, structs of other sizes.
 */
#include "lib/core/alloc.h"
#include "lib/core/context.h"
#include "lib/core/sized.h"
#include "support/ledger.h"
#include "support/suite.h"

#include <stdlib.h>
#include <string.h>

static const size_t sizes[] = { 1, 7, 8, 63, 64, 65, 4095, 4096, 100001 };
enum { N_SIZES = sizeof(sizes) / sizeof(sizes[0]) };

TEST(default_allocator_honours_every_alignment)
{
    for (size_t align = 1; align <= 4096; align *= 2) {
        for (size_t i = 0; i < N_SIZES; i++) {
            char *p = heed_alloc(NULL, sizes[i], align);

            ck_assert_ptr_nonnull(p);
            ck_assert_uint_eq((uintptr_t)p % align, 0);
            memset(p, 1, sizes[i]);
            heed_free(NULL, p, sizes[i], align);
        }
    }
}

TEST(no_block_for_sizes_that_cannot_be)
{
    ck_assert_ptr_null(heed_alloc(NULL, 0, 16));
    ck_assert_ptr_null(heed_alloc(NULL, SIZE_MAX, 16));
    ck_assert_ptr_null(heed_alloc(NULL, SIZE_MAX - 63, 64));
    ck_assert_ptr_null(heed_alloc(NULL, (size_t)PTRDIFF_MAX + 1, 1));
    heed_free(NULL, NULL, 16, 16);
}

static void *odd_alloc(void *context, size_t size, size_t align)
{
    (void)size;
    (void)align;
    return (char *)context + 1;
}

static int odd_returned;

static void odd_free(void *context, void *pointer, size_t size, size_t align)
{
    odd_returned += pointer == (char *)context + 1 && size == 32 && align == 16;
}

TEST(misaligned_block_of_the_callers_allocator_is_no_memory)
{
    _Alignas(64) static char memory[64];
    struct heed_runtime runtime = {
        .allocator = { sizeof(heed_allocator), 0, memory, odd_alloc, odd_free },
    };

    odd_returned = 0;
    ck_assert_ptr_null(heed_alloc(&runtime, 32, 16));
    ck_assert_int_eq(odd_returned, 1);
}

struct taken {
    char *p;
    size_t size;
};

/* No byte of a take may be another's: each is filled with its own number and looked at last. */
TEST(arena_takes_are_zeroed_aligned_and_apart)
{
    enum { N = 300 };
    static struct taken taken[N];
    struct ledger ledger = { 0 };
    struct heed_runtime runtime = { .allocator = ledger_allocator(&ledger) };
    struct heed_arena arena;
    uint32_t random = 1;

    heed_arena_init(&arena, &runtime);
    for (int i = 0; i < N; i++) {
        size_t align;

        random = random * 1664525u + 1013904223u;
        align = (size_t)1 << (random >> 28) % 13;
        taken[i].size = i % 17 == 0 ? 9000 : (random >> 8) % 700;
        taken[i].p = heed_arena_take(&arena, taken[i].size, align);
        ck_assert_ptr_nonnull(taken[i].p);
        ck_assert_uint_eq((uintptr_t)taken[i].p % align, 0);
        for (size_t k = 0; k < taken[i].size; k++)
            ck_assert_int_eq(taken[i].p[k], 0);
        memset(taken[i].p, i % 100 + 1, taken[i].size);
    }
    for (int i = 0; i < N; i++) {
        for (size_t k = 0; k < taken[i].size; k++)
            ck_assert_int_eq(taken[i].p[k], i % 100 + 1);
    }
    ck_assert_int_eq((long long)arena.bytes, atomic_load(&ledger.bytes));
    heed_arena_finish(&arena);
    ck_assert_uint_eq(arena.bytes, 0);
    ck_assert_int_eq(atomic_load(&ledger.blocks), 0);
    ck_assert_int_eq(atomic_load(&ledger.mistakes), 0);
    heed_arena_finish(&arena);
}

TEST(arena_says_no_memory_and_stays_usable)
{
    struct ledger ledger = { 0 };
    struct heed_runtime runtime = { .allocator = ledger_allocator(&ledger) };
    struct heed_arena arena;

    heed_arena_init(&arena, &runtime);
    atomic_store(&ledger.fail_at, 1);
    ck_assert_ptr_null(heed_arena_take(&arena, 8, 8));
    ck_assert_ptr_nonnull(heed_arena_take(&arena, 8, 8));
    atomic_store(&ledger.fail_at, 3);
    ck_assert_ptr_null(heed_arena_take(&arena, 10000, 8));
    ck_assert_ptr_nonnull(heed_arena_take(&arena, 8, 8));
    ck_assert_ptr_null(heed_arena_take(&arena, SIZE_MAX, 8));
    ck_assert_ptr_null(heed_arena_take(&arena, SIZE_MAX - 4096, 4096));
    ck_assert_ptr_null(heed_arena_array(&arena, UINT64_MAX / 4, 8, 8));
    ck_assert_ptr_null(heed_arena_array(&arena, SIZE_MAX / 8 + 1, 8, 8));
    ck_assert_ptr_nonnull(heed_arena_array(&arena, 0, 8, 8));
    ck_assert_ptr_nonnull(heed_arena_array(&arena, 5, 24, 8));
    heed_arena_finish(&arena);
    ck_assert_int_eq(atomic_load(&ledger.blocks), 0);
}

static const struct {
    bool (*of)(int64_t a, int64_t b, int64_t *out);
    int64_t a, b, result;
    bool fits;
} sums[] = {
    { heed_add_i64, 1, 2, 3, true },
    { heed_add_i64, INT64_MAX, 0, INT64_MAX, true },
    { heed_add_i64, INT64_MAX, 1, 0, false },
    { heed_add_i64, INT64_MIN, 0, INT64_MIN, true },
    { heed_add_i64, INT64_MIN, -1, 0, false },
    { heed_add_i64, INT64_MIN, INT64_MAX, -1, true },
    { heed_add_i64, INT64_MAX - 5, 5, INT64_MAX, true },
    { heed_add_i64, INT64_MIN, INT64_MIN, 0, false },
    { heed_mul_i64, 3, -4, -12, true },
    { heed_mul_i64, 0, INT64_MIN, 0, true },
    { heed_mul_i64, -1, INT64_MIN, 0, false },
    { heed_mul_i64, INT64_MIN, -1, 0, false },
    { heed_mul_i64, INT64_MIN, 1, INT64_MIN, true },
    { heed_mul_i64, INT64_MIN, 2, 0, false },
    { heed_mul_i64, -1, INT64_MAX, -INT64_MAX, true },
    { heed_mul_i64, INT64_C(1) << 31, INT64_C(1) << 31, INT64_C(1) << 62, true },
    { heed_mul_i64, INT64_C(1) << 32, INT64_C(1) << 31, 0, false },
    { heed_mul_i64, -(INT64_C(1) << 32), INT64_C(1) << 31, INT64_MIN, true },
    { heed_mul_i64, -(INT64_C(1) << 32), -(INT64_C(1) << 31), 0, false },
    { heed_mul_i64, INT64_MAX, 2, 0, false },
    { heed_mul_i64, INT64_C(3037000500), INT64_C(3037000500), 0, false },
    { heed_mul_i64, INT64_C(3037000499), INT64_C(3037000499), INT64_C(9223372030926249001), true },
};

TEST(sums_and_products_stay_inside_63_bits)
{
    for (size_t i = 0; i < sizeof(sums) / sizeof(sums[0]); i++) {
        for (int swap = 0; swap < 2; swap++) {
            const int64_t a = swap ? sums[i].b : sums[i].a, b = swap ? sums[i].a : sums[i].b;
            int64_t out = 77;

            ck_assert_int_eq(sums[i].of(a, b, &out), sums[i].fits);
            ck_assert_int_eq(out, sums[i].fits ? sums[i].result : 77);
        }
    }
}

TEST(sizes_do_not_wrap)
{
    size_t out = 77;

    ck_assert(heed_add_size(SIZE_MAX - 1, 1, &out));
    ck_assert_uint_eq(out, SIZE_MAX);
    ck_assert(!heed_add_size(SIZE_MAX, 1, &out));
    ck_assert(heed_mul_size(SIZE_MAX, 1, &out) && out == SIZE_MAX);
    ck_assert(heed_mul_size(SIZE_MAX, 0, &out) && out == 0);
    ck_assert(!heed_mul_size(SIZE_MAX / 2 + 1, 2, &out));
    ck_assert_uint_eq(out, 0);
}

TEST(input_structs_are_extended_and_their_tails_refused)
{
    enum { KNOWN = 24, V1 = 16, ROOM = 40 };
    unsigned char given[ROOM], local[KNOWN + 1];
    heed_report why = { .size = sizeof(why) };

    for (uint32_t size = 0; size <= ROOM; size++) {
        const heed_status wanted = size < V1 ? HEED_E_SIZE : HEED_OK;

        memset(given, 7, sizeof(given));
        if (size > KNOWN)
            memset(given + KNOWN, 0, ROOM - KNOWN);
        memcpy(given, &size, sizeof(size));
        memset(local, 0xee, sizeof(local));
        ck_assert_int_eq(heed_sized_in(given, V1, local, KNOWN, "x", &why), wanted);
        ck_assert_uint_eq(local[KNOWN], 0xee);
        if (wanted < 0) {
            ck_assert_uint_eq(local[0], 0xee);
            ck_assert_str_eq(why.field, "x");
            ck_assert_int_eq(why.wanted, V1);
            ck_assert_int_eq(why.got, size);
            continue;
        }
        ck_assert_uint_eq(local[0], KNOWN);
        for (uint32_t i = 4; i < KNOWN; i++)
            ck_assert_uint_eq(local[i], i < size ? 7 : 0);
        for (uint32_t i = KNOWN; i < size; i++) {
            given[i] = 1;
            ck_assert_int_eq(heed_sized_in(given, V1, local, KNOWN, "x", &why), HEED_E_NEWER);
            ck_assert_int_eq(why.got, i);
            given[i] = 0;
        }
    }
}

int main(void)
{
    return suite_run("alloc", 0, NULL, NULL);
}
