/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * One line on stderr that says what goes on, where people look at a terminal. It is drawn over
 * itself, never goes on in the next line, and leaves nothing behind.
 */
#ifndef HEED_TOOLS_COMMON_TERMINAL_H
#define HEED_TOOLS_COMMON_TERMINAL_H

#include <stdbool.h>

/* Shows nothing in this process, as --quiet asks for. */
void terminal_hide(void);

/* Is there a line? Not where stderr is no terminal, where TERM is unset or says that the terminal
 * cannot draw over a line, and behind terminal_hide(). */
bool terminal_is(void);

/* The line, cut to what the terminal is wide. Any thread may call it, and the next one. */
void terminal_show(const char *text);

/* Takes away what this process shows, before something else is printed. */
void terminal_clear(void);

/* The same before a line of stdout: what is shown stays where that goes to a file. */
void terminal_clear_for_stdout(void);

/* A child may show the line from now on: a signal that ends this process takes it away, as it does
 * what this process shows. */
void terminal_expect(void);

/* Takes away what another process may have shown, such as a child. */
void terminal_wipe(void);

#endif
