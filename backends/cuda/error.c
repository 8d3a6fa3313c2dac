/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the driver's codes mean, and entering and leaving a context.
 */
#include "state.h"

/* After these every call in the context fails the same way; the driver's header says of most that
 * the process must be ended to use the device again. */
static const int losing[] = {
    HEED_CU_DEINITIALIZED,
    HEED_CU_DEVICE_UNAVAILABLE,
    HEED_CU_ECC_UNCORRECTABLE,
    HEED_CU_NVLINK_UNCORRECTABLE,
    HEED_CU_CONTAINED,
    HEED_CU_ILLEGAL_ADDRESS,
    HEED_CU_LAUNCH_TIMEOUT,
    HEED_CU_CONTEXT_IS_DESTROYED,
    HEED_CU_ASSERT,
    HEED_CU_HARDWARE_STACK_ERROR,
    HEED_CU_ILLEGAL_INSTRUCTION,
    HEED_CU_MISALIGNED_ADDRESS,
    HEED_CU_INVALID_ADDRESS_SPACE,
    HEED_CU_INVALID_PC,
    HEED_CU_LAUNCH_FAILED,
    HEED_CU_TENSOR_MEMORY_LEAK,
    HEED_CU_MPS_RPC_FAILURE,
    HEED_CU_MPS_CLIENT_TERMINATED,
    HEED_CU_EXTERNAL_DEVICE,
};

static bool loses(int code)
{
    for (size_t i = 0; i < sizeof(losing) / sizeof(losing[0]); i++) {
        if (losing[i] == code)
            return true;
    }
    return false;
}

heed_status heed_cuda_status(const struct heed_cuda_api *driver, int code, const char *call,
                             struct heed_error_detail *detail)
{
    const char *text = NULL;

    if (code == 0)
        return HEED_OK;
    if (detail != NULL)
        detail->native = code;
    if (driver->error_string(code, &text) != 0 || text == NULL)
        heed_offload_say(detail, "%s: CUDA error %d", call, code);
    else
        heed_offload_say(detail, "%s: CUDA error %d, %.100s", call, code, text);
    if (code == HEED_CU_OUT_OF_MEMORY)
        return HEED_E_DEVICE_NOMEM;
    return loses(code) ? HEED_E_DEVICE_LOST : HEED_E_DEVICE;
}

heed_status heed_cuda_check(struct heed_cuda_state *state, int code, const char *call,
                            struct heed_error_detail *detail)
{
    const heed_status status = heed_cuda_status(state->driver, code, call, detail);

    if (status == HEED_E_DEVICE_LOST)
        heed_offload_lose(state, code);
    return status;
}

heed_status heed_cuda_enter(struct heed_cuda_state *state, struct heed_error_detail *detail)
{
    const int lost = atomic_load(&state->common.lost);

    if (lost != 0)
        return heed_cuda_status(state->driver, lost, "an earlier call", detail);
    return heed_cuda_check(state, state->driver->context_push(state->context), "cuCtxPushCurrent",
                           detail);
}

void heed_cuda_leave(struct heed_cuda_state *state)
{
    void *popped = NULL;

    (void)state->driver->context_pop(&popped);
}

int heed_cuda_capture_set(struct heed_cuda_state *state, int mode)
{
    if (state->driver->capture_mode != NULL)
        (void)state->driver->capture_mode(&mode);
    return mode;
}

bool heed_cuda_enter_to_destroy(struct heed_cuda_state *state)
{
    const int lost = atomic_load(&state->common.lost);

    if (lost == HEED_CU_CONTEXT_IS_DESTROYED || lost == HEED_CU_DEINITIALIZED)
        return false;
    return state->driver->context_push(state->context) == 0;
}
