/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which devices there are: every platform is asked for its devices, every device for what decides
 * whether and how heed can use it, once per process, since drivers are slow to ask, and some start
 * threads that would not survive a later fork. And attaching to one. Each device has three names:
 * "opencl:0" with the kernels' shape that suits it, "opencl:0:lanes" and "opencl:0:workgroup" with
 * the shape forced, so that both can be tested.
 */
#include "state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_PLATFORMS = 16,
    TEXT = 512,
    PARAMETER_BYTES = 1024,         /* of a kernel: what OpenCL promises, and the large ones need */
    LOCAL_FOR_64_ROWS = 48 * 1024,
    LOCAL_LEAST = 32 * 1024,            /* for 32 */
    WIDE_VECTOR = 16,
    MAX_DEVICES = 64,               /* more than this are not looked at */
    SHAPES = 2
};
static const char *const shape_names[SHAPES] = { "lanes", "workgroup" };

struct found {
    void *platform, *device;
    uint64_t type;                  /* HEED_CL_DEVICE_TYPE_* */
    uint64_t memory, local_memory;  /* bytes */
    uint32_t units, vector;         /* compute units; floats in a register */
    uint32_t least_lanes;           /* of a sub-group; 0: it does not matter */
    uint32_t mma;                   /* the matrix unit that it may have; 0: none */
    bool many_registers, few_registers;
    heed_status usable;
    char description[128], reason[128];
    struct heed_offload_verdict verdict;        /* under the lock of heed_offload_open */
};

/* Written once per heed_opencl_api_generation, but for the verdicts. */
static struct {
    pthread_mutex_t lock;
    bool listed;
    uint32_t generation, n;
    const char *reason;
    struct found list[MAX_DEVICES];
} machine = { .lock = PTHREAD_MUTEX_INITIALIZER };

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

    heed_opencl_text(api->GetDeviceInfo, device, HEED_CL_DEVICE_VERSION, text, sizeof(text));
    if (strncmp(text, before, sizeof(before) - 1) != 0)
        return 0;
    major = strtol(text + sizeof(before) - 1, &rest, 10);
    if (*rest != '.' || major < 0 || major > 1000)
        return 0;
    minor = strtol(rest + 1, NULL, 10);
    return 10 * major + (minor < 0 || minor > 9 ? 9 : minor);
}

/* Intel's compiler chooses wide sub-groups, whose threads have few registers; GPUs from Xe-HP on
 * (12.5) have a mode with twice as many. */
enum { SUB_GROUP_SIZES = 16, XE_HP = 12 << 22 | 50 << 14 };

static uint32_t least_lanes_of(const struct heed_opencl_api *api, void *device)
{
    size_t sizes[SUB_GROUP_SIZES], bytes = 0, least = 0;

    if (ask32(api, device, HEED_CL_DEVICE_VENDOR_ID) != HEED_VENDOR_INTEL ||
        api->GetDeviceInfo(device, HEED_CL_DEVICE_SUB_GROUP_SIZES, sizeof sizes, sizes, &bytes) !=
            HEED_CL_SUCCESS || bytes > sizeof sizes)
        return 0;
    for (size_t i = 0; i < bytes / sizeof *sizes; i++) {
        if (least == 0 || sizes[i] < least)
            least = sizes[i];
    }
    return least == 8 || least == 16 ? (uint32_t)least : 0;
}

static bool has_many_registers(const struct heed_opencl_api *api, void *device)
{
    return ask32(api, device, HEED_CL_DEVICE_VENDOR_ID) == HEED_VENDOR_INTEL &&
           ask32(api, device, HEED_CL_DEVICE_IP_VERSION) >= XE_HP;
}

/* The matrix unit that a GPU may have. */
static uint32_t unit_of(const struct heed_opencl_api *api, void *device, uint32_t least_lanes)
{
    char name[64], extensions[16384] = "";
    const struct heed_unit_hints hints = {
        .vendor = ask32(api, device, HEED_CL_DEVICE_VENDOR_ID), .least_lanes = least_lanes,
        .capability = 10 * ask32(api, device, HEED_CL_DEVICE_CAPABILITY_MAJOR), .name = name,
        .extensions = extensions };

    heed_opencl_text(api->GetDeviceInfo, device, HEED_CL_DEVICE_NAME, name, sizeof(name));
    (void)api->GetDeviceInfo(device, HEED_CL_DEVICE_EXTENSIONS, sizeof(extensions) - 1,
                             extensions, NULL);
    return heed_unit_suggested(&hints);
}

