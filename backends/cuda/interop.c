/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * heed/cuda.h, without the vendor's header: its objects are pointers to structs of which the tags
 * alone are known, and those make the functions the ones that the header declares. In every build.
 */
#include "../../lib/core/error.h"
#include "../../lib/core/interop.h"

typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef int CUdevice;

HEED_API heed_status heed_cuda_device(heed_runtime *, CUcontext, CUdevice, heed_device **,
                                      heed_report *);
HEED_API heed_status heed_cuda_queue(heed_device *, CUstream, heed_queue **, heed_report *);
HEED_API heed_status heed_cuda_event(heed_device *, CUevent, heed_event **, heed_report *);
HEED_API heed_status heed_cuda_event_get(const heed_event *, CUevent *);

static const char prefix[] = "cuda";

heed_status heed_cuda_device(heed_runtime *runtime, CUcontext context, CUdevice ordinal,
                             heed_device **out, heed_report *report)
{
    if (ordinal < 0)
        return heed_report_fill(report, HEED_E_VALUE, "ordinal", 0, ordinal,
                                "devices are counted from 0");
    return heed_interop_device(prefix, runtime, context, (void *)(uintptr_t)(unsigned)ordinal, out,
                               report);
}

heed_status heed_cuda_queue(heed_device *device, CUstream stream, heed_queue **out,
                            heed_report *report)
{
    return heed_interop_queue(prefix, device, stream, out, report);
}

heed_status heed_cuda_event(heed_device *device, CUevent event, heed_event **out,
                            heed_report *report)
{
    return heed_interop_event(prefix, device, event, out, report);
}

heed_status heed_cuda_event_get(const heed_event *event, CUevent *out)
{
    void *native = NULL;
    const heed_status status =
        out == NULL ? HEED_E_NULL : heed_interop_event_get(prefix, event, &native);

    if (status >= 0)
        *out = native;
    return status;
}
