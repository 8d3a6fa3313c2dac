/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which form of the loop suits a device is found by trying: processors want vectors, GPUs few
 * registers. The best of them is what the device can.
 */
#define _POSIX_C_SOURCE 200809L
#include "device.h"

#include <dlfcn.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const struct peak_form forms[] = { { 1, 16 }, { 4, 8 }, { 4, 16 }, { 16, 8 }, { 16, 16 } };
enum { N_FORMS = sizeof forms / sizeof *forms };

static const struct peak_driver *const drivers[] = { &peak_opencl, &peak_cuda };

struct peak_device {
    const struct peak_driver *driver;
    void *state;
    size_t groups;
};

void *peak_library(const char *file, const char *const *names, size_t n, void *table)
{
    void *const library = dlopen(file, RTLD_NOW | RTLD_LOCAL);

    for (size_t i = 0; library != NULL && i < n; i++) {
        void *const symbol = dlsym(library, names[i]);

        if (symbol == NULL) {
            dlclose(library);
            return NULL;
        }
        memcpy((char *)table + i * sizeof symbol, &symbol, sizeof symbol);
    }
    return library;
}

void peak_put(struct peak_text *text, const char *format, ...)
{
    const size_t left = sizeof text->at - text->n;
    va_list list;
    int n;

    va_start(list, format);
    n = vsnprintf(text->at + text->n, left, format, list);
    va_end(list);
    text->n += n < 0 ? 0 : (size_t)n < left ? (size_t)n : left - 1;
}

static double now(void)
{
    struct timespec t = { 0 };

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double peak_device_flops(const struct peak_device *d)
{
    return 2 * (double)PEAK_FMAS * (double)PEAK_GROUP * (double)d->groups;
}

bool peak_device_burn(struct peak_device *d, uint32_t iterations)
{
    return d->driver->burn(d->state, d->groups, iterations);
}

/* Of the best of three runs; INFINITY: it does not run. */
static double seconds(struct peak_device *d, uint32_t iterations)
{
    double least = INFINITY;

    for (int run = 0; run < 3; run++) {
        const double start = now();

        if (!peak_device_burn(d, iterations))
            return INFINITY;
        least = fmin(least, now() - start);
    }
    return least;
}

/* Iterations a second, by runs that get longer; 0: it does not run. */
static double rate(struct peak_device *d, const struct peak_form *form)
{
    const double enough = 2e-3;

    if (!d->driver->load(d->state, form) || !peak_device_burn(d, 1))
        return 0;
    for (uint32_t iterations = 1;; iterations *= 2) {
        const double took = seconds(d, iterations);

        if (took >= enough || iterations >= UINT32_C(1) << 30)
            return iterations / took;
    }
}

static bool choose(struct peak_device *d)
{
    const struct peak_form *best = NULL;
    double most = 0;

    for (size_t i = 0; i < N_FORMS; i++) {
        const double one = rate(d, &forms[i]);

        if (one > most) {
            most = one;
            best = &forms[i];
        }
    }
    return best != NULL && d->driver->load(d->state, best) && peak_device_burn(d, 1);
}

struct peak_device *peak_device_open(const char *name)
{
    for (size_t i = 0; i < sizeof drivers / sizeof *drivers; i++) {
        const size_t length = strlen(drivers[i]->name);
        struct peak_device *d;
        unsigned units = 1;

        if (strncmp(name, drivers[i]->name, length) != 0 || name[length] != ':')
            continue;
        d = calloc(1, sizeof *d);
        if (d == NULL)
            return NULL;
        d->driver = drivers[i];
        d->state = drivers[i]->open(strtol(name + length + 1, NULL, 10), &units);
        d->groups = (size_t)PEAK_GROUPS * (units > 0 ? units : 1);
        if (d->state != NULL && choose(d))
            return d;
        peak_device_close(d);
    }
    return NULL;
}

void peak_device_close(struct peak_device *d)
{
    if (d == NULL)
        return;
    if (d->state != NULL)
        d->driver->close(d->state);
    free(d);
}
