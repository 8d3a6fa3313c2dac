/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a run of heed-conform works with: options, devices, tallies; and one case on all devices.
 */
#ifndef HEED_TOOLS_CONFORM_SESSION_H
#define HEED_TOOLS_CONFORM_SESSION_H

#include "fixed.h"

enum { MAX_DEVICES = 16 };

struct options {
    const char *device, *text, *op, *plugin;
    int64_t cases, seed, threads;
    int64_t timeout, memory; /* of a plug-in: seconds, MiB */
    uint32_t families;
    bool verbose, list, help;
};

struct session {
    struct options o;
    struct target reference;
    struct bench bench[MAX_DEVICES];
    int n;
    double worst;
    int64_t judged, skipped, exact;
    struct tally tally;
};

/* A case of attention on the reference and on every device, with the families wanted. */
void attn_case(struct session *, const struct cs *);
/* Adds to the session what judges counted. */
void session_count(struct session *, const struct verdict *);

#endif
