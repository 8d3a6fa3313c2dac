/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The CUDA backend: which devices there are, what each must offer, opening and closing.
 */
#include "state.h"

#include <stdio.h>
#include <string.h>

enum { GROUP_ROWS = 64, LEAST_CAPABILITY = 80, REASON = sizeof(((heed_device_props *)0)->reason) };

/* ---- which devices ---- */

/* What cuInit and cuDeviceGetCount may fail with, in words that outlive the call. */
static const struct {
    int code;
    const char *reason;
} absences[] = {
    { HEED_CU_NO_DEVICE, "the CUDA driver knows no device" },
    { 34, "the CUDA library found is a stub without a driver (CUDA error 34)" },
    { 46, "the CUDA devices are taken or cannot be reached (CUDA error 46)" },
    { 304, "the system refused the CUDA driver something (CUDA error 304)" },
    { 802, "the CUDA driver is not ready yet (CUDA error 802)" },
    { 803, "CUDA library and kernel driver do not fit together (CUDA error 803)" },
    { 804, "this device has no forward compatibility of CUDA (CUDA error 804)" },
    { 999, "the CUDA driver failed in a way unknown to it (CUDA error 999)" },
    { 0, "the CUDA driver cannot be initialised" },
};

static const char *absence(int code)
{
    int i = 0;

    while (absences[i].code && absences[i].code != code)
        i++;
    return absences[i].reason;
}

/* The driver, ready, and the number of its devices, at least 1; NULL: *reason, static text. */
static const struct heed_cuda_driver *find_devices(int *n, const char **reason)
{
    const struct heed_cuda_driver *driver = heed_cuda_driver_get(reason);
    int code;

    *n = 0;
    if (driver == NULL)
        return NULL;
    code = driver->init(0);
    if (code == 0)
        code = driver->device_count(n);
    if (code == 0 && *n > 0)
        return driver;
    *n = 0;
    *reason = absence(code ? code : HEED_CU_NO_DEVICE);
    return NULL;
}

static uint32_t count(void)
{
    const char *reason;
    int n;

    (void)find_devices(&n, &reason);
    return (uint32_t)n;
}

static const char *none(void)
{
    const char *reason = NULL;
    int n;

    (void)find_devices(&n, &reason);
    return reason;
}

static void refuse_props(heed_device_props *props, heed_status status, const char *reason)
{
    props->usable = status;
    props->exact = 0;
    snprintf(props->reason, sizeof(props->reason), "%.127s", reason);
}

/* What a device must have to be opened. */
static void judge(heed_device_props *props, int capability)
{
    const char *missing = NULL;
    char reason[REASON];

    if (capability < LEAST_CAPABILITY) {
        snprintf(reason, sizeof(reason), "compute capability %d.%d; 8.0 is the least",
                 capability / 10, capability % 10);
        refuse_props(props, HEED_E_UNSUPPORTED, reason);
    } else if (heed_cuda_images[0].name == NULL && heed_cuda_nvrtc_get(&missing) == NULL) {
        snprintf(reason, sizeof(reason), "this library was built without nvcc, and %s", missing);
        refuse_props(props, HEED_E_UNSUPPORTED, reason);
    }
}

/* 90 for compute capability 9.0. */
static int find_capability(const struct heed_cuda_driver *driver, int device, int *capability)
{
    int major = 0, minor = 0;
    int code = driver->device_attribute(&major, HEED_CU_DEVICE_MAJOR, device);

    if (code == 0)
        code = driver->device_attribute(&minor, HEED_CU_DEVICE_MINOR, device);
    *capability = major * 10 + minor;
    return code;
}

static int describe_device(const struct heed_cuda_driver *driver, int ordinal,
                           heed_device_props *props)
{
    char name[96] = "";
    int device = 0, capability = 0, processors = 0;
    size_t memory = 0;
    int code = driver->device_get(&device, ordinal);

    if (code == 0)
        code = driver->device_name(name, (int)sizeof(name) - 1, device);
    if (code == 0)
        code = find_capability(driver, device, &capability);
    if (code == 0)
        code = driver->device_attribute(&processors, HEED_CU_DEVICE_MULTIPROCESSORS, device);
    if (code == 0)
        code = driver->device_memory(&memory, device);
    if (code)
        return code;
    snprintf(props->description, sizeof(props->description), "%s (sm_%d)", name, capability);
    props->width = processors > 0 ? (uint32_t)processors : 1;
    props->memory = memory;
    judge(props, capability);
    return 0;
}

