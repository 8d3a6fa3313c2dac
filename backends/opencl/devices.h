/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the platforms of this machine offer, found once per process and never changed: drivers are
 * slow to ask, and some start threads that would not survive a later fork.
 */
#ifndef HEED_BACKENDS_OPENCL_DEVICES_H
#define HEED_BACKENDS_OPENCL_DEVICES_H

#include "../device/device.h"
#include "loader.h"

#include <stdbool.h>

struct heed_opencl_found {
    void *platform, *device;
    uint64_t type;                  /* HEED_CL_DEVICE_TYPE_* */
    uint64_t memory, local_memory;  /* bytes */
    uint32_t units, vector;         /* compute units; floats in a register */
    heed_status usable;
    char description[128], reason[128];
};

/* More devices than this are not looked at. */
enum { HEED_OPENCL_DEVICES = 64 };

/* The devices; 0 of them: *reason (static text) says why. */
uint32_t heed_opencl_devices(const struct heed_opencl_found **list, const char **reason);

/* Asks one device. */
void heed_opencl_device_ask(const struct heed_opencl_api *, void *platform, void *device,
                            struct heed_opencl_found *);

/* The kernels' parameters for it. shape 0: as suits the device. */
struct heed_device_traits heed_opencl_traits(const struct heed_opencl_found *, uint32_t shape);

/* A text of a device or platform, cut to size; "" when it cannot be had. */
void heed_opencl_device_text(const struct heed_opencl_api *, void *device, uint32_t what, char *to,
                             size_t size);
void heed_opencl_platform_text(const struct heed_opencl_api *, void *platform, uint32_t what,
                               char *to, size_t size);

#endif
