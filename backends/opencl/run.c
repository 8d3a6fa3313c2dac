/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Enqueues the launches of a run. In an in-order queue the first command waits for what the caller
 * names and the rest follow by themselves; in an out-of-order one each command waits for the event
 * of the one before, and the first one also for the run before. Nothing blocks.
 */
#include "state.h"

/* Large kernels find the places of their operands at the beginning of the workspace, put there by
 * fills: a write would read host memory after run has returned. A workspace is aligned to the
 * smaller one; 128 is the most that a fill repeats. */
enum { FILL_BYTES = 64, FILL_BYTES_MOST = 128 };

/* Operands up to the last that is there; the others of a kernel are NULL. */
static uint32_t operands_used(const struct heed_work *work)
{
    uint32_t n = work->n_buffers - 1;

    while (n > 0 && work->buffers[n - 1].handle == NULL)
        n--;
    return n;
}

/* Commands under way: what the next one has to wait for. */
struct chain {
    struct heed_opencl_state *d;
    struct heed_opencl_queue *queue;
    struct heed_error_detail *detail;
    void *const *waits;             /* the caller's, until the first command has taken them */
    uint32_t n_waits, n_held;
    void *held[2];                  /* events of ours */
};

static void release(struct chain *c)
{
    for (uint32_t i = 0; i < c->n_held; i++)
        (void)c->d->api->ReleaseEvent(c->held[i]);
    c->n_held = 0;
}

/* What the next command waits for, as the vendor wants it: NULL for an empty list. */
static uint32_t wait_list(const struct chain *c, void *const **list)
{
    const uint32_t n = c->n_held > 0 ? c->n_held : c->n_waits;

    *list = n == 0 ? NULL : c->n_held > 0 ? c->held : c->waits;
    return n;
}

/* The command of that event, NULL with in-order queues, is the one to wait for. In-order commands
 * all name what the caller waits for: whether one runs after one that failed, nobody promises. */
static void follow(struct chain *c, void *event)
{
    release(c);
    if (event == NULL)
        return;
    c->waits = NULL;
    c->n_waits = 0;
    c->held[c->n_held++] = event;
}

/* What waits for an event that has failed would fail, or never end: an event of the caller's ends
 * the run here, that of the run before is forgotten. */
static heed_status require_waits(struct chain *c)
{
    int32_t outcome = 1;
    heed_status status = HEED_OK;

    for (uint32_t i = 0; i < c->n_waits && status >= 0; i++) {
        status = heed_opencl_event_ask(c->d, c->waits[i], &outcome, c->detail);
        if (status >= 0 && outcome < 0) {
            c->detail->native = outcome;
            heed_offload_say(c->detail, "an event to be waited for had failed (%d)", (int)outcome);
            status = HEED_E_DEVICE;
        }
    }
    if (status < 0 || c->queue->last == NULL)
        return status;
    status = heed_opencl_event_ask(c->d, c->queue->last, &outcome, c->detail);
    if (status >= 0 && outcome <= 0) {
        (void)c->d->api->ReleaseEvent(c->queue->last);
        c->queue->last = NULL;
    }
    return status;
}

/* Out-of-order: the run before comes first. With waits of the caller's a marker joins the two. */
static heed_status begin(struct chain *c)
{
    void *const *list;
    void *marker = NULL;
    heed_status status;
    uint32_t n;

    if (c->queue->last == NULL)
        return HEED_OK;
    n = wait_list(c, &list);
    if (n > 0) {
        status = heed_opencl_check(
            c->d, c->d->api->EnqueueMarkerWithWaitList(c->queue->queue, n, list, &marker),
            "clEnqueueMarkerWithWaitList", c->detail);
        if (status < 0)
            return status;
        follow(c, marker);
    }
    status = heed_opencl_check(c->d, c->d->api->RetainEvent(c->queue->last), "clRetainEvent",
                               c->detail);
    if (status >= 0)
        c->held[c->n_held++] = c->queue->last;
    return status;
}

