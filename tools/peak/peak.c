/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The levels that are compiled in, and the memory read. The sum is over integers, so the compiler
 * may use as many accumulators and lanes as it likes: memory is the limit, not the addition.
 */
#include "peak.h"

#include <string.h>

static const struct peak levels[] = {
    { "scalar", 2.0 * PEAK_CHAINS_SCALAR, peak_burn_scalar },
#ifdef HEED_PEAK_AVX2
    { "avx2", 2.0 * PEAK_CHAINS_AVX2 * PEAK_LANES_AVX2, peak_burn_avx2 },
#endif
#ifdef HEED_PEAK_AVX512
    { "avx512", 2.0 * PEAK_CHAINS_AVX512 * PEAK_LANES_AVX512, peak_burn_avx512 },
#endif
};

const struct peak *peak_find(const char *isa)
{
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        if (strcmp(levels[i].isa, isa) == 0)
            return &levels[i];
    }
    return NULL;
}

const char *peak_name(size_t index)
{
    return index < sizeof levels / sizeof *levels ? levels[index].isa : NULL;
}

uint64_t peak_read(const uint64_t *words, size_t count)
{
    enum { CHAINS = 16 };
    uint64_t sum[CHAINS] = { 0 };
    uint64_t total = 0;

    for (size_t i = 0; i + CHAINS <= count; i += CHAINS) {
        for (size_t c = 0; c < CHAINS; c++)
            sum[c] += words[i + c];
    }
    for (size_t c = 0; c < CHAINS; c++)
        total += sum[c];
    return total;
}
