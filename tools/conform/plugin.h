/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * heed-conform --plugin: a kernel of somebody else (heed/plugin.h) under the kit. The parent lays a
 * case out in shared memory (plugin_memory.c), a child process loads the plug-in and runs it
 * (plugin_child.c), and when the child is gone the parent judges what it left (plugin_judge.c). The
 * parent never loads the plug-in and computes no answer before.
 */
#ifndef HEED_TOOLS_CONFORM_PLUGIN_H
#define HEED_TOOLS_CONFORM_PLUGIN_H

#include "session.h"

#include <heed/plugin.h>

/* Where a child is. */
enum { STAGE_LOAD, STAGE_ENTRY, STAGE_QUERY, STAGE_PREPARE, STAGE_RUN, STAGE_RELEASE, STAGE_END };

enum { MAX_ASKED = 4096, MAX_BASES = 512 };

/* The page of memory in which a child says how it goes. */
struct control {
    int stage;
    heed_status status; /* the last that the plug-in returned */
    heed_report report;
    uintptr_t address; /* of a fault */
    bool faulted, memory_short, float_changed, bad_workspace;
    uint32_t numerics;
    char name[96], build[96], why[256];
    /* What the plug-in was found to accept (plugin_draw.c). */
    int n_bases, asking;
    struct cs base[MAX_BASES];
    unsigned char accepted[MAX_ASKED]; /* by level */
};

enum { INPUT, OUTPUT, CONSTANT };

/* An array of the case between pages that nobody may touch. */
struct region {
    char name[16];
    int role;
    struct place *place;
    unsigned char *pages; /* at the beginning of a page; there are `bytes` of them */
    size_t bytes;
    unsigned char *origin; /* of element [0,...] */
    int64_t low, high;     /* the elements' bytes beside it */
};

struct memory {
    unsigned char *base;
    size_t bytes;
    uint64_t pattern;
    int n;
    struct region region[4 + 2 * MAX_SOURCES + MAX_SLOTS];
};

/* A case in memory, for one child. */
struct trial {
    const struct problem *p;
    bool again; /* a second run of the same state */
    struct call call;
    struct memory memory;
    heed_kv_bufs kv[MAX_SOURCES];
    heed_buf slots[MAX_SLOTS];
    heed_attn_args args;
};

enum { ENDED, SIGNALLED, EXITED, HUNG, NO_CHILD };

struct outcome {
    int ending, signal;
    bool left; /* processes of its own were still there */
};

struct plugin {
    const char *path;
    int64_t seconds, mebibytes; /* limits of a child */
    struct control *control;    /* shared with children */
    uint32_t numerics;
    int64_t reached, hangs; /* cases that the kernel computed, that hung */
    int n_refused;          /* fields by which it refused, and how often */
    struct {
        char field[64];
        int64_t times;
    } refused[32];
};

/* ---- plugin_memory.c ----------------------------------------------------- */

/* The case in memory of the trial, with outputs that hold what `poison` makes. */
bool plugin_trial_make(struct trial *, const struct problem *);
/* at_end: the last element of an array touches the page behind it; else the first one the page
 * before. */
void plugin_trial_fill(struct trial *, bool at_end, uint64_t poison);
void plugin_trial_finish(struct trial *);
/* Of the calling process: role's arrays may be read and, if `write`, written; all: the rest not. */
bool plugin_memory_protect(const struct memory *);
bool plugin_memory_allow(const struct memory *, int role, int protection);
/* What an address is beside: "4 bytes behind o"; inside: of an array; NULL: of none. */
const struct region *plugin_memory_find(const struct memory *, uintptr_t address, int64_t *beside);
/* In the child: outputs hold poison again. */
void plugin_memory_refill(const struct memory *);
/* Reads the outputs back. Fails the verdict where memory was written that must not be. */
void plugin_trial_read(struct trial *, struct verdict *);

/* ---- plugin_child.c ------------------------------------------------------ */

/* Forks a child that loads the plug-in and does `work` with it. */
struct outcome plugin_fork(struct plugin *,
                           void (*work)(const struct plugin *, const heed_kernel_api *, void *arg),
                           void *arg);
/* The work of a case; arg: its struct trial. */
void plugin_compute(const struct plugin *, const heed_kernel_api *, void *arg);
/* Asks query alone, in a child. */
heed_status plugin_ask(const struct plugin *, const heed_kernel_api *, const heed_attn_desc *);

/* ---- plugin_judge.c ------------------------------------------------------ */

/* How the child ended, if not as it should: fails the verdict. */
void plugin_judge_end(const struct plugin *, const struct trial *, const struct outcome *,
                      struct verdict *);
/* What it computed. first, second: the same case in two children. */
void plugin_judge_outputs(struct session *, const struct plugin *, struct trial *first,
                          struct trial *second, struct verdict *);
/* The same of outputs in arrays. y: of a second run in other memory; NULL: there is none. */
void plugin_judge_values(struct session *, uint32_t numerics, const struct problem *,
                         struct call *x, struct call *y, struct verdict *);

/* ---- plugin_draw.c ------------------------------------------------------- */

/* Finds out, by query, from what cases may be drawn. */
void plugin_probe(struct session *, struct plugin *);
/* A legal case of what was accepted, the `number`-th of a run. */
void plugin_draw(struct session *, const struct plugin *, struct rng *, int64_t number,
                 struct cs *);

/* ---- plugin.c ------------------------------------------------------------ */

/* All of a run with --plugin; the exit code. */
int plugin_run(struct session *, int argc, char **argv);

#endif
