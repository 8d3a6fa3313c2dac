/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * heed-conform --plugin: a kernel of somebody else (heed/plugin.h) under the kit. One child process
 * answers what the plug-in takes (plugin_ask.c); cases are drawn from that as for a partial device.
 * The parent lays a case out in shared memory (plugin_memory.c), other children load the plug-in
 * and run it (plugin_child.c, plugin_guard.c), and when a child and all that it started are gone
 * (plugin_process.c) the parent judges what it left (plugin_judge.c). Where the plug-in wants
 * memory of a device, the child copies the arrays there and back, guards and all
 * (plugin_device.c), and the shared memory is their image. The parent opens no driver, never loads
 * the plug-in and computes no answer before. Of what a child can write, the outputs are compared
 * and the rest is only ever a reason to fail.
 */
#ifndef HEED_TOOLS_CONFORM_WAYS_PLUGIN_H
#define HEED_TOOLS_CONFORM_WAYS_PLUGIN_H

#include "claim.h"
#include "conform/engine/invariance.h"

#include "common/child.h"

#include <heed/plugin.h>

/* Where a child is. */
enum {
    STAGE_LOAD,
    STAGE_ENTRY,
    STAGE_QUERY,
    STAGE_PREPARE,
    STAGE_RUN,
    STAGE_RELEASE,
    STAGE_END,
    STAGES
};

/* Memory in which a child says how it goes. Anything may be in it. */
struct control {
    int stage;
    heed_status status; /* the last that the plug-in returned */
    heed_report report;
    uintptr_t address; /* of a fault */
    bool faulted, memory_short, float_changed, bad_workspace, threads_left;
    uint64_t workspace, alignment; /* as prepare asked for */
    uint32_t numerics, weights, memory;
    char name[96], build[96], why[256];
    char changed[64]; /* what of the process run left otherwise */
    char device[256]; /* what was wrong on a device; `why`: which it is, or why it is not there */
    bool device_there;
    struct cs question;
};

enum { INPUT, OUTPUT, CONSTANT };

/* An array of the case between pages that nobody may touch; or the image of memory of a device, in
 * which it lies between guards. */
struct region {
    int role;
    const struct operand *x;
    unsigned char *pages; /* at the beginning of a page; there are `bytes` of them */
    size_t bytes, guard;  /* guard: of these at either end that are one */
    unsigned char *origin; /* of element [0,...] */
    int64_t low, high;     /* the elements' bytes beside it */
};

struct memory {
    unsigned char *base;
    size_t bytes;
    uint64_t pattern;
    bool imaged;  /* arrays that run takes are images of memory of a device; */
    bool nan;     /* its guards hold what is no number */
    bool shifted; /* not flush with a page's beginning, but as far from it as the places say */
    int n;
    struct region region[JOB_OPERANDS];
};

/* A case in memory, for one child. */
struct trial {
    const struct cs *c;
    bool again; /* a run on other data before, of the same state */
    const struct conditions *how; /* of a form of invariance; NULL: as a case is run */
    struct job *job;
    struct memory memory;
    heed_buf at[JOB_PLAN_OPERANDS]; /* in the order of the plan */
    int order[JOB_PLAN_OPERANDS], n_at;
    heed_run run;
    unsigned char garbage; /* in the workspace before a run */
};

enum { ENDED, SIGNALLED, EXITED, HUNG, STOPPED, NO_CHILD };

struct outcome {
    int ending, signal;
    bool left; /* processes of its own were still there */
};

enum { SAID = 2048 };

struct plugin {
    const char *path;
    int64_t seconds, mebibytes; /* limits of a child */
    struct control *control;    /* shared with children */
    struct control copy;        /* what the last child left there, with ends to its texts */
    uint32_t numerics, weights;
    uint32_t memory;     /* kind of device in whose memory operands lie; 0: none */
    int64_t ordinal;     /* which of these */
    uint32_t width;      /* workers of the executor that the next child finds */
    int64_t hangs;       /* cases that hung, children that query ended */
    int64_t misuses;     /* answers of query that it may not give */
    char said[SAID];     /* the last that children printed */
    size_t n_said;
    struct child asked;  /* pid 0: there is none */
    struct child_lines answers; /* of it */
    struct control *asked_control;
    struct session *session;
};

typedef void plugin_work(const struct plugin *, const heed_kernel_api *, void *arg);

/* ---- plugin_memory.c ----------------------------------------------------- */

