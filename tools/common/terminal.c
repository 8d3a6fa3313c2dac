/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The last column stays free: terminals that have written it go on in the next line, which a
 * return does not undo.
 */
#define _POSIX_C_SOURCE 200809L    /* isatty, sigaction */
#include "terminal.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { UNKNOWN_COLUMNS = 76 };

static bool hidden;
static atomic_bool shown;

void terminal_hide(void)
{
    hidden = true;
}

bool terminal_is(void)
{
    const char *const term = getenv("TERM");

    return !hidden && term != NULL && term[0] != '\0' && strcmp(term, "dumb") != 0 &&
           isatty(STDERR_FILENO);
}

static int columns(void)
{
#ifdef TIOCGWINSZ
    struct winsize size;

    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col - 1;
#endif
    return UNKNOWN_COLUMNS;
}

static const char clean[] = "\r\033[K";

/* Of a signal that ends this process, by what it did before. */
static void leave(int number)
{
    if (atomic_load(&shown) && write(STDERR_FILENO, clean, sizeof clean - 1) < 0)
        atomic_store(&shown, false);
    raise(number);
}

/* Signals that somebody handles, or ignores, end nothing here. */
static void signals_watch(void)
{
    static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
    struct sigaction action = { .sa_handler = leave, .sa_flags = (int)SA_RESETHAND }, old;

    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        if (sigaction(ends[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
            sigaction(ends[i], &action, NULL);
    }
}

void terminal_expect(void)
{
    if (!terminal_is())
        return;
    if (!atomic_exchange(&shown, true))
        signals_watch();
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
    if (atomic_load(&shown) && isatty(STDOUT_FILENO))
        terminal_wipe();
}
