/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Opening and closing vendors' devices, their compiled kernels, and texts of failures.
 */
#include "offload.h"

#include <assert.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { LINE = 200 };

const struct heed_vendor *heed_offload_vendor(const heed_device *device)
{
    return (const struct heed_vendor *)(const void *)device->backend->offload;
}

static const struct heed_vendor *vendor_of_state(const struct heed_offload_state *state)
{
    _Static_assert(offsetof(struct heed_vendor, offload) == 0, "vendor_of");
    return (const struct heed_vendor *)(const void *)((const char *)state->base.driver -
                                                      offsetof(struct heed_vendor, driver));
}

/* ---- texts ------------------------------------------------------------- */

void heed_offload_say(struct heed_error_detail *detail, const char *format, ...)
{
    va_list arguments;

    if (detail == NULL)
        return;
    va_start(arguments, format);
    vsnprintf(detail->text, sizeof(detail->text), format, arguments);
    va_end(arguments);
}

static void log_line(const struct heed_offload_state *state, uint32_t level, const char *line,
                     size_t length)
{
    const struct heed_services *const services = state->base.services;
    char text[LINE + 32];

    for (size_t n; length > 0; line += n, length -= n) {
        n = length < LINE ? length : LINE;
        snprintf(text, sizeof(text), "%.20s: %.*s", vendor_of_state(state)->name, (int)n, line);
        services->log(services->runtime, level, text);
    }
}

/* The line at *text without its end, *text set behind it; false: there is none. */
static bool next_line(const char **text, const char **line, size_t *length)
{
    *line = *text + strspn(*text, "\r\n");
    *length = strcspn(*line, "\r\n");
    *text = *line + *length;
    return *length > 0;
}

void heed_offload_log(const void *state, uint32_t level, const char *text)
{
    const char *line;
    size_t length;

    while (next_line(&text, &line, &length))
        log_line(state, level, line, length);
}

static bool speaks_of_error(const char *line, size_t length)
{
    for (size_t i = 0; i + 5 <= length; i++) {
        if (memcmp(line + i, "error", 5) == 0)
            return true;
    }
    return false;
}

void heed_offload_build_log(const void *state, uint32_t level, enum heed_kernel row,
                            const char *log, struct heed_error_detail *detail)
{
    const char *line, *best = NULL;
    size_t length, best_length = 0;
    bool error = false;

    if (heed_kernel_needs_unit(row))        /* a failure is an answer: has_unit */
        level = HEED_OFFLOAD_INFORMATION;
    heed_offload_log(state, level, log);
    while (!error && next_line(&log, &line, &length)) {
        const size_t blank = strspn(line, " \t");

        error = speaks_of_error(line, length);
        if (blank < length && (best == NULL || error)) {
            best = line + blank;
            best_length = length - blank;
        }
    }
    if (best != NULL)
        heed_offload_say(detail, "kernel %s: %.*s", heed_kernel_rows[row].name,
                         best_length < 128 ? (int)best_length : 128, best);
}

static void log_kernel(const void *state, uint32_t level, const char *verb, enum heed_kernel row)
{
    char text[LINE];

    snprintf(text, sizeof(text), "%.20s kernel %.60s", verb, heed_kernel_rows[row].name);
    heed_offload_log(state, level, text);
}

void heed_offload_compiles(const void *state, enum heed_kernel row)
{
    log_kernel(state, HEED_OFFLOAD_INFORMATION, "compiles", row);
}

/* ---- state ------------------------------------------------------------- */

static const struct heed_services *services_of(const void *state)
{
    return ((const struct heed_device_state *)state)->services;
}

void *heed_offload_alloc(const void *state, size_t size, size_t align)
{
    const struct heed_services *const services = services_of(state);

    return services->alloc(services->runtime, size, align);
}

void heed_offload_free(const void *state, void *pointer, size_t size, size_t align)
{
    const struct heed_services *const services = services_of(state);

    if (pointer != NULL)
        services->free(services->runtime, pointer, size, align);
}

void heed_offload_lose(void *opened, int code)
{
    struct heed_offload_state *const state = opened;
    int none = 0;

    assert(code != 0);
    atomic_compare_exchange_strong(&state->lost, &none, code);
}

static void release_kernels(struct heed_offload_state *state)
{
    for (int row = 0; row < HEED_KERNELS; row++) {
        for (int large = 0; large < 2; large++) {
            if (state->kernels[row][large] != NULL)
                vendor_of_state(state)->kernel_destroy(state, state->kernels[row][large]);
            state->kernels[row][large] = NULL;
        }
    }
}

static void state_destroy(struct heed_offload_state *state)
{
    const struct heed_services *const services = state->base.services;
    const struct heed_vendor *const vendor = vendor_of_state(state);

    release_kernels(state);
    vendor->detach(state);
    pthread_mutex_destroy(&state->building);
    services->free(services->runtime, state, vendor->state_size, vendor->state_align);
}

