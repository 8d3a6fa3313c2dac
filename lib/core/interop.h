/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Queues and events over the caller's own, whatever the vendor. For interop.c.
 */
#ifndef HEED_LIB_INTEROP_H
#define HEED_LIB_INTEROP_H

#include "../backend.h"
#include "compiler.h"

/* The device must be an offload one. Pointers are the vendor's; out is not NULL. */
HEED_MUST_CHECK
heed_status heed_queue_over(heed_device *, void *native, heed_queue **out, heed_report *);
HEED_MUST_CHECK
heed_status heed_event_over(heed_device *, void *native, heed_event **out, heed_report *);

#endif