static heed_status put_places(struct chain *c, const struct heed_work *work)
{
    const heed_buf *const workspace = &work->buffers[work->n_buffers - 1];
    const uint32_t n_places = operands_used(work);
    const size_t size = workspace->offset % FILL_BYTES_MOST == 0 ? FILL_BYTES_MOST : FILL_BYTES;
    uint64_t places[HEED_BUFFERS_LARGE + FILL_BYTES_MOST / 8] = { 0 };
    heed_status status = HEED_OK;

    for (uint32_t i = 0; i < n_places; i++)
        places[i] = work->buffers[i].offset;
    for (size_t at = 0; at < n_places * sizeof(places[0]) && status >= 0; at += size) {
        void *event = NULL, *const *list;
        const uint32_t n = wait_list(c, &list);

        status = heed_opencl_check(
            c->d,
            c->d->api->EnqueueFillBuffer(c->queue->queue, workspace->handle,
                                         places + at / sizeof(places[0]), size,
                                         (size_t)workspace->offset + at, size, n, list,
                                         c->queue->out_of_order ? &event : NULL),
            "clEnqueueFillBuffer", c->detail);
        if (status >= 0)
            follow(c, event);
    }
    return status;
}

/* The second argument, struct hk_offsets of dialect_opencl.h: places of the buffers, of many that
 * of the workspace and the number of operands alone, then the first group. */
static int32_t set_offsets(const struct heed_opencl_api *api, void *kernel,
                           const struct heed_work *work, uint64_t group)
{
    uint64_t offsets[HEED_BUFFERS_SMALL + 1] = { 0 };
    uint32_t n = 0;

    if (work->n_buffers > HEED_BUFFERS_SMALL) {
        offsets[n++] = work->buffers[work->n_buffers - 1].offset;
        offsets[n++] = operands_used(work);
    } else {
        for (; n < work->n_buffers; n++)
            offsets[n] = work->buffers[n].offset;
        n = HEED_BUFFERS_SMALL;
    }
    offsets[n++] = group;
    return api->SetKernelArg(kernel, 1, n * sizeof(offsets[0]), offsets);
}

/* Of 28 or 101 operands most plans have few: those that neither this run nor the one before has
 * are NULL already. */
static int32_t set_arguments(const struct heed_opencl_api *api, struct heed_opencl_kernel *kernel,
                             const struct heed_work *work, uint64_t group)
{
    const uint32_t last = work->n_buffers - 1, used = operands_used(work);
    const uint32_t n = used > kernel->n_given ? used : kernel->n_given;
    int32_t code = api->SetKernelArg(kernel->kernel, 0, sizeof(work->blob), &work->blob);

    kernel->n_given = last;
    if (code == HEED_CL_SUCCESS)
        code = set_offsets(api, kernel->kernel, work, group);
    for (uint32_t i = 0; i <= last && code == HEED_CL_SUCCESS; i++) {
        if (i < n || i == last)
            code = api->SetKernelArg(kernel->kernel, 2 + i, sizeof(work->buffers[i].handle),
                                     &work->buffers[i].handle);
    }
    if (code == HEED_CL_SUCCESS)
        kernel->n_given = used;
    return code;
}

/* The groups of a launch from `first` on, as many as go at once. */
static heed_status put_slice(struct chain *c, const struct heed_work *work,
                             const struct heed_kernel_launch *launch, uint64_t first, bool wanted)
{
    const struct heed_opencl_api *const api = c->d->api;
    struct heed_opencl_kernel *const kernel = launch->compiled;
    const size_t local = launch->threads;
    const size_t global = (size_t)heed_launch_slice(launch, first) * local;
    const char *call = "clSetKernelArg";
    void *event = NULL, *const *list;
    const uint32_t n = wait_list(c, &list);
    int32_t code;

    pthread_mutex_lock(&kernel->lock);
    code = set_arguments(api, kernel, work, first);
    if (code == HEED_CL_SUCCESS) {
        call = "clEnqueueNDRangeKernel";
        code = api->EnqueueNDRangeKernel(c->queue->queue, kernel->kernel, 1, NULL, &global, &local,
                                         n, list, wanted ? &event : NULL);
    }
    pthread_mutex_unlock(&kernel->lock);
    if (code != HEED_CL_SUCCESS)
        return heed_opencl_check(c->d, code, call, c->detail);
    follow(c, event);
    return HEED_OK;
}

/* wanted: the event of its last slice is the run's. */
static heed_status put_launch(struct chain *c, const struct heed_work *work,
                              const struct heed_kernel_launch *launch, bool wanted)
{
    heed_status status = HEED_OK;

    for (uint64_t at = 0, next; at < launch->groups && status >= 0; at = next) {
        next = at + heed_launch_slice(launch, at);
        status = put_slice(c, work, launch, at,
                           (wanted && next == launch->groups) || c->queue->out_of_order);
    }
    return status;
}

