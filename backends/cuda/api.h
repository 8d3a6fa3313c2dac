/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What heed calls of the CUDA driver and of NVRTC, declared here because neither is needed to build
 * heed: a row per function becomes a member of the table and a name that loader.c looks up. Names
 * with _v2 are the present ABI of functions whose plain name is an older one. Optional ones are
 * NULL where the driver lacks them. Handles (CUcontext, CUmodule, CUfunction, CUstream, CUevent,
 * nvrtcProgram) are pointers, results and CUdevice ints.
 */
#ifndef HEED_BACKENDS_CUDA_API_H
#define HEED_BACKENDS_CUDA_API_H

#include <stddef.h>

typedef unsigned long long heed_cuda_address;       /* CUdeviceptr */

#define HEED_CUDA_DRIVER(F)                                                                        \
    F(init, "cuInit", (unsigned flags))                                                            \
    F(driver_version, "cuDriverGetVersion", (int *version))                                        \
    F(error_string, "cuGetErrorString", (int error, const char **text))                            \
    F(device_count, "cuDeviceGetCount", (int *count))                                              \
    F(device_get, "cuDeviceGet", (int *device, int ordinal))                                       \
    F(device_name, "cuDeviceGetName", (char *name, int size, int device))                          \
    F(device_memory, "cuDeviceTotalMem_v2", (size_t *bytes, int device))                           \
    F(device_attribute, "cuDeviceGetAttribute", (int *value, int attribute, int device))           \
    F(primary_retain, "cuDevicePrimaryCtxRetain", (void **context, int device))                    \
    F(primary_release, "cuDevicePrimaryCtxRelease_v2", (int device))                               \
    F(context_push, "cuCtxPushCurrent_v2", (void *context))                                        \
    F(context_pop, "cuCtxPopCurrent_v2", (void **context))                                         \
    F(context_device, "cuCtxGetDevice", (int *device))                                             \
    F(memory_create, "cuMemAlloc_v2", (heed_cuda_address * memory, size_t bytes))                  \
    F(memory_destroy, "cuMemFree_v2", (heed_cuda_address memory))                                  \
    F(copy_in, "cuMemcpyHtoDAsync_v2",                                                             \
      (heed_cuda_address to, const void *from, size_t bytes, void *stream))                        \
    F(copy_out, "cuMemcpyDtoHAsync_v2",                                                            \
      (void *to, heed_cuda_address from, size_t bytes, void *stream))                              \
    F(stream_create, "cuStreamCreate", (void **stream, unsigned flags))                            \
    F(stream_destroy, "cuStreamDestroy_v2", (void *stream))                                        \
    F(stream_finish, "cuStreamSynchronize", (void *stream))                                        \
    F(stream_wait, "cuStreamWaitEvent", (void *stream, void *event, unsigned flags))               \
    F(event_create, "cuEventCreate", (void **event, unsigned flags))                               \
    F(event_record, "cuEventRecord", (void *event, void *stream))                                  \
    F(event_finish, "cuEventSynchronize", (void *event))                                           \
    F(event_destroy, "cuEventDestroy_v2", (void *event))                                           \
    F(module_load, "cuModuleLoadDataEx",                                                           \
      (void **module, const void *cubin, unsigned n, int *options, void **values))                 \
    F(module_unload, "cuModuleUnload", (void *module))                                             \
    F(module_function, "cuModuleGetFunction", (void **function, void *module, const char *name))   \
    F(function_attribute, "cuFuncGetAttribute", (int *value, int attribute, void *function))       \
    F(launch, "cuLaunchKernel",                                                                    \
      (void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,        \
       unsigned block_y, unsigned block_z, unsigned shared, void *stream, void **parameters,       \
       void **extra))

#define HEED_CUDA_OPTIONAL(F)                                                                      \
    F(stream_context, "cuStreamGetCtx", (void *stream, void **context))                            \
    F(capture_mode, "cuThreadExchangeStreamCaptureMode", (int *mode))                              \
    F(stream_captures, "cuStreamIsCapturing", (void *stream, int *status))

