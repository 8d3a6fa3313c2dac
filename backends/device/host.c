/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Groups are taken from a counter, one by one, by all workers; what a group computes does not
 * depend on who computes it. Nothing is allocated in a run.
 */
#include "host.h"

#include "../kernels/attn/blob.h"
#include "../kernels/selftest/selftest.h"
#include "selftest.h"

#include <assert.h>
#include <fenv.h>
#include <stdatomic.h>
#include <string.h>

/* ---- memory ---- */

/* Before every block, so that it can be given back without being told its size. */
enum { HEADER = 64 };

struct header {
    uint64_t bytes;
};

static heed_status memory_create(void *given, uint64_t bytes, const void *contents, void **handle,
                                 struct heed_error_detail *detail)
{
    const struct heed_device_state *state = given;
    char *block = NULL;

    (void)detail;
    if (bytes <= SIZE_MAX - HEADER)
        block = state->services->alloc(state->services->runtime, HEADER + (size_t)bytes, HEADER);
    if (block == NULL)
        return HEED_E_NOMEM;
    *(struct header *)(void *)block = (struct header){ .bytes = bytes };
    memcpy(block + HEADER, contents, (size_t)bytes);
    *handle = block + HEADER;
    return HEED_OK;
}

static void memory_destroy(void *given, void *handle)
{
    const struct heed_device_state *state = given;
    char *block;

    if (handle == NULL)
        return;
    block = (char *)handle - HEADER;
    state->services->free(state->services->runtime, block,
                          HEADER + (size_t)((struct header *)(void *)block)->bytes, HEADER);
}

/* ---- kernels ---- */

static heed_status kernel(void *given, enum heed_kernel row, uint32_t large, void **compiled,
                          struct heed_error_detail *detail)
{
    const struct heed_host_device *device = given;

    (void)detail;
    assert(device->kernels[row][large != 0] != NULL);
    *compiled = (void *)(uintptr_t)&device->kernels[row][large != 0];
    return HEED_OK;
}

struct run {
    const char *blob;
    char *buffers[HEED_BUFFERS_LARGE];
    heed_host_kernel *function;
    int64_t groups;
    atomic_int_least64_t next;
};

/* Takes groups until none is left. */
static void groups_run(struct run *run)
{
    int64_t group;

    while ((group = atomic_fetch_add(&run->next, 1)) < run->groups)
        run->function(run->blob, run->buffers, group);
}

/* The other workers' threads have environments of their own. */
static void worker_run(void *argument, uint32_t worker)
{
    fenv_t caller;

    (void)worker;
    fegetenv(&caller);
    fesetenv(FE_DFL_ENV);
    groups_run(argument);
    fesetenv(&caller);
}

static heed_status run(void *given, const struct heed_work *work, struct heed_error_detail *detail)
{
    const struct heed_host_device *device = given;
    const heed_executor *executor = device->base.services->executor;
    const uint32_t width = work->width != 0 ? work->width : executor->width;
    struct run run = { .blob = work->blob };
    fenv_t caller;

    (void)detail;
    for (uint32_t i = 0; i < work->n_buffers; i++) {
        if (work->buffers[i].handle != NULL)
            run.buffers[i] = (char *)work->buffers[i].handle + work->buffers[i].offset;
    }
    fegetenv(&caller);
    fesetenv(FE_DFL_ENV);           /* docs/numerics.md, section 3 */
    for (uint32_t i = 0; i < work->n_launches; i++) {
        heed_host_kernel *const *function = work->launches[i].compiled;

        run.function = *function;
        run.groups = (int64_t)work->launches[i].groups;
        atomic_init(&run.next, 0);
        if (run.groups == 1 || width == 1)
            groups_run(&run);
        else
            executor->parallel(executor->context, (uint32_t)hk_min(run.groups, width), worker_run,
                               &run);
    }
    fesetenv(&caller);
    return HEED_OK;
}

static const struct heed_driver driver = {
    .size = sizeof(struct heed_driver),
    .handles = 0,
    .memory_create = memory_create,
    .memory_destroy = memory_destroy,
    .kernel = kernel,
    .run = run,
};

void heed_host_begin(struct heed_host_device *device, const struct heed_services *services,
                     struct heed_device_traits traits, heed_host_kernel *const (*kernels)[2])
{
    *device = (struct heed_host_device){
        .base = { .driver = &driver, .services = services, .traits = traits },
        .kernels = kernels,
    };
}

/* ---- the self-test ---- */

const char *heed_host_self_test(heed_host_kernel *self_test)
{
    struct hk_test_input inputs[HEED_TEST_GROUPS];
    struct {
        struct hk_plan plan;
        struct hk_test_input in;
    } blob = { .plan = { .n_sources = 0 } };
    uint32_t wanted[HK_TEST_WORDS], got[HK_TEST_WORDS] = { 0 };
    char *buffers[HEED_BUFFERS_LARGE] = { NULL };
    const char *reason = "";
    fenv_t caller;

    buffers[1] = (char *)got;
    fegetenv(&caller);
    fesetenv(FE_DFL_ENV);
    heed_self_test_inputs(inputs);
    for (uint32_t i = 0; i < HEED_TEST_GROUPS && reason[0] == '\0'; i++) {
        blob.in = inputs[i];
        heed_self_test_expect(&blob.in, 1, wanted);
        self_test((const char *)&blob, buffers, 0);
        reason = heed_self_test_judge(&blob.in, 1, wanted, got);
    }
    fesetenv(&caller);
    return reason;
}
