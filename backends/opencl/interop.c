/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * heed/opencl.h, without the vendor's header: its objects are pointers to structs of which the tags
 * alone are known, and those make the functions the ones that the header declares. In every build.
 */
#include "../../lib/core/interop.h"

typedef struct _cl_context *cl_context;
typedef struct _cl_device_id *cl_device_id;
typedef struct _cl_command_queue *cl_command_queue;
typedef struct _cl_event *cl_event;

HEED_API heed_status heed_opencl_device(heed_runtime *, cl_context, cl_device_id, heed_device **,
                                        heed_report *);
HEED_API heed_status heed_opencl_queue(heed_device *, cl_command_queue, heed_queue **,
                                       heed_report *);
HEED_API heed_status heed_opencl_event(heed_device *, cl_event, heed_event **, heed_report *);
HEED_API heed_status heed_opencl_event_get(const heed_event *, cl_event *);

static const char prefix[] = "opencl";

heed_status heed_opencl_device(heed_runtime *runtime, cl_context context, cl_device_id id,
                               heed_device **out, heed_report *report)
{
    const heed_status status = heed_interop_require(id, "id", report);

    return status < 0 ? status : heed_interop_device(prefix, runtime, context, id, out, report);
}

heed_status heed_opencl_queue(heed_device *device, cl_command_queue commands, heed_queue **out,
                              heed_report *report)
{
    const heed_status status = heed_interop_require(commands, "commands", report);

    return status < 0 ? status : heed_interop_queue(prefix, device, commands, out, report);
}

heed_status heed_opencl_event(heed_device *device, cl_event event, heed_event **out,
                              heed_report *report)
{
    return heed_interop_event(prefix, device, event, out, report);
}

heed_status heed_opencl_event_get(const heed_event *event, cl_event *out)
{
    void *native = NULL;
    const heed_status status =
        out == NULL ? HEED_E_NULL : heed_interop_event_get(prefix, event, &native);

    if (status >= 0)
        *out = native;
    return status;
}
