/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which of the compiled instruction sets the processor has.
 */
#include "blocks.h"

#if defined HEED_ATTEND_WIDE
/* Every processor with AVX2 has F16C, which not every compiler can ask for. */
static int is_wide(void)
{
    return __builtin_cpu_supports("avx2");
}
#endif

const struct heed_attend_rows *heed_attend_rows(void)
{
#if defined HEED_ATTEND_WIDE
    return is_wide() ? &heed_attend_rows_wide : &heed_attend_rows_base;
#else
    return &heed_attend_rows_base;
#endif
}