/* Mesa's Rusticl on its software renderer: its compiler was not through with the self-test in
 * 40 s (Mesa 22.3), during which nothing can be told or stopped, and it flushes subnormals. */
static bool is_llvmpipe(const struct heed_opencl_api *api, void *platform, void *device)
{
    static const char renderer[] = "llvmpipe";
    char maker[32], name[32];

    heed_opencl_text(api->GetPlatformInfo, platform, HEED_CL_PLATFORM_NAME, maker, sizeof(maker));
    heed_opencl_text(api->GetDeviceInfo, device, HEED_CL_DEVICE_NAME, name, sizeof(name));
    return strcmp(maker, "rusticl") == 0 && strncmp(name, renderer, sizeof(renderer) - 1) == 0;
}

/* NULL: it can be used. */
static const char *refuse(const struct heed_opencl_api *api, void *platform, void *device)
{
    char profile[64];

    heed_opencl_text(api->GetDeviceInfo, device, HEED_CL_DEVICE_PROFILE, profile, sizeof(profile));
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
    if (ask64(api, device, HEED_CL_DEVICE_MAX_WORK_GROUP_SIZE) < HEED_GROUP_THREADS)
        return "work-groups have fewer than 256 items";
    if (ask64(api, device, HEED_CL_DEVICE_LOCAL_MEM_SIZE) < LOCAL_LEAST)
        return "less than 32 KiB of local memory";
    if (is_llvmpipe(api, platform, device))
        return "llvmpipe flushes subnormals and does not finish compiling";
    return NULL;
}

static void ask(const struct heed_opencl_api *api, void *platform, void *device,
                struct found *out)
{
    char maker[48], name[72];
    const char *const reason = refuse(api, platform, device);

    heed_opencl_text(api->GetPlatformInfo, platform, HEED_CL_PLATFORM_NAME, maker, sizeof(maker));
    heed_opencl_text(api->GetDeviceInfo, device, HEED_CL_DEVICE_NAME, name, sizeof(name));
    *out = (struct found){
        .platform = platform,
        .device = device,
        .type = ask64(api, device, HEED_CL_DEVICE_TYPE),
        .memory = ask64(api, device, HEED_CL_DEVICE_GLOBAL_MEM_SIZE),
        .local_memory = ask64(api, device, HEED_CL_DEVICE_LOCAL_MEM_SIZE),
        .units = ask32(api, device, HEED_CL_DEVICE_MAX_COMPUTE_UNITS),
        .vector = ask32(api, device, HEED_CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT),
        .least_lanes = least_lanes_of(api, device),
        .many_registers = has_many_registers(api, device),
        .few_registers = ask32(api, device, HEED_CL_DEVICE_VENDOR_ID) == HEED_VENDOR_INTEL &&
                         !has_many_registers(api, device),
        .usable = reason != NULL ? HEED_E_UNSUPPORTED : HEED_OK,
    };
    out->mma = out->type & HEED_CL_DEVICE_TYPE_CPU ? 0 : unit_of(api, device, out->least_lanes);
    if (out->units == 0)
        out->units = 1;
    snprintf(out->description, sizeof(out->description), "%s: %s", maker, name);
    snprintf(out->reason, sizeof(out->reason), "%s", reason != NULL ? reason : "");
}

/* shape: 0: not forced. */
static uint32_t shape_of(const struct found *found, uint32_t shape)
{
    if (shape != 0)
        return shape;
    return found->type & HEED_CL_DEVICE_TYPE_CPU ? HEED_SHAPE_LANES : HEED_SHAPE_WORKGROUP;
}

/* A processor is given wide vectors and no barriers, all else work-groups. */
static struct heed_device_traits traits_of(const struct found *found, uint32_t shape)
{
    if (shape == 0)
        shape = found->type & HEED_CL_DEVICE_TYPE_CPU ? HEED_SHAPE_LANES
                                                               : HEED_SHAPE_WORKGROUP;
    return (struct heed_device_traits){
        .processor = (found->type & HEED_CL_DEVICE_TYPE_CPU) != 0,
        .late = 1,
        .shape = shape,
        .workers = found->units,
        .tile_rows = found->vector >= WIDE_VECTOR ? 12 : 6,
        .group_rows = found->local_memory >= LOCAL_FOR_64_ROWS ? 64 : 32,
        .group_sums = found->few_registers ? 16 : 32,
        .least_lanes = found->type & HEED_CL_DEVICE_TYPE_CPU ? 0 : found->least_lanes,
        .many_registers = found->many_registers && !(found->type & HEED_CL_DEVICE_TYPE_CPU),
        .mma = shape == HEED_SHAPE_WORKGROUP ? found->mma : 0,
    };
}

