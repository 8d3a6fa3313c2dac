/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The progress bar. It is drawn over itself ten times a second at most, never wider than the
 * terminal, and cleared by spaces, which every terminal knows. A signal that ends the program
 * clears it and then ends the program as if nobody had caught it, so that shells see Ctrl-C.
 */
#include "progress.h"

#include "system.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum {
    BAR_CELLS = 24,
    MOST_COLUMNS = 76,
    TYPED = 2                              /* columns of "^C", which the terminal puts behind */
};

static const double first_after = 0.5;     /* seconds */
static const double next_after = 0.1;

static const struct {
    const char *name;
    int percent;                           /* of all the work, where the phase begins */
} phases[] = {
    [PROGRESS_READ] = { "reading", 0 },
    [PROGRESS_SPLIT] = { "finding sentences", 3 },
    [PROGRESS_WEIGH] = { "weighing words", 6 },
    [PROGRESS_ATTEND] = { "attention", 12 },
    [PROGRESS_WRITE] = { "writing", 12 },
};

static struct {
    bool on;                               /* stderr is a terminal that can show it */
    bool compiling;                        /* the line says what a device compiles */
    double begin, entered, drawn;          /* seconds of the clock */
    int64_t words;
    int columns;
    enum progress_phase phase;
} bar;

static volatile sig_atomic_t shown;        /* columns that are to be cleared */

/* ---- the end ----------------------------------------------------------------- */

/* Safe within a signal: system_draw() and no more. */
void progress_clear(void)
{
    static const char spaces[] =
        "\r                                                                               \r";

    if (shown > 0 && system_draw(spaces, (size_t)shown + 1 + TYPED))
        system_draw("\r", 1);
    shown = 0;
}

void progress_end(void)
{
    progress_clear();
    bar.on = false;
}

/* ---- the line ------------------------------------------------------------------ */

/* Columns that the line may have; 0: none is shown. */
static int columns_of_line(void)
{
    const int columns = system_columns() - TYPED;

    return columns <= 0 ? 0 : columns < MOST_COLUMNS ? columns : MOST_COLUMNS;
}

void progress_begin(void)
{
    bar.columns = columns_of_line();
    bar.on = bar.columns > 0;
    bar.begin = bar.entered = system_clock();
    if (bar.on)
        system_at_end(progress_clear);
}

/* Speed and what is left, of a part of the phase that is done, in `seconds`. */
static int put_speed(char *line, size_t size, double part, double seconds)
{
    const double left = seconds * (1 - part) / part;

    return snprintf(line, size, "  %.0f words/s, %d:%02d left", (double)bar.words * part / seconds,
                    (int)left / 60, (int)left % 60);
}

/* n bytes in a line that has room for MOST_COLUMNS + 1, of which the first is a return. */
static void put(char *line, int n)
{
    while (n <= shown)
        line[n++] = ' ';                   /* over what a longer line left */
    if (n > bar.columns + 1)
        n = bar.columns + 1;
    if (n - 1 > shown)
        shown = n - 1;
    if (!system_draw(line, (size_t)n))
        bar.on = false;
}

/* part: of the phase. */
static void draw(double part, double at)
{
    const int from = phases[bar.phase].percent;
    const int percent = from + (int)(part * (bar.phase >= PROGRESS_ATTEND ? 100 - from : 0));
    char line[160] = "\r[";
    int n = 2;

    for (int i = 0; i < BAR_CELLS; i++)
        line[n++] = i < percent * BAR_CELLS / 100 ? '#' : ' ';
    n += snprintf(line + n, sizeof(line) - (size_t)n, "] %3d %% %s", percent,
                  phases[bar.phase].name);
    if (part > 0 && bar.words > 0)
        n += put_speed(line + n, sizeof(line) - (size_t)n, part, at - bar.entered + 1e-9);
    bar.drawn = at;
    bar.compiling = false;
    put(line, n);
}

void progress_enter(enum progress_phase phase)
{
    const double at = system_clock();

    bar.phase = phase;
    bar.entered = at;
    if (bar.on && at - bar.begin >= first_after)
        draw(0, at);
}

void progress_words(int64_t words)
{
    bar.words = words;
}

void progress_show(void *context, int64_t done, int64_t all)
{
    const double at = system_clock();

    (void)context;
    if (bar.on && at - bar.begin >= first_after && at - bar.drawn >= next_after)
        draw((double)done / (double)all, at);
}

/* ---- kernels ------------------------------------------------------------------- */

/* heed's log says when a device begins to compile one; with its next line that one is there. */
static void take_line(void *context, uint32_t level, const char *text)
{
    const bool compiles = strstr(text, ": compiles kernel ") != NULL;
    char line[160];

    (void)context;
    (void)level;
    if (bar.on && compiles)
        put(line, snprintf(line, sizeof(line), "\r%.76s", text));
    else if (bar.compiling)
        progress_clear();
    bar.compiling = compiles;
}

const heed_logger *progress_logger(void)
{
    static const heed_logger logger = { .size = sizeof(logger), .level = 4, .line = take_line };

    return bar.on ? &logger : NULL;
}
