/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Does a library multiply matrices on a device at all, and rightly? A small product of small
 * integers, which all types hold and whose sums every order of additions gives without an error;
 * what lay under the results is NaN, of which nothing may remain. A library that does not build its
 * kernels for the device, or answers with an error, or has a wrong sum, is not used on it.
 */
#include "gemm.h"

#include "../../lib/types/types.h"
#include "../kernels/numerics.h"
#include "offload.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* Sizes that no library's tile divides. Sums are 4 * TERMS at most: bf16 holds integers to 256. */
enum { ROWS = 37, OUTS = 41, TERMS = 53 };
enum { A, B, C, WORKSPACE, BUFFERS };

struct test {
    heed_device *device;
    const struct heed_backend_offload *offload;
    struct heed_gemm_plan plan;
    struct heed_error_detail *detail;
    void *queue;
    void *memory[BUFFERS];
    uint64_t bytes[BUFFERS];
    unsigned char contents[OUTS * TERMS * 4];
};

/* ---- contents ---- */

static int number(int matrix, int i, int l)
{
    return (i * 5 + l * (matrix == A ? 3 : 7) + matrix) % 5 - 2;
}

static float read(uint32_t dtype, const unsigned char *from)
{
    uint16_t half;
    float whole;

    if (dtype == HEED_F32) {
        memcpy(&whole, from, sizeof whole);
        return whole;
    }
    memcpy(&half, from, sizeof half);
    if (dtype == HEED_F16)
        return hk_from_f16(half);
    if (dtype == HEED_BF16)
        return hk_from_bf16(half);
    assert(0); /* no provider takes another */
    return 0;
}

static void write(uint32_t dtype, float x, unsigned char *to)
{
    uint16_t half = 0;

    if (dtype == HEED_F32)
        memcpy(to, &x, sizeof x);
    else if (dtype == HEED_F16)
        half = hk_to_f16(x);
    else if (dtype == HEED_BF16)
        half = hk_to_bf16(x);
    else
        assert(0); /* no provider takes another */
    if (dtype != HEED_F32)
        memcpy(to, &half, sizeof half);
}

static uint64_t size_of(uint32_t dtype)
{
    return heed_dtype_size(dtype);
}

static void fill(struct test *t, int matrix, uint32_t dtype, int lines)
{
    for (int i = 0; i < lines; i++) {
        for (int l = 0; l < TERMS; l++)
            write(dtype, (float)number(matrix, i, l),
                  t->contents + (uint64_t)(i * TERMS + l) * size_of(dtype));
    }
}

static bool is_right(const struct test *t, uint32_t dtype)
{
    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < OUTS; j++) {
            int sum = 0;

            for (int l = 0; l < TERMS; l++)
                sum += number(A, i, l) * number(B, j, l);
            if (!(read(dtype, t->contents + (uint64_t)(i * OUTS + j) * size_of(dtype)) ==
                  (float)sum))
                return false;
        }
    }
    return true;
}

/* ---- the run ---- */

static heed_status put(struct test *t, int buffer, uint64_t bytes)
{
    heed_status status = t->offload->buf_create(t->device, bytes, &t->memory[buffer], t->detail);

    t->bytes[buffer] = bytes;
    if (status >= 0 && buffer != WORKSPACE)
        status = t->offload->buf_write(t->device, t->queue, t->memory[buffer], 0, t->contents,
                                       bytes, t->detail);
    return status;
}

static heed_status put_all(struct test *t)
{
    const struct heed_gemm *const form = &t->plan.form;
    heed_status status;

    fill(t, A, form->a.dtype, ROWS);
    status = put(t, A, ROWS * TERMS * size_of(form->a.dtype));
    if (status < 0)
        return status;
    fill(t, B, form->b.dtype, OUTS);
    status = put(t, B, OUTS * TERMS * size_of(form->b.dtype));
    if (status < 0)
        return status;
    memset(t->contents, 0xff, sizeof t->contents); /* NaN of every type */
    status = put(t, C, ROWS * OUTS * size_of(form->c.dtype));
    if (status >= 0 && t->plan.workspace_size > 0)
        status = put(t, WORKSPACE, t->plan.workspace_size);
    return status;
}

static heed_status run(struct test *t)
{
    struct heed_work work = { .gemm = &t->plan, .n_buffers = HEED_BUFFERS_SMALL };
    const struct heed_device_state *const state = t->device->state;
    heed_status status = put_all(t);

    if (status < 0)
        return status;
    for (uint32_t i = 0; i < WORKSPACE; i++)
        work.buffers[i].handle = t->memory[i];
    work.buffers[work.n_buffers - 1].handle = t->memory[WORKSPACE];
    work.queue = t->queue;
    status = state->driver->run(t->device->state, &work, t->detail);
    if (status >= 0)
        status = t->offload->queue_wait(t->device, t->queue, t->detail);
    return status < 0 ? status
                      : t->offload->buf_read(t->device, t->queue, t->contents, t->memory[C], 0,
                                             t->bytes[C], t->detail);
}

static heed_status run_prepared(struct test *t)
{
    const struct heed_gemm_provider *const provider = t->plan.provider;
    heed_status status = provider->prepare(t->device->state, &t->plan, t->detail);

    if (status < 0)
        return status;
    status = t->offload->queue_create(t->device, NULL, 0, &t->queue, t->detail);
    if (status >= 0) {
        status = run(t);
        t->offload->queue_destroy(t->device, t->queue);
    }
    for (int i = 0; i < BUFFERS; i++) {
        if (t->memory[i] != NULL)
            t->offload->buf_destroy(t->device, t->memory[i]);
    }
    provider->release(t->device->state, &t->plan);
    return status;
}

