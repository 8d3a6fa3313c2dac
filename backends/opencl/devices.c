/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Asks every platform for its devices and every device for what decides whether and how heed can
 * use it. Nothing here makes a context.
 */
#include "devices.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_PLATFORMS = 16,
    TEXT = 512,
    PARAMETER_BYTES = 1024,         /* of a kernel: what OpenCL promises, and the large ones need */
    LOCAL_FOR_64_ROWS = 48 * 1024,
    LOCAL_LEAST = 32 * 1024,            /* for 32 */
    WIDE_VECTOR = 16
};

/* Written once per heed_opencl_api_generation. */
static struct {
    pthread_mutex_t lock;
    bool looked;
    uint32_t generation, n;
    const char *reason;
    struct heed_opencl_found list[HEED_OPENCL_DEVICES];
} machine = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Some drivers do not end a text that was cut, and some count no final NUL. */
static void take_text(const char *text, size_t size, char *to, size_t room)
{
    size_t n = 0;

    while (n < size && n + 1 < room && text[n] != '\0') {
        to[n] = (unsigned char)text[n] < ' ' ? ' ' : text[n];
        n++;
    }
    to[n] = '\0';
}

void heed_opencl_device_text(const struct heed_opencl_api *api, void *device, uint32_t what,
                             char *to, size_t size)
{
    char text[TEXT];
    size_t n = 0;

    if (api->GetDeviceInfo(device, what, sizeof(text), text, &n) != HEED_CL_SUCCESS)
        n = 0;
    take_text(text, n < sizeof(text) ? n : sizeof(text), to, size);
}

void heed_opencl_platform_text(const struct heed_opencl_api *api, void *platform, uint32_t what,
                               char *to, size_t size)
{
    char text[TEXT];
    size_t n = 0;

    if (api->GetPlatformInfo(platform, what, sizeof(text), text, &n) != HEED_CL_SUCCESS)
        n = 0;
    take_text(text, n < sizeof(text) ? n : sizeof(text), to, size);
}

/* Numbers of 4 and of 8 bytes; size_t counts as 8. 0 when there is no answer. */
static uint32_t ask32(const struct heed_opencl_api *api, void *device, uint32_t what)
{
    uint32_t value = 0;

    return api->GetDeviceInfo(device, what, sizeof(value), &value, NULL) == HEED_CL_SUCCESS ? value
                                                                                            : 0;
}

static uint64_t ask64(const struct heed_opencl_api *api, void *device, uint32_t what)
{
    uint64_t value = 0;

    return api->GetDeviceInfo(device, what, sizeof(value), &value, NULL) == HEED_CL_SUCCESS ? value
                                                                                            : 0;
}

/* "OpenCL 1.2 ..." as 12, "OpenCL 3.0 ..." as 30; 0 when it is written otherwise. */
static long version_of(const struct heed_opencl_api *api, void *device)
{
    static const char before[] = "OpenCL ";
    char text[TEXT], *rest;
    long major, minor;

    heed_opencl_device_text(api, device, HEED_CL_DEVICE_VERSION, text, sizeof(text));
    if (strncmp(text, before, sizeof(before) - 1) != 0)
        return 0;
    major = strtol(text + sizeof(before) - 1, &rest, 10);
    if (*rest != '.' || major < 0 || major > 1000)
        return 0;
    minor = strtol(rest + 1, NULL, 10);
    return 10 * major + (minor < 0 || minor > 9 ? 9 : minor);
}

/* NULL: it can be used. */
static const char *refuse(const struct heed_opencl_api *api, void *device)
{
    char profile[64];

    heed_opencl_device_text(api, device, HEED_CL_DEVICE_PROFILE, profile, sizeof(profile));
    if (!ask32(api, device, HEED_CL_DEVICE_AVAILABLE))
        return "the driver says that the device is not available";
    if (strcmp(profile, "FULL_PROFILE") != 0)
        return "embedded profile: f32 need not be IEEE there";
    if (version_of(api, device) < 12)
        return "older than OpenCL 1.2";
    if (!ask32(api, device, HEED_CL_DEVICE_COMPILER_AVAILABLE))
        return "no compiler for OpenCL C";
    if (!ask32(api, device, HEED_CL_DEVICE_ENDIAN_LITTLE))
        return "big-endian";
    if (ask32(api, device, HEED_CL_DEVICE_ADDRESS_BITS) != 64)
        return "addresses are not of 64 bits";
    if (ask64(api, device, HEED_CL_DEVICE_MAX_PARAMETER_SIZE) < PARAMETER_BYTES)
        return "kernels may have fewer than 1024 bytes of parameters";
    if (ask64(api, device, HEED_CL_DEVICE_MAX_WORK_GROUP_SIZE) < HEED_GROUP_ITEMS)
        return "work-groups have fewer than 256 items";
    if (ask64(api, device, HEED_CL_DEVICE_LOCAL_MEM_SIZE) < LOCAL_LEAST)
        return "less than 32 KiB of local memory";
    return NULL;
}

