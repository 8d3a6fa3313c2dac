/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Devices: the list, the look-ups, and how devices that are not the host's come to life. The
 * host's are listed when the runtime is made. The others cost a vendor's library, so they are asked
 * for when somebody looks past the host's devices, and opened when somebody wants one: each once,
 * under the runtime's lock, whatever the number of threads. Devices that cannot be used stay in
 * the list with the reason, so that people can be told.
 */
#include "context.h"

#include "error.h"
#include "sized.h"

#include <stdio.h>
#include <string.h>

static bool is_offload(const heed_device *device)
{
    return device->backend->offload != NULL;
}

static void end_texts(heed_device_props *props)
{
    props->name[sizeof(props->name) - 1] = '\0';
    props->description[sizeof(props->description) - 1] = '\0';
    props->reason[sizeof(props->reason) - 1] = '\0';
}

static void describe(heed_device *device, struct heed_runtime *runtime, struct heed_event *done,
                     const struct heed_backend *backend, uint32_t index)
{
    heed_device_props *props = &device->props;

    done->device = device;
    atomic_init(&done->handed_out, 0);
    device->done = done;
    device->backend = backend;
    device->index = index;
    device->runtime = runtime;
    backend->describe(index, props);
    props->size = sizeof(*props);
    props->kind = backend->kind;
    end_texts(props);
    if (props->width == 0)
        props->width = backend->offload != NULL || backend->kind == HEED_DEVICE_REFERENCE
                           ? 1 : runtime->executor.width;
}

/* ---- the host's ---- */

static uint32_t count_devices(bool offload)
{
    uint32_t n = 0;

    for (size_t i = 0; heed_backends[i] != NULL; i++) {
        if ((heed_backends[i]->offload != NULL) == offload)
            n += heed_backends[i]->count();
    }
    return n;
}

/* false: no memory. */
static bool begin_state(heed_device *device)
{
    const struct heed_backend *backend = device->backend;

    if (backend->state_size == 0)
        return true;
    device->state = heed_arena_take(&device->runtime->arena, backend->state_size, 64);
    if (device->state != NULL)
        backend->begin(device->index, &device->runtime->services, device->state);
    return device->state != NULL;
}

bool heed_context_list(struct heed_runtime *runtime)
{
    const uint32_t n = count_devices(false);

    runtime->devices = heed_arena_array(&runtime->arena, n, sizeof(*runtime->devices),
                                        _Alignof(heed_device));
    runtime->events = heed_arena_array(&runtime->arena, n, sizeof(*runtime->events),
                                       _Alignof(struct heed_event));
    if (runtime->devices == NULL || runtime->events == NULL)
        return false;
    for (size_t i = 0; heed_backends[i] != NULL; i++) {
        const struct heed_backend *backend = heed_backends[i];
        const uint32_t count = backend->offload == NULL ? backend->count() : 0;

        for (uint32_t k = 0; k < count && runtime->n_devices < n; k++) {
            const uint32_t at = runtime->n_devices++;

            describe(&runtime->devices[at], runtime, &runtime->events[at], backend, k);
            if (!begin_state(&runtime->devices[at]))
                return false;
        }
    }
    return true;
}

/* ---- the others ---- */

static void keep_listed(struct heed_offload_device *offload)
{
    heed_device_props *props = &offload->device.props;

    props->untested = props->usable >= 0;
    offload->listed = *props;
    atomic_init(&offload->opened, 0);
}

/* Under the lock. false: no memory; nothing is changed, so that the next look tries again. */
static bool list_offloads(struct heed_runtime *runtime)
{
    const uint32_t n = count_devices(true);

    runtime->offloads = heed_arena_array(&runtime->arena, n, sizeof(*runtime->offloads),
                                         _Alignof(struct heed_offload_device));
    if (runtime->offloads == NULL)
        return false;
    for (size_t i = 0; heed_backends[i] != NULL; i++) {
        const struct heed_backend *backend = heed_backends[i];
        const uint32_t count = backend->offload != NULL ? backend->count() : 0;

        for (uint32_t k = 0; k < count && runtime->n_offloads < n; k++) {
            struct heed_offload_device *offload = &runtime->offloads[runtime->n_offloads++];

            describe(&offload->device, runtime, &offload->count, backend, k);
            keep_listed(offload);
        }
    }
    return true;
}

