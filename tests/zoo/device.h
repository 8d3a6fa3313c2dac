/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What device.c, a plug-in in memory of a device, needs of a vendor: device_opencl.c,
 * device_cuda.c.
 */
#ifndef HEED_TESTS_ZOO_DEVICE_H
#define HEED_TESTS_ZOO_DEVICE_H

#include <heed/plugin.h>

#include <stdbool.h>

/* Arrays of the kernel as device_kernel.h has them, then the workspace and the numbers. */
enum { DEVICE_ARRAYS = 5, DEVICE_MEMORIES = DEVICE_ARRAYS + 2 };

extern const uint32_t vendor_kind;
/* The kernel, and a queue beside the host's. */
bool vendor_open(const heed_host_device *);
void vendor_close(void);
/* Memory of the device; NULL: there is none. */
void *vendor_make(size_t bytes);
void vendor_free(void *memory);
/* On the host's queue, or on the own one. Of a write, `from` stays until the queue is complete. */
bool vendor_write(bool own, void *memory, const void *from, size_t bytes);
/* threads: work-items in groups of so many; a number that no device takes is refused. */
bool vendor_launch(bool own, void *const memory[DEVICE_MEMORIES], float scale, size_t items,
                   size_t threads);
bool vendor_wait(bool own);       /* here, until the queue is complete */
bool vendor_follow(bool own);     /* what comes on that queue waits for what is in the other one */
/* Takes something away that is the host's: an array's memory, the current context. */
void vendor_spoil(void *memory);

#endif
