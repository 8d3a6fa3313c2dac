/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A walk over the cases of an operation, whoever computes them, and the end of a run: what was
 * judged, what was not, and the exit status.
 */
#ifndef HEED_TOOLS_CONFORM_ENGINE_RUN_H
#define HEED_TOOLS_CONFORM_ENGINE_RUN_H

#include "session.h"

/* Judges a case; false: it was refused. */
typedef bool walk_case(struct session *, const struct cs *);

/* The lines of the operation that once caught something. */
void walk_lines(struct session *, walk_case *);
/* Those, then drawn cases of the operation in use, of what the taker takes, if it is not NULL.
 * false: no memory. */
bool walk_cover(struct session *, const struct taker *, int64_t cases, walk_case *);
/* The last lines; taker: who may refuse cases, or NULL. Returns the exit status. */
int walk_summary(struct session *, const char *taker);

#endif
