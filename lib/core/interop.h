/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Vendors' objects as heed's, whatever the vendor: what the interop.c of a backend is made of,
 * which is compiled into every library. prefix: of the backend's devices' names. Pointers are the
 * vendor's. Statuses as in the vendors' public headers; HEED_E_NOT_BUILT where the backend is not
 * compiled in.
 */
#ifndef HEED_LIB_INTEROP_H
#define HEED_LIB_INTEROP_H

#include "../backend.h"
#include "compiler.h"

/* HEED_E_NULL, naming the field. */
HEED_MUST_CHECK
heed_status heed_interop_require(const void *pointer, const char *field, heed_report *);

HEED_MUST_CHECK
heed_status heed_interop_device(const char *prefix, heed_runtime *, void *context, void *native,
                                heed_device **out, heed_report *);
HEED_MUST_CHECK
heed_status heed_interop_queue(const char *prefix, heed_device *, void *native, heed_queue **out,
                               heed_report *);
HEED_MUST_CHECK
heed_status heed_interop_event(const char *prefix, heed_device *, void *native, heed_event **out,
                               heed_report *);
HEED_MUST_CHECK
heed_status heed_interop_event_get(const char *prefix, const heed_event *, void **native);

/* queue.c: the device is an offload one; out is not NULL. */
HEED_MUST_CHECK
heed_status heed_queue_over(heed_device *, void *native, heed_queue **out, heed_report *);
HEED_MUST_CHECK
heed_status heed_event_over(heed_device *, void *native, heed_event **out, heed_report *);

#endif
