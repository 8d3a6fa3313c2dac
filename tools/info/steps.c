/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * See steps.h.
 */
#include "steps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- telling ------------------------------------------------------------ */

struct teller {
    steps_tell *tell;
    void *context;
};

static void tell_name(const struct teller *to, enum what what, uint32_t index,
                      const heed_device *device)
{
    struct message message = { .what = what, .index = index };

    snprintf(message.props.name, sizeof message.props.name, "%s",
             device != NULL ? heed_device_name(device) : "");
    to->tell(to->context, &message);
}

/* A backend of whose devices there is none here is compiled in all the same; the message says what
 * is missing. */
static void tell_missing(const struct teller *to, const heed_runtime *runtime, const char *name,
                         uint32_t kind)
{
    struct message message = { .what = MISSING, .index = kind };
    heed_device *device = NULL;

    message.report.size = sizeof message.report;
    if (heed_device_find(runtime, name, &device, &message.report) < 0)
        to->tell(to->context, &message);
}

static void tell_device(const struct teller *to, uint32_t index, const heed_device *device,
                        bool open)
{
    struct message message = { .what = DEVICE, .index = index };

    tell_name(to, OPENING, index, device);
    message.props.size = sizeof message.props;
    if ((open ? heed_device_info : heed_device_listing)(device, &message.props) < 0)
        return;
    (void)!heed_device_gemm(device, message.gemm, sizeof message.gemm); /* empty: none is known */
    to->tell(to->context, &message);
}

static bool opens(const struct ask *ask, const heed_device *device)
{
    return ask->device != NULL ? strcmp(heed_device_name(device), ask->device) == 0 : ask->test;
}

static void tell_all(const struct teller *to, const heed_runtime *runtime,
                     const struct ask *ask, uint32_t first)
{
    bool opencl = false, cuda = false;
    heed_device *device;

    for (uint32_t i = 0;; i++) {
        tell_name(to, LISTING, i, NULL);
        device = heed_device_get(runtime, i);
        if (device == NULL)
            break;
        opencl = opencl || strncmp(heed_device_name(device), "opencl", 6) == 0;
        cuda = cuda || strncmp(heed_device_name(device), "cuda", 4) == 0;
        if (i >= first)
            tell_device(to, i, device, opens(ask, device));
    }
    if (!opencl)
        tell_missing(to, runtime, "opencl:0", HEED_DEVICE_OPENCL);
    if (!cuda)
        tell_missing(to, runtime, "cuda:0", HEED_DEVICE_CUDA);
    tell_name(to, END, 0, NULL);
}

void steps_describe(const heed_runtime_desc *desc, const struct ask *ask, uint32_t first,
                    steps_tell *tell, void *context)
{
    const struct teller *const to = &(struct teller){ tell, context };
    struct message message = { .what = FAILED, .report.size = sizeof message.report };
    heed_runtime *runtime = NULL;
    heed_device *device = NULL;

    if (heed_runtime_create(desc, &runtime, &message.report) < 0) {
        to->tell(to->context, &message);
        return;
    }
    if (heed_device_find(runtime, NULL, &device, NULL) < 0)
        device = NULL;
    tell_name(to, PREFERRED, 0, device);
    tell_all(to, runtime, ask, first);
    heed_runtime_destroy(runtime);
}

/* ---- hearing ------------------------------------------------------------ */

heed_status steps_add(struct found *found, const heed_device_props *props, const char *gemm)
{
    heed_device_props *const longer =
        realloc(found->devices, (found->count + 1u) * sizeof *found->devices);
    void *texts;

    if (longer == NULL)
        return HEED_E_NOMEM;
    found->devices = longer;
    texts = realloc(found->gemm, (found->count + 1u) * sizeof *found->gemm);
    if (texts == NULL)
        return HEED_E_NOMEM;
    found->gemm = texts;
    snprintf(found->gemm[found->count], sizeof *found->gemm, "%s", gemm);
    found->devices[found->count++] = *props;
    if (props->kind < ASK_KINDS)
        found->built[props->kind] = true;
    return HEED_OK;
}

heed_status steps_take(struct found *found, const struct message *message, heed_report *why)
{
    switch ((enum what)message->what) {
    case PREFERRED:
        snprintf(found->preferred, sizeof found->preferred, "%s", message->props.name);
        break;
    case DEVICE:
        return steps_add(found, &message->props, message->gemm);
    case MISSING:
        if (message->index < ASK_KINDS) {
            found->missing[message->index] = message->report;
            found->built[message->index] = message->report.status != HEED_E_NOT_BUILT;
        }
        break;
    case FAILED:
        *why = message->report;
        return message->report.status;
    case LISTING:
    case OPENING:
    case END: break;
    }
    return HEED_OK;
}
