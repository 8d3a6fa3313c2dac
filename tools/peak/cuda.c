/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The loop in PTX, which the driver compiles by itself. Numbers have one lane here; what a thread
 * has summed up is compared with a number that it is not, as in opencl.c.
 */
#include "device.h"

#include <stdio.h>
#include <stdlib.h>

enum { SUCCESS = 0, MULTIPROCESSORS = 16 };

/* X(name, what it has behind it in the library, parameters); addresses on the device: 64 bits. */
#define FUNCTIONS(X)                                                                               \
    X(Init, "", (unsigned))                                                                        \
    X(DeviceGet, "", (int *, int))                                                                 \
    X(DeviceGetAttribute, "", (int *, int, int))                                                   \
    X(DevicePrimaryCtxRetain, "", (void **, int))                                                  \
    X(DevicePrimaryCtxRelease, "_v2", (int))                                                       \
    X(CtxPushCurrent, "_v2", (void *))                                                             \
    X(CtxPopCurrent, "_v2", (void **))                                                             \
    X(CtxSynchronize, "", (void))                                                                  \
    X(ModuleLoadData, "", (void **, const void *))                                                 \
    X(ModuleUnload, "", (void *))                                                                  \
    X(ModuleGetFunction, "", (void **, void *, const char *))                                      \
    X(MemAlloc, "_v2", (uint64_t *, size_t))                                                       \
    X(MemFree, "_v2", (uint64_t))                                                                  \
    X(LaunchKernel, "", (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,       \
                         unsigned, void *, void **, void **))

#define MEMBER(name, behind, parameters) int (*name) parameters;
#define NAME(name, behind, parameters) "cu" #name behind,
static struct {
    FUNCTIONS(MEMBER)
} cu;
static const char *const names[] = { FUNCTIONS(NAME) };
#undef MEMBER
#undef NAME
#undef FUNCTIONS

struct state {
    int device;
    void *context, *module, *kernel;
    uint64_t out;
};

static bool enter(const struct state *s)
{
    return cu.CtxPushCurrent(s->context) == SUCCESS;
}

static void leave(void)
{
    void *context = NULL;

    (void)cu.CtxPopCurrent(&context);
}

static void drop(void *state)
{
    struct state *const s = state;

    if (s->context != NULL && enter(s)) {
        if (s->module != NULL)
            (void)cu.ModuleUnload(s->module);
        if (s->out != 0)
            (void)cu.MemFree(s->out);
        leave();
    }
    if (s->context != NULL)
        (void)cu.DevicePrimaryCtxRelease(s->device);
    free(s);
}

static void *open_device(long index, unsigned *units)
{
    const size_t n = sizeof names / sizeof *names;
    struct state *s;
    int device = 0, count = 0;

    if (peak_library("libcuda.so.1", names, n, &cu) == NULL || cu.Init(0) != SUCCESS ||
        cu.DeviceGet(&device, (int)index) != SUCCESS)
        return NULL;
    s = calloc(1, sizeof *s);
    if (s == NULL)
        return NULL;
    s->device = device;
    if (cu.DeviceGetAttribute(&count, MULTIPROCESSORS, device) == SUCCESS && count > 0)
        *units = (unsigned)count;
    if (cu.DevicePrimaryCtxRetain(&s->context, device) != SUCCESS)
        s->context = NULL;
    if (s->context != NULL && enter(s)) {
        if (cu.MemAlloc(&s->out, sizeof(float)) != SUCCESS)
            s->out = 0;
        leave();
    }
    if (s->out != 0)
        return s;
    drop(s);
    return NULL;
}

/* ---- the kernel --------------------------------------------------------------- */

static void put_kernel(struct peak_text *text, const struct peak_form *form)
{
    peak_put(text, ".version 7.0\n.target sm_80\n.address_size 64\n"
                   ".visible .entry burn(.param .u64 out, .param .u32 n, .param .f32 u, "
                   ".param .f32 v)\n"
                   "{\n.reg .pred %%p, %%q;\n.reg .b32 %%n;\n.reg .b64 %%o;\n"
                   ".reg .f32 %%x, %%y, %%s, %%a<%u>;\n", form->chains);
    peak_put(text, "ld.param.u64 %%o, [out];\ncvta.to.global.u64 %%o, %%o;\n"
                   "ld.param.f32 %%x, [u];\nld.param.f32 %%y, [v];\n"
                   "mov.u32 %%n, %%tid.x;\ncvt.rn.f32.u32 %%s, %%n;\nmul.rn.f32 %%s, %%s, %%x;\n"
                   "ld.param.u32 %%n, [n];\n");
    for (unsigned i = 0; i < form->chains; i++)
        peak_put(text, "add.rn.f32 %%a%u, %%s, %%%c;\nadd.rn.f32 %%s, %%s, 0f3F800000;\n", i,
                 i % 2 != 0 ? 'x' : 'y');
    peak_put(text, "LOOP:\n");
    for (unsigned i = 0; i < PEAK_FMAS; i++)
        peak_put(text, "fma.rn.f32 %%a%u, %%x, %%y, %%a%u;\n", i % form->chains,
                 i % form->chains);
    peak_put(text, "sub.u32 %%n, %%n, 1;\nsetp.ne.u32 %%p, %%n, 0;\n@%%p bra LOOP;\n");
    for (unsigned i = 0; i < form->chains; i++)
        peak_put(text, "add.rn.f32 %%s, %%s, %%a%u;\n", i);
    peak_put(text, "setp.eq.f32 %%q, %%s, 0fBF800000;\n@%%q st.global.f32 [%%o], %%s;\n"
                   "ret;\n}\n");
}

static bool load(void *state, const struct peak_form *form)
{
    struct state *const s = state;
    struct peak_text text = { .n = 0 };
    bool good = false;

    if (form->lanes > 1 || !enter(s))
        return false;
    put_kernel(&text, form);
    if (s->module != NULL)
        (void)cu.ModuleUnload(s->module);
    if (cu.ModuleLoadData(&s->module, text.at) == SUCCESS)
        good = cu.ModuleGetFunction(&s->kernel, s->module, "burn") == SUCCESS;
    else
        s->module = NULL;
    leave();
    return good;
}

static bool burn(void *state, size_t groups, uint32_t iterations)
{
    struct state *const s = state;
    float x = PEAK_X, y = PEAK_Y;
    void *arguments[] = { &s->out, &iterations, &x, &y };
    bool good;

    if (!enter(s))
        return false;
    good = cu.LaunchKernel(s->kernel, (unsigned)groups, 1, 1, PEAK_GROUP, 1, 1, 0, NULL, arguments,
                           NULL) == SUCCESS
        && cu.CtxSynchronize() == SUCCESS;
    leave();
    return good;
}

const struct peak_driver peak_cuda = { "cuda", open_device, drop, load, burn };
