/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * heed's log says which kernel a device begins to compile, and goes on with other lines once it is
 * there: the first of them takes the line away.
 */
#define _POSIX_C_SOURCE 200809L
#include "compiling.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool hidden;
static atomic_bool shown;

void compiling_hide(void)
{
    hidden = true;
}

void compiling_clear(void)
{
    if (!atomic_exchange(&shown, false))
        return;
    fputs("\r\033[K", stderr);
    fflush(stderr);
}

static void line(void *context, uint32_t level, const char *text)
{
    (void)context;
    (void)level;
    if (strstr(text, ": compiles kernel ") == NULL) {
        compiling_clear();
        return;
    }
    atomic_store(&shown, true);
    fprintf(stderr, "\r%.76s\033[K", text);
    fflush(stderr);
}

const heed_logger *compiling_logger(void)
{
    enum { DETAIL = 4 };
    static const heed_logger logger = { .size = sizeof logger, .level = DETAIL, .line = line };

    return !hidden && isatty(STDERR_FILENO) ? &logger : NULL;
}
