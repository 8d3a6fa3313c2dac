/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kernel sends the signal. A parent that was gone before it was asked to sends none, but the
 * child has another parent then.
 */
#define _POSIX_C_SOURCE 200809L    /* getppid */
#include "tied.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

void tied_to(pid_t parent)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() != parent)
        _exit(EXIT_FAILURE);
}
