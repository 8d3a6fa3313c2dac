/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * One device at a time, by its name, with a runtime and a queue of its own.
 */
#ifndef HEED_TESTS_SUPPORT_OPENED_H
#define HEED_TESTS_SUPPORT_OPENED_H

#include "support/suite.h"

#include <heed/heed.h>

static struct opened {
    heed_runtime *runtime;
    heed_device *device;
    heed_queue *queue;
} on;

static inline void device_open(const char *name)
{
    ck_assert_int_eq(heed_runtime_create(NULL, &on.runtime, NULL), HEED_OK);
    ck_assert_int_eq(heed_device_find(on.runtime, name, &on.device, NULL), HEED_OK);
    ck_assert_int_eq(heed_queue_create(on.device, 0, &on.queue, NULL), HEED_OK);
}

/* false: the library has no such device. */
static inline bool device_try(const char *name)
{
    heed_device *found;

    ck_assert_int_eq(heed_runtime_create(NULL, &on.runtime, NULL), HEED_OK);
    if (heed_device_find(on.runtime, name, &found, NULL) < 0) {
        heed_runtime_destroy(on.runtime);
        return false;
    }
    on.device = found;
    ck_assert_int_eq(heed_queue_create(on.device, 0, &on.queue, NULL), HEED_OK);
    return true;
}

static inline void device_close(void)
{
    heed_queue_destroy(on.queue);
    heed_runtime_destroy(on.runtime);
}

#endif
