/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The OpenCL backend: its devices ("opencl:0" and so on; "opencl:0:lanes" and "opencl:0:workgroup"
 * are the same with the shape of kernels forced, so that both can be tested), opening and wrapping
 * them.
 */
#include "devices.h"
#include "state.h"

#include <stdio.h>
#include <string.h>

enum { SHAPES = 2 };
static const char *const shape_names[SHAPES] = { "lanes", "workgroup" };

static const struct heed_driver driver = {
    .size = sizeof(struct heed_driver),
    .handles = 1,
    .memory_create = heed_opencl_memory_create,
    .memory_destroy = heed_opencl_memory_destroy,
    .kernel = heed_opencl_kernel,
    .run = heed_opencl_run,
};

extern const struct heed_backend heed_opencl_backend;

static uint32_t count(void)
{
    const struct heed_opencl_found *list;
    const char *reason;

    return heed_opencl_devices(&list, &reason) * (1 + SHAPES);
}

static const char *none(void)
{
    const struct heed_opencl_found *list;
    const char *reason;

    (void)heed_opencl_devices(&list, &reason);
    return reason;
}

/* The plain devices come first, then each with either shape. *shape 0: not forced. */
static const struct heed_opencl_found *find(uint32_t index, uint32_t *place, uint32_t *shape)
{
    const struct heed_opencl_found *list;
    const char *reason;
    const uint32_t n = heed_opencl_devices(&list, &reason);

    *place = index < n ? index : (index - n) / SHAPES;
    *shape = index < n ? 0 : (index - n) % SHAPES + HEED_SHAPE_LANES;
    return *place < n ? &list[*place] : NULL;
}

static void fill_props(heed_device_props *props, const struct heed_opencl_found *found)
{
    props->size = sizeof(*props);
    props->kind = HEED_DEVICE_OPENCL;
    props->width = found->units;
    props->exact = 0;               /* open finds out */
    props->usable = found->usable;
    props->memory = found->memory;
    memcpy(props->description, found->description, sizeof(props->description));
    memcpy(props->reason, found->reason, sizeof(props->reason));
}

static void describe(uint32_t index, heed_device_props *props)
{
    uint32_t place, shape;
    const struct heed_opencl_found *const found = find(index, &place, &shape);

    if (found == NULL)
        return;
    fill_props(props, found);
    if (shape == 0)
        snprintf(props->name, sizeof(props->name), "opencl:%u", (unsigned)place);
    else
        snprintf(props->name, sizeof(props->name), "opencl:%u:%s", (unsigned)place,
                 shape_names[shape - HEED_SHAPE_LANES]);
}

/* ---- opening ----------------------------------------------------------- */

static void destroy(struct heed_opencl_device *d)
{
    const struct heed_services *const services = d->base.services;

    heed_opencl_kernels_release(d);
    if (d->context != NULL)
        (void)d->api->ReleaseContext(d->context);
    for (int i = 0; i < HEED_KERNELS; i++) {
        for (int large = 0; large < 2; large++)
            pthread_mutex_destroy(&d->kernels[i][large].lock);
    }
    pthread_mutex_destroy(&d->building);
    services->free(services->runtime, d, sizeof(*d), _Alignof(struct heed_opencl_device));
}

/* Without a context yet. NULL: no memory. */
static struct heed_opencl_device *make(const struct heed_services *services,
                                       const struct heed_opencl_api *api,
                                       const struct heed_opencl_found *found, uint32_t shape)
{
    struct heed_opencl_device *const d = services->alloc(
        services->runtime, sizeof(*d), _Alignof(struct heed_opencl_device));

    if (d == NULL)
        return NULL;
    memset(d, 0, sizeof(*d));
    d->base = (struct heed_device_state){
        .driver = &driver,
        .services = services,
        .traits = heed_opencl_traits(found, shape),
    };
    d->api = api;
    d->platform = found->platform;
    d->device = found->device;
    atomic_init(&d->lost, false);
    /* Plain mutexes, of which POSIX lets initialising fail only for want of memory; here none is
     * needed. */
    (void)pthread_mutex_init(&d->building, NULL);
    for (int i = 0; i < HEED_KERNELS; i++) {
        for (int large = 0; large < 2; large++)
            (void)pthread_mutex_init(&d->kernels[i][large].lock, NULL);
    }
    return d;
}

/* The last thing that opening does: may the device promise the reference's bits? */
static heed_status judge(heed_device *device, struct heed_trouble *trouble)
{
    const char *reason = "";
    const heed_status status =
        heed_device_self_test(device, heed_opencl_backend.remote, &reason, trouble);

    if (status < 0)
        return status;
    device->props.exact = reason[0] == '\0';
    snprintf(device->props.reason, sizeof(device->props.reason), "%s", reason);
    return HEED_OK;
}

/* Takes d over, also on failure. */
static heed_status finish(heed_device *device, struct heed_opencl_device *d,
                          struct heed_trouble *trouble)
{
    heed_status status;

    device->state = d;
    status = judge(device, trouble);
    if (status < 0) {
        device->state = NULL;
        destroy(d);
    }
    return status;
}

static heed_status give_up(heed_device *device, heed_status status,
                           const struct heed_trouble *trouble)
{
    device->props.usable = status;
    device->props.exact = 0;
    snprintf(device->props.reason, sizeof(device->props.reason), "%.127s",
             trouble->text[0] != '\0' ? trouble->text : "no memory");
    return status;
}

