/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What follows a result: a failed case is shrunk, a line and a program that repeat it are written,
 * and files of results get their part.
 */
#ifndef HEED_TOOLS_CONFORM_WAYS_FAILURE_H
#define HEED_TOOLS_CONFORM_WAYS_FAILURE_H

#include "conform/engine/session.h"

struct follower;

/* Listens to the session's tally from now on. argv: the command line, for the files. NULL: a file
 * cannot be written, or there is no memory; a line on stderr says so. */
struct follower *follow(struct session *, int argc, char **argv);
/* Ends it, and the files. false: they are not whole. */
bool follow_end(struct session *, struct follower *);

#endif
