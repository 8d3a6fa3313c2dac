/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The CUDA driver of the tests. Every function begins with step(), which counts, writes down and
 * may fail it. Those that need a context look whether one is current.
 */
#include "fake_cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INVALID_VALUE = 1, NO_DEVICE = 100, INVALID_DEVICE = 101, INVALID_CONTEXT = 201 };
enum { NO_BINARY = 209, INVALID_HANDLE = 400 };

struct fake_cuda fake_cuda;

static char context_of_device, context_of_caller, function_of_module;

/* ---- account ---- */

/* Pushing and popping a context is no work for the device: it fails by name only, unless asked
 * for. */
static int step(const char *name)
{
    const bool aside = strncmp(name, "cuCtxP", 6) == 0 && !fake_cuda.count_contexts;

    if (!aside || (fake.fail_name != NULL && strcmp(fake.fail_name, name) == 0))
        return fake_call(name);
    fake_note(name);
    return 0;
}

static int step_inside(const char *name)
{
    const int code = step(name);

    if (fake_cuda.depth > 0)
        return code;
    fake_mistake(name);
    return INVALID_CONTEXT;
}

void fake_cuda_reset(void)
{
    memset(&fake_cuda, 0, sizeof(fake_cuda));
    fake_reset();
    fake_cuda.devices = 1;
    fake_cuda.capability = 90;
    fake_cuda.version = 13000;
}

void fake_cuda_install(void)
{
    heed_cuda_api_set(&fake_cuda_driver, NULL);
    heed_cuda_nvrtc_set(&fake_cuda_nvrtc, NULL);
}

void fake_cuda_uninstall(void)
{
    heed_cuda_api_set(NULL, NULL);
    heed_cuda_nvrtc_set(NULL, NULL);
}

long fake_cuda_alive(void)
{
    return fake_alive() + fake_cuda.depth;
}

void *fake_cuda_context(void)
{
    fake_cuda.stack[fake_cuda.depth++] = &context_of_caller;
    return &context_of_caller;
}

void fake_cuda_context_end(void)
{
    if (fake_cuda.depth != 1 || fake_cuda.stack[0] != &context_of_caller)
        fake_mistake("the caller's context is no longer current");
    fake_cuda.depth = 0;
}

void fake_cuda_context_lost(void)
{
    static const enum fake_kind inside[] = { FAKE_MEMORY, FAKE_QUEUE, FAKE_EVENT, FAKE_MODULE };

    for (size_t i = 0; i < sizeof(inside) / sizeof(inside[0]); i++)
        fake.alive[inside[i]] = 0;
}

/* ---- devices ---- */

static int init(unsigned flags)
{
    const int code = step("cuInit");

    if (flags != 0)
        return INVALID_VALUE;
    return code ? code : fake_cuda.init_code;
}

static int driver_version(int *version)
{
    *version = fake_cuda.version;
    return step("cuDriverGetVersion");
}

static int error_string(int error, const char **text)
{
    *text = error == 700 ? "an illegal memory access was encountered" : NULL;
    return *text ? 0 : INVALID_VALUE;
}

static int device_count(int *count)
{
    *count = fake_cuda.devices;
    return step("cuDeviceGetCount");
}

static int device_get(int *device, int ordinal)
{
    *device = ordinal + 5;          /* no caller may take one for the other */
    return ordinal < 0 || ordinal >= fake_cuda.devices ? INVALID_DEVICE : step("cuDeviceGet");
}

static int device_is(int device)
{
    return device >= 5 && device < 5 + fake_cuda.devices;
}

static int device_name(char *name, int size, int device)
{
    snprintf(name, (size_t)size, "Fake %d", device - 5);
    return device_is(device) ? step("cuDeviceGetName") : INVALID_DEVICE;
}

static int device_memory(size_t *bytes, int device)
{
    *bytes = (size_t)1 << 30;
    return device_is(device) ? step("cuDeviceTotalMem") : INVALID_DEVICE;
}

static int device_attribute(int *value, int attribute, int device)
{
    *value = attribute == HEED_CU_DEVICE_MAJOR   ? fake_cuda.capability / 10
             : attribute == HEED_CU_DEVICE_MINOR ? fake_cuda.capability % 10
                                                 : 132;
    return device_is(device) ? step("cuDeviceGetAttribute") : INVALID_DEVICE;
}

/* ---- contexts ---- */

static int primary_retain(void **context, int device)
{
    const int code = step("cuDevicePrimaryCtxRetain");

    if (code || !device_is(device))
        return code ? code : INVALID_DEVICE;
    *context = &context_of_device;
    fake.alive[FAKE_CONTEXT]++;
    return 0;
}

static int primary_release(int device)
{
    fake.alive[FAKE_CONTEXT]--;
    return device_is(device) ? step("cuDevicePrimaryCtxRelease") : INVALID_DEVICE;
}

