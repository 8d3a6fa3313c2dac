/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The command line of heed-conform.
 */
#ifndef HEED_TOOLS_CONFORM_OPTIONS_H
#define HEED_TOOLS_CONFORM_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct options {
    const char *device, *text, *op, *plugin, *only;
    int64_t cases, seed, threads;
    int64_t timeout, memory; /* of a plug-in: seconds, MiB */
    uint32_t families;
    bool verbose, quiet, list, help, partial;
};

/* false: one line on stderr says why. */
bool options_parse(int argc, char **argv, struct options *);
void options_usage(FILE *);
/* The families that draw no cases. */
uint32_t options_families_apart(void);

#endif
