/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a device with a driver can do at most: fused multiply-adds in f32, by kernels of this
 * program's own, which share nothing with those of heed. A table of models would be out of date and
 * would know nothing of the clock that the device has now.
 */
#ifndef HEED_TOOLS_PEAK_DEVICE_H
#define HEED_TOOLS_PEAK_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct peak_device;

/* By heed's name for it ("opencl:0", "opencl:0:lanes", "cuda:0"). NULL: it is the host's, or the
 * driver does not do it. */
struct peak_device *peak_device_open(const char *name);
void peak_device_close(struct peak_device *);

/* Floating-point operations of one iteration on the whole device. */
double peak_device_flops(const struct peak_device *);

/* Runs so many iterations and waits for them. */
bool peak_device_burn(struct peak_device *, uint32_t iterations);

/* ---- for drivers ------------------------------------------------------------ */

/* Chains of `lanes` numbers each, which an item of work adds to in turn. An iteration of any form
 * has as many multiply-adds of numbers; lanes and chains divide them. */
struct peak_form {
    unsigned lanes, chains;
};
enum { PEAK_FMAS = 256, PEAK_GROUP = 256, PEAK_GROUPS = 32 };  /* items; groups a compute unit */

struct peak_driver {
    const char *name;                   /* before the colon of the device's */
    /* NULL: there is none. units: compute units. */
    void *(*open)(long index, unsigned *units);
    void (*close)(void *state);
    /* Makes the kernel of a form that burn runs; false: it is not to be had. */
    bool (*load)(void *state, const struct peak_form *);
    bool (*burn)(void *state, size_t groups, uint32_t iterations);
};
extern const struct peak_driver peak_opencl, peak_cuda;

/* The loop adds x * y to each chain: neither overflows soon, nor is it subnormal. */
#define PEAK_X 1e-3f
#define PEAK_Y 1e-3f

/* The text of a kernel; what does not fit is left out. */
struct peak_text {
    char at[16384];
    size_t n;
};
void peak_put(struct peak_text *, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A library of the system and functions of it, all or none: NULL. table: [n] pointers. */
void *peak_library(const char *file, const char *const *names, size_t n, void *table);

#endif
