/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The standard streams that a program is started with, or without.
 */
#ifndef HEED_TOOLS_COMMON_STREAMS_H
#define HEED_TOOLS_COMMON_STREAMS_H

/* Before anything is opened: a file that took the number of a closed standard stream would get
 * what is printed there, and a pipe to a child would be taken for its own stream. Reads and writes
 * of such a stream fail as before. */
void streams_keep(void);

#endif
