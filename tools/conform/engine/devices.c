/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The devices of the host that tests of one process walk. Nothing lists them by hand.
 */
#include "devices.h"

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

/* What descriptions begin with: an instruction set, and those that add to its kernels a unit for
 * bf16, for FAST alone (docs/backends.md). */
static const char *const alike[] = { "avx512 ", "avx512bf16 ", "amx " };
enum { ALIKE = sizeof alike / sizeof *alike };

/* Which of them; ALIKE: none. */
static int alike_find(const char *description)
{
    int i = 0;

    while (i < ALIKE && strncmp(description, alike[i], strlen(alike[i])) != 0)
        i++;
    return i;
}

bool cf_same_kernels(const char *one, const char *other)
{
    return strcmp(one, other) == 0 || (alike_find(one) < ALIKE && alike_find(other) < ALIKE);
}

static bool adds_a_unit(const heed_device_props *props)
{
    const int found = alike_find(props->description);

    return found > 0 && found < ALIKE;
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