/* The product of the test in the types of the given one. */
static struct heed_gemm form_of(const struct heed_gemm *given)
{
    return (struct heed_gemm){
        .m = ROWS,
        .n = OUTS,
        .k = TERMS,
        .a = { .operand = A, .dtype = given->a.dtype, .line = TERMS, .span = ROWS * TERMS },
        .b = { .operand = B, .dtype = given->b.dtype, .line = TERMS, .span = OUTS * TERMS },
        .c = { .operand = C, .dtype = given->c.dtype, .line = OUTS, .span = ROWS * OUTS },
        .items = { 1, 1, 1, 1 },
    };
}

/* ---- the verdict ---- */

/* One device is tested at a time. */
static pthread_mutex_t testing = PTHREAD_MUTEX_INITIALIZER;

/* Want of memory is no verdict, as nobody knows what comes next time. */
static bool is_verdict(heed_status status)
{
    return status != HEED_E_NOMEM && status != HEED_E_DEVICE_NOMEM && status != HEED_E_DEVICE_LOST;
}

static heed_status find_verdict(heed_device *device, const struct heed_gemm *gemm,
                                struct heed_offload_verdict *verdict,
                                struct heed_error_detail *detail)
{
    const struct heed_device_state *const state = device->state;
    struct test *const t = heed_offload_alloc(state, sizeof *t, _Alignof(struct test));
    heed_status status;

    if (t == NULL)
        return HEED_E_NOMEM;
    *t = (struct test){ .device = device, .offload = device->backend->offload, .detail = detail };
    t->plan = (struct heed_gemm_plan){ .provider = state->driver->gemm, .form = form_of(gemm) };
    status = run_prepared(t);
    if (status >= 0 || is_verdict(status)) {
        verdict->known = 1;
        if (status < 0)
            snprintf(verdict->reason, sizeof verdict->reason, "%.127s",
                     detail->text[0] != '\0' ? detail->text : "its test does not run");
        else if (!is_right(t, t->plan.form.c.dtype))
            snprintf(verdict->reason, sizeof verdict->reason, "its sums are wrong");
    }
    heed_offload_free(state, t, sizeof *t, _Alignof(struct test));
    return verdict->known ? HEED_OK : status;
}

static int index_of(uint32_t dtype)
{
    static const uint32_t dtypes[] = { HEED_F32, HEED_F16, HEED_BF16 };
    int i = 0;

    while (dtypes[i] != dtype && i < 2)
        i++;
    assert(dtypes[i] == dtype);
    return i;
}

heed_status heed_offload_gemm_test(heed_device *device, const struct heed_gemm *gemm,
                                   const char **reason, struct heed_error_detail *detail)
{
    struct heed_offload_state *const state = device->state;
    struct heed_offload_verdict *const verdict =
        &state->gemm[3 * index_of(gemm->a.dtype) + index_of(gemm->c.dtype)];
    heed_status status = HEED_OK;

    pthread_mutex_lock(&testing);
    if (!verdict->known) {
        status = find_verdict(device, gemm, verdict, detail);
        if (status >= 0 && verdict->reason[0] != '\0')
            heed_offload_log(state, HEED_OFFLOAD_WARNING, verdict->reason);
    }
    *reason = verdict->reason;
    pthread_mutex_unlock(&testing);
    return status;
}

/* ---- for people ---- */

/* Has the library passed a test? to: the first reason not to use it that a test found, or "". */
static bool reason_find(struct heed_offload_state *state, char *to, size_t size)
{
    bool works = false;

    to[0] = '\0';
    pthread_mutex_lock(&testing);
    for (int i = 0; i < HEED_OFFLOAD_GEMMS; i++) {
        const struct heed_offload_verdict *const verdict = &state->gemm[i];

        works = works || (verdict->known && verdict->reason[0] == '\0');
        if (to[0] == '\0')
            snprintf(to, size, "%s", verdict->reason);
    }
    pthread_mutex_unlock(&testing);
    return works;
}

heed_status heed_offload_gemm(const heed_device *device, uint32_t open, char *text, size_t size)
{
    struct heed_offload_state *const state = open ? device->state : NULL;
    const struct heed_vendor *const vendor = heed_offload_vendor(device);
    const uint32_t shape = open                    ? state->base.traits.shape
                           : vendor->shape != NULL ? vendor->shape(device->index)
                                                   : HEED_SHAPE_WORKGROUP;
    char library[HEED_GEMM_TEXT], reason[HEED_GEMM_TEXT] = "";
    heed_status status = HEED_OK;
    bool works = false;

    if (shape != HEED_SHAPE_WORKGROUP)
        return HEED_E_UNSUPPORTED;
    if (!vendor->driver.gemm->describe(library))
        status = HEED_E_NOT_FOUND;
    else if (open)
        works = reason_find(state, reason, sizeof reason);
    if (reason[0] != '\0' && !works)
        status = HEED_E_NOT_FOUND;
    snprintf(text, size, "%s%s%s", library,
             reason[0] == '\0' ? "" : works ? ", not for all types: " : " is not used: ", reason);
    return status;
}
