/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A GPU that is not here, for plans alone: its memory is the host's, and nothing runs.
 */
#ifndef HEED_TESTS_GPU_PLANNING_H
#define HEED_TESTS_GPU_PLANNING_H

#include "backends/device/frame.h"
#include "lib/core/context.h"

#include <heed/attn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static heed_status memory_create(void *state, uint64_t bytes, const void *contents, void **handle,
                                 struct heed_error_detail *detail)
{
    (void)state;
    (void)detail;
    *handle = malloc((size_t)bytes);
    if (*handle == NULL)
        return HEED_E_NOMEM;
    memcpy(*handle, contents, (size_t)bytes);
    return HEED_OK;
}

static void memory_destroy(void *state, void *handle)
{
    (void)state;
    free(handle);
}

/* Called for each kernel that a plan launches, if it is there. */
static void (*planned)(enum heed_kernel row, uint32_t large);

static heed_status kernel(void *state, enum heed_kernel row, uint32_t large, void **compiled,
                          struct heed_error_detail *detail)
{
    (void)detail;
    if (planned != NULL)
        planned(row, large);
    *compiled = state;
    return HEED_OK;
}

static const struct heed_driver planning_driver = {
    .size = sizeof(planning_driver), .memory_create = memory_create,
    .memory_destroy = memory_destroy, .kernel = kernel,
};
static const struct heed_backend planning_backend = {
    .size = sizeof(planning_backend), .kind = HEED_DEVICE_CPU, .host = 1,
    .impls = heed_device_impls,
};

#endif
