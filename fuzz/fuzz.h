/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a fuzz target offers to libFuzzer and to replay.c, and how it says that something is wrong.
 */
#ifndef HEED_FUZZ_FUZZ_H
#define HEED_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

enum { FUZZ_INPUT_MOST = 4096 };        /* bytes; longer inputs say nothing new */

/** One input; ends the process by fuzz_fail() when a promise of heed is broken. Always 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/**
 * Makes the seed of a number, for a first corpus.
 * @param data receives at most FUZZ_INPUT_MOST bytes.
 * @return how many; 0: this number makes none worth keeping.
 */
size_t fuzz_seed(uint32_t number, uint8_t data[FUZZ_INPUT_MOST]);

/** Prints and aborts, so that a fuzzer keeps the input. */
_Noreturn void fuzz_fail(const char *file, int line, const char *format, ...)
#if defined __GNUC__
    __attribute__((format(printf, 3, 4)))
#endif
    ;

/* Not assert: checked in every build. */
#define FUZZ_REQUIRE(condition, ...) \
    ((condition) ? (void)0 : fuzz_fail(__FILE__, __LINE__, __VA_ARGS__))

static inline size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

#endif