/* The runtime is const to those who only look; what is found for them is remembered in it. */
static bool acquire_offload(const struct heed_runtime *looked)
{
    struct heed_runtime *runtime = (struct heed_runtime *)(uintptr_t)looked;
    bool listed = atomic_load_explicit(&runtime->listed, memory_order_acquire) != 0;

    if (listed)
        return true;
    heed_lock_take(&runtime->lock);
    listed = atomic_load_explicit(&runtime->listed, memory_order_relaxed) != 0;
    if (!listed) {
        listed = list_offloads(runtime);
        atomic_store_explicit(&runtime->listed, listed, memory_order_release);
    }
    heed_lock_give(&runtime->lock);
    return listed;
}

/* Makes the props agree with the outcome of open or wrap, whatever the backend left in them. */
static void finish_opening(struct heed_offload_device *offload, heed_status status)
{
    heed_device_props *props = &offload->device.props;

    props->size = sizeof(*props);
    props->kind = offload->device.backend->kind;
    end_texts(props);
    memcpy(props->name, offload->listed.name, sizeof(props->name));
    props->untested = 0;
    if (props->width == 0)
        props->width = 1;
    if (status >= 0) {
        offload->closes = 1;
        return;
    }
    props->exact = 0;
    if (props->usable >= 0)
        props->usable = status;
    if (props->reason[0] == '\0')
        snprintf(props->reason, sizeof(props->reason), "it could not be opened");
}

static void open_once(const heed_device *asked)
{
    struct heed_offload_device *offload = (struct heed_offload_device *)(uintptr_t)asked;
    heed_device *device = &offload->device;

    if (atomic_load_explicit(&offload->opened, memory_order_acquire) != 0)
        return;
    heed_lock_take(&device->runtime->lock);
    if (atomic_load_explicit(&offload->opened, memory_order_relaxed) == 0) {
        if (device->props.usable >= 0)
            finish_opening(offload,
                           device->backend->offload->open(device, &device->runtime->services));
        atomic_store_explicit(&offload->opened, 1, memory_order_release);
    }
    heed_lock_give(&device->runtime->lock);
}

static struct heed_offload_device *new_wrapped(struct heed_runtime *runtime,
                                               const struct heed_backend *backend)
{
    struct heed_offload_device *offload =
        heed_alloc(runtime, sizeof(*offload), _Alignof(struct heed_offload_device));

    if (offload == NULL)
        return NULL;
    memset(offload, 0, sizeof(*offload));
    offload->device = (heed_device){
        .backend = backend,
        .index = UINT32_MAX,
        .runtime = runtime,
        .done = &offload->count,
    };
    offload->count.device = &offload->device;
    atomic_init(&offload->count.handed_out, 0);
    atomic_init(&offload->opened, 1);
    return offload;
}

heed_status heed_context_wrap(struct heed_runtime *runtime, const struct heed_backend *backend,
                              void *context, void *native, heed_device **out, heed_report *report)
{
    struct heed_offload_device *offload = new_wrapped(runtime, backend);
    struct heed_error_detail detail = { .native = 0 };
    heed_status status;

    if (offload == NULL)
        return heed_report_fill(report, HEED_E_NOMEM, NULL, (int64_t)sizeof(*offload), 0,
                                "no memory for the device");
    status = backend->offload->wrap(&offload->device, &runtime->services, context, native,
                                    &detail);
    if (status < 0) {
        heed_free(runtime, offload, sizeof(*offload), _Alignof(struct heed_offload_device));
        return heed_report_detail(report, status, "device", &detail,
                                  "no device can be made of these");
    }
    if (offload->device.props.name[0] == '\0')
        snprintf(offload->device.props.name, sizeof(offload->device.props.name), "wrapped");
    end_texts(&offload->device.props);
    offload->listed = offload->device.props;
    finish_opening(offload, status);
    heed_lock_take(&runtime->lock);
    offload->next = runtime->wrapped;
    runtime->wrapped = offload;
    heed_lock_give(&runtime->lock);
    *out = &offload->device;
    return heed_report_ok(report);
}

