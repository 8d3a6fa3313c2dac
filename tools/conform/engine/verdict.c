/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Verdicts: how a run fails, and the errors that output types have by themselves.
 */
#include "verdict.h"

#include "common/types.h"

#include <heed/heed.h>

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

void cf_fail(struct verdict *v, const char *format, ...)
{
    va_list list;

    if (v->failed)
        return;
    v->failed = true;
    va_start(list, format);
    vsnprintf(v->why, sizeof v->why, format, list);
    va_end(list);
}

void cf_step(struct verdict *v, const char *word)
{
    if (!v->failed)
        v->word = word;
}

void cf_word_print(uint32_t dtype, int64_t bits, char out[WORD_TEXT])
{
    const struct type *const type = type_find(dtype);
    const int digits = (int)(2 * (type->bytes < 8 ? type->bytes : 8));

    if (type->exponent && type_elements(dtype) == 1)
        snprintf(out, WORD_TEXT, "0x%0*llx (%.9g)", digits, (unsigned long long)bits,
                 (double)type_decode(dtype, (uint32_t)bits));
    else
        snprintf(out, WORD_TEXT, "0x%llx", (unsigned long long)bits);
}

void cf_output_rounding(uint32_t dtype, double *relative, double *absolute)
{
    const struct type *type = type_find(dtype);

    *relative = ldexp(0.5, -(int)type->fraction);
    *absolute = type_decode(dtype, 1) * (dtype == HEED_F16 ? 0.5 : 1);
}
