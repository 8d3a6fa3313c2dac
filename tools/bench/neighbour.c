/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 */
#define _POSIX_C_SOURCE 200809L
#include "bench/neighbour.h"

#include "common/child.h"

#include <unistd.h>

static struct child burning[NEIGHBOURS_MOST];
static int64_t started;

static void burn(pid_t parent)
{
    volatile uint64_t turns = 0;

    child_tie(parent);
    for (;;)
        turns++;
}

bool neighbours_start(int64_t n)
{
    const pid_t parent = getpid();

    for (; started < n; started++) {
        const pid_t pid = child_fork(&burning[started], 0);

        if (pid == 0)
            burn(parent);
        if (pid < 0) {
            neighbours_end();
            return false;
        }
    }
    return true;
}

void neighbours_end(void)
{
    while (started > 0)
        child_end(&burning[--started]);
}
