/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The runtime and its devices. Devices are asked for once, when the runtime is made; those that
 * cannot be used here stay in the list with the reason, so that people can be told.
 */
#include "context.h"

#include "alloc.h"
#include "error.h"
#include "executor.h"
#include "sized.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { LOG_LINE = 256 };

void heed_context_log(const struct heed_runtime *runtime, uint32_t level, const char *format, ...)
{
    char text[LOG_LINE];
    va_list list;

    if (runtime == NULL || runtime->logger.line == NULL || level > runtime->logger.level)
        return;
    va_start(list, format);
    vsnprintf(text, sizeof(text), format, list);
    va_end(list);
    runtime->logger.line(runtime->logger.context, level, text);
}

static heed_status take_allocator(heed_allocator *to, const heed_allocator *from,
                                  heed_report *report)
{
    heed_status status;

    *to = heed_alloc_default;
    if (from == NULL)
        return HEED_OK;
    status = heed_sized_in(from, HEED_ALLOCATOR_V1, to, sizeof(*to), "allocator", report);
    if (status < 0)
        return status;
    if (to->reserved != 0)
        return heed_report_fill(report, HEED_E_VALUE, "allocator.reserved", 0, to->reserved,
                                "reserved member is not zero");
    if (to->alloc == NULL || to->free == NULL)
        return heed_report_fill(report, HEED_E_NULL,
                                to->alloc == NULL ? "allocator.alloc" : "allocator.free", 0, 0,
                                "an allocator has both functions");
    return HEED_OK;
}

static heed_status take_logger(heed_logger *to, const heed_logger *from, heed_report *report)
{
    heed_status status;

    *to = (heed_logger){ .size = sizeof(*to) };
    if (from == NULL)
        return HEED_OK;
    status = heed_sized_in(from, HEED_LOGGER_V1, to, sizeof(*to), "logger", report);
    if (status < 0)
        return status;
    if (to->line == NULL)
        return heed_report_fill(report, HEED_E_NULL, "logger.line", 0, 0,
                                "a logger has a function");
    return HEED_OK;
}

static heed_status take_hooks(struct heed_runtime *runtime, const heed_runtime_desc *given,
                              heed_report *report)
{
    heed_runtime_desc desc = { .size = sizeof(desc) };
    heed_status status = HEED_OK;

    if (given != NULL)
        status = heed_sized_in(given, HEED_RUNTIME_DESC_V1, &desc, sizeof(desc), "desc", report);
    if (status < 0)
        return status;
    if (desc.flags != 0)
        return heed_report_fill(report, HEED_E_FLAG, "flags", 0, desc.flags,
                                "no flag is known here");
    status = take_allocator(&runtime->allocator, desc.allocator, report);
    if (status < 0)
        return status;
    status = heed_executor_take(&runtime->executor, desc.executor, report);
    if (status < 0)
        return status;
    return take_logger(&runtime->logger, desc.logger, report);
}

static uint32_t count_devices(void)
{
    uint32_t n = 0;

    for (size_t i = 0; heed_backends[i] != NULL; i++)
        n += heed_backends[i]->count();
    return n;
}

static void describe_device(struct heed_runtime *runtime, uint32_t n,
                            const struct heed_backend *backend, uint32_t index)
{
    heed_device *device = &runtime->devices[n];
    heed_device_props *props = &device->props;

    runtime->events[n].device = device;
    atomic_init(&runtime->events[n].handed_out, 0);
    device->done = &runtime->events[n];
    device->backend = backend;
    device->index = index;
    device->runtime = runtime;
    backend->describe(index, props);
    props->size = sizeof(*props);
    props->kind = backend->kind;
    props->name[sizeof(props->name) - 1] = '\0';
    props->description[sizeof(props->description) - 1] = '\0';
    props->reason[sizeof(props->reason) - 1] = '\0';
    if (props->width == 0)
        props->width = backend->kind == HEED_DEVICE_REFERENCE ? 1 : runtime->executor.width;
}

/* false: no memory. */
static bool list_devices(struct heed_runtime *runtime)
{
    const uint32_t n = count_devices();

    runtime->devices = heed_arena_array(&runtime->arena, n, sizeof(*runtime->devices),
                                        _Alignof(heed_device));
    runtime->events = heed_arena_array(&runtime->arena, n, sizeof(*runtime->events),
                                       _Alignof(struct heed_event));
    if (runtime->devices == NULL || runtime->events == NULL)
        return false;
    for (size_t i = 0; heed_backends[i] != NULL; i++) {
        const uint32_t count = heed_backends[i]->count();

        for (uint32_t k = 0; k < count && runtime->n_devices < n; k++)
            describe_device(runtime, runtime->n_devices++, heed_backends[i], k);
    }
    return true;
}

