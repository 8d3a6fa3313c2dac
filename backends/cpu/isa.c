/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which instruction sets are compiled in and present. With simd/, the one place of this backend
 * that knows processors.
 */
#include "isa.h"

#include <fenv.h>
#include <stddef.h>

#if defined HEED_HAVE_AVX2 || defined HEED_HAVE_AVX512
#include <cpuid.h>

/* State components the operating system saves (Intel SDM volume 1, 13.3). */
static uint64_t saved_state(void)
{
    uint32_t a, d;

    __asm__ volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
    return (uint64_t)d << 32 | a;
}

enum { FMA = 1u << 12, OSXSAVE = 1u << 27, AVX = 1u << 28, F16C = 1u << 29 };     /* leaf 1 ecx */
enum {
    AVX2 = 1u << 5,
    AVX512F = 1u << 16,
    AVX512DQ = 1u << 17,
    AVX512BW = 1u << 30
}; /* leaf 7 ebx */
#define AVX512VL (1u << 31)

static uint32_t leaf1(void)
{
    uint32_t a, b, c = 0, d;

    return __get_cpuid(1, &a, &b, &c, &d) ? c : 0;
}

static uint32_t leaf7(void)
{
    uint32_t a, b = 0, c, d;

    return __get_cpuid_count(7, 0, &a, &b, &c, &d) ? b : 0;
}

static const char *refuse_avx2(void)
{
    const uint32_t need = FMA | OSXSAVE | AVX | F16C;

    if ((leaf1() & need) != need || !(leaf7() & AVX2))
        return "the processor lacks AVX2, FMA or F16C";
    return (saved_state() & 6) == 6 ? NULL : "the operating system does not save AVX registers";
}

static const char *refuse_avx512(void)
{
    const uint32_t need = AVX512F | AVX512DQ | AVX512BW | AVX512VL;
    const char *reason = refuse_avx2();

    if (reason)
        return reason;
    if ((leaf7() & need) != need)
        return "the processor lacks AVX-512 F, BW, DQ or VL";
    return (saved_state() & 0xe6) == 0xe6 ? NULL
                                          : "the operating system does not save AVX-512 registers";
}
#endif

static const char *refuse_none(void)
{
    return NULL;
}

static const struct {
    const struct heed_cpu_isa *isa;
    const char *(*refuse)(void);
} rows[] = {
    { &heed_cpu_isa_scalar, refuse_none },
#if defined HEED_HAVE_AVX2
    { &heed_cpu_isa_avx2, refuse_avx2 },
#endif
#if defined HEED_HAVE_AVX512
    { &heed_cpu_isa_avx512, refuse_avx512 },
#endif
};

#define N_ROWS (sizeof rows / sizeof *rows)

const struct heed_cpu_isa *heed_isa_get(uint32_t i)
{
    return i < N_ROWS ? rows[i].isa : NULL;
}

/* In the environment that runs use, whatever the caller's is. */
static bool self_test(const struct heed_cpu_isa *isa)
{
    fenv_t caller;
    bool passed;

    fegetenv(&caller);
    fesetenv(FE_DFL_ENV);
    passed = isa->self_test();
    fesetenv(&caller);
    return passed;
}

const char *heed_isa_refuse(const struct heed_cpu_isa *isa)
{
    for (size_t i = 0; i < N_ROWS; i++) {
        if (rows[i].isa == isa) {
            const char *reason = rows[i].refuse();

            return reason ? reason : self_test(isa) ? NULL : "the arithmetic self-test failed";
        }
    }
    return "not compiled in";
}

const struct heed_cpu_isa *heed_isa_best(void)
{
    size_t best = N_ROWS - 1;

    while (best > 0 && heed_isa_refuse(rows[best].isa))
        best--;
    return rows[best].isa;
}
