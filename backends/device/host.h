/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The driver of devices that are the host: kernels are functions of this library (the C17 dialect),
 * a launch's groups are handed out to the executor's workers.
 */
#ifndef HEED_BACKENDS_DEVICE_HOST_H
#define HEED_BACKENDS_DEVICE_HOST_H

#include "device.h"

/* One group of a kernel: dialect_c17.h, HK_ENTRY_POINT. */
typedef void heed_host_kernel(const char *blob, char *const *buffers, int64_t group);

/* device->state of a backend with this driver. kernels[row][large]; NULL: not compiled, and never
 * chosen for traits.shape. */
struct heed_host_device {
    struct heed_device_state base;
    heed_host_kernel *const (*kernels)[2];
};

void heed_host_begin(struct heed_host_device *, const struct heed_services *,
                     struct heed_device_traits, heed_host_kernel *const (*kernels)[2]);

/* "", or why kernels compiled so do not give EXACT's bits: their self_test row against the scalar
 * vocabulary. Allocates nothing. */
const char *heed_host_self_test(heed_host_kernel *self_test);

/* Likewise why a unit for pairs of halves is not what FAST wants: of row halves_test. */
const char *heed_host_halves_test(heed_host_kernel *halves_test);

#endif