/* NULL: no memory. */
static struct heed_offload_state *state_create(const struct heed_vendor *vendor,
                                               const struct heed_services *services)
{
    struct heed_offload_state *const state =
        services->alloc(services->runtime, vendor->state_size, vendor->state_align);

    if (state == NULL)
        return NULL;
    memset(state, 0, vendor->state_size);
    state->base.driver = &vendor->driver;
    state->base.services = services;
    atomic_init(&state->lost, 0);
    if (pthread_mutex_init(&state->building, NULL) == 0)
        return state;
    services->free(services->runtime, state, vendor->state_size, vendor->state_align);
    return NULL;
}

/* ---- opening ----------------------------------------------------------- */

/* One device is tested at a time; the others wait, and find the verdict if it is theirs. */
static pthread_mutex_t testing = PTHREAD_MUTEX_INITIALIZER;

/* May the device promise the reference's bits? If not, it still computes; the reason is kept for
 * people. A test that could not be made is no verdict. */
static heed_status require_verdict(heed_device *device, struct heed_offload_verdict *verdict,
                                   struct heed_error_detail *detail)
{
    const char *reason = "";
    const struct heed_services *const services =
        ((const struct heed_device_state *)device->state)->services;
    heed_status status;

    if (!verdict->known)
        heed_offload_verdict_load(heed_offload_vendor(device), device->index,
                                  HEED_KERNEL_self_test, services, verdict);
    if (verdict->known)
        return HEED_OK;
    status = heed_device_self_test(device, device->backend->offload, &reason, detail);
    if (status < 0)
        return status;
    verdict->known = 1;
    snprintf(verdict->reason, sizeof(verdict->reason), "%s", reason);
    heed_offload_verdict_store(heed_offload_vendor(device), device->index, HEED_KERNEL_self_test,
                               services, verdict);
    return HEED_OK;
}

static heed_status self_test(heed_device *device, struct heed_error_detail *detail)
{
    const struct heed_offload_state *const state = device->state;
    struct heed_offload_verdict own = { 0 };
    struct heed_offload_verdict *const verdict = state->verdict != NULL ? state->verdict : &own;
    heed_status status;

    pthread_mutex_lock(&testing);
    status = require_verdict(device, verdict, detail);
    if (status >= 0) {
        device->props.exact = verdict->reason[0] == '\0';
        memcpy(device->props.reason, verdict->reason, sizeof(device->props.reason));
    }
    pthread_mutex_unlock(&testing);
    if (status >= 0 && !device->props.exact)
        heed_offload_log(state, HEED_OFFLOAD_WARNING, device->props.reason);
    return status;
}

static heed_status open_state(heed_device *device, const struct heed_services *services,
                              void *context, void *native, struct heed_error_detail *detail)
{
    const struct heed_vendor *const vendor = heed_offload_vendor(device);
    struct heed_offload_state *const state = state_create(vendor, services);
    heed_status status;

    if (state == NULL)
        return HEED_E_NOMEM;
    status = vendor->attach(state, device->index, context, native, detail);
    if (status >= 0) {
        device->state = state;
        status = self_test(device, detail);
    }
    if (status < 0) {
        device->state = NULL;
        state_destroy(state);
    }
    return status;
}

heed_status heed_offload_open(heed_device *device, const struct heed_services *services)
{
    struct heed_error_detail detail = { 0 };
    heed_device_props *const props = &device->props;
    heed_status status = props->usable;

    if (status < 0)
        return status;
    status = open_state(device, services, NULL, NULL, &detail);
    if (status >= 0)
        return status;
    props->usable = status;
    props->exact = 0;
    snprintf(props->reason, sizeof(props->reason), "%.127s",
             detail.text[0] != '\0' ? detail.text : "no memory to open the device");
    return status;
}

void heed_offload_close(heed_device *device, const struct heed_services *services)
{
    (void)services;
    state_destroy(device->state);
    device->state = NULL;
}

heed_status heed_offload_wrap(heed_device *device, const struct heed_services *services,
                              void *context, void *native, struct heed_error_detail *detail)
{
    heed_device_props *const props = &device->props;
    heed_status status;

    if (context == NULL) {
        heed_offload_say(detail, "the context is NULL");
        return HEED_E_NULL;
    }
    status = heed_offload_vendor(device)->device_wrap(props, context, native, detail);
    if (status < 0)
        return status;
    if (props->usable < 0) {
        detail->native = 0;
        heed_offload_say(detail, "%s", props->reason);
        return props->usable;
    }
    return open_state(device, services, context, native, detail);
}

/* ---- kernels ----------------------------------------------------------- */

heed_status heed_offload_kernel(void *opened, enum heed_kernel row, uint32_t large,
                                void **compiled, struct heed_error_detail *detail)
{
    struct heed_offload_state *const state = opened;
    void **const kernel = &state->kernels[row][large != 0];
    heed_status status = HEED_OK;

    assert(row >= 0 && row < HEED_KERNELS);
    pthread_mutex_lock(&state->building);
    if (*kernel == NULL) {
        status = vendor_of_state(state)->kernel_create(state, row, large != 0, kernel, detail);
        if (status >= 0)
            log_kernel(state, HEED_OFFLOAD_DETAIL, "has", row);
    }
    assert(status < 0 || *kernel != NULL);
    if (status >= 0)
        *compiled = *kernel;
    pthread_mutex_unlock(&state->building);
    return status;
}
