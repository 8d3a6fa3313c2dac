/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the tests of the CUDA backend share: a runtime that is kept account of, and a device over a
 * driver that is not there.
 */
#ifndef HEED_TESTS_UNIT_CUDA_WORLD_H
#define HEED_TESTS_UNIT_CUDA_WORLD_H

#include "backends/cuda/state.h"
#include "lib/core/context.h"
#include "support/fake_cuda.h"
#include "support/ledger.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const struct heed_backend heed_cuda_backend;

static struct ledger ledger;
static heed_runtime *rt;
static heed_device device;
static struct heed_error_detail detail;
static const struct heed_backend_offload *offload;

HEED_INLINE void set_up(void)
{
    heed_allocator allocator;
    heed_runtime_desc desc = { .size = sizeof(desc) };

    memset(&ledger, 0, sizeof(ledger));
    allocator = ledger_allocator(&ledger);
    desc.allocator = &allocator;
    fake_cuda_reset();
    fake_cuda_install();
    ck_assert_int_eq(heed_runtime_create(&desc, &rt, NULL), HEED_OK);
    device = (heed_device){ .backend = &heed_cuda_backend, .runtime = rt };
    detail = (struct heed_error_detail){ 0 };
    offload = heed_cuda_backend.offload;
}

HEED_INLINE void tear_down(void)
{
    heed_runtime_destroy(rt);
    fake_cuda_uninstall();
    ck_assert_int_eq(ledger.blocks, 0);
    ck_assert_int_eq(ledger.mistakes, 0);
    ck_assert_int_eq(fake_cuda_alive(), 0);
    ck_assert_msg(fake_cuda.mistakes == 0, "%ld mistakes, first: %s", fake_cuda.mistakes,
                  fake_cuda.mistake);
}

HEED_INLINE void open_device(void)
{
    heed_cuda_backend.describe(0, &device.props);
    ck_assert_int_eq(device.props.usable, HEED_OK);
    ck_assert_int_eq(offload->open(&device, &rt->services), HEED_OK);
    ck_assert_int_eq(fake_cuda.depth, 0);
}

HEED_INLINE void close_device(void)
{
    offload->close(&device, &rt->services);
    ck_assert_ptr_null(device.state);
}

HEED_INLINE void *make_queue(void)
{
    void *queue = NULL;

    ck_assert_int_eq(offload->queue_create(&device, NULL, 0, &queue, &detail), HEED_OK);
    return queue;
}

#endif