/* The place of a device in the list; NULL: it has none. Under the lock. */
static struct found *listed(const void *device)
{
    for (uint32_t i = 0; i < machine.n; i++) {
        if (machine.list[i].device == device)
            return &machine.list[i];
    }
    return NULL;
}

static void list_type(const struct heed_opencl_api *api, void *platform, uint64_t type)
{
    void *devices[MAX_DEVICES];
    uint32_t n = 0;

    if (api->GetDeviceIDs(platform, type, MAX_DEVICES, devices, &n) != HEED_CL_SUCCESS)
        return;
    for (uint32_t i = 0; i < n && i < MAX_DEVICES && machine.n < MAX_DEVICES; i++) {
        if (listed(devices[i]) == NULL)
            ask(api, platform, devices[i], &machine.list[machine.n++]);
    }
}

static void list_all(void)
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
        list_type(api, platforms[i], HEED_CL_DEVICE_TYPE_ALL);
        list_type(api, platforms[i], HEED_CL_DEVICE_TYPE_CUSTOM);    /* not among "all" */
    }
}

/* The number of devices; 0 of them: *reason (static text) says why. */
static uint32_t find_devices(const char **reason)
{
    const uint32_t generation = heed_opencl_api_generation();
    uint32_t n;

    pthread_mutex_lock(&machine.lock);
    if (!machine.listed || machine.generation != generation)
        list_all();
    machine.listed = true;
    machine.generation = generation;
    n = machine.n;
    *reason = machine.reason;
    pthread_mutex_unlock(&machine.lock);
    return n;
}

uint32_t heed_opencl_device_count(void)
{
    const char *reason;

    return find_devices(&reason) * (1 + SHAPES);
}

const char *heed_opencl_device_none(void)
{
    const char *reason;

    (void)find_devices(&reason);
    return reason;
}

/* The plain devices come first, then each with either shape. *shape 0: not forced. */
static struct found *find(uint32_t index, uint32_t *place, uint32_t *shape)
{
    const char *reason;
    const uint32_t n = find_devices(&reason);

    *place = index < n ? index : (index - n) / SHAPES;
    *shape = index < n ? 0 : (index - n) % SHAPES + HEED_SHAPE_LANES;
    return *place < n ? &machine.list[*place] : NULL;
}

static void fill_props(heed_device_props *props, const struct found *found)
{
    props->size = sizeof(*props);
    props->kind = HEED_DEVICE_OPENCL;
    props->width = found->units;
    props->exact = 0;               /* open finds out */
    props->usable = found->usable;
    props->memory = found->memory;
    memcpy(props->description, found->description, sizeof(props->description));
    memcpy(props->reason, found->reason, sizeof(props->reason));
}

void heed_opencl_device_describe(uint32_t index, heed_device_props *props)
{
    uint32_t place, shape;
    const struct found *const found = find(index, &place, &shape);

    if (found == NULL)
        return;
    fill_props(props, found);
    if (shape == 0)
        snprintf(props->name, sizeof(props->name), "opencl:%u", (unsigned)place);
    else
        snprintf(props->name, sizeof(props->name), "opencl:%u:%s", (unsigned)place,
                 shape_names[shape - HEED_SHAPE_LANES]);
}

uint32_t heed_opencl_shape(uint32_t index)
{
    uint32_t place, shape;
    const struct found *const found = find(index, &place, &shape);

    return found != NULL ? shape_of(found, shape) : 0;
}

uint32_t heed_opencl_identify(uint32_t index, struct heed_hash *hash)
{
    const char *reason;
    const struct heed_opencl_api *const api = heed_opencl_api_get(&reason);
    uint32_t place, shape;
    const struct found *const found = find(index, &place, &shape);

    if (api == NULL || found == NULL)
        return 0;
    heed_opencl_hash(api, found->platform, found->device, hash);
    return 1;
}

/* PoCL keeps what it compiles, in a folder of its own. Asked for a binary it compiles the kernel a
 * second time, for work-groups of any size, which doubles the time of a cold start. */
static bool keeps_programs(const struct heed_opencl_api *api, void *platform)
{
    char name[64];

    heed_opencl_text(api->GetPlatformInfo, platform, HEED_CL_PLATFORM_NAME, name, sizeof(name));
    return strcmp(name, "Portable Computing Language") == 0;
}

/* ---- the caller's ------------------------------------------------------- */

/* Is the device one of the context's? */
static heed_status require_context(const struct heed_opencl_api *api, void *context, void *native,
                                   struct heed_error_detail *detail)
{
    void *devices[MAX_DEVICES] = { NULL };
    uint32_t n = 0;
    int32_t code;

