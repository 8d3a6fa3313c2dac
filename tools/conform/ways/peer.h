/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Kernels in any language under the kit: a program that answers lines of JSON (--peer), and folders
 * of arrays that somebody fills and gives back (--dump, --judge). docs/testing-kernels.md has the
 * protocol.
 */
#ifndef HEED_TOOLS_CONFORM_WAYS_PEER_H
#define HEED_TOOLS_CONFORM_WAYS_PEER_H

#include "dense.h"
#include "conform/engine/invariance.h"
#include "conform/engine/session.h"

#include "common/child.h"

/* A program that computes cases. */
struct peer {
    const char *command; /* NULL: descriptors are given */
    int64_t seconds;     /* that it has for an answer */
    struct child child;  /* to, from: -1 where it does not run */
    const char *missing; /* why the shell could not start it; NULL: it could, or was not asked to */
    bool answers;        /* it has answered something */
    struct child_lines lines;
};

/* What an answer says. */
enum { STATUS_OK, STATUS_REFUSED, STATUS_ERROR, STATUS_UNKNOWN, STATUS_LOST };

struct peer_answer {
    int status;
    char field[64], why[400]; /* why: of STATUS_LOST, begins with a verdict */
};

/* ---- peer.c -------------------------------------------------------------------- */

/* The text behind --peer: a command, or "fd:IN,OUT". */
bool peer_open(struct peer *, const char *text, int64_t seconds);
void peer_close(struct peer *);
/* May it be asked (again)? What was given by descriptors cannot be started again. */
bool peer_alive(struct peer *);
/* Sends a line and reads one. */
void peer_ask(struct peer *, const char *line, struct peer_answer *);

/* ---- peer_case.c ----------------------------------------------------------------- */

/* A case and what was made of it. */
struct peer_case {
    struct job *job[2];    /* one for each run */
    struct plain plain[2]; /* with their outputs */
};

/* false: no memory, or (skip) the case is not legal. */
bool peer_case_make(struct session *, struct peer_case *, const struct cs *, const char **skip);
void peer_case_finish(struct peer_case *);
/* The outputs hold what nobody would write. */
void peer_poison(struct job *, uint64_t seed);
/* twice: both runs have outputs. */
void peer_case_judge(struct session *, struct peer_case *, bool twice, struct verdict *);

/* ---- peer_forms.c ------------------------------------------------------------------ */

/* The arrays of a form of invariance as a peer gets them. */
struct peer_form {
    const struct form *form;
    struct job *job;
    struct plain plain;
    char line[LINE]; /* of the case */
};

/* Who computes forms. */
struct form_runner {
    struct runner runner;
    struct session *session;
    const struct cs *c;
    /* true: the outputs of the job are there. It may fail the verdict. */
    bool (*exchange)(void *context, const struct peer_form *, struct verdict *);
    void *context;
    const char *absent; /* as the runner has it */
};

/* Judges the case by the properties that dense arrays can show; why nothing was judged, or NULL. */
const char *peer_invariance(struct form_runner *, struct verdict *);

/* ---- peer_draw.c ------------------------------------------------------------------- */

/* What a peer takes. */
struct peer_taken {
    void *context;
    bool (*takes)(void *context, const struct cs *); /* asks about a legal case */
    bool (*stop)(void *context);
    int n_bases;
    struct cs *base;
    unsigned char *level;
};

bool peer_learn(struct session *, struct peer_taken *);
void peer_taken_free(struct peer_taken *);
/* The `number`-th case. false: none was found. */
bool peer_draw(struct session *, const struct peer_taken *, struct rng *, int64_t number,
               struct cs *);
/* One for nobody in particular: single sources, dense arrays and one element type more often. */
bool peer_draw_any(struct session *, struct rng *, int64_t number, struct cs *);

/* ---- peer_run.c, folder.c ------------------------------------------------------------ */

/* All of a run with --peer, --dump or --judge; the exit code. */
int peer_run(struct session *, int argc, char **argv);
/* With the reference open; the exit code. */
int folder_dump(struct session *);
int folder_judge(struct session *);

#endif
