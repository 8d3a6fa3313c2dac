/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the tools print alike: errors, numbers and strings of JSON, a progress bar, numbers of the
 * command line.
 */
#ifndef HEED_TOOLS_COMMON_TEXT_H
#define HEED_TOOLS_COMMON_TEXT_H

#include <heed/heed.h>

#include <stdbool.h>
#include <stdio.h>

/* Exit codes of the tools. */
enum {
    EXIT_DONE = 0,
    EXIT_FAILED = 1,
    EXIT_USAGE = 2,
    EXIT_VAIN = 3 /* nothing failed, but what was asked for was not judged */
};

/* Prints "<tool>: <what>: <status>: <message> (<field>)" as one line to stderr. */
void text_failure(const char *tool, const char *what, heed_status status,
                  const heed_report *report);

/* What was printed leaves now. False: standard output did not take everything, now or before;
 * text_end() says why. */
bool text_flush(void);

/* The exit code of a program that ends: `code`, or EXIT_FAILED where standard output did not take
 * everything, which is said. */
int text_end(const char *tool, int code);

/* Reads all of `text` as a decimal whole number within [low, high]. False: it is none. */
bool text_integer(const char *text, int64_t low, int64_t high, int64_t *out);

/* "exact" for HEED_NUMERICS_EXACT, ...; "unknown" for what is none of them. */
const char *text_numerics(uint32_t numerics);
/* The other way. False: it is none of these words. */
bool text_numerics_read(const char *word, uint32_t *numerics);

/* A JSON string with its quotes; bytes from 0x80 on pass as they are (UTF-8). */
void text_json_string(FILE *to, const char *text);

/* A JSON number of 6 significant digits; null for what JSON has no number for. */
void text_json_number(FILE *to, double value);

/* Takes what is no text of a line out: control characters become question marks. */
void text_plain(char *text);

/* Progress as the terminal's line; these do nothing where there is none. */
void text_progress(const char *label, double done);
void text_progress_clear(void);

#endif
