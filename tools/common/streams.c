/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What stands for a closed stream is open for the other direction, so that EBADF is what using it
 * gives, and a program whose output goes nowhere says so.
 */
#define _POSIX_C_SOURCE 200809L    /* fcntl */
#include "streams.h"

#include <fcntl.h>
#include <unistd.h>

void streams_keep(void)
{
    static const int ways[] = {
        [STDIN_FILENO] = O_WRONLY, [STDOUT_FILENO] = O_RDONLY, [STDERR_FILENO] = O_RDONLY
    };

    for (int i = 0; i < (int)(sizeof ways / sizeof *ways); i++) {
        if (fcntl(i, F_GETFD) < 0 && open("/dev/null", ways[i]) < 0)  /* takes the first number */
            return;
    }
}
