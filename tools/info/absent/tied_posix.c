/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * POSIX has no signal for the end of a parent.
 */
#include "../tied.h"

void tied_to(pid_t parent)
{
    (void)parent;
}
