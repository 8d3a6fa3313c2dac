/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The page in a file: written beside it and renamed when all of it is there, so that a page that
 * was there before stays until then. What is no plain file, like a pipe, is written as it is.
 */
#define _XOPEN_SOURCE 700          /* mkstemp, realpath */
#include "read.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The modes that a new file gets. */
static mode_t usual_mode(void)
{
    const mode_t mask = umask(0);

    umask(mask);
    return 0666 & ~mask;
}

/* ---- signals ------------------------------------------------------------------ */

static const int ends[] = { SIGHUP, SIGINT, SIGTERM, SIGXFSZ };

enum { ENDS = sizeof(ends) / sizeof(*ends) };

static const char *volatile unfinished;    /* the name of what a signal removes */

/* Safe within a signal; the handler is gone when it is called: the signal takes its course. */
static void end_by(int number)
{
    const char *const name = unfinished;

    if (name)
        unlink(name);
    raise(number);
}

/* Not where somebody has the program ignore the signal. */
static void catch_signals(struct sigaction before[ENDS])
{
    const struct sigaction ours = { .sa_handler = end_by, .sa_flags = (int)SA_RESETHAND };

    for (size_t i = 0; i < ENDS; i++) {
        if (sigaction(ends[i], NULL, &before[i]) == 0 && before[i].sa_handler != SIG_IGN)
            sigaction(ends[i], &ours, NULL);
    }
}

static void release_signals(const struct sigaction before[ENDS])
{
    for (size_t i = 0; i < ENDS; i++)
        sigaction(ends[i], &before[i], NULL);
}

/* ---- the file ----------------------------------------------------------------- */

/* `target` is no link; `beside` has room for its name and seven characters. */
static bool replace(const char *target, char *beside, size_t size, mode_t mode,
                    const struct report *r, struct failure *why)
{
    struct sigaction before[ENDS] = { 0 };
    FILE *to;
    int fd;
    bool good;

    snprintf(beside, size, "%s.XXXXXX", target);
    fd = mkstemp(beside);
    if (fd < 0)
        return output_html_failed(why, strerror(errno));
    unfinished = beside;
    catch_signals(before);
    to = fchmod(fd, mode) == 0 ? fdopen(fd, "wb") : NULL;
    if (!to) {
        output_html_failed(why, strerror(errno));
        close(fd);
        good = false;
    } else {
        good = output_html_close(to, r, why);
    }
    if (good && rename(beside, target) != 0)
        good = output_html_failed(why, strerror(errno));
    if (!good)
        unlink(beside);
    release_signals(before);
    unfinished = NULL;
    return good;
}

/* A terminal may be standard input and take the page, a plain file may not. */
static bool stat_input(const char *name, struct stat *read)
{
    if (strcmp(name, "-") == 0)
        return fstat(STDIN_FILENO, read) == 0 && S_ISREG(read->st_mode);
    return stat(name, read) == 0;
}

/* Whether a file is one of those that the text came from. */
static bool is_read(const struct inputs *in, const struct stat *file)
{
    struct stat read;

    for (int64_t i = 0; i < in->n; i++) {
        if (stat_input(in->list[i].name, &read) && read.st_dev == file->st_dev &&
            read.st_ino == file->st_ino)
            return true;
    }
    return false;
}

/* A link to what is not there yet stays a link, too. */
static bool is_replaced(const char *file, bool exists, const struct stat *there)
{
    struct stat itself;

    return exists ? S_ISREG(there->st_mode)
                  : lstat(file, &itself) != 0 || !S_ISLNK(itself.st_mode);
}

bool output_html_file(const char *file, const struct report *r, struct failure *why)
{
    struct stat there;
    const bool exists = stat(file, &there) == 0;
    char *target, *beside;
    size_t size;
    bool good;

    if (exists && is_read(r->inputs, &there)) {
        why->usage = true;
        return output_html_failed(why, "it is the file that is read");
    }
    if (!is_replaced(file, exists, &there)) {
        FILE *const to = fopen(file, "wb");

        return to ? output_html_close(to, r, why) : output_html_failed(why, strerror(errno));
    }
    target = exists ? realpath(file, NULL) : NULL;
    if (exists && !target)
        return output_html_failed(why, strerror(errno));
    size = strlen(target ? target : file) + 8;
    beside = malloc(size);
    good = beside ? replace(target ? target : file, beside, size,
                            exists ? there.st_mode & 0777 : usual_mode(), r, why)
                  : output_html_failed(why, "not enough memory");
    free(beside);
    free(target);
    return good;
}
