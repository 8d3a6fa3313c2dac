/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 */
#include "say.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Names and texts come out of files: a line has no control characters in it. */
static void printable(char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            *text = '?';
}

heed_status say(heed_report *report, heed_status status, const char *field, int64_t wanted,
                int64_t got, const char *format, ...)
{
    heed_report full = { .status = status, .wanted = wanted, .got = got };
    va_list list;

    if (!report || report->size < sizeof full)
        return status;
    full.size = report->size;
    snprintf(full.field, sizeof full.field, "%s", field);
    va_start(list, format);
    vsnprintf(full.message, sizeof full.message, format, list);
    va_end(list);
    printable(full.field);
    printable(full.message);
    memcpy(report, &full, sizeof full);
    return status;
}

heed_status say_done(heed_report *report)
{
    return say(report, HEED_OK, "", 0, 0, "%s", "");
}

heed_status say_no_memory(heed_report *report, int64_t bytes)
{
    return say(report, HEED_E_NOMEM, "", bytes, 0, "no memory for %lld bytes", (long long)bytes);
}
