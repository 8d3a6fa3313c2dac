/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The command line of heed-conform.
 */
#ifndef HEED_TOOLS_CONFORM_OPTIONS_H
#define HEED_TOOLS_CONFORM_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

enum { THREADS_DEFAULT = 2, TIMEOUT_DEFAULT = 10, MEMORY_DEFAULT = 1024 };

struct options {
    const char *device, *text, *op, *plugin, *only;
    const char *peer, *dump, *judge; /* a kernel in another language (peer.h) */
    uint32_t claim;                  /* HEED_NUMERICS_* of it */
    bool ask, once, lines, claims; /* claims: --claim was given */
    const char *json, *junit, *repro; /* files of results, a folder of programs; NULL: none */
    int64_t cases, seed, threads;
    int64_t timeout, memory; /* of a plug-in: seconds, MiB */
    int64_t shrink;          /* how many failures */
    uint32_t families;
    uint32_t properties;     /* of invariance that were named; 0: all */
    bool verbose, quiet, list, partial;
};

/* false: the program is to end with *code, all is said. */
bool options_parse(int argc, char **argv, struct options *, int *code);
/* NULL: it is not one family alone. */
const char *options_family_name(uint32_t bits);
/* The families that draw no cases. */
uint32_t options_families_apart(void);

#endif
