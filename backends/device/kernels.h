/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What heed_kernel_source is made of, for texts other than those of the build: the tests.
 */
#ifndef HEED_BACKENDS_DEVICE_KERNELS_H
#define HEED_BACKENDS_DEVICE_KERNELS_H

#include "device.h"

/* texts: as heed_kernel_texts, 64 at most. NULL also for an include of what is not there, and for
 * includes in a circle. */
char *heed_kernel_expand(const struct heed_kernel_text *texts, const struct heed_services *,
                         const char *file, size_t *bytes);

#endif
