/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Where processes do not fork, this one asks the drivers itself: one that hangs, or ends the
 * process, takes heed-info with it.
 */
#include "info/steps.h"

struct asking {
    struct found *found;
    heed_report *why;
    heed_status status;
};

static void tell(void *context, const struct message *message)
{
    struct asking *const asking = context;

    if (asking->status >= 0)
        asking->status = steps_take(asking->found, message, asking->why);
}

heed_status ask_devices(const heed_runtime_desc *desc, const struct ask *ask, struct found *found,
                        heed_report *why)
{
    struct asking asking = { .found = found, .why = why, .status = HEED_OK };

    *found = (struct found){ .count = 0 };
    steps_describe(desc, ask, 0, tell, &asking);
    return asking.status;
}
