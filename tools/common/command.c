/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * See command.h.
 */
#include "command.h"

#include "text.h"

#include <string.h>

void command_version(FILE *to, const char *tool)
{
    const uint32_t v = heed_version();

    fprintf(to, "%s %u.%u.%u\n%s", tool, (unsigned)(v >> 16), (unsigned)(v >> 8 & 0xff),
            (unsigned)(v & 0xff), heed_build_text());
}

int command_wrong(const char *tool, const char *what, const char *wanted, const char *got)
{
    if (got != NULL)
        fprintf(stderr, "%s: %s: wanted %s, got \"%.80s\"\n", tool, what, wanted, got);
    else
        fprintf(stderr, "%s: %s: wanted %s, got nothing\n", tool, what, wanted);
    return EXIT_USAGE;
}

int command_unknown(const char *tool, const char *option)
{
    char wanted[64];

    snprintf(wanted, sizeof wanted, "one that %s --help lists", tool);
    return command_wrong(tool, "option", wanted, option);
}

int command_device(const char *tool, const char *option, const heed_runtime *runtime,
                   const char *name, heed_status status, const heed_report *report)
{
    const char *comma = "";

    if (status != HEED_E_NOT_FOUND) {
        text_failure(tool, name, status, report);
        return status == HEED_E_NOT_BUILT ? EXIT_USAGE : EXIT_FAILED;
    }
    fprintf(stderr, "%s: %s: wanted one of ", tool, option);
    for (uint32_t i = 0; i < heed_device_count(runtime); i++) {
        fprintf(stderr, "%s%s", comma, heed_device_name(heed_device_get(runtime, i)));
        comma = ", ";
    }
    fprintf(stderr, "; got \"%.80s\"\n", name);
    return EXIT_USAGE;
}

const char *command_split(const char *word, char room[COMMAND_NAME])
{
    const char *const sign = strchr(word, '=');

    if (sign == NULL || word[0] != '-' || sign - word >= COMMAND_NAME)
        return NULL;
    memcpy(room, word, (size_t)(sign - word));
    room[sign - word] = '\0';
    return sign + 1;
}

/* ---- help -------------------------------------------------------------------- */

enum { COLUMN = 22 };

/* Behind the first line the others stand in the same column. */
static void print_lines(FILE *to, const char *text)
{
    const char *end;

    for (; (end = strchr(text, '\n')) != NULL; text = end + 1)
        fprintf(to, "%.*s\n%*s", (int)(end - text), text, COLUMN, "");
    fprintf(to, "%s\n", text);
}

/* "  --name VALUE  text": the text stands in its column, or below a long name. */
static void print_option(FILE *to, const char *name, const char *value, const char *help)
{
    int width = fprintf(to, "  %s%s%s", name, value != NULL ? " " : "", value != NULL ? value : "");

    if (width > COLUMN - 2) {
        fputc('\n', to);
        width = 0;
    }
    fprintf(to, "%*s", COLUMN - width, "");
    print_lines(to, help);
}

static void print_help(FILE *to, const struct command *command)
{
    fprintf(to, "usage: %s\n%s\nOptions:\n", command->usage, command->what);
    for (size_t i = 0; i < command->n_options; i++) {
        const struct command_option *option = &command->options[i];

        print_option(to, option->name, option->value, option->help);
    }
    print_option(to, "--version", NULL, "print name, version and how the library was built");
    print_option(to, "-h, --help", NULL, "print this text");
    if (command->more != NULL)
        command->more(to);
    fprintf(to, "\nExamples:\n%s", command->examples);
    if (command->ends != NULL)
        fprintf(to, "\n%s", command->ends);
}

/* ---- reading ------------------------------------------------------------------ */

/* The value of an option goes where its row says; NULL: nothing follows. */
static bool put(const struct command_option *option, void *state, const char *value,
                const char **wanted)
{
    void *const at = (char *)state + option->at;

    if (option->take != NULL)
        return option->take(state, value, wanted);
    if (option->value == NULL)
        *(bool *)at = true;
    else if (option->low < option->high)
        return text_integer(value, option->low, option->high, at);
    else
        memcpy(at, &value, sizeof value);
    return true;
}

static bool take(const struct command *command, const struct command_option *option, void *state,
                 const char *value)
{
    const char *wanted = option->value;
    char number[80];

    if (option->value == NULL && value != NULL) {
        command_wrong(command->name, option->name, "no value", value);
        return false;
    }
    if (option->take == NULL && option->low < option->high) {
        snprintf(number, sizeof number, "a whole number from %lld to %lld", (long long)option->low,
                 (long long)option->high);
        wanted = number;
    }
    if ((option->value == NULL || value != NULL) && put(option, state, value, &wanted))
        return true;
    if (wanted != NULL)
        command_wrong(command->name, option->name, wanted, value);
    return false;
}

static bool read_one(const struct command *command, int argc, char **argv, int *at, void *state)
{
    char room[COMMAND_NAME];
    const char *value = command_split(argv[*at], room);
    const char *const name = value != NULL ? room : argv[*at];

    for (size_t i = 0; i < command->n_options; i++) {
        const struct command_option *option = &command->options[i];

        if (strcmp(option->name, name) != 0)
            continue;
        if (option->value != NULL && value == NULL && *at + 1 < argc)
            value = argv[++*at];
        return take(command, option, state, value);
    }
    if (command->operand != NULL && argv[*at][0] != '-') {
        const char *wanted = NULL;

        return command->operand(state, argv[*at], &wanted);
    }
    command_unknown(command->name, argv[*at]);
    return false;
}

static bool asks(int argc, char **argv, const char *one, const char *other)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], one) == 0 || strcmp(argv[i], other) == 0)
            return true;
    }
    return false;
}

bool command_read(const struct command *command, int argc, char **argv, void *state, int *code)
{
    *code = EXIT_DONE;
    if (asks(argc, argv, "--help", "-h")) {
        print_help(stdout, command);
        return false;
    }
    if (asks(argc, argv, "--version", "--version")) {
        command_version(stdout, command->name);
        return false;
    }
    *code = EXIT_USAGE;
    for (int i = 1; i < argc; i++) {
        if (!read_one(command, argc, argv, &i, state))
            return false;
    }
    *code = EXIT_DONE;
    return true;
}