static void describe_name(heed_device_props *props, int ordinal)
{
    props->kind = HEED_DEVICE_CUDA;
    props->usable = HEED_OK;
    props->width = 1;
    snprintf(props->name, sizeof(props->name), "cuda:%d", ordinal);
    snprintf(props->description, sizeof(props->description), "CUDA device");
}

static void describe_ordinal(const struct heed_cuda_driver *driver, int ordinal,
                             heed_device_props *props)
{
    struct heed_trouble trouble = { 0 };
    const int code = describe_device(driver, ordinal, props);

    if (code)
        refuse_props(props, heed_cuda_fail(driver, NULL, code, "cuDeviceGet", &trouble),
                     trouble.text);
}

static void describe(uint32_t index, heed_device_props *props)
{
    const char *reason;
    int n;
    const struct heed_cuda_driver *driver = find_devices(&n, &reason);

    describe_name(props, (int)index);
    if (driver)
        describe_ordinal(driver, (int)index, props);
    else        /* there was one when they were counted */
        refuse_props(props, HEED_E_NOT_FOUND, reason);
}

/* ---- opening ---- */

static const struct heed_driver kernel_driver = {
    .size = sizeof(struct heed_driver),
    .handles = 0,
    .memory_create = heed_cuda_memory_create,
    .memory_destroy = heed_cuda_memory_destroy,
    .kernel = heed_cuda_kernel_get,
    .run = heed_cuda_run,
};

/* All but the context; NULL: no memory. */
static struct heed_cuda_state *state_create(const struct heed_cuda_driver *driver,
                                            const struct heed_services *services)
{
    struct heed_cuda_state *state =
        services->alloc(services->runtime, sizeof(*state), _Alignof(struct heed_cuda_state));

    if (state == NULL)
        return NULL;
    memset(state, 0, sizeof(*state));
    state->shared = (struct heed_device_state){
        .driver = &kernel_driver,
        .services = services,
        .traits = { .shape = HEED_SHAPE_WORKGROUP, .tile_rows = 6, .group_rows = GROUP_ROWS },
    };
    state->driver = driver;
    atomic_init(&state->lost, 0);
    if (pthread_mutex_init(&state->lock, NULL) == 0)
        return state;
    services->free(services->runtime, state, sizeof(*state), _Alignof(struct heed_cuda_state));
    return NULL;
}

/* Takes any state that state_create has made, however far it got. */
static void state_destroy(struct heed_cuda_state *state)
{
    const struct heed_services *services = state->shared.services;

    if (state->context && heed_cuda_enter_to_destroy(state)) {
        heed_cuda_kernels_drop(state);
        if (state->stream)
            (void)state->driver->stream_destroy(state->stream);
        heed_cuda_leave(state);
    }
    if (state->primary)
        (void)state->driver->primary_release(state->device);
    pthread_mutex_destroy(&state->lock);
    services->free(services->runtime, state, sizeof(*state), _Alignof(struct heed_cuda_state));
}

/* The device, and its primary context unless there is the caller's. */
static heed_status attach(struct heed_cuda_state *state, int ordinal, void *context,
                          struct heed_trouble *trouble)
{
    const struct heed_cuda_driver *driver = state->driver;
    int code = driver->device_get(&state->device, ordinal);

    if (code == 0)
        code = find_capability(driver, state->device, &state->capability);
    if (code)
        return heed_cuda_fail(driver, state, code, "cuDeviceGet", trouble);
    state->context = context;
    if (context)
        return HEED_OK;
    code = driver->primary_retain(&state->context, state->device);
    if (code)
        return heed_cuda_fail(driver, state, code, "cuDevicePrimaryCtxRetain", trouble);
    state->primary = 1;
    return HEED_OK;
}

