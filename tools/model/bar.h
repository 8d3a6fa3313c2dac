/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What people see while they wait: on a terminal, from half a second on, one line on stderr that
 * leaves nothing behind. And what is said in its place.
 */
#ifndef HEED_TOOLS_MODEL_BAR_H
#define HEED_TOOLS_MODEL_BAR_H

/* Starts the clock. Where stderr is no terminal, nothing will be shown. */
void bar_begin(void);
void bar_show(const char *what, double part);

/* Before something else is said. */
void bar_clear(void);

#define TOOL "heed-model"

/* One line on stderr, without the bar; `format` has one string. Returns EXIT_USAGE. */
int complain(const char *format, const char *what);

#endif
