/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Lines of TAP, and who else hears what they say.
 */
#include "tap.h"

#include "common/terminal.h"

#include <stdio.h>
#include <string.h>

/* Reasons of a plug-in's cases begin with the verdict and a colon. */
static void word_find(struct told *told, const char *word)
{
    const size_t n = strspn(told->why, "abcdefghijklmnopqrstuvwxyz");
    const bool says = n > 0 && n < TOLD_WORD && told->why[n] == ':';

    if (word)
        snprintf(told->word, TOLD_WORD, "%s", word);
    else
        snprintf(told->word, TOLD_WORD, "%.*s", says ? (int)n : TOLD_WORD - 1,
                 says ? told->why : told->what);
}

static void tell(struct tally *tally, struct told *told, const char *word)
{
    tally->number++;
    tally->passed += told->ok && !told->skip;
    tally->failed += !told->ok;
    tally->skipped += told->ok && told->skip;
    if (!tally->quiet) {
        terminal_clear_for_stdout();
        printf("%s %lld - %s %s %s%s%s\n", told->ok ? "ok" : "not ok", (long long)tally->number,
               told->device, told->what, told->line, told->skip ? " # SKIP " : "",
               told->skip ? told->skip : "");
        if (!told->ok)
            printf("# %s\n", told->why);
    }
    if (!told->ok)
        word_find(told, word);
    if (tally->listener)
        tally->listener->hear(tally->listener, tally, told);
}

void cf_tap(struct tally *tally, bool ok, const char *skip, const char *device, const char *what,
            const char *line, const char *why)
{
    struct told told = { .ok = ok, .skip = skip, .device = device, .what = what, .line = line,
                         .why = why, .worst = -1 };

    tell(tally, &told, NULL);
}

void cf_tell_case(struct tally *tally, const char *device, const char *what, const char *line,
                  const char *skip, const struct verdict *v)
{
    struct told told = { .ok = !v->failed, .skip = !v->failed && skip[0] ? skip : NULL,
                         .device = device, .what = what, .line = line, .why = v->why,
                         .worst = v->judged > 0 ? v->worst : -1 };

    tell(tally, &told, v->word);
}
