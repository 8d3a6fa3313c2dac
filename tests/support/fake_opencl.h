/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * An OpenCL driver that computes nothing and forgets nothing: it counts living objects, writes down
 * the commands it is given and keeps the bytes of buffers; uses of dead objects are mistakes. It
 * goes behind the table of backends/opencl/api.h, so tests need no driver on the machine.
 */
#ifndef HEED_TESTS_SUPPORT_FAKE_OPENCL_H
#define HEED_TESTS_SUPPORT_FAKE_OPENCL_H

#include "backends/opencl/api.h"
#include "fake.h"


enum { FAKE_COMMANDS = 256, FAKE_WAITS = 8, FAKE_LOG = 256 };

/* 'k' kernel, 'r' read, 'w' write, 'f' fill, 'm' marker. */
struct fake_command {
    char kind;
    uint32_t n_waits;
    void *waits[FAKE_WAITS];
    void *event;                    /* NULL: none was asked for */
    void *queue;
};

struct fake_opencl {
    /* What it is: set by the test after fake_opencl_reset. */
    uint32_t n_platforms, n_devices;
    const char *platform, *name, *device_version, *profile, *driver_version;
    uint32_t available, compiler, little_endian, address_bits, vector;
    uint64_t type, parameter_bytes, local_memory, group_items;
    uint32_t vendor, ip_version;    /* Intel's: 0x8086; 0: an unknown question */
    size_t sub_groups[2];           /* sizes; 0, 0: an unknown question */
    /* What it does. */
    const char *refuse_option;      /* builds with this among the options fail */
    bool refuse_source, refuse_binary;
    const char *log;                /* of a failed build */
    int32_t event_status;           /* negative: waiting for an event fails with it */
    /* What was done. */
    uint32_t source_builds, binary_builds, flushes, finishes;
    uint32_t n_commands;
    struct fake_command commands[FAKE_COMMANDS];
    char options[768];              /* of the last build */
};
extern struct fake_opencl fake_opencl;

/* A driver with one platform and one good device, nothing done yet. */
void fake_opencl_reset(void);
const struct heed_opencl_api *fake_opencl_api(void);

/* Objects of a caller's own; the contents of memory, NULL for NULL. */
void *fake_opencl_device(uint32_t index);
void *fake_opencl_bytes(void *memory);

#endif
