/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which devices there are, what each must offer, and attaching to one.
 */
#include "state.h"

#include <stdio.h>

enum {
    GROUP_ROWS = 64,
    GROUP_SUMS = 64,            /* as backends/cuda/cubins.py */
    LEAST_CAPABILITY = 80,
    REASON = sizeof(((heed_device_props *)0)->reason)
};

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
static const struct heed_cuda_api *find_devices(int *n, const char **reason)
{
    const struct heed_cuda_api *driver = heed_cuda_api_get(reason);
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

uint32_t heed_cuda_device_count(void)
{
    const char *reason;
    int n;

    (void)find_devices(&n, &reason);
    return (uint32_t)n;
}

const char *heed_cuda_device_none(void)
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
static void require_device(heed_device_props *props, int capability)
{
    const char *missing = NULL;
    char reason[REASON];

    if (capability < LEAST_CAPABILITY) {
        snprintf(reason, sizeof(reason), "compute capability %d.%d; 8.0 is the least",
                 capability / 10, capability % 10);
        refuse_props(props, HEED_E_UNSUPPORTED, reason);
    } else if (heed_cuda_cubins[0].name == NULL && heed_cuda_nvrtc_get(&missing) == NULL) {
        snprintf(reason, sizeof(reason), "this library was built without nvcc, and %s", missing);
        refuse_props(props, HEED_E_UNSUPPORTED, reason);
    }
}

/* 90 for compute capability 9.0. */
static int find_capability(const struct heed_cuda_api *driver, int device, int *capability)
{
    int major = 0, minor = 0;
    int code = driver->device_attribute(&major, HEED_CU_DEVICE_MAJOR, device);

    if (code == 0)
        code = driver->device_attribute(&minor, HEED_CU_DEVICE_MINOR, device);
    *capability = major * 10 + minor;
    return code;
}

static int describe_device(const struct heed_cuda_api *driver, int ordinal,
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
    require_device(props, capability);
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

static void describe_ordinal(const struct heed_cuda_api *driver, int ordinal,
                             heed_device_props *props)
{
    struct heed_error_detail detail = { 0 };
    const int code = describe_device(driver, ordinal, props);

    if (code != 0)
        refuse_props(props, heed_cuda_status(driver, code, "cuDeviceGet", &detail), detail.text);
}

void heed_cuda_device_describe(uint32_t index, heed_device_props *props)
{
    const char *reason;
    int n;
    const struct heed_cuda_api *driver = find_devices(&n, &reason);

    describe_name(props, (int)index);
    if (driver)
        describe_ordinal(driver, (int)index, props);
    else        /* there was one when they were counted */
        refuse_props(props, HEED_E_NOT_FOUND, reason);
}

/* ---- the caller's ------------------------------------------------------- */

/* native: the device's ordinal, made a pointer. */
heed_status heed_cuda_device_wrap(heed_device_props *props, void *context, void *native,
                                  struct heed_error_detail *detail)
{
    const uintptr_t ordinal = (uintptr_t)native;
    const char *reason;
    int n;
    const struct heed_cuda_api *driver = find_devices(&n, &reason);

    (void)context;                  /* attach looks at it */
    if (driver == NULL || ordinal >= (uintptr_t)n) {
        heed_offload_say(detail, "%s", driver ? "the CUDA driver knows no such device" : reason);
        return HEED_E_NOT_FOUND;
    }
    describe_name(props, (int)ordinal);
    describe_ordinal(driver, (int)ordinal, props);
    return HEED_OK;
}

/* ---- attaching --------------------------------------------------------- */

/* The context, the device's primary one unless there is the caller's. */
static heed_status take_context(struct heed_cuda_state *state, void *context,
                                struct heed_error_detail *detail)
{
    heed_status status;

    state->context = context;
    if (context != NULL)
        return HEED_OK;
    status = heed_cuda_check(state, state->driver->primary_retain(&state->context, state->device),
                             "cuDevicePrimaryCtxRetain", detail);
    state->primary = status >= 0;
    return status;
}

/* Is the context one of this device? And a stream of our own. */
static heed_status enter_context(struct heed_cuda_state *state, struct heed_error_detail *detail)
{
    const struct heed_cuda_api *driver = state->driver;
    heed_status status = heed_cuda_enter(state, detail);
    int device = 0;

    if (status < 0)
        return status;
    status = heed_cuda_check(state, driver->context_device(&device), "cuCtxGetDevice", detail);
    if (status >= 0 && device != state->device) {
        heed_offload_say(detail, "the context is not one of this device");
        status = HEED_E_MISMATCH;
    }
    if (status >= 0)
        status = heed_cuda_check(state, driver->stream_create(&state->stream,
                                                              HEED_CU_STREAM_NON_BLOCKING),
                                 "cuStreamCreate", detail);
    heed_cuda_leave(state);
    return status;
}

heed_status heed_cuda_attach(void *opened, uint32_t index, void *context, void *native,
                             struct heed_error_detail *detail)
{
    struct heed_cuda_state *const state = opened;
    const int ordinal = context != NULL ? (int)(uintptr_t)native : (int)index;
    const char *reason;
    heed_status status;
    int n, code, processors = 0, ends = 0;

    state->common.base.traits = (struct heed_device_traits){
        .shape = HEED_SHAPE_WORKGROUP, .tile_rows = 6, .group_rows = GROUP_ROWS,
        .group_sums = GROUP_SUMS
    };
    state->driver = find_devices(&n, &reason);
    if (state->driver == NULL) {
        heed_offload_say(detail, "%s", reason);
        return HEED_E_NOT_FOUND;
    }
    code = state->driver->device_get(&state->device, ordinal);
    if (code == 0)
        code = find_capability(state->driver, state->device, &state->capability);
    if (code == 0)
        code = state->driver->device_attribute(&processors, HEED_CU_DEVICE_MULTIPROCESSORS,
                                               state->device);
    if (code == 0)
        code = state->driver->device_attribute(&ends, HEED_CU_DEVICE_KERNELS_END, state->device);
    state->common.base.traits.workers = processors > 0 ? (uint32_t)processors : 1;
    state->common.base.traits.endless = ends == 0;
    status = heed_cuda_check(state, code, "cuDeviceGet", detail);
    state->common.base.traits.mma = heed_unit_suggested(&(struct heed_unit_hints){
        .vendor = HEED_VENDOR_NVIDIA, .capability = (uint32_t)state->capability });
    if (status >= 0)
        status = take_context(state, context, detail);
    return status < 0 ? status : enter_context(state, detail);
}

void heed_cuda_detach(void *opened)
{
    struct heed_cuda_state *const state = opened;

    if (state->stream != NULL && heed_cuda_enter_to_destroy(state)) {
        heed_cuda_gemm_close(state);
        (void)state->driver->stream_destroy(state->stream);
        heed_cuda_leave(state);
    }
    if (state->primary)
        (void)state->driver->primary_release(state->device);
}
