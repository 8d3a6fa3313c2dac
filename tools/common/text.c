/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Text shared by the tools.
 */
#include "text.h"

#include "terminal.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void text_failure(const char *tool, const char *what, heed_status status,
                  const heed_report *report)
{
    terminal_clear();
    fprintf(stderr, "%s: %s: %s", tool, what, heed_status_name(status));
    if (report != NULL && report->message[0] != '\0')
        fprintf(stderr, ": %s", report->message);
    if (report != NULL && report->field[0] != '\0') {
        fprintf(stderr, " (%s", report->field);
        if (report->wanted != 0 || report->got != 0)
            fprintf(stderr, ", wanted %" PRId64 ", got %" PRId64, report->wanted, report->got);
        fputc(')', stderr);
    }
    fputc('\n', stderr);
}

/* Of the first flush that failed; a later one may succeed, and would say nothing. */
static int flush_error;

bool text_flush(void)
{
    errno = 0;
    if (fflush(stdout) != 0 && flush_error == 0)
        flush_error = errno;
    return ferror(stdout) == 0 && flush_error == 0;
}

int text_end(const char *tool, int code)
{
    if (text_flush())
        return code;
    terminal_clear();
    fprintf(stderr, "%s: cannot write to standard output%s%s\n", tool,
            flush_error != 0 ? ": " : "", flush_error != 0 ? strerror(flush_error) : "");
    return EXIT_FAILED;
}

bool text_integer(const char *text, int64_t low, int64_t high, int64_t *out)
{
    char *end = NULL;
    long long value;

    if (!((text[0] >= '0' && text[0] <= '9') || (text[0] == '-' && text[1] != '\0')))
        return false;           /* strtoll would skip blanks and take a plus */
    errno = 0;
    value = strtoll(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value < low || value > high)
        return false;
    *out = value;
    return true;
}

static const char *const numerics_words[] = {
    [HEED_NUMERICS_BEST] = "best", [HEED_NUMERICS_EXACT] = "exact",
    [HEED_NUMERICS_REPEAT] = "repeat", [HEED_NUMERICS_FAST] = "fast",
};
enum { N_NUMERICS = sizeof numerics_words / sizeof *numerics_words };

const char *text_numerics(uint32_t numerics)
{
    return numerics < N_NUMERICS ? numerics_words[numerics] : "unknown";
}

bool text_numerics_read(const char *word, uint32_t *numerics)
{
    for (uint32_t i = 0; i < N_NUMERICS; i++) {
        if (strcmp(numerics_words[i], word) == 0) {
            *numerics = i;
            return true;
        }
    }
    return false;
}

void text_json_string(FILE *to, const char *text)
{
    fputc('"', to);
    for (; *text != '\0'; text++) {
        const unsigned char c = (unsigned char)*text;

        if (c == '"' || c == '\\')
            fprintf(to, "\\%c", c);
        else if (c < 0x20)
            fprintf(to, "\\u%04x", (unsigned)c);
        else
            fputc(c, to);
    }
    fputc('"', to);
}

void text_json_number(FILE *to, double value)
{
    if (isfinite(value))
        fprintf(to, "%.6g", value);
    else
        fputs("null", to);
}

void text_plain(char *text)
{
    for (; *text; text++) {
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            *text = '?';
    }
}

void text_progress(const char *label, double done)
{
    enum { WIDTH = 30 };
    const int filled = done >= 1 ? WIDTH : done > 0 ? (int)(done * WIDTH) : 0;
    char bar[WIDTH + 1], line[128];

    for (int i = 0; i < WIDTH; i++)
        bar[i] = i < filled ? '#' : '.';
    bar[WIDTH] = '\0';
    snprintf(line, sizeof line, "[%s] %3d%% %.44s", bar, (int)(done * 100), label);
    terminal_show(line);
}

void text_progress_clear(void)
{
    terminal_clear();
}
