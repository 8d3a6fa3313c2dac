/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Vendor codes as statuses. What is lost stays lost: a driver whose device is gone may block, or
 * worse, if it is asked again.
 */
#include "state.h"

/* Codes with a status or a name of their own. lost: only a device that is gone gives it for an
 * object that is ours and was good before. Others: HEED_E_DEVICE. */
static const struct {
    int32_t code;
    heed_status status;
    bool lost;
    const char *name;
} codes[] = {
    { HEED_CL_DEVICE_NOT_AVAILABLE, HEED_E_DEVICE_LOST, true, "CL_DEVICE_NOT_AVAILABLE" },
    { HEED_CL_INVALID_DEVICE, HEED_E_DEVICE, true, "CL_INVALID_DEVICE" },
    { HEED_CL_INVALID_COMMAND_QUEUE, HEED_E_DEVICE, true, "CL_INVALID_COMMAND_QUEUE" },
    { HEED_CL_MEM_OBJECT_ALLOCATION_FAILURE, HEED_E_DEVICE_NOMEM, false,
      "CL_MEM_OBJECT_ALLOCATION_FAILURE" },
    { HEED_CL_OUT_OF_RESOURCES, HEED_E_DEVICE_NOMEM, false, "CL_OUT_OF_RESOURCES" },
    { HEED_CL_INVALID_BUFFER_SIZE, HEED_E_DEVICE_NOMEM, false, "CL_INVALID_BUFFER_SIZE" },
    { HEED_CL_OUT_OF_HOST_MEMORY, HEED_E_NOMEM, false, "CL_OUT_OF_HOST_MEMORY" },
    { HEED_CL_BUILD_PROGRAM_FAILURE, HEED_E_DEVICE, false, "CL_BUILD_PROGRAM_FAILURE" },
    { HEED_CL_EXEC_STATUS_ERROR_IN_WAIT_LIST, HEED_E_DEVICE, false,
      "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST" },
    { HEED_CL_INVALID_CONTEXT, HEED_E_DEVICE, false, "CL_INVALID_CONTEXT" },
    { -38, HEED_E_DEVICE, false, "CL_INVALID_MEM_OBJECT" },
    { -54, HEED_E_DEVICE, false, "CL_INVALID_WORK_GROUP_SIZE" },
    { -57, HEED_E_DEVICE, false, "CL_INVALID_EVENT_WAIT_LIST" },
    { -58, HEED_E_DEVICE, false, "CL_INVALID_EVENT" },
};
enum { N_CODES = sizeof(codes) / sizeof(codes[0]) };

static size_t find(int32_t code)
{
    size_t i = 0;

    while (i < N_CODES && codes[i].code != code)
        i++;
    return i;
}

heed_status heed_opencl_status(int32_t code, const char *call, struct heed_error_detail *detail)
{
    const size_t i = find(code);

    if (code == HEED_CL_SUCCESS)
        return HEED_OK;
    if (detail != NULL)
        detail->native = code;
    heed_offload_say(detail, "%s answered %s (%d)", call, i < N_CODES ? codes[i].name : "an error",
                     (int)code);
    return i < N_CODES ? codes[i].status : HEED_E_DEVICE;
}

heed_status heed_opencl_check(struct heed_opencl_state *state, int32_t code, const char *call,
                              struct heed_error_detail *detail)
{
    const heed_status status = heed_opencl_status(code, call, detail);
    const size_t i = find(code);

    if (i == N_CODES || !codes[i].lost)
        return status;
    heed_offload_lose(state, code);
    return HEED_E_DEVICE_LOST;
}

/* CL_OUT_OF_RESOURCES says there, of NVIDIA's and Intel's drivers, that a kernel crashed or was
 * ended; memory was found when it was enqueued. */
heed_status heed_opencl_check_end(struct heed_opencl_state *state, int32_t code, const char *call,
                                  struct heed_error_detail *detail)
{
    const heed_status status = heed_opencl_check(state, code, call, detail);

    return code == HEED_CL_OUT_OF_RESOURCES ? HEED_E_DEVICE : status;
}

heed_status heed_opencl_enter(struct heed_opencl_state *state, struct heed_error_detail *detail)
{
    const int lost = atomic_load(&state->common.lost);

    if (lost == 0)
        return HEED_OK;
    (void)heed_opencl_status(lost, "an earlier call", detail);
    return HEED_E_DEVICE_LOST;
}
