/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The devices of the host that tests of one process walk. Nothing lists them by hand.
 */
#include "devices.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool stands_for_another(const heed_runtime *runtime, const char *name)
{
    const size_t length = strlen(name);
    heed_device_props props = { .size = sizeof props };
    heed_device *device;

    for (uint32_t i = 0; (device = heed_device_get(runtime, i)) != NULL; i++) {
        if (heed_device_info(device, &props) >= 0 && strncmp(props.name, name, length) == 0 &&
            props.name[length] == ':')
            return true;
    }
    return false;
}

/* Has it the kernels of another instruction set, and for FAST alone some more? */
static bool adds_a_unit(const heed_device_props *props)
{
    return strncmp(props->description, "amx ", 4) == 0 ||
           strncmp(props->description, "avx512bf16 ", 11) == 0;
}

uint32_t cf_host_devices(const heed_runtime *runtime, heed_device *devices[MAX_HOST_DEVICES])
{
    heed_device_props props = { .size = sizeof props };
    heed_device *device;
    uint32_t n = 0;

    for (uint32_t i = 0; (device = heed_device_get(runtime, i)) && n < MAX_HOST_DEVICES; i++) {
        if (heed_device_info(device, &props) < 0 || props.kind >= HEED_DEVICE_OPENCL ||
            stands_for_another(runtime, props.name) || adds_a_unit(&props))
            continue;
        if (props.usable < 0) {
            printf("# no %s: %s\n", props.name, props.reason);
            continue;
        }
        devices[n++] = device;
        if (props.kind == HEED_DEVICE_REFERENCE) {
            memmove(&devices[1], &devices[0], (n - 1) * sizeof *devices);
            devices[0] = device;
        }
    }
    return n;
}
