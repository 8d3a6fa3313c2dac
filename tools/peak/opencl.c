/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The loop in OpenCL C. Device N is the Nth of all platforms, as for heed. What an item has summed
 * up is compared with a number that it is not: so no compiler may leave anything out, and memory
 * has no part in it.
 */
#include "device.h"

#include <stdio.h>
#include <stdlib.h>

enum { MOST = 64, SUCCESS = 0, UNITS = 0x1002 };
static const uint64_t type_all = 0xFFFFFFFF, type_custom = 16;

/* X(result, name without "cl", parameters); handles are void *. */
#define FUNCTIONS(X)                                                                               \
    X(int32_t, GetPlatformIDs, (uint32_t, void **, uint32_t *))                                    \
    X(int32_t, GetDeviceIDs, (void *, uint64_t, uint32_t, void **, uint32_t *))                    \
    X(int32_t, GetDeviceInfo, (void *, uint32_t, size_t, void *, size_t *))                        \
    X(void *, CreateContext, (const intptr_t *, uint32_t, void *const *, void *, void *,           \
                              int32_t *))                                                          \
    X(int32_t, ReleaseContext, (void *))                                                           \
    X(void *, CreateCommandQueue, (void *, void *, uint64_t, int32_t *))                           \
    X(int32_t, ReleaseCommandQueue, (void *))                                                      \
    X(void *, CreateBuffer, (void *, uint64_t, size_t, void *, int32_t *))                         \
    X(int32_t, ReleaseMemObject, (void *))                                                         \
    X(void *, CreateProgramWithSource, (void *, uint32_t, const char **, const size_t *,           \
                                        int32_t *))                                                \
    X(int32_t, BuildProgram, (void *, uint32_t, void *const *, const char *, void *, void *))      \
    X(int32_t, ReleaseProgram, (void *))                                                           \
    X(void *, CreateKernel, (void *, const char *, int32_t *))                                     \
    X(int32_t, ReleaseKernel, (void *))                                                            \
    X(int32_t, SetKernelArg, (void *, uint32_t, size_t, const void *))                             \
    X(int32_t, EnqueueNDRangeKernel, (void *, void *, uint32_t, const size_t *, const size_t *,    \
                                      const size_t *, uint32_t, void *const *, void **))           \
    X(int32_t, Finish, (void *))

#define MEMBER(result, name, parameters) result(*name) parameters;
#define NAME(result, name, parameters) "cl" #name,
static struct {
    FUNCTIONS(MEMBER)
} cl;
static const char *const names[] = { FUNCTIONS(NAME) };
#undef MEMBER
#undef NAME
#undef FUNCTIONS

struct state {
    void *device, *context, *queue, *out, *kernel;
};

/* Appends the devices of a type that are not there yet. */
static uint32_t list(void *platform, uint64_t type, void *devices[MOST], uint32_t n)
{
    void *more[MOST];
    uint32_t count = 0;

    if (cl.GetDeviceIDs(platform, type, MOST, more, &count) != SUCCESS)
        return n;
    for (uint32_t i = 0; i < count && i < MOST && n < MOST; i++) {
        bool known = false;

        for (uint32_t j = 0; j < n; j++)
            known = known || devices[j] == more[i];
        if (!known)
            devices[n++] = more[i];
    }
    return n;
}

static void *find(long index)
{
    void *platforms[MOST], *devices[MOST] = { NULL };
    uint32_t count = 0, n = 0;

    if (cl.GetPlatformIDs(MOST, platforms, &count) != SUCCESS)
        return NULL;
    for (uint32_t i = 0; i < count && i < MOST; i++) {
        n = list(platforms[i], type_all, devices, n);
        n = list(platforms[i], type_custom, devices, n);
    }
    return index >= 0 && index < (long)n ? devices[index] : NULL;
}

static void drop(void *state)
{
    struct state *const s = state;

    if (s->kernel != NULL)
        (void)cl.ReleaseKernel(s->kernel);
    if (s->out != NULL)
        (void)cl.ReleaseMemObject(s->out);
    if (s->queue != NULL)
        (void)cl.ReleaseCommandQueue(s->queue);
    if (s->context != NULL)
        (void)cl.ReleaseContext(s->context);
    free(s);
}

