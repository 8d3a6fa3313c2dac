/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What systems do in different ways: system.c on POSIX ones, windows/system.c on Windows, which has
 * output_html_file(), apart_read() and encoding_by_name() of the other headers as well.
 */
#ifndef HEED_EXAMPLES_SUMMARIZE_SYSTEM_H
#define HEED_EXAMPLES_SUMMARIZE_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>

/* The standard streams are bytes, and no file takes the number of one that is closed: what is
 * printed there fails as before. */
void system_streams(void);

/* Seconds of a clock that nobody sets. */
double system_clock(void);

/* Columns that a line of stderr may have which is drawn over itself: in the last one some terminals
 * go on below. 0: nothing is drawn there. */
int system_columns(void);
/* Safe in what system_at_end() calls. false: it was not written. */
bool system_draw(const char *text, size_t n);
/* Before the system ends this process because people want it to, `leave` is called; a signal that
 * somebody handles, or ignores, ends nothing. */
void system_at_end(void (*leave)(void));

#endif
