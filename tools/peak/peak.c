/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The levels that are compiled in. The C library's copy is a candidate everywhere.
 */
#include "peak.h"

#include <string.h>

static void copy_library(void *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
}

static const struct peak levels[] = {
    { "scalar", 2.0 * PEAK_CHAINS_SCALAR, peak_burn_scalar,
      { peak_read_scalar, peak_read_quarters_scalar },
      { copy_library, peak_copy_scalar, peak_copy_ahead_scalar }, peak_scores_scalar },
#ifdef HEED_PEAK_AVX2
    { "avx2", 2.0 * PEAK_CHAINS_AVX2 * PEAK_LANES_AVX2, peak_burn_avx2,
      { peak_read_avx2, peak_read_quarters_avx2 },
      { copy_library, peak_copy_avx2, peak_copy_ahead_avx2, peak_copy_stream_avx2 },
      peak_scores_avx2 },
#endif
#ifdef HEED_PEAK_AVX512
    { "avx512", 2.0 * PEAK_CHAINS_AVX512 * PEAK_LANES_AVX512, peak_burn_avx512,
      { peak_read_avx512, peak_read_quarters_avx512 },
      { copy_library, peak_copy_avx512, peak_copy_ahead_avx512, peak_copy_stream_avx512 },
      peak_scores_avx512 },
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