static void *open_device(long index, unsigned *units)
{
    static const char *const files[] = { "libOpenCL.so.1", "libOpenCL.so" };
    const size_t n_files = sizeof files / sizeof *files, n = sizeof names / sizeof *names;
    void *library = NULL, *device;
    struct state *s;
    int32_t code = SUCCESS;

    for (size_t i = 0; i < n_files && library == NULL; i++)
        library = peak_library(files[i], names, n, &cl);
    device = library != NULL ? find(index) : NULL;
    s = device != NULL ? calloc(1, sizeof *s) : NULL;
    if (s == NULL)
        return NULL;
    s->device = device;
    (void)cl.GetDeviceInfo(device, UNITS, sizeof *units, units, NULL);
    s->context = cl.CreateContext(NULL, 1, &device, NULL, NULL, &code);
    if (s->context != NULL)
        s->queue = cl.CreateCommandQueue(s->context, device, 0, &code);
    if (s->context != NULL)
        s->out = cl.CreateBuffer(s->context, 1, sizeof(float), NULL, &code);
    if (s->queue != NULL && s->out != NULL)
        return s;
    drop(s);
    return NULL;
}

/* ---- the kernel --------------------------------------------------------------- */

static void put_kernel(struct peak_text *text, const struct peak_form *form)
{
    peak_put(text, form->lanes > 1 ? "typedef float%u V;\n" : "typedef float V;\n",
             form->lanes);
    peak_put(text, "__kernel void burn(__global float *out, uint n, float u, float v)\n{\n"
                   "    const V x = (V)(u), y = (V)(v);\n"
                   "    V s = (V)(0.0f);\n"
                   "    float sum = (float)get_global_id(0) * u;\n");
    for (unsigned i = 0; i < form->chains; i++)
        peak_put(text, "    V a%u = (V)(sum + %u.0f);\n", i, i);
    peak_put(text, "    for (uint i = 0; i < n; i++) {\n");
    for (unsigned i = 0; i < PEAK_FMAS / form->lanes; i++)
        peak_put(text, "        a%u = fma(x, y, a%u);\n", i % form->chains, i % form->chains);
    peak_put(text, "    }\n");
    for (unsigned i = 0; i < form->chains; i++)
        peak_put(text, "    s += a%u;\n", i);
    for (unsigned i = 0; i < form->lanes; i++)
        peak_put(text, form->lanes > 1 ? "    sum += s.s%x;\n" : "    sum += s;\n", i);
    peak_put(text, "    if (sum == -1.0f)\n        *out = sum;\n}\n");
}

static bool set_arguments(const struct state *s)
{
    const uint32_t once = 1;
    const float x = PEAK_X, y = PEAK_Y;

    return cl.SetKernelArg(s->kernel, 0, sizeof s->out, &s->out) == SUCCESS
        && cl.SetKernelArg(s->kernel, 1, sizeof once, &once) == SUCCESS
        && cl.SetKernelArg(s->kernel, 2, sizeof x, &x) == SUCCESS
        && cl.SetKernelArg(s->kernel, 3, sizeof y, &y) == SUCCESS;
}

static bool load(void *state, const struct peak_form *form)
{
    struct state *const s = state;
    struct peak_text text = { .n = 0 };
    const char *sources[] = { text.at };
    int32_t code = SUCCESS;
    void *program;

    put_kernel(&text, form);
    if (s->kernel != NULL)
        (void)cl.ReleaseKernel(s->kernel);
    s->kernel = NULL;
    program = cl.CreateProgramWithSource(s->context, 1, sources, &text.n, &code);
    if (program == NULL)
        return false;
    if (cl.BuildProgram(program, 1, &s->device, "-cl-std=CL1.2", NULL, NULL) == SUCCESS)
        s->kernel = cl.CreateKernel(program, "burn", &code);
    (void)cl.ReleaseProgram(program);
    return s->kernel != NULL && set_arguments(s);
}

static bool burn(void *state, size_t groups, uint32_t iterations)
{
    struct state *const s = state;
    const size_t group = PEAK_GROUP, items = groups * group;

    return cl.SetKernelArg(s->kernel, 1, sizeof iterations, &iterations) == SUCCESS
        && cl.EnqueueNDRangeKernel(s->queue, s->kernel, 1, NULL, &items, &group, 0, NULL, NULL)
               == SUCCESS
        && cl.Finish(s->queue) == SUCCESS;
}

const struct peak_driver peak_opencl = { "opencl", open_device, drop, load, burn };
