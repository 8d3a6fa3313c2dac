/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Vendors' objects as heed's: the checks and the way to the backend. The vendor is known by the
 * prefix of its backend's devices; a backend that is not compiled in is named as absent.
 */
#include "interop.h"

#include "context.h"
#include "error.h"

#include <string.h>

static const struct heed_backend *find_backend(const char *prefix)
{
    for (size_t i = 0; heed_backends[i] != NULL; i++) {
        const struct heed_backend *backend = heed_backends[i];

        if (backend->offload != NULL && strcmp(backend->prefix, prefix) == 0)
            return backend;
    }
    return NULL;
}

static heed_status not_built(const char *prefix, heed_report *report)
{
    const char *reason = "this library was built without that backend";

    for (size_t i = 0; heed_backends_absent[i].prefix != NULL; i++) {
        if (strcmp(heed_backends_absent[i].prefix, prefix) == 0)
            reason = heed_backends_absent[i].reason;
    }
    return heed_report_fill(report, HEED_E_NOT_BUILT, NULL, 0, 0, "%s", reason);
}

heed_status heed_interop_require(const void *pointer, const char *field, heed_report *report)
{
    if (pointer != NULL)
        return HEED_OK;
    return heed_report_fill(report, HEED_E_NULL, field, 0, 0, "a required pointer is NULL");
}

heed_status heed_interop_device(const char *prefix, heed_runtime *runtime, void *context,
                                void *native, heed_device **out, heed_report *report)
{
    const struct heed_backend *backend = find_backend(prefix);
    heed_status status = heed_interop_require(runtime, "runtime", report);

    if (status >= 0)
        status = heed_interop_require(context, "context", report);
    if (status >= 0)
        status = heed_interop_require(out, "device", report);
    if (status < 0)
        return status;
    if (backend == NULL)
        return not_built(prefix, report);
    return heed_context_wrap(runtime, backend, context, native, out, report);
}

/* What a queue and an event have in common. */
static heed_status require_device(const char *prefix, const heed_device *device, const void *out,
                                  const char *name, heed_report *report)
{
    heed_status status = heed_interop_require(device, "device", report);

    if (status >= 0)
        status = heed_interop_require(out, name, report);
    if (status < 0)
        return status;
    if (find_backend(prefix) == NULL)
        return not_built(prefix, report);
    if (device->backend != find_backend(prefix))
        return heed_report_fill(report, HEED_E_MISMATCH, "device", 0, 0, "%.60s is no device of %s",
                                device->props.name, prefix);
    return HEED_OK;
}

heed_status heed_interop_queue(const char *prefix, heed_device *device, void *native,
                               heed_queue **out, heed_report *report)
{
    const heed_status status = require_device(prefix, device, out, "queue", report);

    return status < 0 ? status : heed_queue_over(device, native, out, report);
}

heed_status heed_interop_event(const char *prefix, heed_device *device, void *native,
                               heed_event **out, heed_report *report)
{
    heed_status status = heed_interop_require(native, "event", report);

    if (status >= 0)
        status = require_device(prefix, device, out, "out", report);
    return status < 0 ? status : heed_event_over(device, native, out, report);
}

heed_status heed_interop_event_get(const char *prefix, const heed_event *event, void **native)
{
    const struct heed_backend *backend = find_backend(prefix);

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
