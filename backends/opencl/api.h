/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What heed calls of OpenCL 1.2, declared here because nothing of a vendor is needed to build heed:
 * a row per function becomes a member of the table and a name that loader.c looks up. Handles are
 * void *.
 */
#ifndef HEED_BACKENDS_OPENCL_API_H
#define HEED_BACKENDS_OPENCL_API_H

#include <stddef.h>
#include <stdint.h>

/* Statuses of OpenCL that mean something of their own here. */
enum {
    HEED_CL_SUCCESS = 0,
    HEED_CL_DEVICE_NOT_FOUND = -1,
    HEED_CL_DEVICE_NOT_AVAILABLE = -2,
    HEED_CL_MEM_OBJECT_ALLOCATION_FAILURE = -4,
    HEED_CL_OUT_OF_RESOURCES = -5,
    HEED_CL_OUT_OF_HOST_MEMORY = -6,
    HEED_CL_BUILD_PROGRAM_FAILURE = -11,
    HEED_CL_EXEC_STATUS_ERROR_IN_WAIT_LIST = -14,
    HEED_CL_INVALID_DEVICE = -33,
    HEED_CL_INVALID_CONTEXT = -34,
    HEED_CL_INVALID_COMMAND_QUEUE = -36,
    HEED_CL_INVALID_BUILD_OPTIONS = -43,
    HEED_CL_INVALID_BUFFER_SIZE = -61,
    HEED_CL_INVALID_COMPILER_OPTIONS = -66,
    HEED_CL_PLATFORM_NOT_FOUND = -1001
};

/* What is asked for; numbers of the OpenCL registry. */
enum {
    HEED_CL_PLATFORM_VERSION = 0x0901,
    HEED_CL_PLATFORM_NAME = 0x0902,
    HEED_CL_DEVICE_TYPE = 0x1000,
    HEED_CL_DEVICE_MAX_COMPUTE_UNITS = 0x1002,
    HEED_CL_DEVICE_MAX_WORK_GROUP_SIZE = 0x1004,
    HEED_CL_DEVICE_ADDRESS_BITS = 0x100D,
    HEED_CL_DEVICE_MEM_BASE_ADDR_ALIGN = 0x1019, /* bits */
    HEED_CL_DEVICE_MAX_PARAMETER_SIZE = 0x1017,
    HEED_CL_DEVICE_GLOBAL_MEM_SIZE = 0x101F,
    HEED_CL_DEVICE_LOCAL_MEM_SIZE = 0x1023,
    HEED_CL_DEVICE_VENDOR_ID = 0x1001,
    HEED_CL_DEVICE_SUB_GROUP_SIZES = 0x4108,  /* cl_intel_required_subgroup_size */
    HEED_CL_DEVICE_IP_VERSION = 0x4250,       /* cl_intel_device_attribute_query */
    HEED_CL_DEVICE_CAPABILITY_MAJOR = 0x4000, /* cl_nv_device_attribute_query */
    HEED_CL_DEVICE_ENDIAN_LITTLE = 0x1026,
    HEED_CL_DEVICE_AVAILABLE = 0x1027,
    HEED_CL_DEVICE_COMPILER_AVAILABLE = 0x1028,
    HEED_CL_DEVICE_NAME = 0x102B,
    HEED_CL_DRIVER_VERSION = 0x102D,
    HEED_CL_DEVICE_PROFILE = 0x102E,
    HEED_CL_DEVICE_VERSION = 0x102F,
    HEED_CL_DEVICE_EXTENSIONS = 0x1030,
    HEED_CL_DEVICE_PLATFORM = 0x1031,
    HEED_CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT = 0x103A,
    HEED_CL_CONTEXT_DEVICES = 0x1081,
    HEED_CL_CONTEXT_NUM_DEVICES = 0x1083,
    HEED_CL_CONTEXT_PLATFORM = 0x1084,
    HEED_CL_QUEUE_CONTEXT = 0x1090,
    HEED_CL_QUEUE_DEVICE = 0x1091,
    HEED_CL_QUEUE_PROPERTIES = 0x1093,
    HEED_CL_PROGRAM_NUM_DEVICES = 0x1162,
    HEED_CL_PROGRAM_DEVICES = 0x1163,
    HEED_CL_PROGRAM_BINARY_SIZES = 0x1165,
    HEED_CL_PROGRAM_BINARIES = 0x1166,
    HEED_CL_PROGRAM_BUILD_LOG = 0x1183,
    HEED_CL_EVENT_COMMAND_EXECUTION_STATUS = 0x11D3,
    HEED_CL_EVENT_CONTEXT = 0x11D4,
    HEED_CL_BUFFER_CREATE_TYPE_REGION = 0x1220
};

/* Flags; cl_bitfield is 64 bits wide. */
#define HEED_CL_DEVICE_TYPE_CPU UINT64_C(2)
#define HEED_CL_DEVICE_TYPE_CUSTOM UINT64_C(16)
#define HEED_CL_DEVICE_TYPE_ALL UINT64_C(0xFFFFFFFF)
#define HEED_CL_QUEUE_OUT_OF_ORDER UINT64_C(1)
#define HEED_CL_QUEUE_ON_DEVICE UINT64_C(4)
#define HEED_CL_MEM_READ_WRITE UINT64_C(1)
#define HEED_CL_MEM_READ_ONLY UINT64_C(4)
#define HEED_CL_MEM_COPY_HOST_PTR UINT64_C(32)

