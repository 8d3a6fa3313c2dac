/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * POSIX systems: system.h.
 */
#define _DEFAULT_SOURCE            /* isatty, sigaction, clock_gettime, winsize */
#include "system.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

/* What stands for a closed stream is open for the other direction. */
void system_streams(void)
{
    static const int ways[] = {
        [STDIN_FILENO] = O_WRONLY, [STDOUT_FILENO] = O_RDONLY, [STDERR_FILENO] = O_RDONLY
    };

    for (int i = 0; i < (int)(sizeof(ways) / sizeof(*ways)); i++) {
        if (fcntl(i, F_GETFD) < 0 && open("/dev/null", ways[i]) < 0)  /* takes the first number */
            return;
    }
}

double system_clock(void)
{
    struct timespec t = { 0 };

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int system_columns(void)
{
    const char *const term = getenv("TERM");
    int columns = INT_MAX;
#ifdef TIOCGWINSZ
    struct winsize size;

    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        columns = size.ws_col - 1;
#endif
    return term && *term && strcmp(term, "dumb") != 0 && isatty(STDERR_FILENO) ? columns : 0;
}

bool system_draw(const char *text, size_t n)
{
    return write(STDERR_FILENO, text, n) >= 0;
}

static void (*leave_by)(void);

/* The handler is gone when it is called: the signal takes its course. */
static void end_by(int number)
{
    leave_by();
    raise(number);
}

void system_at_end(void (*leave)(void))
{
    static const int ends[] = { SIGINT, SIGTERM };
    const struct sigaction ours = { .sa_handler = end_by, .sa_flags = (int)SA_RESETHAND };
    struct sigaction theirs;

    leave_by = leave;
    for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
        if (sigaction(ends[i], NULL, &theirs) == 0 && theirs.sa_handler == SIG_DFL)
            sigaction(ends[i], &ours, NULL);
    }
}