void heed_opencl_device_ask(const struct heed_opencl_api *api, void *platform, void *device,
                            struct heed_opencl_found *out)
{
    char maker[48], name[72];
    const char *const reason = refuse(api, device);

    heed_opencl_platform_text(api, platform, HEED_CL_PLATFORM_NAME, maker, sizeof(maker));
    heed_opencl_device_text(api, device, HEED_CL_DEVICE_NAME, name, sizeof(name));
    *out = (struct heed_opencl_found){
        .platform = platform,
        .device = device,
        .type = ask64(api, device, HEED_CL_DEVICE_TYPE),
        .memory = ask64(api, device, HEED_CL_DEVICE_GLOBAL_MEM_SIZE),
        .local_memory = ask64(api, device, HEED_CL_DEVICE_LOCAL_MEM_SIZE),
        .units = ask32(api, device, HEED_CL_DEVICE_MAX_COMPUTE_UNITS),
        .vector = ask32(api, device, HEED_CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT),
        .usable = reason != NULL ? HEED_E_UNSUPPORTED : HEED_OK,
    };
    if (out->units == 0)
        out->units = 1;
    snprintf(out->description, sizeof(out->description), "%s: %s", maker, name);
    snprintf(out->reason, sizeof(out->reason), "%s", reason != NULL ? reason : "");
}

/* A processor is given wide vectors and no barriers, all else work-groups. */
struct heed_device_traits heed_opencl_traits(const struct heed_opencl_found *found, uint32_t shape)
{
    if (shape == 0)
        shape = found->type & HEED_CL_DEVICE_TYPE_CPU ? HEED_SHAPE_LANES
                                                               : HEED_SHAPE_WORKGROUP;
    return (struct heed_device_traits){
        .processor = (found->type & HEED_CL_DEVICE_TYPE_CPU) != 0,
        .shape = shape,
        .workers = found->units,
        .tile_rows = found->vector >= WIDE_VECTOR ? 12 : 6,
        .group_rows = found->local_memory >= LOCAL_FOR_64_ROWS ? 64 : 32,
    };
}

static bool listed(const void *device)
{
    for (uint32_t i = 0; i < machine.n; i++) {
        if (machine.list[i].device == device)
            return true;
    }
    return false;
}

static void look_for(const struct heed_opencl_api *api, void *platform, uint64_t type)
{
    void *devices[HEED_OPENCL_DEVICES];
    uint32_t n = 0;

    if (api->GetDeviceIDs(platform, type, HEED_OPENCL_DEVICES, devices, &n) != HEED_CL_SUCCESS)
        return;
    for (uint32_t i = 0; i < n && i < HEED_OPENCL_DEVICES; i++) {
        if (machine.n < HEED_OPENCL_DEVICES && !listed(devices[i]))
            heed_opencl_device_ask(api, platform, devices[i], &machine.list[machine.n++]);
    }
}

static void look(void)
{
    const struct heed_opencl_api *const api = heed_opencl_api_get(&machine.reason);
    void *platforms[MAX_PLATFORMS];
    uint32_t n = 0;

    machine.n = 0;
    if (api == NULL)
        return;
    if (api->GetPlatformIDs(MAX_PLATFORMS, platforms, &n) != HEED_CL_SUCCESS)
        n = 0;
    machine.reason = n == 0 ? "the OpenCL loader knows no platform (no driver is installed)"
                            : "the OpenCL platforms have no device";
    for (uint32_t i = 0; i < n && i < MAX_PLATFORMS; i++) {
        look_for(api, platforms[i], HEED_CL_DEVICE_TYPE_ALL);
        look_for(api, platforms[i], HEED_CL_DEVICE_TYPE_CUSTOM);    /* not among "all" */
    }
}

uint32_t heed_opencl_devices(const struct heed_opencl_found **list, const char **reason)
{
    const uint32_t generation = heed_opencl_api_generation();
    uint32_t n;

    pthread_mutex_lock(&machine.lock);
    if (!machine.looked || machine.generation != generation)
        look();
    machine.looked = true;
    machine.generation = generation;
    n = machine.n;
    *reason = machine.reason;
    pthread_mutex_unlock(&machine.lock);
    *list = machine.list;
    return n;
}
