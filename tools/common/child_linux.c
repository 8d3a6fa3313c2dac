/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A process of Linux may adopt what its children leave behind, list its children, and end with its
 * parent. A parent that was gone before the kernel was asked sends no signal, but the child has
 * another parent then.
 */
#define _POSIX_C_SOURCE 200809L    /* getppid */
#include "child.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

void child_tie(pid_t parent)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() != parent)
        _exit(EXIT_FAILURE);
}

static bool adopts;

void kin_adopt(void)
{
    adopts = prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0;
}

int kin_list(pid_t *list, int room)
{
    char path[64];
    FILE *file;
    long pid;
    int n = 0;

    if (!adopts)                        /* the caller may have children of other kinds */
        return 0;
    snprintf(path, sizeof path, "/proc/self/task/%ld/children", (long)getpid());
    file = fopen(path, "r");
    while (file != NULL && n < room && fscanf(file, "%ld", &pid) == 1)
        list[n++] = (pid_t)pid;
    if (file != NULL)
        fclose(file);
    return n;
}
