/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Devices asked for in processes of their own: a driver that hangs, or ends the process, while its
 * devices are listed or opened costs a line of the list and not the list.
 */
#ifndef HEED_TOOLS_INFO_ASK_H
#define HEED_TOOLS_INFO_ASK_H

#include <heed/heed.h>
#include <stdbool.h>

enum { ASK_KINDS = HEED_DEVICE_PLUGIN + 1, ASK_GEMM = 128 };

struct found {
    heed_device_props *devices;
    char (*gemm)[ASK_GEMM]; /* of each device, heed_device_gemm()'s words */
    uint32_t count;
    char preferred[64];                 /* name of the default device; "" when there is none */
    bool built[ASK_KINDS];
    heed_report missing[ASK_KINDS];     /* status < 0: no device of this kind, and why */
};

struct ask {
    int seconds;                        /* that a device may take, or drivers to list theirs */
    bool test;                          /* open every device, else they are only listed */
    const char *device;                 /* open this one, the others are only listed; NULL: none */
};

/* Fills found, of which devices and gemm are to be freed. A failure's report is in *why. */
heed_status ask_devices(const heed_runtime_desc *, const struct ask *, struct found *,
                        heed_report *why);

#endif