static heed_status put_launches(struct chain *c, const struct heed_work *work)
{
    heed_status status = HEED_OK;

    for (uint32_t i = 0; i < work->n_launches && status >= 0; i++) {
        const bool last = i + 1 == work->n_launches && work->event != NULL;

        if (work->launches[i].threads > 0)
            status = put_launch(c, work, &work->launches[i], last);
    }
    return status;
}

/* What comes later waits for what was put before and for the waits, which no library is told of.
 * event: NULL: none wanted. */
static heed_status put_barrier(struct chain *c, void **event)
{
    void *const *list;
    const uint32_t n = wait_list(c, &list);

    return heed_opencl_check(c->d,
                             c->d->api->EnqueueBarrierWithWaitList(c->queue->queue, n, list, event),
                             "clEnqueueBarrierWithWaitList", c->detail);
}

/* The calls of a product share the workspace, so one follows another in any queue. A barrier with
 * waits waits for these alone: in an out-of-order queue the calls before need one of their own. */
static heed_status put_product(struct chain *c, const struct heed_work *work)
{
    const struct heed_gemm_plan *const gemm = work->gemm;
    const int64_t calls = gemm != NULL ? heed_gemm_calls(gemm) : 0;
    heed_status status = HEED_OK;
    void *const *list;

    if (calls > 0 && wait_list(c, &list) > 0)
        status = put_barrier(c, NULL);
    for (int64_t i = 0; i < calls && status >= 0; i++) {
        const struct heed_gemm_place place = heed_gemm_at(gemm, work, i);
        void *event = NULL;

        status = gemm->provider->enqueue(c->d, c->queue, gemm, &place, c->detail);
        if (status >= 0 && c->queue->out_of_order) {
            follow(c, NULL);
            c->n_waits = 0;
            status = put_barrier(c, &event);
            follow(c, event);
        }
    }
    return status;
}

/* The event of all that was put: that of the last launch, or of a marker where there is none. */
static heed_status take_event(struct chain *c, void **event)
{
    void *const *list;
    void *marker = NULL;
    heed_status status = HEED_OK;

    if (c->n_held != 1 || c->n_waits > 0) {
        const uint32_t n = wait_list(c, &list);

        status = heed_opencl_check(
            c->d, c->d->api->EnqueueMarkerWithWaitList(c->queue->queue, n, list, &marker),
            "clEnqueueMarkerWithWaitList", c->detail);
        if (status < 0)
            return status;
        follow(c, marker);
    }
    *event = c->held[0];
    if (c->queue->out_of_order)     /* which remembers it as well */
        status = heed_opencl_check(c->d, c->d->api->RetainEvent(*event), "clRetainEvent",
                                   c->detail);
    else
        c->n_held = 0;
    if (status < 0)
        *event = NULL;
    return status;
}

/* Also after a failure: what was put before it will still be run. */
static void remember(struct chain *c)
{
    if (!c->queue->out_of_order || c->n_held != 1)
        return;
    if (c->queue->last != NULL)
        (void)c->d->api->ReleaseEvent(c->queue->last);
    c->queue->last = c->held[0];
    c->n_held = 0;
}

heed_status heed_opencl_run(void *state, const struct heed_work *work,
                            struct heed_error_detail *detail)
{
    struct heed_opencl_state *const d = state;
    struct chain c = {
        .d = d,
        .queue = work->queue,
        .detail = detail,
        .waits = work->waits,
        .n_waits = work->n_waits,
    };
    void *event = NULL;
    heed_status status = heed_opencl_enter(d, detail);

    if (status < 0)
        return status;
    status = require_waits(&c);
    if (status >= 0)
        status = begin(&c);
    if (status >= 0 && work->n_buffers > HEED_BUFFERS_SMALL)
        status = put_places(&c, work);
    if (status >= 0)
        status = put_product(&c, work);
    if (status >= 0)
        status = put_launches(&c, work);
    if (status >= 0 && work->event != NULL)
        status = take_event(&c, &event);
    remember(&c);
    release(&c);
    /* Without it events need never complete, so that its failure is the run's. */
    if (status >= 0)
        status = heed_opencl_check(d, d->api->Flush(c.queue->queue), "clFlush", detail);
    if (status >= 0 && work->event != NULL)
        *work->event = event;
    else if (event != NULL)
        (void)d->api->ReleaseEvent(event);
    return status;
}
