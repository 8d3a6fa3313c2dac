/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the tools' command lines have in common: a table of options, the text of --help made from
 * it, --version, and how a mistake is said. The text has a fixed form, which tools/pages.py reads:
 * it makes the manual pages and the completion of shells.
 */
#ifndef HEED_TOOLS_COMMON_COMMAND_H
#define HEED_TOOLS_COMMON_COMMAND_H

#include <heed/heed.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Takes a value. False: it is wrong; *wanted says what would be right, or NULL: that is said. */
typedef bool command_take(void *state, const char *value, const char **wanted);

struct command_option {
    const char *name;                   /* "--wait" */
    const char *value;                  /* what follows it, in capitals, or choices "cpu|wall";
                                           NULL: nothing follows */
    const char *help;                   /* lines; what follows the first has no indent */
    /* Where a value goes, as an offset in the state: without `value` a bool, with low < high an
     * int64_t of these at most, else a const char *; unless `take` takes it. */
    size_t at;
    int64_t low, high;
    command_take *take;
};

struct command {
    const char *name;                   /* "heed-info" */
    const char *usage;                  /* lines behind "usage: " */
    const char *what;                   /* a paragraph */
    const struct command_option *options;
    size_t n_options;
    const char *examples;               /* "  command\n      what it does\n", again and again */
    const char *ends;                   /* paragraphs with headings of their own; may be NULL */
    void (*more)(FILE *to);             /* lists behind the options; may be NULL */
    command_take *operand;              /* takes what is no option; NULL: nothing does */
};

/* Reads the command line into `state`. False: the program is to end with *code, all is said. */
bool command_read(const struct command *command, int argc, char **argv, void *state, int *code);

/* What stands behind the "=" of "--name=value", with the name in `room`; NULL: there is none. */
enum { COMMAND_NAME = 32 };
const char *command_split(const char *word, char room[COMMAND_NAME]);

/* Name, version of the library and how that was built. */
void command_version(FILE *to, const char *tool);

/* One line on stderr each; they return EXIT_USAGE. got NULL: nothing follows the option. */
int command_wrong(const char *tool, const char *what, const char *wanted, const char *got);
int command_unknown(const char *tool, const char *option);

/* The same of a device that heed_device_find() did not give; of an unknown name with those that
 * there are. Returns an exit code. */
int command_device(const char *tool, const char *option, const heed_runtime *runtime,
                   const char *name, heed_status status, const heed_report *report);

#endif
