/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 */
#define _POSIX_C_SOURCE 200809L    /* isatty, clock_gettime */

#include "bar.h"

#include "common/text.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

static struct {
    double begin;              /* 0: stderr is no terminal. */
    int shown;
} bar;

static double now(void)
{
    struct timespec t;

    if (clock_gettime(CLOCK_MONOTONIC, &t) != 0)
        return 0;
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void bar_begin(void)
{
    bar.begin = isatty(STDERR_FILENO) ? now() : 0;
}

void bar_clear(void)
{
    if (bar.shown)
        fprintf(stderr, "\r%*s\r", bar.shown, "");
    bar.shown = 0;
}

void bar_show(const char *what, double part)
{
    if (bar.begin > 0 && now() - bar.begin > 0.5)
        bar.shown = fprintf(stderr, "\r%-10s %3.0f %%", what, 100 * part) - 1;
}

int complain(const char *format, const char *what)
{
    bar_clear();
    fprintf(stderr, "%s: ", TOOL);
    fprintf(stderr, format, what);
    fputc('\n', stderr);
    return EXIT_USAGE;
}
