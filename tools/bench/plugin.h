/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A kernel of somebody else (heed/plugin.h) as a library that a contender calls: attention alone.
 */
#ifndef HEED_TOOLS_BENCH_PLUGIN_H
#define HEED_TOOLS_BENCH_PLUGIN_H

#include "bench/library.h"

/* Loads it; it stays loaded, and there is one of it. Its executor has `threads` workers. Plans are
 * made on a host device. NULL: it is loaded, and *out has its calls; else why not. */
const char *plugin_open(const char *path, unsigned threads, struct library *out);
void plugin_close(void);
const char *plugin_name(void);

#endif
