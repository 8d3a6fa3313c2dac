/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * heed/opencl.h and heed/cuda.h, without the vendors' headers: their objects are pointers to
 * structs of which the tags alone are known, and those make the functions the ones that the headers
 * declare. They exist in every build; a backend that is not compiled in is named as absent.
 */
#include "interop.h"

#include "context.h"
#include "error.h"

#include <string.h>

typedef struct _cl_context *cl_context;
typedef struct _cl_device_id *cl_device_id;
typedef struct _cl_command_queue *cl_command_queue;
typedef struct _cl_event *cl_event;
typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef int CUdevice;

/* As in heed/opencl.h and heed/cuda.h. */
HEED_API heed_status heed_opencl_device(heed_runtime *, cl_context, cl_device_id, heed_device **,
                                        heed_report *);
HEED_API heed_status heed_opencl_queue(heed_device *, cl_command_queue, heed_queue **,
                                       heed_report *);
HEED_API heed_status heed_opencl_event(heed_device *, cl_event, heed_event **, heed_report *);
HEED_API heed_status heed_opencl_event_get(const heed_event *, cl_event *);
HEED_API heed_status heed_cuda_device(heed_runtime *, CUcontext, CUdevice, heed_device **,
                                      heed_report *);
HEED_API heed_status heed_cuda_queue(heed_device *, CUstream, heed_queue **, heed_report *);
HEED_API heed_status heed_cuda_event(heed_device *, CUevent, heed_event **, heed_report *);
HEED_API heed_status heed_cuda_event_get(const heed_event *, CUevent *);

/* A vendor's side of heed. */
struct vendor {
    uint32_t kind;
    const char *prefix;
};
static const struct vendor opencl = { HEED_DEVICE_OPENCL, "opencl" };
static const struct vendor cuda = { HEED_DEVICE_CUDA, "cuda" };

static const struct heed_backend *find_backend(const struct vendor *vendor)
{
    for (size_t i = 0; heed_backends[i] != NULL; i++) {
        if (heed_backends[i]->kind == vendor->kind && heed_backends[i]->offload != NULL)
            return heed_backends[i];
    }
    return NULL;
}

static heed_status not_built(const struct vendor *vendor, heed_report *report)
{
    const char *reason = "this library was built without that backend";

    for (size_t i = 0; heed_backends_absent[i].prefix != NULL; i++) {
        if (strcmp(heed_backends_absent[i].prefix, vendor->prefix) == 0)
            reason = heed_backends_absent[i].reason;
    }
    return heed_report_fill(report, HEED_E_NOT_BUILT, NULL, 0, 0, "%s", reason);
}

static heed_status require(const void *pointer, const char *field, heed_report *report)
{
    if (pointer != NULL)
        return HEED_OK;
    return heed_report_fill(report, HEED_E_NULL, field, 0, 0, "a required pointer is NULL");
}

static heed_status make_device(const struct vendor *vendor, heed_runtime *runtime, void *context,
                               void *native, heed_device **out, heed_report *report)
{
    const struct heed_backend *backend = find_backend(vendor);
    heed_status status = require(runtime, "runtime", report);

    if (status >= 0)
        status = require(context, "context", report);
    if (status >= 0)
        status = require(out, "device", report);
    if (status < 0)
        return status;
    if (backend == NULL)
        return not_built(vendor, report);
    return heed_context_wrap(runtime, backend, context, native, out, report);
}

/* What a queue and an event have in common. */
static heed_status check_device(const struct vendor *vendor, const heed_device *device,
                                const void *out, const char *name, heed_report *report)
{
    heed_status status = require(device, "device", report);

    if (status >= 0)
        status = require(out, name, report);
    if (status < 0)
        return status;
    if (find_backend(vendor) == NULL)
        return not_built(vendor, report);
    if (device->backend != find_backend(vendor))
        return heed_report_fill(report, HEED_E_MISMATCH, "device", 0, 0, "%.60s is no device of %s",
                                device->props.name, vendor->prefix);
    return HEED_OK;
}

static heed_status get_event(const struct vendor *vendor, const heed_event *event, void **native)
{
    const struct heed_backend *backend = find_backend(vendor);

    if (event == NULL)
        return HEED_E_NULL;
    if (backend == NULL)
        return HEED_E_NOT_BUILT;
    if (event->device->backend != backend)
        return HEED_E_MISMATCH;
    if (event->offload == NULL)
        return HEED_E_UNSUPPORTED;
    *native = backend->offload->event_native(event->device, event->offload);
    return *native != NULL ? HEED_OK : HEED_E_DEVICE;
}

/* ---- OpenCL ---- */

heed_status heed_opencl_device(heed_runtime *runtime, cl_context context, cl_device_id id,
                               heed_device **out, heed_report *report)
{
    const heed_status status = require(id, "id", report);

    return status < 0 ? status : make_device(&opencl, runtime, context, id, out, report);
}

heed_status heed_opencl_queue(heed_device *device, cl_command_queue commands, heed_queue **out,
                              heed_report *report)
{
    heed_status status = require(commands, "commands", report);

    if (status >= 0)
        status = check_device(&opencl, device, out, "queue", report);
    return status < 0 ? status : heed_queue_over(device, commands, out, report);
}

heed_status heed_opencl_event(heed_device *device, cl_event event, heed_event **out,
                              heed_report *report)
{
    heed_status status = require(event, "event", report);

    if (status >= 0)
        status = check_device(&opencl, device, out, "out", report);
    return status < 0 ? status : heed_event_over(device, event, out, report);
}

heed_status heed_opencl_event_get(const heed_event *event, cl_event *out)
{
    void *native = NULL;
    const heed_status status = out == NULL ? HEED_E_NULL : get_event(&opencl, event, &native);

    if (status >= 0)
        *out = native;
    return status;
}

/* ---- CUDA ---- */

heed_status heed_cuda_device(heed_runtime *runtime, CUcontext context, CUdevice ordinal,
                             heed_device **out, heed_report *report)
{
    if (ordinal < 0)
        return heed_report_fill(report, HEED_E_VALUE, "ordinal", 0, ordinal,
                                "devices are counted from 0");
    return make_device(&cuda, runtime, context, (void *)(uintptr_t)(unsigned)ordinal, out, report);
}

heed_status heed_cuda_queue(heed_device *device, CUstream stream, heed_queue **out,
                            heed_report *report)
{
    const heed_status status = check_device(&cuda, device, out, "queue", report);

    return status < 0 ? status : heed_queue_over(device, stream, out, report);
}

heed_status heed_cuda_event(heed_device *device, CUevent event, heed_event **out,
                            heed_report *report)
{
    heed_status status = require(event, "event", report);

    if (status >= 0)
        status = check_device(&cuda, device, out, "out", report);
    return status < 0 ? status : heed_event_over(device, event, out, report);
}

heed_status heed_cuda_event_get(const heed_event *event, CUevent *out)
{
    void *native = NULL;
    const heed_status status = out == NULL ? HEED_E_NULL : get_event(&cuda, event, &native);

    if (status >= 0)
        *out = native;
    return status;
}