#define HEED_CUDA_NVRTC(F)                                                                         \
    F(version, "nvrtcVersion", (int *major, int *minor))                                           \
    F(archs_count, "nvrtcGetNumSupportedArchs", (int *count))                                      \
    F(archs, "nvrtcGetSupportedArchs", (int *archs))                                               \
    F(create, "nvrtcCreateProgram",                                                                \
      (void **program, const char *source, const char *name, int n, const char *const *headers,    \
       const char *const *names))                                                                  \
    F(compile, "nvrtcCompileProgram", (void *program, int n, const char *const *options))          \
    F(destroy, "nvrtcDestroyProgram", (void **program))                                            \
    F(log_size, "nvrtcGetProgramLogSize", (void *program, size_t *size))                           \
    F(log, "nvrtcGetProgramLog", (void *program, char *log))                                       \
    F(cubin_size, "nvrtcGetCUBINSize", (void *program, size_t *size))                              \
    F(cubin, "nvrtcGetCUBIN", (void *program, char *cubin))                                        \
    F(ptx_size, "nvrtcGetPTXSize", (void *program, size_t *size))                                  \
    F(ptx, "nvrtcGetPTX", (void *program, char *ptx))

#define HEED_CUDA_MEMBER(member, symbol, arguments) int(*member) arguments;
struct heed_cuda_api {
    HEED_CUDA_DRIVER(HEED_CUDA_MEMBER)
    HEED_CUDA_OPTIONAL(HEED_CUDA_MEMBER)
};
struct heed_cuda_nvrtc {
    HEED_CUDA_NVRTC(HEED_CUDA_MEMBER)
};
#undef HEED_CUDA_MEMBER

/* Values of the vendor's enums. */
enum {
    HEED_CU_STREAM_NON_BLOCKING = 1,
    HEED_CU_CAPTURE_RELAXED = 2,
    HEED_CU_EVENT_DISABLE_TIMING = 2,
    HEED_CU_JIT_ERROR_LOG_BUFFER = 5,
    HEED_CU_JIT_ERROR_LOG_BUFFER_SIZE = 6,
    HEED_CU_FUNCTION_MAX_THREADS = 0,
    HEED_CU_DEVICE_MULTIPROCESSORS = 16,
    HEED_CU_DEVICE_KERNELS_END = 17,    /* CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT */
    HEED_CU_DEVICE_MAJOR = 75,
    HEED_CU_DEVICE_MINOR = 76
};

/* CUresult, as far as heed tells them apart. */
enum {
    HEED_CU_OUT_OF_MEMORY = 2,
    HEED_CU_DEINITIALIZED = 4,
    HEED_CU_DEVICE_UNAVAILABLE = 46,
    HEED_CU_NO_DEVICE = 100,
    HEED_CU_ECC_UNCORRECTABLE = 214,
    HEED_CU_NVLINK_UNCORRECTABLE = 220,
    HEED_CU_CONTAINED = 226,
    HEED_CU_ILLEGAL_ADDRESS = 700,
    HEED_CU_LAUNCH_TIMEOUT = 702,
    HEED_CU_CONTEXT_IS_DESTROYED = 709,
    HEED_CU_ASSERT = 710,
    HEED_CU_HARDWARE_STACK_ERROR = 714,
    HEED_CU_ILLEGAL_INSTRUCTION = 715,
    HEED_CU_MISALIGNED_ADDRESS = 716,
    HEED_CU_INVALID_ADDRESS_SPACE = 717,
    HEED_CU_INVALID_PC = 718,
    HEED_CU_LAUNCH_FAILED = 719,
    HEED_CU_TENSOR_MEMORY_LEAK = 721,
    HEED_CU_NOT_SUPPORTED = 801,
    HEED_CU_MPS_RPC_FAILURE = 806,
    HEED_CU_MPS_CLIENT_TERMINATED = 810,
    HEED_CU_EXTERNAL_DEVICE = 911
};

/* The driver and NVRTC; NULL: there is none, or not all of it, and *reason (static text, may be
 * NULL) says which. Any thread. */
const struct heed_cuda_api *heed_cuda_api_get(const char **reason);
const struct heed_cuda_nvrtc *heed_cuda_nvrtc_get(const char **reason);

/* Does the driver, of a version as cuDriverGetVersion tells it, take what NVRTC of this major
 * version makes? Of its own or an older one (CUDA Compatibility, NVIDIA 2025). */
static inline int heed_cuda_nvrtc_suits(int driver, int major)
{
    return major <= driver / 1000;
}

/* For tests: heed_library_set. */
void heed_cuda_api_set(const struct heed_cuda_api *, const char *reason);
void heed_cuda_nvrtc_set(const struct heed_cuda_nvrtc *, const char *reason);

#endif