/* Every function in use: X(result, name without "cl", parameters). */
#define HEED_OPENCL_FUNCTIONS(X)                                                                   \
    X(int32_t, GetPlatformIDs, (uint32_t n, void **platforms, uint32_t *count))                    \
    X(int32_t, GetPlatformInfo, (void *platform, uint32_t what, size_t, void *to, size_t *size))   \
    X(int32_t, GetDeviceIDs,                                                                       \
      (void *platform, uint64_t type, uint32_t n, void **devices, uint32_t *count))                \
    X(int32_t, GetDeviceInfo, (void *device, uint32_t what, size_t, void *to, size_t *size))       \
    X(void *, CreateContext,                                                                       \
      (const intptr_t *properties, uint32_t n, void *const *devices,                               \
       void (*notify)(const char *, const void *, size_t, void *), void *user, int32_t *error))    \
    X(int32_t, RetainContext, (void *context))                                                     \
    X(int32_t, ReleaseContext, (void *context))                                                    \
    X(int32_t, GetContextInfo, (void *context, uint32_t what, size_t, void *to, size_t *size))     \
    X(void *, CreateCommandQueue,                                                                  \
      (void *context, void *device, uint64_t properties, int32_t *error))                          \
    X(int32_t, RetainCommandQueue, (void *queue))                                                  \
    X(int32_t, ReleaseCommandQueue, (void *queue))                                                 \
    X(int32_t, GetCommandQueueInfo, (void *queue, uint32_t what, size_t, void *to, size_t *size))  \
    X(void *, CreateBuffer,                                                                        \
      (void *context, uint64_t flags, size_t bytes, void *host, int32_t *error))                   \
    X(void *, CreateSubBuffer,                                                                     \
      (void *memory, uint64_t flags, uint32_t kind, const void *region, int32_t *error))           \
    X(int32_t, ReleaseMemObject, (void *memory))                                                   \
    X(void *, CreateProgramWithSource,                                                             \
      (void *context, uint32_t n, const char **texts, const size_t *lengths, int32_t *error))      \
    X(void *, CreateProgramWithBinary,                                                             \
      (void *context, uint32_t n, void *const *devices, const size_t *lengths,                     \
       const unsigned char **binaries, int32_t *statuses, int32_t *error))                         \
    X(int32_t, BuildProgram,                                                                       \
      (void *program, uint32_t n, void *const *devices, const char *options,                       \
       void (*notify)(void *, void *), void *user))                                                \
    X(int32_t, GetProgramInfo, (void *program, uint32_t what, size_t, void *to, size_t *size))     \
    X(int32_t, GetProgramBuildInfo,                                                                \
      (void *program, void *device, uint32_t what, size_t, void *to, size_t *size))                \
    X(int32_t, ReleaseProgram, (void *program))                                                    \
    X(void *, CreateKernel, (void *program, const char *name, int32_t *error))                     \
    X(int32_t, ReleaseKernel, (void *kernel))                                                      \
    X(int32_t, SetKernelArg, (void *kernel, uint32_t index, size_t size, const void *value))       \
    X(int32_t, EnqueueNDRangeKernel,                                                               \
      (void *queue, void *kernel, uint32_t dimensions, const size_t *offset, const size_t *global, \
       const size_t *local, uint32_t n_waits, void *const *waits, void **event))                   \
    X(int32_t, EnqueueReadBuffer,                                                                  \
      (void *queue, void *memory, uint32_t blocking, size_t offset, size_t bytes, void *to,        \
       uint32_t n_waits, void *const *waits, void **event))                                        \
    X(int32_t, EnqueueWriteBuffer,                                                                 \
      (void *queue, void *memory, uint32_t blocking, size_t offset, size_t bytes,                  \
       const void *from, uint32_t n_waits, void *const *waits, void **event))                      \
    X(int32_t, EnqueueFillBuffer,                                                                  \
      (void *queue, void *memory, const void *pattern, size_t pattern_bytes, size_t offset,        \
       size_t bytes, uint32_t n_waits, void *const *waits, void **event))                          \
    X(int32_t, EnqueueMarkerWithWaitList,                                                          \
      (void *queue, uint32_t n_waits, void *const *waits, void **event))                           \
    X(int32_t, EnqueueBarrierWithWaitList,                                                         \
      (void *queue, uint32_t n_waits, void *const *waits, void **event))                           \
    X(int32_t, Flush, (void *queue))                                                               \
    X(int32_t, Finish, (void *queue))                                                              \
    X(int32_t, WaitForEvents, (uint32_t n, void *const *events))                                   \
    X(int32_t, GetEventInfo, (void *event, uint32_t what, size_t, void *to, size_t *size))         \
    X(int32_t, RetainEvent, (void *event))                                                         \
    X(int32_t, ReleaseEvent, (void *event))

struct heed_opencl_api {
#define HEED_OPENCL_MEMBER(result, name, parameters) result(*name) parameters;
    HEED_OPENCL_FUNCTIONS(HEED_OPENCL_MEMBER)
#undef HEED_OPENCL_MEMBER
};

/* The ICD loader's functions; NULL: there is none, or not all of them, and *reason (static text,
 * may be NULL) says which. Any thread. */
const struct heed_opencl_api *heed_opencl_api_get(const char **reason);

/* For tests: heed_library_set. Also forgets the devices found so far. */
void heed_opencl_api_set(const struct heed_opencl_api *, const char *reason);

/* Changes with every heed_opencl_api_set. */
uint32_t heed_opencl_api_generation(void);

#endif