/* A stream of our own; and is the context one of this device? */
static heed_status settle(struct heed_cuda_state *state, struct heed_trouble *trouble)
{
    const struct heed_cuda_driver *driver = state->driver;
    heed_status status = heed_cuda_enter(state, trouble);
    int device = 0, code;

    if (status < 0)
        return status;
    code = driver->context_device(&device);
    if (code) {
        status = heed_cuda_fail(driver, state, code, "cuCtxGetDevice", trouble);
    } else if (device != state->device) {
        heed_cuda_say(trouble, "the context is not one of this device");
        status = HEED_E_MISMATCH;
    } else {
        code = driver->stream_create(&state->stream, HEED_CU_STREAM_NON_BLOCKING);
        if (code)
            status = heed_cuda_fail(driver, state, code, "cuStreamCreate", trouble);
    }
    heed_cuda_leave(state);
    return status;
}

/* Does it have the reference's bits? If not, it still computes; the reason is kept for people. */
static heed_status examine(heed_device *device, const struct heed_services *services,
                           struct heed_trouble *trouble)
{
    const char *reason = "";
    const heed_status status =
        heed_device_self_test(device, &heed_cuda_remote, &reason, trouble);

    if (status < 0)
        return status;
    device->props.exact = reason[0] == '\0';
    snprintf(device->props.reason, sizeof(device->props.reason), "%.127s", reason);
    if (reason[0])
        heed_cuda_log(services, HEED_CUDA_LOG_WARNING, device->props.reason);
    return HEED_OK;
}

static heed_status open_context(heed_device *device, const struct heed_services *services,
                                int ordinal, void *context, struct heed_trouble *trouble)
{
    const char *reason;
    int n;
    const struct heed_cuda_driver *driver = find_devices(&n, &reason);
    struct heed_cuda_state *state;
    heed_status status;

    if (driver == NULL) {
        heed_cuda_say(trouble, "%s", reason);
        return HEED_E_NOT_FOUND;
    }
    state = state_create(driver, services);
    if (state == NULL)
        return HEED_E_NOMEM;
    status = attach(state, ordinal, context, trouble);
    if (status >= 0)
        status = settle(state, trouble);
    if (status >= 0) {
        device->state = state;
        state->opening = trouble;
        status = examine(device, services, trouble);
        state->opening = NULL;
    }
    if (status < 0) {
        device->state = NULL;
        state_destroy(state);
    }
    return status;
}

heed_status heed_cuda_open(heed_device *device, const struct heed_services *services)
{
    struct heed_trouble trouble = { 0 };
    heed_status status = device->props.usable;

    if (status < 0)
        return status;
    status = open_context(device, services, (int)device->index, NULL, &trouble);
    if (status < 0)
        refuse_props(&device->props, status,
                     trouble.text[0] ? trouble.text : "no memory to open the device");
    return status;
}

/* native: the device's ordinal, made a pointer. */
heed_status heed_cuda_wrap(heed_device *device, const struct heed_services *services, void *context,
                           void *native, struct heed_trouble *trouble)
{
    const uintptr_t ordinal = (uintptr_t)native;
    heed_device_props *props = &device->props;
    const char *reason;
    int n;
    const struct heed_cuda_driver *driver = find_devices(&n, &reason);

    if (driver == NULL || ordinal >= (uintptr_t)n) {
        heed_cuda_say(trouble, "%s", driver ? "the CUDA driver knows no such device" : reason);
        return HEED_E_NOT_FOUND;
    }
    if (context == NULL) {
        heed_cuda_say(trouble, "the context is NULL");
        return HEED_E_NULL;
    }
    describe_name(props, (int)ordinal);
    describe_ordinal(driver, (int)ordinal, props);
    if (props->usable < 0) {
        trouble->native = 0;
        heed_cuda_say(trouble, "%s", props->reason);
        return props->usable;
    }
    return open_context(device, services, (int)ordinal, context, trouble);
}

void heed_cuda_close(heed_device *device, const struct heed_services *services)
{
    (void)services;
    state_destroy(device->state);
    device->state = NULL;
}

const struct heed_backend heed_cuda_backend = {
    .size = sizeof(struct heed_backend),
    .kind = HEED_DEVICE_CUDA,
    .host = 0,
    .lowered = 1,
    .count = count,
    .describe = describe,
    .impls = heed_device_impls,
    .remote = &heed_cuda_remote,
    .none = none,
    .prefix = "cuda",
};
