/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A C program that repeats a failed case of attention without the kit: it includes public headers
 * alone, holds the inputs, and prints the first element that differs.
 */
#ifndef HEED_TOOLS_CONFORM_REPRO_H
#define HEED_TOOLS_CONFORM_REPRO_H

#include "buffer.h"
#include "cell.h"
#include "conform.h"

/* What the program is for. */
struct repro {
    const char *folder; /* of the programs; made if it is not there */
    int64_t number;     /* of the failure */
    const char *line, *word, *why, *repeat; /* of the shrunk case */
    const struct target *reference;
    const struct target *device; /* NULL: a plug-in, of the path: */
    const char *plugin; /* from the root */
    uint32_t numerics, weights; /* that the plug-in claims */
    int64_t threads;
};

/* Writes it, and what of its data is too long for text beside it; in `path` its name. false: there
 * is none, and `path` says why. */
bool cf_repro_write(const struct repro *, const struct cs *, struct buffer *path);

/* ---- for the files of it ----------------------------------------------------------------- */

/* An array in memory: what the program calls it. */
struct repro_block {
    char name[16];
    const struct place *place;
    int constant; /* number of the slot that holds it as constant data, or 0 */
    bool output;
    size_t bytes, first; /* all, and those before element [0]... */
    const unsigned char *data;
};
enum { REPRO_BLOCKS = 4 + 2 * MAX_SOURCES + MAX_SLOTS };

/* How outputs are judged: by what the reference computes when the program runs, by bits that it
 * holds, or by values and bounds that it holds. */
enum { REPRO_REFERENCE, REPRO_BITS, REPRO_BOUND };

struct repro_work {
    const struct repro *r;
    const struct problem *p;
    const struct call *call;
    struct repro_block block[REPRO_BLOCKS];
    int n_blocks, n_bound, judge; /* blocks that a run binds come first */
    uint32_t numerics; /* a plug-in's claim, else the case's own */
    struct cf_cell *cells[2]; /* REPRO_BOUND: of o and of lse, in row-major order */
    struct buffer text;
};

/* repro_desc.c: the descriptor and what it points to, the arguments, and the outputs' tensors. */
void repro_describe(struct repro_work *);
/* repro_data.c: inputs, as they lie in memory (false: a file of them cannot be written; *files:
 * there are some); what loads the files; the table of all arrays; what the outputs must be. */
bool repro_data_print(struct repro_work *, const char *stem, bool *files);
void repro_loads_print(struct repro_work *, const char *stem, bool files);
void repro_blocks_print(struct repro_work *);
void repro_cells_make(struct repro_work *);
void repro_judges_print(struct repro_work *);
bool repro_file_write(const char *name, const void *bytes, size_t n);
/* repro_text.c, repro_plugin.c: the parts of a program that no case changes. */
extern const char repro_device_head[], repro_device_main[], repro_plugin_head[],
    repro_plugin_host[], repro_plugin_memory[], repro_plugin_main[], repro_values[],
    repro_gaps[];
extern const char *const repro_compare[]; /* by how outputs are judged */

#endif
