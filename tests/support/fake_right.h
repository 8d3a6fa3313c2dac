/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a device of the fakes must compute to be opened as a right one.
 */
#ifndef HEED_TESTS_SUPPORT_FAKE_RIGHT_H
#define HEED_TESTS_SUPPORT_FAKE_RIGHT_H

#include "backends/device/selftest.h"
#include "backends/kernels/attn/blob.h"
#include "backends/kernels/selftest/selftest.h"

#include <string.h>

/* fake.launched of a device whose arithmetic is right: its self-test is that of the host. */
static inline void compute_right(unsigned items, unsigned groups, const void *blob, void *output)
{
    const char *const inputs = (const char *)blob + sizeof(struct hk_plan);

    for (unsigned i = 0; items == 1 && groups == HEED_TEST_GROUPS && i < groups; i++) {
        struct hk_test_input in;

        memcpy(&in, inputs + i * sizeof(in), sizeof(in));
        hk_test_group(&in, (uint32_t *)output + i * HK_TEST_WORDS);
    }
}

#endif
