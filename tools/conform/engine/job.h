/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A problem of any operation as the engine has it: the bytes of a descriptor and a list of arrays.
 * The engine places the arrays in memory, runs a plan on them and says what was written; plug-ins,
 * peers, folders and reproductions walk the same list. An operation fills a job and is named
 * nowhere here.
 */
#ifndef HEED_TOOLS_CONFORM_ENGINE_JOB_H
#define HEED_TOOLS_CONFORM_ENGINE_JOB_H

#include "place.h"
#include "target.h"

/* NATURAL: dense, aligned, whatever the case says. STRIDES: other strides than the case says; the
 * contents do not depend on them. SHIFTED: elements begin elsewhere than it says; with STRIDES,
 * axes are exchanged, too. ABSENT: arrays that a case leaves out are in the list, without contents:
 * somebody may put one there. IN_PLACE: outputs lie where an input does, if they may. */
enum {
    CALL_NATURAL = 1,
    CALL_ABSENT = 2,
    CALL_IN_PLACE = 4,
    CALL_STRIDES = 8,
    CALL_SHIFTED = 16
};
enum { JOB_OPERANDS = 64, JOB_PLAN_OPERANDS = 128 };

/* One array. Its place, and the arrays of an output, are the call's. */
struct operand {
    char name[24];             /* in reports of the kit: "k0" */
    char field[24];            /* as heed_plan_operands() names it: "kv[0].k" */
    uint32_t role;             /* HEED_ROLE_* */
    const void **constant;     /* where the descriptor points to its data; NULL: run brings it */
    bool rows;                 /* a kernel may run on zeros in its place */
    uint64_t around;           /* what lies beside the elements is made from it */
    struct place *place;
    bool guest;                /* the place is that of another operand, an output */
    int may_be;                /* of an output: 1 + the operand whose place it may have; 0: none */
    heed_tensor *tensor;       /* where the descriptor has it */
    const struct array *holds; /* contents; NULL: those of an output, or none */
    struct array *out, *old;   /* of outputs and states: elements after the run, before it */
};

struct job {
    const struct target *on;
    void *problem;             /* the operation's */
    void *desc;
    size_t desc_bytes;         /* of it and all that it points to but arrays */
    uint32_t *numerics_wanted; /* in the descriptor */
    heed_status (*check)(heed_device *, const void *desc, heed_report *);
    heed_status (*plan)(heed_device *, const void *desc, heed_plan **, heed_report *);
    heed_status (*run)(const heed_plan *, heed_queue *, const void *args, heed_event **,
                       heed_report *); /* the operation's own, with named arguments */
    void (*placed)(struct job *); /* the arrays lie where they lie: for who calls its own run */
    int n;
    struct operand operand[JOB_OPERANDS];
    uint32_t numerics;         /* what the plan of the last run delivers, */
    char ran[64];              /* and what it ran; */
    bool loose;                /* of FAST it may go through matrix units */
    bool twice;                /* the plan runs once before on the same arrays */
};

/* Adds an array that is there. NULL where there are too many. */
struct operand *job_add(struct job *, const char *name, const char *field, uint32_t role,
                        struct place *);
/* Memory for the elements of outputs. */
bool job_outputs_make(struct job *);
/* Contents of an array in its snapshot; outputs hold what poison makes. */
void job_fill(struct operand *, uint64_t poison);
/* All in memory of the device. false: no memory, or the device refused it. */
bool job_upload(struct job *, uint64_t poison);
/* Which operand of the job is operand i of the plan, or -1; returns how many the plan has, or -1:
 * it wants one that the job has not. */
int job_order(const struct job *, const heed_plan *, int order[JOB_PLAN_OPERANDS]);
/* Plans, runs, reads back. < 0: the status of what failed. */
heed_status job_run(struct job *, heed_report *);
/* Inputs are as they were, outputs too outside their elements. */
bool job_memory_same(struct job *, char why[128]);
/* Nothing at all was written to the outputs. */
bool job_outputs_same(struct job *, char why[128]);
void job_finish(struct job *);
/* Of one with memory of its own; or NULL. */
void job_drop(struct job *);

#endif
