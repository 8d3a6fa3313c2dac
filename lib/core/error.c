/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Filling reports. The report is the caller's struct: never more than its size is written, and
 * bytes beyond what this library knows are zeroed. Text is cut to the field and kept to
 * printable ASCII, so that a message that quotes a caller's string is still one line of valid
 * UTF-8.
 */
#include "error.h"

#include "../backend.h"
#include "sized.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void make_plain(char *text)
{
    for (; *text != '\0'; text++) {
        if (*text < 0x20 || *text > 0x7e)
            *text = *text == '\n' || *text == '\t' ? ' ' : '?';
    }
}

/* field may be NULL. */
static void put(heed_report *report, heed_report *filled, const char *field)
{
    if (field != NULL)
        snprintf(filled->field, sizeof(filled->field), "%s", field);
    make_plain(filled->field);
    make_plain(filled->message);
    heed_sized_out(report, HEED_REPORT_V1, filled, sizeof(*filled));
}

heed_status heed_report_fill(heed_report *report, heed_status status, const char *field,
                             int64_t wanted, int64_t got, const char *format, ...)
{
    heed_report filled = { .status = status, .wanted = wanted, .got = got };
    va_list list;

    if (report == NULL)
        return status;
    va_start(list, format);
    vsnprintf(filled.message, sizeof(filled.message), format, list);
    va_end(list);
    put(report, &filled, field);
    return status;
}

/* The text of a backend need not end with a NUL: its array is the limit. */
heed_status heed_report_detail(heed_report *report, heed_status status, const char *field,
                               const struct heed_error_detail *detail, const char *format, ...)
{
    heed_report filled = { .status = status, .native_code = detail->native };
    const size_t room = sizeof(filled.message);
    size_t used;
    va_list list;

    if (report == NULL)
        return status;
    va_start(list, format);
    vsnprintf(filled.message, room, format, list);
    va_end(list);
    used = strlen(filled.message);
    if (detail->text[0] != '\0')
        snprintf(filled.message + used, room - used, ": %.*s", (int)sizeof(detail->text),
                 detail->text);
    put(report, &filled, field);
    return status;
}

heed_status heed_report_ok(heed_report *report)
{
    heed_report filled = { .status = HEED_OK };

    if (report != NULL)
        put(report, &filled, NULL);
    return HEED_OK;
}