static void close_one(struct heed_offload_device *offload)
{
    if (offload->closes)
        offload->device.backend->offload->close(&offload->device,
                                                &offload->device.runtime->services);
    offload->closes = 0;
}

/* Newest first: a wrapped device may be over the context of another. */
void heed_context_close(struct heed_runtime *runtime)
{
    while (runtime->wrapped != NULL) {
        struct heed_offload_device *offload = runtime->wrapped;

        runtime->wrapped = offload->next;
        close_one(offload);
        heed_free(runtime, offload, sizeof(*offload), _Alignof(struct heed_offload_device));
    }
    for (uint32_t i = runtime->n_offloads; i-- > 0;)
        close_one(&runtime->offloads[i]);
}

int64_t heed_context_events(const struct heed_runtime *runtime)
{
    int64_t events = 0;

    for (uint32_t i = 0; i < runtime->n_devices; i++)
        events += atomic_load(&runtime->events[i].handed_out);
    for (uint32_t i = 0; i < runtime->n_offloads; i++)
        events += atomic_load(&runtime->offloads[i].count.handed_out);
    for (const struct heed_offload_device *r = runtime->wrapped; r != NULL; r = r->next)
        events += atomic_load(&r->count.handed_out);
    return events;
}

heed_status heed_context_usable(const heed_device *device, heed_report *report)
{
    const heed_device_props *props = &device->props;

    if (is_offload(device))
        open_once(device);
    if (props->usable >= 0)
        return HEED_OK;
    return heed_report_fill(report, props->usable, "device", 0, 0, "%.60s cannot be used: %.120s",
                            props->name, props->reason);
}

/* ---- look-ups ---- */

uint32_t heed_device_count(const heed_runtime *runtime)
{
    if (runtime == NULL)
        return 0;
    return runtime->n_devices + (acquire_offload(runtime) ? runtime->n_offloads : 0);
}

heed_device *heed_device_get(const heed_runtime *runtime, uint32_t index)
{
    if (runtime == NULL)
        return NULL;
    if (index < runtime->n_devices)
        return &runtime->devices[index];
    if (!acquire_offload(runtime) || index - runtime->n_devices >= runtime->n_offloads)
        return NULL;
    return &runtime->offloads[index - runtime->n_devices].device;
}

/* The host's own, in the order of the backends: the first that can be used is the default. */
static heed_device *find_host(const heed_runtime *runtime, const char *name)
{
    for (uint32_t i = 0; i < runtime->n_devices; i++) {
        const heed_device_props *props = &runtime->devices[i].props;

        if (name == NULL ? props->usable >= 0 : strcmp(props->name, name) == 0)
            return &runtime->devices[i];
    }
    return NULL;
}

static heed_device *find_offload(const heed_runtime *runtime, const char *name)
{
    for (uint32_t i = 0; i < runtime->n_offloads; i++) {
        if (strcmp(runtime->offloads[i].listed.name, name) == 0)
            return &runtime->offloads[i].device;
    }
    return NULL;
}

/* "vendor" and "vendor:0" begin with the prefix "vendor", "vendors" does not. */
static bool begins(const char *name, const char *prefix)
{
    const size_t n = strlen(prefix);

    return strncmp(name, prefix, n) == 0 && (name[n] == '\0' || name[n] == ':');
}

/* Why a backend that is compiled in has no devices here; NULL: no such, or it does not say. */
static const char *find_none(const char *name)
{
    for (size_t i = 0; heed_backends[i] != NULL; i++) {
        const struct heed_backend *backend = heed_backends[i];

        if (backend->none != NULL && begins(name, backend->prefix) && backend->count() == 0)
            return backend->none();
    }
    return NULL;
}

