/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Systems on which a process cannot be shielded from another, nor count its threads.
 */
#include "conform/ways/plugin.h"

void judge_shield(pid_t judge)
{
    (void)judge;
}

int threads_now(void)
{
    return 0;
}
