/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Kernels in any language under the kit: a program that answers lines of JSON (--peer), and folders
 * of arrays that somebody fills and gives back (--dump, --judge). docs/testing-kernels.md has the
 * protocol.
 */
#ifndef HEED_TOOLS_CONFORM_PEER_H
#define HEED_TOOLS_CONFORM_PEER_H

#include "plain.h"
#include "session.h"

enum { ANSWER = 1 << 16 }; /* bytes of an answer */

/* Why there is no answer. */
enum { HEARD, HEARD_END, HEARD_NOTHING, HEARD_RUBBISH };

/* A program that computes cases. */
struct peer {
    const char *command; /* NULL: descriptors are given */
    int64_t seconds;     /* that it has for an answer */
    int in, out;         /* its answers, its questions; -1: it does not run */
    int child;
    int status;          /* as waitpid has it, when it has ended */
    const char *missing; /* why the shell could not start it; NULL: it could, or was not asked to */
    bool answers;        /* it has answered something */
    char answer[ANSWER];
    size_t n, begin; /* bytes read; the line that comes next */
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
/* Was this program told to end? */
bool peer_interrupted(void);
/* Sends a line and reads one. */
void peer_ask(struct peer *, const char *line, struct peer_answer *);

/* ---- peer_case.c ----------------------------------------------------------------- */

/* A case and what was made of it. */
struct peer_case {
    struct problem *p;
    struct call first, second;
    struct plain plain[2]; /* with the outputs of first and second */
};

/* false: no memory, or (skip) the case is not legal. */
bool peer_case_make(struct session *, struct peer_case *, const struct cs *, const char **skip);
void peer_case_finish(struct peer_case *);
/* The outputs of one of the runs hold what nobody would write. */
void peer_case_poison(struct peer_case *, int run, uint64_t poison);
/* twice: both runs have outputs. */
void peer_case_judge(struct session *, struct peer_case *, uint32_t numerics, bool twice,
                     struct verdict *);

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
