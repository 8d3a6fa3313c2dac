/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A run: waits, launches, an event, all of them enqueued. Nothing here waits on the host, allocates
 * memory, loads code or touches another stream, so that a run can be captured in a CUDA graph. (An
 * event recorded while capturing belongs to the graph: ask for none there.)
 */
#include "state.h"

#include <limits.h>

/* The second parameter of every kernel (kernels/attn/call.h), of which small ones read the
 * beginning. */
struct pointers {
    char *p[HEED_BUFFERS_LARGE];
};

/* What a kernel is given (dialect_cuda.h, HK_ENTRY_POINT). */
struct parameters {
    void *blob;
    struct pointers pointers;
    uint64_t group;                     /* the first of a launch */
};

static heed_status launch(struct heed_cuda_state *state, const struct heed_kernel_launch *one,
                          void *stream, struct parameters *given, struct heed_error_detail *detail)
{
    const struct heed_cuda_kernel *const kernel = one->compiled;
    void *parameters[] = { &given->blob, &given->pointers, &given->group };
    heed_status status = HEED_OK;

    if (one->groups > INT_MAX) {   /* no plan has so many (device/tune.h) */
        heed_offload_say(detail, "CUDA launches at most %d groups, these are %llu", INT_MAX,
                      (unsigned long long)one->groups);
        return HEED_E_UNSUPPORTED;
    }
    for (uint64_t at = 0, n; at < one->groups && status >= 0; at += n) {
        n = heed_launch_slice(one, at);
        given->group = at;
        status = heed_cuda_check(state,
                                 state->driver->launch(kernel->function, (unsigned)n, 1, 1,
                                                       one->threads, 1, 1, 0, stream, parameters,
                                                       NULL),
                                 "cuLaunchKernel", detail);
    }
    return status;
}

static heed_status multiply(struct heed_cuda_state *state, const struct heed_work *work,
                            struct heed_error_detail *detail)
{
    const struct heed_gemm_plan *const gemm = work->gemm;
    const int64_t calls = gemm != NULL ? heed_gemm_calls(gemm) : 0;
    heed_status status = HEED_OK;

    for (int64_t i = 0; i < calls && status >= 0; i++) {
        const struct heed_gemm_place place = heed_gemm_at(gemm, work, i);

        status = gemm->provider->enqueue(state, work->queue, gemm, &place, detail);
    }
    return status;
}

static heed_status enqueue(struct heed_cuda_state *state, const struct heed_work *work,
                           void *stream, struct heed_error_detail *detail)
{
    struct parameters given = { .blob = work->blob };
    heed_status status = HEED_OK;

    for (uint32_t i = 0; i < work->n_buffers; i++) {
        if (work->buffers[i].handle)
            given.pointers.p[i] = (char *)work->buffers[i].handle + work->buffers[i].offset;
    }
    for (uint32_t i = 0; i < work->n_waits && status >= 0; i++) {
        void *const event = heed_cuda_event_native(NULL, work->waits[i]);

        status = heed_cuda_check(state, state->driver->stream_wait(stream, event, 0),
                                 "cuStreamWaitEvent", detail);
    }
    if (status >= 0)
        status = multiply(state, work, detail);
    for (uint32_t i = 0; i < work->n_launches && status >= 0; i++)
        status = launch(state, &work->launches[i], stream, &given, detail);
    return status;
}

/* The event is created before the launches: were it to fail after them, outputs would be written by
 * a run that says it failed. */
static heed_status run_entered(struct heed_cuda_state *state, const struct heed_work *work,
                               struct heed_error_detail *detail)
{
    const struct heed_cuda_api *driver = state->driver;
    void *stream = ((const struct heed_cuda_queue *)work->queue)->stream;
    void *event = NULL;
    heed_status status = HEED_OK;

    if (work->event != NULL)
        status = heed_cuda_check(state, driver->event_create(&event, HEED_CU_EVENT_DISABLE_TIMING),
                                 "cuEventCreate", detail);
    if (status < 0)
        return status;
    status = enqueue(state, work, stream, detail);
    if (status >= 0 && event != NULL)
        status = heed_cuda_check(state, driver->event_record(event, stream), "cuEventRecord",
                                 detail);
    if (status >= 0 && event != NULL)
        *work->event = event;
    else if (event != NULL)
        (void)driver->event_destroy(event);
    return status;
}

heed_status heed_cuda_run(void *state, const struct heed_work *work,
                          struct heed_error_detail *detail)
{
    heed_status status = heed_cuda_enter(state, detail);

    if (status < 0)
        return status;
    status = run_entered(state, work, detail);
    heed_cuda_leave(state);
    return status;
}