    code = api->GetContextInfo(context, HEED_CL_CONTEXT_NUM_DEVICES, sizeof(n), &n, NULL);
    if (code == HEED_CL_SUCCESS && n <= MAX_DEVICES)
        code = api->GetContextInfo(context, HEED_CL_CONTEXT_DEVICES, n * sizeof(devices[0]),
                                   devices, NULL);
    if (code != HEED_CL_SUCCESS)
        return heed_opencl_status(code, "clGetContextInfo", detail);
    for (uint32_t i = 0; i < n && i < MAX_DEVICES; i++) {
        if (devices[i] == native)
            return HEED_OK;
    }
    heed_offload_say(detail, "the context is not for that device");
    return HEED_E_MISMATCH;
}

static heed_status ask_native(const struct heed_opencl_api *api, void *native, struct found *found,
                              struct heed_error_detail *detail)
{
    void *platform = NULL;
    const heed_status status = heed_opencl_status(
        api->GetDeviceInfo(native, HEED_CL_DEVICE_PLATFORM, sizeof(platform), &platform, NULL),
        "clGetDeviceInfo", detail);

    if (status >= 0)
        ask(api, platform, native, found);
    return status;
}

heed_status heed_opencl_device_wrap(heed_device_props *props, void *context, void *native,
                                    struct heed_error_detail *detail)
{
    const char *reason;
    const struct heed_opencl_api *const api = heed_opencl_api_get(&reason);
    struct found found;
    heed_status status;

    if (api == NULL || native == NULL) {
        heed_offload_say(detail, "%s", api == NULL ? reason : "the device is NULL");
        return api == NULL ? HEED_E_NOT_FOUND : HEED_E_NULL;
    }
    status = require_context(api, context, native, detail);
    if (status >= 0)
        status = ask_native(api, native, &found, detail);
    if (status < 0)
        return status;
    fill_props(props, &found);
    snprintf(props->name, sizeof(props->name), "opencl:wrapped");
    return HEED_OK;
}

/* ---- attaching --------------------------------------------------------- */

static heed_status enter_context(struct heed_opencl_state *state, void *context,
                                 struct heed_error_detail *detail)
{
    int32_t code = HEED_CL_SUCCESS;
    heed_status status;

    if (context != NULL) {
        status = heed_opencl_status(state->api->RetainContext(context), "clRetainContext", detail);
        state->context = status >= 0 ? context : NULL;
        return status;
    }
    context = state->api->CreateContext(NULL, 1, &state->device, NULL, NULL, &code);
    if (context == NULL && code == HEED_CL_SUCCESS)
        code = HEED_CL_OUT_OF_RESOURCES;
    status = heed_opencl_check(state, code, "clCreateContext", detail);
    state->context = status >= 0 ? context : NULL;
    return status;
}

/* The device of a caller, if it was found by listing; nothing is listed for it. */
static struct found *find_native(const void *native)
{
    const uint32_t generation = heed_opencl_api_generation();
    struct found *found = NULL;

    pthread_mutex_lock(&machine.lock);
    if (machine.listed && machine.generation == generation)
        found = listed(native);
    pthread_mutex_unlock(&machine.lock);
    return found;
}

heed_status heed_opencl_attach(void *opened, uint32_t index, void *context, void *native,
                               struct heed_error_detail *detail)
{
    struct heed_opencl_state *const state = opened;
    const char *reason;
    uint32_t place, shape = 0;
    struct found asked, *found;
    heed_status status;

    state->api = heed_opencl_api_get(&reason);
    found = native != NULL ? find_native(native) : find(index, &place, &shape);
    if (state->api == NULL || (found == NULL && native == NULL)) {
        heed_offload_say(detail, "%s", state->api == NULL ? reason : "the device is gone");
        return HEED_E_NOT_FOUND;
    }
    if (found == NULL) {            /* a part of a device, or of a driver beside the loader's */
        status = ask_native(state->api, native, &asked, detail);
        if (status < 0)
            return status;
        found = &asked;
    } else {
        state->common.verdict = &found->verdict;
    }
    state->platform = found->platform;
    state->device = found->device;
    state->keeps_programs = keeps_programs(state->api, state->platform);
    state->common.base.traits = traits_of(found, shape);
    return enter_context(state, context, detail);
}

void heed_opencl_detach(void *opened)
{
    struct heed_opencl_state *const state = opened;

    if (state->context != NULL)
        (void)state->api->ReleaseContext(state->context);
}
