/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Filling reports. Every public function that takes a report fills it on every call, success
 * included.
 */
#ifndef HEED_LIB_ERROR_H
#define HEED_LIB_ERROR_H

#include <heed/heed.h>

#include "compiler.h"

/* Writes at most report->size bytes (report may be NULL; size below the first version's: nothing is
 * written) and returns status. field: "sources[1].terms[0].step"; message one line. */
HEED_PRINTF(6, 7)
heed_status heed_report_fill(heed_report *report, heed_status status, const char *field,
                             int64_t wanted, int64_t got, const char *format, ...);

struct heed_error_detail;       /* backend.h */

/* The same with what a backend adds: its native code, and its text behind a colon. */
HEED_PRINTF(5, 6)
heed_status heed_report_detail(heed_report *report, heed_status status, const char *field,
                               const struct heed_error_detail *, const char *format, ...);
heed_status heed_report_ok(heed_report *report);

#endif
