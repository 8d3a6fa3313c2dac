/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which instruction sets are compiled in and present. With kernels/simd, the one place that knows
 * processors: a new one is a row in backends/meson.build and a header in kernels/simd, and here a
 * refuse_NAME where not all processors of the family have it.
 */
#define _DEFAULT_SOURCE /* syscall */
#include "isa.h"

#include "backends/host_kernels.h"

#include <stdatomic.h>
#include <stddef.h>

#if defined __x86_64__
#include <cpuid.h>
#if defined __linux__
#include <sys/syscall.h>
#include <unistd.h>
#endif

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

/* Leaf 7, sub-leaf 0 edx and sub-leaf 1 eax. */
enum { AMX_BF16 = 1u << 22, AMX_TILE = 1u << 24, AVX512_BF16 = 1u << 5 };

static const char *refuse_avx512bf16(void)
{
    uint32_t a = 0, b, c, d;
    const char *reason = refuse_avx512();

    if (reason)
        return reason;
    return __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & AVX512_BF16)
               ? NULL
               : "the processor lacks AVX512-BF16";
}

/* Linux lets a process use tiles if it asks (Documentation/arch/x86/xstate.rst). */
static bool tiles_allowed(void)
{
#if defined __linux__
    enum { ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18 };

    return syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0;
#else
    return false;
#endif
}

static const char *refuse_amx(void)
{
    const uint32_t need = AMX_BF16 | AMX_TILE;
    uint32_t a, b, c, d = 0;
    const char *reason = refuse_avx512bf16();

    if (reason)
        return reason;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (d & need) != need)
        return "the processor lacks AMX-BF16";
    if ((saved_state() & 0x60000) != 0x60000)
        return "the operating system does not save AMX tiles";
    return tiles_allowed() ? NULL : "the operating system refuses AMX tiles";
}
#endif

static const char *refuse_none(void)
{
    return NULL;
}

/* backends/host_kernels.h: HEED_CPU_ISAS(OF) is OF(name, description, refuse) of what is compiled
 * in, ascending, and HEED_HOST_KERNELS(OF, name) is OF(row, name) of the rows of kernels.def that
 * hosts run; HEED_CPU_UNITS(OF) is OF(name, instruction set, description, refuse) of those with a
 * unit for pairs of bf16, ascending, which have the kernels of the instruction set, and
 * HEED_HALVES_KERNELS(OF, name) is OF(row, name) of the rows that they have besides. All are
 * compiled for many buffers only. */
#define DECLARE(row, isa) extern heed_host_kernel heed_kernel_##row##_##isa;
#define DECLARE_ISA(isa, text, refuse) HEED_HOST_KERNELS(DECLARE, isa)
#define DECLARE_UNIT(unit, isa, text, refuse) HEED_HALVES_KERNELS(DECLARE, unit)
HEED_CPU_ISAS(DECLARE_ISA)
HEED_CPU_UNITS(DECLARE_UNIT)

#define KERNEL(row, isa) [HEED_KERNEL_##row] = { NULL, heed_kernel_##row##_##isa },
#define ISA(isa, text, refuse)                                                                     \
    { #isa, text, refuse_##refuse, { HEED_HOST_KERNELS(KERNEL, isa) }, false },
#define UNIT(unit, isa, text, refuse)                                                              \
    { #unit, text, refuse_##refuse,                                                                \
      { HEED_HOST_KERNELS(KERNEL, isa) HEED_HALVES_KERNELS(KERNEL, unit) }, true },
static const struct heed_cpu_isa rows[] = { HEED_CPU_ISAS(ISA) HEED_CPU_UNITS(UNIT) };

#undef DECLARE
#undef DECLARE_ISA
#undef DECLARE_UNIT
#undef KERNEL
#undef ISA
#undef UNIT

#define N_ROWS (sizeof rows / sizeof *rows)

const struct heed_cpu_isa *heed_isa_get(uint32_t i)
{
    return i < N_ROWS ? &rows[i] : NULL;
}

/* Reasons found so far, "" for none; whoever asks twice finds the same. */
static _Atomic(const char *) found[N_ROWS];

const char *heed_isa_refuse(const struct heed_cpu_isa *isa)
{
    _Atomic(const char *) *known = &found[isa - rows];
    const char *reason = atomic_load(known);

    if (reason == NULL) {
        reason = isa->refuse();
        if (reason == NULL)
            reason = heed_host_self_test(isa->kernels[HEED_KERNEL_self_test][1]);
        if (reason[0] == '\0' && isa->halves)
            reason = heed_host_halves_test(isa->kernels[HEED_KERNEL_halves_test][1]);
        atomic_store(known, reason);
    }
    return reason[0] == '\0' ? NULL : reason;
}

const struct heed_cpu_isa *heed_isa_best(void)
{
    size_t best = N_ROWS - 1;

    while (best > 0 && heed_isa_refuse(&rows[best]))
        best--;
    return &rows[best];
}
