/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The platforms and devices of the made-up OpenCL: what they are asked and how they answer. A part
 * of fake_opencl.c, which includes it once.
 */
#ifndef HEED_TESTS_SUPPORT_FAKE_OPENCL_DEVICES_H
#define HEED_TESTS_SUPPORT_FAKE_OPENCL_DEVICES_H

static int32_t answer(const void *value, size_t bytes, size_t room, void *to, size_t *size)
{
    if (size != NULL)
        *size = bytes;
    if (to != NULL && room < bytes)
        return -30;
    if (to != NULL)
        memcpy(to, value, bytes);
    return HEED_CL_SUCCESS;
}

static int32_t answer_text(const char *text, size_t room, void *to, size_t *size)
{
    return answer(text, strlen(text) + 1, room, to, size);
}

static int32_t answer_number(uint64_t value, size_t bytes, size_t room, void *to, size_t *size)
{
    return answer(&value, bytes, room, to, size);       /* little-endian hosts */
}

static int32_t GetPlatformIDs(uint32_t n, void **to, uint32_t *count)
{
    const int32_t code = fake_call("GetPlatformIDs");

    if (code != HEED_CL_SUCCESS)
        return code;
    if (fake_opencl.n_platforms == 0)
        return HEED_CL_PLATFORM_NOT_FOUND;
    *count = fake_opencl.n_platforms;
    for (uint32_t i = 0; i < n && i < *count; i++)
        to[i] = &platforms[i];
    return HEED_CL_SUCCESS;
}

static int32_t GetPlatformInfo(void *platform, uint32_t what, size_t room, void *to, size_t *size)
{
    const int32_t code = fake_call("GetPlatformInfo");

    if (code != HEED_CL_SUCCESS)
        return code;
    among(platforms, MAX_PLATFORMS, platform);
    return answer_text(what == HEED_CL_PLATFORM_NAME ? fake_opencl.platform : "OpenCL 3.0", room,
                       to, size);
}

static int32_t GetDeviceIDs(void *platform, uint64_t type, uint32_t n, void **to, uint32_t *count)
{
    const int32_t code = fake_call("GetDeviceIDs");

    if (code != HEED_CL_SUCCESS)
        return code;
    among(platforms, MAX_PLATFORMS, platform);
    if (fake_opencl.n_devices == 0 || type == HEED_CL_DEVICE_TYPE_CUSTOM ||
        platform != &platforms[0])
        return HEED_CL_DEVICE_NOT_FOUND;
    *count = fake_opencl.n_devices;
    for (uint32_t i = 0; i < n && i < *count; i++)
        to[i] = &devices[i];
    return HEED_CL_SUCCESS;
}

static int32_t GetDeviceInfo(void *device, uint32_t what, size_t room, void *to, size_t *size)
{
    const struct fake_opencl *const f = &fake_opencl;
    const int32_t code = fake_call("GetDeviceInfo");
    void *platform = &platforms[0];

    if (code != HEED_CL_SUCCESS)
        return code;
    among(devices, MAX_DEVICES, device);
    switch (what) {
    case HEED_CL_DEVICE_NAME: return answer_text(fake_opencl.name, room, to, size);
    case HEED_CL_DEVICE_VERSION: return answer_text(f->device_version, room, to, size);
    case HEED_CL_DRIVER_VERSION: return answer_text(f->driver_version, room, to, size);
    case HEED_CL_DEVICE_PROFILE: return answer_text(f->profile, room, to, size);
    case HEED_CL_DEVICE_TYPE: return answer_number(f->type, 8, room, to, size);
    case HEED_CL_DEVICE_GLOBAL_MEM_SIZE: return answer_number(1 << 20, 8, room, to, size);
    case HEED_CL_DEVICE_LOCAL_MEM_SIZE: return answer_number(f->local_memory, 8, room, to, size);
    case HEED_CL_DEVICE_MAX_PARAMETER_SIZE:
        return answer_number(f->parameter_bytes, 8, room, to, size);
    case HEED_CL_DEVICE_MAX_WORK_GROUP_SIZE:
        return answer_number(f->group_items, 8, room, to, size);
    case HEED_CL_DEVICE_MAX_COMPUTE_UNITS: return answer_number(3, 4, room, to, size);
    case HEED_CL_DEVICE_ADDRESS_BITS: return answer_number(f->address_bits, 4, room, to, size);
    case HEED_CL_DEVICE_MEM_BASE_ADDR_ALIGN:
        return answer_number(1024, 4, room, to, size);
    case HEED_CL_DEVICE_ENDIAN_LITTLE: return answer_number(f->little_endian, 4, room, to, size);
    case HEED_CL_DEVICE_AVAILABLE: return answer_number(f->available, 4, room, to, size);
    case HEED_CL_DEVICE_COMPILER_AVAILABLE: return answer_number(f->compiler, 4, room, to, size);
    case HEED_CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT:
        return answer_number(f->vector, 4, room, to, size);
    case HEED_CL_DEVICE_PLATFORM: return answer(&platform, sizeof(platform), room, to, size);
    case HEED_CL_DEVICE_VENDOR_ID: return answer_number(f->vendor, 4, room, to, size);
    case HEED_CL_DEVICE_SUB_GROUP_SIZES:
        return f->sub_groups[0] ? answer(f->sub_groups, sizeof(f->sub_groups), room, to, size)
                                : -30;
    case HEED_CL_DEVICE_IP_VERSION:
        return f->ip_version ? answer_number(f->ip_version, 4, room, to, size) : -30;
    default: return -30;
    }
}

#endif
