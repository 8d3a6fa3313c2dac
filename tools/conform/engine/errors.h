/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The families error and check, and what they ask of an operation.
 */
#ifndef HEED_TOOLS_CONFORM_ENGINE_ERRORS_H
#define HEED_TOOLS_CONFORM_ENGINE_ERRORS_H

#include "scarce.h"
#include "subject.h"

/* TENSOR: an array of i32 with one axis of `value` elements. */
enum { FAULT_U32, FAULT_I64, FAULT_F64, FAULT_PTR, FAULT_TENSOR };

/* What is wrong with one field. */
struct fault {
    const char *field, *also; /* words, one of which the report's field has; also: NULL, or more */
    int where;                /* IN_DESC, IN_ARGS, or what else the operation says */
    size_t offset;
    int type;
    int64_t value;
    heed_status status;
};
enum { IN_DESC, IN_ARGS, FAULT_PLACES };
enum { MAX_FAULTS = 400 };

struct cf_errors {
    const char *(*base)(void); /* line of the legal case that faults are put into */
    /* Returns how many. job: the base case, described. */
    int (*list)(struct job *, struct fault list[MAX_FAULTS]);
    /* What a fault changes; and is that found by run alone? */
    void *(*place)(struct job *, int where);
    bool (*at_run)(int where);
    bool (*same_place)(const struct job *, const struct fault *, const struct fault *);
    void *(*args)(struct job *);
    void (*workspace)(struct job *, heed_buf, uint64_t size);
    bool no_device; /* check answers without a device what all devices say */
    /* What else is wrong, of that operation alone. base: the problem. */
    void (*more)(const void *base, const struct target *, int n, struct tally *, struct reached *);
    /* A descriptor with extents of any size that are never taken, as a job without arrays; its
     * line. NULL: no memory. */
    struct job *(*vast)(struct rng *, int64_t number, bool host, char line[LINE]);
};

/* Every fault of the list alone and in pairs, on every device: the documented status, the same
 * everywhere, in a report that names the field; nothing is written. Then errors_run.c. */
void cf_family_error(const struct target *, int n, struct tally *);
/* Errors that no single field makes: longer descriptors, aliasing, the workspace, plans and queues
 * that do not go together, memory that runs out. */
void cf_errors_run(const void *base, const struct target *, int n, struct tally *,
                   struct reached *);
/* check says what plan will, for descriptors of any size. */
void cf_family_check(const struct target *, int n, int64_t cases, uint64_t seed, struct tally *);

#endif
