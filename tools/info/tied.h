/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A child that nobody waits for any more goes on with what its driver does, if need be for ever.
 */
#ifndef HEED_TOOLS_INFO_TIED_H
#define HEED_TOOLS_INFO_TIED_H

#include <sys/types.h>

/* In a child: it ends when `parent`, which has made it, does, however that ends. Systems that do
 * not offer this let the child go on. */
void tied_to(pid_t parent);

#endif