static int context_push(void *context)
{
    const int code = step("cuCtxPushCurrent");

    if (code)
        return code;
    if (fake_cuda.depth == FAKE_CUDA_DEPTH ||
        (context != &context_of_caller && context != &context_of_device)) {
        fake_mistake("cuCtxPushCurrent");
        return INVALID_CONTEXT;
    }
    fake_cuda.stack[fake_cuda.depth++] = context;
    return 0;
}

/* Takes the context away even where it says that it failed, as drivers do with sticky codes. */
static int context_pop(void **context)
{
    if (fake_cuda.depth == 0) {
        fake_mistake("cuCtxPopCurrent");
        return INVALID_CONTEXT;
    }
    *context = fake_cuda.stack[--fake_cuda.depth];
    return step("cuCtxPopCurrent");
}

static int context_device(int *device)
{
    *device = 5;
    return step_inside("cuCtxGetDevice");
}

/* ---- capturing ---- */

static int stream_captures(void *stream, int *status)
{
    const int code = step_inside("cuStreamIsCapturing");

    *status = fake_cuda.captures && stream != NULL && stream == fake_cuda.captured;
    return code;
}

/* What a stream that is captured cannot do, or what would belong to the graph alone. */
static int step_outside(const char *name, void *stream)
{
    if (fake_cuda.captures && stream != NULL && stream == fake_cuda.captured)
        fake_mistake(name);
    return step_inside(name);
}

/* ---- memory ---- */

/* While a stream is captured in the global mode, only threads in the relaxed one may. */
static int capture_mode(int *mode)
{
    const int before = fake_cuda.mode;

    fake_cuda.mode = *mode;
    *mode = before;
    return 0;
}

static int apart(const char *name)
{
    if (fake_cuda.captures && fake_cuda.mode != HEED_CU_CAPTURE_RELAXED)
        fake_mistake(name);
    return step_inside(name);
}

static int memory_create(heed_cuda_address *memory, size_t bytes)
{
    const int code = apart("cuMemAlloc");

    if (code || bytes == 0)
        return code ? code : INVALID_VALUE;
    *memory = (uintptr_t)fake_create(FAKE_MEMORY, bytes);
    memset((void *)(uintptr_t)*memory, 0xa5, bytes);
    return 0;
}

static int memory_destroy(heed_cuda_address memory)
{
    const int code = apart("cuMemFree");

    (void)fake_release((void *)(uintptr_t)memory, FAKE_MEMORY, "cuMemFree");
    return code;
}

static int stream_is(void *stream)
{
    return stream == NULL || fake_is(stream, FAKE_QUEUE, "a stream");
}

static int copy_in(heed_cuda_address to, const void *from, size_t bytes, void *stream)
{
    const int code = apart("cuMemcpyHtoDAsync");

    if (code || !stream_is(stream))
        return code ? code : INVALID_HANDLE;
    memcpy((void *)(uintptr_t)to, from, bytes);
    return 0;
}

static int copy_out(void *to, heed_cuda_address from, size_t bytes, void *stream)
{
    const int code = apart("cuMemcpyDtoHAsync");

    if (code || !stream_is(stream))
        return code ? code : INVALID_HANDLE;
    memcpy(to, (const void *)(uintptr_t)from, bytes);
    return 0;
}

/* ---- streams and events ---- */

/* What is given back is gone, whatever the call says. */
#define DESTROY(function, kind, call)                                                              \
    static int function(void *object)                                                              \
    {                                                                                              \
        const int code = kind == FAKE_MODULE ? apart(call) : step_inside(call);                    \
                                                                                                   \
        (void)fake_release(object, kind, call);                                                    \
        return code;                                                                               \
    }
DESTROY(stream_destroy, FAKE_QUEUE, "cuStreamDestroy")
DESTROY(event_destroy, FAKE_EVENT, "cuEventDestroy")
DESTROY(module_unload, FAKE_MODULE, "cuModuleUnload")
#undef DESTROY

static int stream_create(void **stream, unsigned flags)
{
    const int code = step_inside("cuStreamCreate");

    if (code || flags != HEED_CU_STREAM_NON_BLOCKING)
        return code ? code : INVALID_VALUE;
    *stream = fake_create(FAKE_QUEUE, sizeof(void *));
    *(void **)*stream = fake_cuda.stack[fake_cuda.depth - 1];
    return 0;
}

static int stream_context(void *stream, void **context)
{
    const int code = step_inside("cuStreamGetCtx");

    if (code || !fake_is(stream, FAKE_QUEUE, "cuStreamGetCtx"))
        return code ? code : INVALID_HANDLE;
    *context = *(void **)stream;
    return 0;
}

static int stream_finish(void *stream)
{
    const int code = step_outside("cuStreamSynchronize", stream);

    return stream_is(stream) ? code : INVALID_HANDLE;
}

