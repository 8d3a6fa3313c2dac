/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * POSIX has no signal for the end of a parent, and no process adopts others: what stays in a
 * child's group is found, what leaves it is not.
 */
#include "../child.h"

void child_tie(pid_t parent)
{
    (void)parent;
}

void kin_adopt(void)
{
}

int kin_list(pid_t *list, int room)
{
    (void)list;
    (void)room;
    return 0;
}
