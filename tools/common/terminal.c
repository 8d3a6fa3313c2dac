/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The last column stays free: terminals that have written it go on in the next line, which a
 * return does not undo.
 */
#include "terminal.h"

#include "os.h"

#include <stdatomic.h>
#include <stdio.h>

enum { UNKNOWN_COLUMNS = 76 };

static bool hidden;
static atomic_bool shown;

void terminal_hide(void)
{
    hidden = true;
}

bool terminal_is(void)
{
    return !hidden && os_draws();
}

static int columns(void)
{
    const int wide = os_columns();

    return wide > 0 ? wide - 1 : UNKNOWN_COLUMNS;
}

static const char clean[] = "\r\033[K";

static void leave(void)
{
    if (atomic_load(&shown))
        os_stderr_write(clean, sizeof clean - 1);
}

void terminal_expect(void)
{
    if (!terminal_is())
        return;
    if (!atomic_exchange(&shown, true))
        os_at_end(leave);
}

void terminal_show(const char *text)
{
    if (!terminal_is())
        return;
    terminal_expect();
    fprintf(stderr, "\r%.*s\033[K", columns(), text);
    fflush(stderr);
}

void terminal_wipe(void)
{
    atomic_store(&shown, false);
    if (!terminal_is())
        return;
    fputs(clean, stderr);
    fflush(stderr);
}

void terminal_clear(void)
{
    if (atomic_load(&shown))
        terminal_wipe();
}

void terminal_clear_for_stdout(void)
{
    if (atomic_load(&shown) && os_stdout_is_terminal())
        terminal_wipe();
}
