/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Files of results: JSON lines and JUnit's XML.
 */
#ifndef HEED_TOOLS_CONFORM_REPORT_H
#define HEED_TOOLS_CONFORM_REPORT_H

#include "conform/engine/buffer.h"
#include "conform/engine/tap.h"

/* What was done about a failure; NULL: that was not. */
struct aftermath {
    const char *shrunk, *shrunk_why, *repeat, *program;
    int64_t tries;
};

/* What the files say of the run itself. */
struct run_facts {
    const char *const *arguments;
    int n_arguments;
    const char *processor, *build, *plugin; /* plugin: NULL: none */
    int64_t seed;
};

struct report;

/* json, junit: names of files, "-": standard output, which then has nothing else; NULL: none. NULL:
 * it cannot be; a line on stderr says why. */
struct report *report_open(const char *json, const char *junit, const struct run_facts *);
/* seconds: since the result before. */
void report_add(struct report *, const struct told *, const char *op, double seconds,
                const struct aftermath *);
/* false: a file is not whole. */
bool report_close(struct report *, const struct tally *);

#endif
