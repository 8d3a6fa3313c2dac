/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A C program that repeats a failed case without the kit: reproduction.c.in with the case put into
 * its places. It includes public headers alone, holds the inputs, and prints the first element that
 * differs.
 */
#ifndef HEED_TOOLS_CONFORM_WAYS_REPRO_H
#define HEED_TOOLS_CONFORM_WAYS_REPRO_H

#include "conform/engine/buffer.h"
#include "conform/engine/table.h"
#include "conform/ops/attn/attn.h"

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

/* The words of the template for `kind`. */
enum { REPRO_ANYTHING, REPRO_BITS, REPRO_WITHIN, REPRO_NAN, REPRO_NOT_FINITE };
struct repro_cell {
    int kind;
    uint64_t bits;
    double want, bound;
};

struct repro_work {
    const struct repro *r;
    struct job *job;
    uint32_t numerics;  /* a plug-in's claim, else the case's own */
    bool held, by_bits; /* the program holds what outputs must be; and it is bits */
    struct repro_cell *cells[JOB_OPERANDS]; /* of outputs, in row-major order */
    int order[JOB_PLAN_OPERANDS], n_order;
    struct buffer text;
};

/* Bytes of an operand in the program, and those before element [0]...; where the kit has them. */
size_t repro_bytes(const struct operand *, size_t *first, const unsigned char **data);
bool repro_file_write(const char *name, const void *bytes, size_t n);
/* repro_data.c: the places "data", "blocks" and "operands". false: a file cannot be written. */
bool repro_data_print(struct repro_work *, const char *stem);
void repro_blocks_print(struct repro_work *);
void repro_operands_print(struct repro_work *);
/* repro_desc.c: the tensor as an initialiser; the place "descriptor". */
void repro_tensor_print(struct buffer *, const heed_tensor *);
void repro_describe(struct repro_work *);
/* repro_cells.c: what outputs must be. The job is one that the reference has run. */
int64_t repro_cells_count(const struct array *); /* elements; of blocks bytes */
void repro_cells_make(struct repro_work *);

#endif
