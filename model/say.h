/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MODEL_SAY_H
#define MODEL_SAY_H

#include <heed/heed.h>

/* Fills a report, which may be NULL, and returns its status. */
heed_status say(heed_report *report, heed_status status, const char *field, int64_t wanted,
                int64_t got, const char *format, ...)
#if defined __GNUC__
    __attribute__((format(printf, 6, 7)))
#endif
    ;

/* Of a call that has done what it was to do: whoever asks for a report gets one. */
heed_status say_done(heed_report *report);

heed_status say_no_memory(heed_report *report, int64_t bytes);

#endif