/* The names there are, as far as there is room for them. */
static void names_list(const heed_runtime *runtime, char *to, size_t room)
{
    const uint32_t listed = atomic_load(&runtime->listed) ? runtime->n_offloads : 0;
    const uint32_t n = runtime->n_devices + listed;
    size_t used = 0;

    *to = '\0';
    for (uint32_t i = 0; i < n && used < room; i++) {
        const char *name = i < runtime->n_devices
                               ? runtime->devices[i].props.name
                               : runtime->offloads[i - runtime->n_devices].listed.name;

        used += (size_t)snprintf(to + used, room - used, "%s%s", i == 0 ? "" : " ", name);
    }
}

/* HEED_E_NOT_BUILT or _NOT_FOUND for a name that no device has. */
static heed_status missing(const heed_runtime *runtime, const char *name, heed_report *report)
{
    const char *none;
    char names[144];

    for (size_t i = 0; heed_backends_absent[i].prefix != NULL; i++) {
        if (begins(name, heed_backends_absent[i].prefix))
            return heed_report_fill(report, HEED_E_NOT_BUILT, "name", 0, 0, "%.60s: %.120s", name,
                                    heed_backends_absent[i].reason);
    }
    none = find_none(name);
    if (none != NULL)
        return heed_report_fill(report, HEED_E_NOT_FOUND, "name", 0, 0, "%.60s: %.120s", name,
                                none);
    names_list(runtime, names, sizeof(names));
    return heed_report_fill(report, HEED_E_NOT_FOUND, "name", 0, 0,
                            "no device is called '%.32s', there are: %s", name, names);
}

heed_status heed_device_find(const heed_runtime *runtime, const char *name, heed_device **out,
                             heed_report *report)
{
    heed_device *device;
    heed_status status;

    if (runtime == NULL || out == NULL)
        return heed_report_fill(report, HEED_E_NULL, runtime == NULL ? "runtime" : "device", 0, 0,
                                "a required pointer is NULL");
    device = find_host(runtime, name);
    if (device == NULL && name != NULL) {
        if (!acquire_offload(runtime))
            return heed_report_fill(report, HEED_E_NOMEM, NULL, 0, 0, "no memory for the devices");
        device = find_offload(runtime, name);
    }
    if (device == NULL)
        return missing(runtime, name != NULL ? name : "(default)", report);
    status = heed_context_usable(device, report);
    if (status < 0)
        return status;
    *out = device;
    return heed_report_ok(report);
}

/* Of offload devices the copy that nobody writes while they are opened. */
const char *heed_device_name(const heed_device *device)
{
    if (device == NULL)
        return NULL;
    return is_offload(device) ? ((const struct heed_offload_device *)device)->listed.name
                              : device->props.name;
}

heed_status heed_device_info(const heed_device *device, heed_device_props *props)
{
    if (device == NULL || props == NULL)
        return HEED_E_NULL;
    if (is_offload(device))
        open_once(device);
    return heed_sized_out(props, HEED_DEVICE_PROPS_V1, &device->props, sizeof(device->props));
}

heed_status heed_device_listing(const heed_device *device, heed_device_props *props)
{
    struct heed_offload_device *offload = (struct heed_offload_device *)(uintptr_t)device;
    const heed_device_props *known;
    heed_device_props listed;

    if (device == NULL || props == NULL)
        return HEED_E_NULL;
    known = &device->props;
    if (is_offload(device) && atomic_load_explicit(&offload->opened, memory_order_acquire) == 0) {
        listed = offload->listed;
        if (listed.untested && device->backend->offload->recall != NULL)
            device->backend->offload->recall(device->index, &device->runtime->services, &listed);
        known = &listed;
    }
    return heed_sized_out(props, HEED_DEVICE_PROPS_V1, known, sizeof(*known));
}

heed_status heed_device_gemm(const heed_device *device, char *text, size_t size)
{
    const struct heed_offload_device *const offload =
        (const struct heed_offload_device *)(const void *)device;
    uint32_t open;

    if (device == NULL || text == NULL)
        return HEED_E_NULL;
    if (size == 0)
        return HEED_E_VALUE;
    text[0] = '\0';
    if (!is_offload(device) || device->backend->offload->gemm == NULL)
        return HEED_E_UNSUPPORTED;
    open = atomic_load_explicit(&offload->opened, memory_order_acquire);
    return device->backend->offload->gemm(device, open && device->state != NULL, text, size);
}
