/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the driver's codes mean, and entering and leaving a context.
 */
#include "state.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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

void heed_cuda_say(struct heed_error_detail *detail, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(detail->text, sizeof(detail->text), format, arguments);
    va_end(arguments);
}

void heed_cuda_quote(struct heed_error_detail *detail, const char *text)
{
    text += strspn(text, "\r\n ");
    if (*text)
        heed_cuda_say(detail, "%.*s", (int)strcspn(text, "\r\n"), text);
}

static void describe_code(const struct heed_cuda_driver *driver, int code, const char *call,
                          struct heed_error_detail *detail)
{
    const char *text = NULL;

    detail->native = code;
    if (driver->error_string(code, &text) != 0 || text == NULL)
        heed_cuda_say(detail, "%s: CUDA error %d", call, code);
    else
        heed_cuda_say(detail, "%s: CUDA error %d, %.100s", call, code, text);
}

heed_status heed_cuda_fail(const struct heed_cuda_driver *driver, struct heed_cuda_state *state,
                           int code, const char *call, struct heed_error_detail *detail)
{
    describe_code(driver, code, call, detail);
    if (code == HEED_CU_OUT_OF_MEMORY)
        return HEED_E_DEVICE_NOMEM;
    if (!loses(code))
        return HEED_E_DEVICE;
    if (state) {
        int none = 0;

        atomic_compare_exchange_strong(&state->lost, &none, code);
    }
    return HEED_E_DEVICE_LOST;
}

heed_status heed_cuda_enter(struct heed_cuda_state *state, struct heed_error_detail *detail)
{
    const int lost = atomic_load(&state->lost);
    int code;

    if (lost) {
        describe_code(state->driver, lost, "an earlier call", detail);
        return HEED_E_DEVICE_LOST;
    }
    code = state->driver->context_push(state->context);
    return code ? heed_cuda_fail(state->driver, state, code, "cuCtxPushCurrent", detail) : HEED_OK;
}

void heed_cuda_leave(struct heed_cuda_state *state)
{
    void *popped = NULL;

    (void)state->driver->context_pop(&popped);
}

bool heed_cuda_enter_to_destroy(struct heed_cuda_state *state)
{
    const int lost = atomic_load(&state->lost);

    if (lost == HEED_CU_CONTEXT_IS_DESTROYED || lost == HEED_CU_DEINITIALIZED)
        return false;
    return state->driver->context_push(state->context) == 0;
}

void heed_cuda_log(const struct heed_services *services, uint32_t level, const char *text)
{
    char line[256];

    while (*text) {
        const size_t length = strcspn(text, "\n");

        if (length > 0) {
            snprintf(line, sizeof(line), "cuda: %.*s", length > 240 ? 240 : (int)length, text);
            services->log(services->runtime, level, line);
        }
        text += length + (text[length] != '\0');
    }
}
