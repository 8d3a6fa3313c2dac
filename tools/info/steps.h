/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Devices described one after the other, with word before each step of what comes: whoever hears
 * the words knows at which step a driver failed.
 */
#ifndef HEED_TOOLS_INFO_STEPS_H
#define HEED_TOOLS_INFO_STEPS_H

#include "ask.h"

enum what {
    LISTING = 1,    /* about to get device `index` */
    OPENING,        /* about to describe it; props.name */
    DEVICE,         /* props */
    PREFERRED,      /* props.name */
    MISSING,        /* index: the kind, report */
    FAILED,         /* no runtime: report */
    END
};

/* Small enough to be written in one piece. */
struct message {
    uint32_t what, index;
    heed_device_props props;
    heed_report report;
    char gemm[ASK_GEMM];
};

/* Hears a message. */
typedef void steps_tell(void *context, const struct message *message);

/* Makes a runtime and tells of all its devices from number `first` on, until END or FAILED. */
void steps_describe(const heed_runtime_desc *desc, const struct ask *ask, uint32_t first,
                    steps_tell *tell, void *context);

/* Adds what a message says. A status below 0: no runtime, or no memory. */
heed_status steps_take(struct found *found, const struct message *message, heed_report *why);
heed_status steps_add(struct found *found, const heed_device_props *props, const char *gemm);

#endif
