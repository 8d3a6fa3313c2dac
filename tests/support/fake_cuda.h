/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A CUDA driver and an NVRTC that are not there: device memory is the host's, kernels do nothing
 * but are written down. It keeps account of what is alive and of the contexts a thread has pushed.
 */
#ifndef HEED_TESTS_SUPPORT_FAKE_CUDA_H
#define HEED_TESTS_SUPPORT_FAKE_CUDA_H

#include "backends/cuda/api.h"
#include "fake.h"

#include <stdint.h>

enum { FAKE_CUDA_LAUNCHES = 16, FAKE_CUDA_POINTERS = 29, FAKE_CUDA_DEPTH = 8 };

#define FAKE_CUDA_COMPILED "compiled"   /* what NVRTC makes */

/* A module that is a function of the host, which is called for each thread of a launch. */
#define FAKE_CUDA_HOST "host's function"
struct fake_cuda_host {
    char mark[sizeof(FAKE_CUDA_HOST)];
    void (*item)(void *const *parameters, size_t number);
};

struct fake_cuda_launch {
    void *function, *stream;
    unsigned grid, block;
    uint64_t group;                 /* the first */
    void *blob, *pointers[FAKE_CUDA_POINTERS];
};

struct fake_cuda {
    /* To be set. */
    int devices, capability;        /* 90: compute capability 9.0 */
    int version;                    /* of the driver: 13000 is 13.0 */
    bool captures;                  /* a thread captures a stream, in the global mode */
    void *captured;                 /* that stream: what would break the capture is a mistake */
    int init_code;                  /* of cuInit; 0: succeeds */
    bool count_contexts;            /* pushing and popping contexts are calls as well */
    int refuse_modules;             /* modules loaded that are refused first, with code 209 */
    bool refuse_embedded;           /* so are all that the fake NVRTC has not made */
    int compile_code;               /* of nvrtcCompileProgram */
    /* To be read. */
    long compiles;                  /* by NVRTC */
    int n_launches;
    struct fake_cuda_launch launches[FAKE_CUDA_LAUNCHES];
    char options[1024];             /* of the last nvrtcCompileProgram */
    /* Its own. */
    int depth, mode;                /* mode: of the thread, of CUstreamCaptureMode */
    void *stack[FAKE_CUDA_DEPTH];
};

/* There is one, for one thread. reset: nothing set, 1 device of 9.0, nothing counted. */
extern struct fake_cuda fake_cuda;
extern const struct heed_cuda_api fake_cuda_driver;
extern const struct heed_cuda_nvrtc fake_cuda_nvrtc;
void fake_cuda_reset(void);
void fake_cuda_install(void);       /* behind the backend, and the machine's own again */
void fake_cuda_uninstall(void);
long fake_cuda_alive(void);         /* all that is, and contexts still pushed */

/* A caller's own context of device 0, made current, and taken away again. A stream is of the
 * context that was current when it was made. */
void *fake_cuda_context(void);
void fake_cuda_context_end(void);

/* What goes with a context that somebody else has destroyed. */
void fake_cuda_context_lost(void);

#endif