static heed_status open_device(heed_device *device, const struct heed_services *services)
{
    const struct heed_opencl_api *const api = heed_opencl_api_get(NULL);
    struct heed_trouble trouble = { 0 };
    uint32_t place, shape;
    const struct heed_opencl_found *const found = find(device->index, &place, &shape);
    struct heed_opencl_device *d;
    int32_t code = HEED_CL_SUCCESS;
    heed_status status;

    if (api == NULL || found == NULL || found->usable < 0)
        return device->props.usable < 0 ? device->props.usable : HEED_E_NOT_FOUND;
    d = make(services, api, found, shape);
    if (d == NULL)
        return give_up(device, HEED_E_NOMEM, &trouble);
    d->context = api->CreateContext(NULL, 1, &d->device, NULL, NULL, &code);
    if (d->context == NULL && code == HEED_CL_SUCCESS)
        code = HEED_CL_OUT_OF_RESOURCES;
    status = heed_opencl_check(d, code, "clCreateContext", &trouble);
    if (status < 0) {
        d->context = NULL;
        destroy(d);
        return give_up(device, status, &trouble);
    }
    status = finish(device, d, &trouble);
    return status < 0 ? give_up(device, status, &trouble) : HEED_OK;
}

static void close_device(heed_device *device, const struct heed_services *services)
{
    (void)services;
    destroy(device->state);
    device->state = NULL;
}

/* ---- wrapping ---------------------------------------------------------- */

/* Is the device one of the context's? */
static heed_status look_at_context(const struct heed_opencl_api *api, void *context, void *native,
                                   struct heed_trouble *trouble)
{
    void *devices[HEED_OPENCL_DEVICES] = { NULL };
    uint32_t n = 0;
    int32_t code;

    code = api->GetContextInfo(context, HEED_CL_CONTEXT_NUM_DEVICES, sizeof(n), &n, NULL);
    if (code == HEED_CL_SUCCESS && n <= HEED_OPENCL_DEVICES)
        code = api->GetContextInfo(context, HEED_CL_CONTEXT_DEVICES, n * sizeof(devices[0]),
                                   devices, NULL);
    if (code != HEED_CL_SUCCESS)
        return heed_opencl_status(code, "clGetContextInfo", trouble);
    for (uint32_t i = 0; i < n && i < HEED_OPENCL_DEVICES; i++) {
        if (devices[i] == native)
            return HEED_OK;
    }
    snprintf(trouble->text, sizeof(trouble->text), "the context is not for that device");
    return HEED_E_MISMATCH;
}

static heed_status wrap_device(heed_device *device, const struct heed_services *services,
                               void *context, void *native, struct heed_trouble *trouble)
{
    const struct heed_opencl_api *const api = heed_opencl_api_get(NULL);
    struct heed_opencl_found found;
    struct heed_opencl_device *d;
    void *platform = NULL;
    heed_status status;

    if (api == NULL || context == NULL || native == NULL) {
        snprintf(trouble->text, sizeof(trouble->text), "%s",
                 api == NULL ? "no OpenCL loader found" : "the context or the device is NULL");
        return api == NULL ? HEED_E_NOT_FOUND : HEED_E_NULL;
    }
    status = look_at_context(api, context, native, trouble);
    if (status < 0)
        return status;
    status = heed_opencl_status(api->GetDeviceInfo(native, HEED_CL_DEVICE_PLATFORM,
                                                   sizeof(platform), &platform, NULL),
                                "clGetDeviceInfo", trouble);
    if (status < 0)
        return status;
    heed_opencl_device_ask(api, platform, native, &found);
    fill_props(&device->props, &found);
    if (device->props.name[0] == '\0')
        snprintf(device->props.name, sizeof(device->props.name), "opencl:wrapped");
    if (found.usable < 0) {
        snprintf(trouble->text, sizeof(trouble->text), "%s", found.reason);
        return found.usable;
    }
    d = make(services, api, &found, 0);
    if (d == NULL)
        return HEED_E_NOMEM;
    status = heed_opencl_status(api->RetainContext(context), "clRetainContext", trouble);
    if (status < 0) {
        destroy(d);
        return status;
    }
    d->context = context;
    return finish(device, d, trouble);
}

static const struct heed_backend_remote remote = {
    .size = sizeof(struct heed_backend_remote),
    .handles = 1,
    .open = open_device,
    .close = close_device,
    .wrap = wrap_device,
    .buf_create = heed_opencl_buf_create,
    .buf_destroy = heed_opencl_buf_destroy,
    .buf_write = heed_opencl_buf_write,
    .buf_read = heed_opencl_buf_read,
    .queue_create = heed_opencl_queue_create,
    .queue_wait = heed_opencl_queue_wait,
    .queue_destroy = heed_opencl_queue_destroy,
    .event_wait = heed_opencl_event_wait,
    .event_destroy = heed_opencl_event_destroy,
    .event_wrap = heed_opencl_event_wrap,
    .event_native = heed_opencl_event_native,
    .event_over = heed_opencl_event_over,
};

const struct heed_backend heed_opencl_backend = {
    .size = sizeof(struct heed_backend),
    .kind = HEED_DEVICE_OPENCL,
    .host = 0,
    .lowered = 1,
    .count = count,
    .describe = describe,
    .impls = heed_device_impls,
    .remote = &remote,
    .none = none,
    .prefix = "opencl",
};
