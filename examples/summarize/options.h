/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The command line of heed-summarize: a table of options, from which --help is made, and how a
 * mistake is said.
 */
#ifndef HEED_EXAMPLES_SUMMARIZE_OPTIONS_H
#define HEED_EXAMPLES_SUMMARIZE_OPTIONS_H

#include "read.h"

enum { EXIT_USAGE = 2, EXIT_NOT_FOUND };

struct options {
    char **files;                  /* in the order of the command line; not owned */
    int64_t n_files;
    const char *device, *attention, *query;
    const char *embedder;          /* a folder; NULL: words alone say what sentences are about */
    const char *model;             /* a folder; NULL: sentences are chosen */
    const char *memory, *salient;  /* what its segments know of others; NULL: nothing */
    const char *html;              /* NULL: no page */
    const struct format *format;   /* NULL: to be found */
    const struct language *language;
    struct length length;
    int64_t keywords;              /* 0: none */
    int64_t max_bytes;             /* of the files of a summary */
    bool each, by_section, json, explain, quiet, segments, length_given;
};

/* What --attention is where nobody says it. */
extern const char usual_attention[];

/* Reads the command line; the files are gathered at the front of argv. False: the program ends
 * with *status, and all is said. */
bool options_read(struct options *o, int argc, char **argv, int *status);

/* One line on stderr; `why` may be NULL. Returns `status`. */
int complain(int status, const char *what, const char *why);

/* What was wanted of `what`, and what there is; NULL: nothing. Returns EXIT_USAGE. */
int complain_of(const char *what, const char *wanted, const char *got);

#endif
