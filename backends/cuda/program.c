/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Compiled kernels: the image that the build embedded if the device can load it, else one made by
 * NVRTC for this device. Loaded by the first plan that needs it, kept until the device is closed.
 */
#include "state.h"

#include <stdio.h>
#include <string.h>

static const struct heed_cuda_image *find_image(const char *name, uint32_t large)
{
    for (const struct heed_cuda_image *image = heed_cuda_images; image->name; image++) {
        if (image->large == large && strcmp(image->name, name) == 0)
            return image;
    }
    return NULL;
}

/* The function is asked for an attribute because a driver may put off loading its code until then:
 * a launch is no place for that, least of all one that is being captured. */
static int find_function(const struct heed_cuda_driver *driver, void *module, void **function)
{
    int threads = 0, code = driver->module_function(function, module, "heed_kernel");

    if (code == 0)
        code = driver->function_attribute(&threads, HEED_CU_FUNCTION_MAX_THREADS, *function);
    return code;
}

/* The driver's complaint about an image goes to the log; it is the detail's text where the first
 * line says more than the code does. */
static heed_status load(struct heed_cuda_state *state, const void *image,
                        struct heed_cuda_kernel *kernel, struct heed_error_detail *detail)
{
    const struct heed_cuda_driver *driver = state->driver;
    char log[2048] = "";
    int options[] = { HEED_CU_JIT_ERROR_LOG_BUFFER, HEED_CU_JIT_ERROR_LOG_BUFFER_SIZE };
    void *values[] = { log, (void *)(uintptr_t)(sizeof(log) - 1) };
    void *module = NULL, *function = NULL;
    heed_status status;
    int code = driver->module_load(&module, image, 2, options, values);

    if (code == 0) {
        code = find_function(driver, module, &function);
        if (code)
            (void)driver->module_unload(module);
    }
    if (code == 0) {
        *kernel = (struct heed_cuda_kernel){ .module = module, .function = function };
        return HEED_OK;
    }
    log[sizeof(log) - 1] = '\0';
    status = heed_cuda_fail(driver, state, code, "cuModuleLoadDataEx", detail);
    heed_cuda_log(state->shared.services, HEED_CUDA_LOG_WARNING, detail->text);
    heed_cuda_log(state->shared.services, HEED_CUDA_LOG_WARNING, log);
    heed_cuda_quote(detail, log);
    return status == HEED_E_DEVICE ? HEED_E_KERNEL_BUILD : status;
}

static heed_status load_compiled(struct heed_cuda_state *state, enum heed_kernel row,
                                 uint32_t large, struct heed_cuda_kernel *kernel,
                                 struct heed_error_detail *detail)
{
    const struct heed_services *services = state->shared.services;
    char *image = NULL;
    size_t bytes = 0;
    heed_status status = heed_cuda_compile(state, row, large, &image, &bytes, detail);

    if (status < 0)
        return status;
    status = load(state, image, kernel, detail);
    services->free(services->runtime, image, bytes, 1);
    return status;
}

static heed_status kernel_load(struct heed_cuda_state *state, enum heed_kernel row, uint32_t large,
                               struct heed_cuda_kernel *kernel, struct heed_error_detail *detail)
{
    const struct heed_cuda_image *image = find_image(heed_kernel_rows[row].name, large);
    struct heed_error_detail first = { 0 };
    heed_status status = heed_cuda_enter(state, detail);

    if (status < 0)
        return status;
    status = HEED_E_KERNEL_BUILD;
    if (image)
        status = load(state, image->bytes, kernel, &first);
    if (status == HEED_E_KERNEL_BUILD) {
        status = load_compiled(state, row, large, kernel, detail);
        if (status == HEED_E_KERNEL_BUILD && detail->text[0] == '\0')
            *detail = first;
    } else if (status < 0) {
        *detail = first;
    }
    heed_cuda_leave(state);
    return status;
}

heed_status heed_cuda_kernel_get(void *opened, enum heed_kernel row, uint32_t large,
                                 void **compiled, struct heed_error_detail *detail)
{
    struct heed_cuda_state *state = opened;
    struct heed_cuda_kernel *kernel = &state->kernels[row][large != 0];
    heed_status status = HEED_OK;

    pthread_mutex_lock(&state->lock);
    if (kernel->function == NULL)
        status = kernel_load(state, row, large != 0, kernel, detail);
    if (status >= 0)
        *compiled = kernel->function;
    pthread_mutex_unlock(&state->lock);
    return status;
}

void heed_cuda_kernels_drop(struct heed_cuda_state *state)
{
    for (int row = 0; row < HEED_KERNELS; row++) {
        for (int large = 0; large < 2; large++) {
            struct heed_cuda_kernel *kernel = &state->kernels[row][large];

            if (kernel->module)
                (void)state->driver->module_unload(kernel->module);
            *kernel = (struct heed_cuda_kernel){ 0 };
        }
    }
}
