/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a run of heed-conform works with: options, devices, tallies; and one case on all devices.
 */
#ifndef HEED_TOOLS_CONFORM_ENGINE_SESSION_H
#define HEED_TOOLS_CONFORM_ENGINE_SESSION_H

#include "refusals.h"
#include "table.h"
#include "conform/options.h"

struct notes;
struct plugin;
struct workers;

enum { MAX_PROPERTIES = 8 };
enum { MAX_DEVICES = 16, MAX_KERNELS = 96, REFUSAL_SKIP = 96 };

/* How many cases a device ran with a kernel. */
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
    int64_t drawn;    /* results of cases that were drawn */
    struct ran ran[MAX_KERNELS];
    int64_t unjudged; /* levels that matter most and were in no case judged */
    bool given_up;    /* after too many cases that hung */
    struct plugin *plugin;
    struct {
        int64_t cases, forms, broken;
    } kept[MAX_PROPERTIES];   /* cf_properties */
    struct workers *workers;  /* of the crews of all benches; NULL: there are none */
    struct notes *notes;      /* of attention's judge (symptoms.h) */
    /* Runs one case as the run does, for failure.c; again_of: what else that takes. */
    bool (*again)(struct session *, const struct cs *);
    void *again_of;
    const char *plugin_path; /* of a plug-in, from the root */
    uint32_t claim, weights; /* of what claims something (ways/claim.h); 0: a device of heed's */
};

/* Adds to the session what judges counted. */
void session_count(struct session *, const struct verdict *);

#endif