/* The case in memory of the trial. */
bool plugin_trial_make(struct trial *, const struct cs *, const struct plugin *);
/* The same of a job, which stays the caller's. */
bool plugin_trial_of(struct trial *, struct job *, const struct plugin *);
void plugin_trial_unmap(struct trial *);
/* Outputs hold what `poison` makes. at_end: the last element of an array touches the page behind
 * it; else the first one the page before. */
void plugin_trial_fill(struct trial *, bool at_end, uint64_t poison);
void plugin_trial_finish(struct trial *);
/* Of the calling process: role's arrays may be read and, if `write`, written; all: the rest not. */
bool plugin_memory_protect(const struct memory *);
bool plugin_memory_allow(const struct memory *, int role, int protection);
/* What an address is beside: "4 bytes behind o"; inside: of an array; NULL: of none. */
const struct region *plugin_memory_find(const struct memory *, uintptr_t address, int64_t *beside);
/* In the child: outputs hold poison again. */
void plugin_memory_refill(const struct memory *);
/* In the child: the elements of rows are zeros, or what they were. */
bool plugin_memory_rows(const struct memory *, bool zeros);
/* Reads the outputs back and gives the shared memory up. Fails the verdict where memory was written
 * that must not be. */
void plugin_trial_read(struct trial *, struct verdict *);

/* ---- plugin_process.c ---------------------------------------------------- */

/* Forks a child that loads the plug-in and does `work` with it; asked: over pipes, until they end.
 * false: there is no process. */
bool plugin_start(struct plugin *, struct control *, plugin_work *, void *arg, bool asked,
                  struct child *);
/* Waits for its end, at most so many seconds, and ends all that it started. */
struct outcome plugin_wait(struct plugin *, struct control *, struct child *, int64_t seconds);
/* Both, for one piece of work. */
struct outcome plugin_fork(struct plugin *, plugin_work *, void *arg);
void plugin_said_print(struct plugin *, FILE *);

/* plugin_linux.c, absent/plugin_posix.c */
int threads_now(void);          /* of this process; 0: the system does not say */
void judge_shield(pid_t judge); /* the calling process is ended when it acts on the judge */

/* ---- plugin_child.c ------------------------------------------------------ */

/* All that the child does. */
void plugin_child(const struct plugin *, plugin_work *, void *arg);
/* The work of a case; arg: its struct trial. */
void plugin_compute(const struct plugin *, const heed_kernel_api *, void *arg);
/* Asks query alone. */
heed_status plugin_ask(const struct plugin *, const heed_kernel_api *, const void *desc);

/* ---- plugin_guard.c: the process that the plug-in finds ------------------- */

void guard_limits(const struct plugin *, const struct child *);
void guard_faults(const struct plugin *);
void guard_note(void); /* what must be the same when run has returned */
/* What is not; NULL: nothing. */
const char *guard_changed(void);
bool guard_threads_left(void);
bool guard_float(void); /* is the floating-point environment the plain one? */

/* ---- plugin_device.c: in the child ------------------------------------------- */

/* The kind of device that a word like "opencl:1" names, and which of them; 0: it names none. */
uint32_t device_named(const char *name, int64_t *ordinal);
const char *device_word(uint32_t kind);
/* Opens the device that the plug-in wants. control->why says which it is, or why there is none. */
bool device_open(const struct plugin *, heed_host_device *);
/* Arrays and workspace in its memory, as t->at and t->run then say. false: no workspace; else
 * control->device may have a reason. */
bool device_make(struct trial *, const heed_plan_props *);
/* A run of the plug-in on the arrays as the images have them. */
heed_status device_run(struct trial *, const heed_kernel_api *, void *state);
/* The images are what the device has now. Once more, when the plug-in may do nothing any more. */
void device_fetch(struct trial *);
void device_fetch_again(struct trial *);

/* ---- plugin_ask.c -------------------------------------------------------- */

/* Does the plug-in refuse the legal case? As struct taker has it; who: the struct plugin. */
bool plugin_refuses(void *who, const struct cs *, heed_report *);
void plugin_ask_end(struct plugin *);

/* ---- plugin_forms.c ------------------------------------------------------ */

/* Judges the case by the properties of invariance; why nothing was judged, or NULL. */
const char *plugin_invariance(struct session *, const struct cs *, struct verdict *);

/* ---- plugin_judge.c ------------------------------------------------------ */

/* How the child ended, if not as it should: fails the verdict. */
void plugin_judge_end(const struct plugin *, const struct trial *, const struct outcome *,
                      struct verdict *);
/* ---- plugin.c ------------------------------------------------------------ */

/* Do the other options go with --plugin? If not, says why. */
bool plugin_options_good(const struct options *);
/* All of a run with --plugin; the exit code. */
int plugin_run(struct session *, int argc, char **argv);

#endif
