/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a run of heed-conform works with: options, devices, tallies; and one case on all devices.
 */
#ifndef HEED_TOOLS_CONFORM_SESSION_H
#define HEED_TOOLS_CONFORM_SESSION_H

#include "fixed.h"
#include "options.h"
#include "refusals.h"
#include "where.h"

struct plugin;

enum { MAX_DEVICES = 16, MAX_KERNELS = 96 };

/* How many cases of attention a device ran with a kernel. */
struct ran {
    const char *device; /* NULL: the end of the list, which leaves out what does not fit */
    char kernel[64];
    int64_t cases;
};

struct session {
    struct options o;
    struct target reference;
    struct bench bench[MAX_DEVICES];
    int n;
    int code; /* what the program ends with when no device could be opened */
    double worst;
    int64_t judged, skipped, exact;
    struct tally tally;
    struct refusals refusals; /* of cases, by partial devices and plug-ins */
    /* Cases of attention judged: without keys, with rows that see one, two or more. */
    int64_t evidence[3];
    struct ran ran[MAX_KERNELS];
    int64_t unjudged; /* levels that matter most and were in no case judged */
    bool given_up;    /* after too many cases that hung */
    struct plugin *plugin;
    struct where where;       /* their outputs are wrong */
    /* Runs one case as the run does, for follow.c; again_of: what else that takes. */
    bool (*again)(struct session *, const struct cs *);
    void *again_of;
    const char *plugin_path; /* of a plug-in, from the root; and what it claims */
    uint32_t claim, weights;
};

enum { REFUSAL_SKIP = 96 };

/* A case of attention on the reference and on every device, with the families wanted. false: every
 * device refused it, as partial ones may. */
bool attn_case(struct session *, const struct cs *);
/* Does a partial device refuse what the reference answers with `wanted`? Counts that, and says in
 * `skip` why a case is not judged; "": it is. */
bool session_refused(struct session *, const struct bench *, heed_status wanted, heed_status status,
                     const heed_report *, char skip[REFUSAL_SKIP]);
/* Counts a case of attention that was judged. */
void session_evidence(struct session *, const struct problem *);
/* Adds to the session what judges counted. */
void session_count(struct session *, const struct verdict *);

#endif
