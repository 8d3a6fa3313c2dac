/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * An OpenCL driver that computes nothing and forgets nothing: it counts calls and living objects,
 * writes down the commands it is given, keeps the bytes of buffers, and fails the call it is told
 * to fail. It goes behind the table of backends/opencl/api.h, so tests need no driver on the
 * machine; with FAKE_OPENCL_LIBRARY it is a libOpenCL.so.1 for tests of programs.
 */
#ifndef HEED_TESTS_SUPPORT_FAKE_OPENCL_H
#define HEED_TESTS_SUPPORT_FAKE_OPENCL_H

#include "backends/opencl/api.h"

#include <stdbool.h>

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
    const char *device_version, *profile, *driver_version;
    uint32_t available, compiler, little_endian, address_bits, vector;
    uint64_t type, parameter_bytes, local_memory, group_items;
    /* What it does. */
    uint32_t fail_call;             /* this call, counting from 1, answers fail_code; 0: none */
    uint32_t fail_from;             /* this call and all later ones; 0: none */
    int32_t fail_code;
    const char *fail_name;          /* only calls of this name count, such as "BuildProgram" */
    const char *refuse_option;      /* builds with this among the options fail */
    bool refuse_source, refuse_binary;
    const char *log;                /* of a failed build */
    int32_t event_status;           /* negative: waiting for an event fails with it */
    /* What was done. */
    uint32_t calls, counted;        /* all; those of fail_name */
    const char *failed;             /* the first call that was failed */
    int32_t objects;                /* living ones, references counted once each */
    uint32_t references;            /* all references to living objects */
    uint32_t mistakes;              /* uses of dead objects and of the wrong kind */
    uint32_t source_builds, binary_builds, flushes, finishes;
    uint32_t n_commands;
    struct fake_command commands[FAKE_COMMANDS];
    char options[512];              /* of the last build */
};
extern struct fake_opencl fake_opencl;

/* A driver with one platform and one good device, nothing done yet. */
void fake_opencl_reset(void);
const struct heed_opencl_api *fake_opencl_api(void);

/* Objects of a caller's own. */
void *fake_opencl_device(uint32_t index);

#endif