static int stream_wait(void *stream, void *event, unsigned flags)
{
    const int code = step_outside("cuStreamWaitEvent", stream);
    const int right = stream_is(stream) && fake_is(event, FAKE_EVENT, "cuStreamWaitEvent");

    return right && flags == 0 ? code : INVALID_HANDLE;
}

static int event_create(void **event, unsigned flags)
{
    const int code = step_inside("cuEventCreate");

    if (code || flags != HEED_CU_EVENT_DISABLE_TIMING)
        return code ? code : INVALID_VALUE;
    *event = fake_create(FAKE_EVENT, 0);
    return 0;
}

static int event_record(void *event, void *stream)
{
    const int code = step_outside("cuEventRecord", stream);

    return stream_is(stream) && fake_is(event, FAKE_EVENT, "cuEventRecord") ? code : INVALID_HANDLE;
}

static int event_finish(void *event)
{
    const int code = step_inside("cuEventSynchronize");

    return fake_is(event, FAKE_EVENT, "cuEventSynchronize") ? code : INVALID_HANDLE;
}

/* ---- modules ---- */

static int is_host(const void *image)
{
    return image != NULL && strncmp(image, FAKE_CUDA_HOST, sizeof(FAKE_CUDA_HOST)) == 0;
}

static int module_load(void **module, const void *cubin, unsigned n, int *options, void **values)
{
    static const char complaint[] = "\nfirst line of the driver's log\nsecond line";
    const int code = apart("cuModuleLoadDataEx");

    if (code || cubin == NULL)
        return code ? code : INVALID_VALUE;
    if (fake_cuda.refuse_modules > 0 ||
        (fake_cuda.refuse_embedded &&
         memcmp(cubin, FAKE_CUDA_COMPILED, sizeof(FAKE_CUDA_COMPILED)) != 0)) {
        fake_cuda.refuse_modules -= fake_cuda.refuse_modules > 0;
        for (unsigned i = 0; i < n; i++) {
            if (options[i] == HEED_CU_JIT_ERROR_LOG_BUFFER)
                memcpy(values[i], complaint, sizeof(complaint));
        }
        return NO_BINARY;
    }
    *module = fake_create(FAKE_MODULE, is_host(cubin) ? sizeof(struct fake_cuda_host) : 1);
    if (is_host(cubin))
        memcpy(*module, cubin, sizeof(struct fake_cuda_host));
    return 0;
}

static int module_function(void **function, void *module, const char *name)
{
    const int code = step_inside("cuModuleGetFunction");

    if (code || !fake_is(module, FAKE_MODULE, "cuModuleGetFunction"))
        return code ? code : INVALID_VALUE;
    *function = is_host(module) ? module : &function_of_module;
    return is_host(module) || strcmp(name, "heed_kernel") == 0 ? 0 : INVALID_VALUE;
}

static int function_attribute(int *value, int attribute, void *function)
{
    *value = attribute == HEED_CU_FUNCTION_MAX_THREADS ? 1024 : 0;
    return function == &function_of_module ? step_inside("cuFuncGetAttribute") : INVALID_HANDLE;
}

static int launch(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                  unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                  void *stream, void **parameters, void **extra)
{
    const int code = step_inside("cuLaunchKernel");
    struct fake_cuda_launch *launched = &fake_cuda.launches[fake_cuda.n_launches];
    const unsigned ones = grid_y * grid_z * block_y * block_z;
    const int known = function == &function_of_module || is_host(function);

    if (!known || ones != 1 || grid_x == 0 || block_x == 0 || block_x > 1024 || shared != 0 ||
        extra != NULL || !stream_is(stream)) {
        fake_mistake("cuLaunchKernel");
        return INVALID_VALUE;
    }
    if (code)
        return code;
    if (is_host(function)) {
        for (size_t i = 0; i < (size_t)grid_x * block_x; i++)
            ((const struct fake_cuda_host *)function)->item(parameters, i);
        return 0;
    }
    if (fake_cuda.n_launches == FAKE_CUDA_LAUNCHES - 1)
        return 0;
    fake_cuda.n_launches++;
    *launched = (struct fake_cuda_launch){ function, stream, grid_x, block_x, 0, NULL, { NULL } };
    memcpy(&launched->blob, parameters[0], sizeof(launched->blob));
    memcpy(launched->pointers, parameters[1], sizeof(launched->pointers));
    memcpy(&launched->group, parameters[2], sizeof(launched->group));
    if (fake.launched != NULL)
        fake.launched(block_x, grid_x, launched->blob, launched->pointers[1]);
    return 0;
}

#define MEMBER(member, symbol, arguments) .member = member,
const struct heed_cuda_api fake_cuda_driver = {
    HEED_CUDA_DRIVER(MEMBER) HEED_CUDA_OPTIONAL(MEMBER)
};