heed_status heed_runtime_create(const heed_runtime_desc *desc, heed_runtime **out,
                                heed_report *report)
{
    struct heed_runtime hooks = { .n_devices = 0 };
    struct heed_runtime *runtime;
    heed_status status;

    if (out == NULL)
        return heed_report_fill(report, HEED_E_NULL, "runtime", 0, 0, "no place for the result");
    status = take_hooks(&hooks, desc, report);
    if (status < 0)
        return status;
    runtime = heed_alloc(&hooks, sizeof(*runtime), _Alignof(struct heed_runtime));
    if (runtime == NULL)
        return heed_report_fill(report, HEED_E_NOMEM, NULL, (int64_t)sizeof(*runtime), 0,
                                "no memory for the runtime");
    memset(runtime, 0, sizeof(*runtime));
    runtime->allocator = hooks.allocator;
    runtime->executor = hooks.executor;
    runtime->logger = hooks.logger;
    runtime->services = (struct heed_services){
        .executor = &runtime->executor,
        .runtime = runtime,
        .alloc = heed_alloc,
        .free = heed_free,
    };
    heed_arena_init(&runtime->arena, runtime);
    if (!list_devices(runtime)) {
        heed_runtime_destroy(runtime);
        return heed_report_fill(report, HEED_E_NOMEM, NULL, 0, 0, "no memory for the devices");
    }
    *out = runtime;
    return heed_report_ok(report);
}

void heed_runtime_destroy(heed_runtime *runtime)
{
    heed_allocator allocator;
    int64_t events = 0;

    if (runtime == NULL)
        return;
    for (uint32_t i = 0; i < runtime->n_devices; i++)
        events += atomic_load(&runtime->events[i].handed_out);
    if (events != 0)
        heed_context_log(runtime, HEED_LOG_WARNING,
                         "runtime destroyed with %lld events not destroyed", (long long)events);
    heed_arena_finish(&runtime->arena);
    allocator = runtime->allocator;     /* its own block goes last */
    allocator.free(allocator.context, runtime, sizeof(*runtime), _Alignof(struct heed_runtime));
}

uint32_t heed_device_count(const heed_runtime *runtime)
{
    return runtime != NULL ? runtime->n_devices : 0;
}

heed_device *heed_device_get(const heed_runtime *runtime, uint32_t index)
{
    return runtime != NULL && index < runtime->n_devices ? &runtime->devices[index] : NULL;
}

static heed_device *find_name(const heed_runtime *runtime, const char *name)
{
    for (uint32_t i = 0; i < runtime->n_devices; i++) {
        if (strcmp(runtime->devices[i].props.name, name) == 0)
            return &runtime->devices[i];
    }
    return NULL;
}

/* Devices stand in the order of the backends, so the first that can be used is the default. */
static heed_device *find_default(const heed_runtime *runtime)
{
    for (uint32_t i = 0; i < runtime->n_devices; i++) {
        if (runtime->devices[i].props.usable >= 0)
            return &runtime->devices[i];
    }
    return NULL;
}

heed_status heed_context_usable(const heed_device *device, heed_report *report)
{
    const heed_device_props *props = &device->props;

    if (props->usable >= 0)
        return HEED_OK;
    return heed_report_fill(report, props->usable, "device", 0, 0, "%.60s cannot be used: %.120s",
                            props->name, props->reason);
}

static heed_status not_found(const char *name, heed_report *report)
{
    for (size_t i = 0; heed_backends_absent[i].prefix != NULL; i++) {
        const char *prefix = heed_backends_absent[i].prefix;
        const size_t n = strlen(prefix);

        if (strncmp(name, prefix, n) == 0 && (name[n] == '\0' || name[n] == ':'))
            return heed_report_fill(report, HEED_E_NOT_BUILT, "name", 0, 0, "%.60s: %.120s", name,
                                    heed_backends_absent[i].reason);
    }
    return heed_report_fill(report, HEED_E_NOT_FOUND, "name", 0, 0, "no device is called '%.60s'",
                            name);
}

heed_status heed_device_find(const heed_runtime *runtime, const char *name, heed_device **out,
                             heed_report *report)
{
    heed_device *device;
    heed_status status;

    if (runtime == NULL || out == NULL)
        return heed_report_fill(report, HEED_E_NULL, runtime == NULL ? "runtime" : "device", 0, 0,
                                "a required pointer is NULL");
    device = name != NULL ? find_name(runtime, name) : find_default(runtime);
    if (device == NULL)
        return not_found(name != NULL ? name : "(default)", report);
    status = heed_context_usable(device, report);
    if (status < 0)
        return status;
    *out = device;
    return heed_report_ok(report);
}

heed_status heed_device_info(const heed_device *device, heed_device_props *props)
{
    if (device == NULL || props == NULL)
        return HEED_E_NULL;
    return heed_sized_out(props, HEED_DEVICE_PROPS_V1, &device->props, sizeof(device->props));
}
