/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * heed's log says which kernel a device begins to compile, and goes on with other lines once it is
 * there: the first of them takes the line away.
 */
#include "compiling.h"

#include "terminal.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

static atomic_bool shown;

static void line(void *context, uint32_t level, const char *text)
{
    (void)context;
    (void)level;
    if (strstr(text, ": compiles kernel ") == NULL) {
        if (atomic_exchange(&shown, false))
            terminal_clear();
        return;
    }
    atomic_store(&shown, true);
    terminal_show(text);
}

const heed_logger *compiling_logger(void)
{
    enum { DETAIL = 4 };
    static const heed_logger logger = { .size = sizeof logger, .level = DETAIL, .line = line };

    return terminal_is() ? &logger : NULL;
}
