/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The devices that tests in one process walk.
 */
#ifndef HEED_TOOLS_CONFORM_ENGINE_DEVICES_H
#define HEED_TOOLS_CONFORM_ENGINE_DEVICES_H

#include <heed/heed.h>
#include <stdbool.h>

enum { MAX_HOST_DEVICES = 16 };

/* Do two descriptions name the same kernels, those for FAST left aside? */
bool cf_same_kernels(const char *one, const char *other);

/* The host's devices that can be used, "reference" first; in place of one that stands for another
 * that other one, and none that has another's kernels. Those that cannot be used are named with the
 * reason. Returns how many. Programs that ask keep other vendors' libraries out by
 * OCL_ICD_VENDORS. */
uint32_t cf_host_devices(const heed_runtime *, heed_device *devices[MAX_HOST_DEVICES]);

#endif
