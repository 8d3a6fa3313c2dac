/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The one list of compiled-in backends, fastest first: the first usable host device of it is
 * the default. What is not compiled in has a row in the second list, with the reason given to those
 * who ask for it.
 */
#include "../lib/backend.h"

extern const struct heed_backend heed_cpu_backend;
extern const struct heed_backend heed_cuda_backend;
extern const struct heed_backend heed_emulate_backend;
extern const struct heed_backend heed_opencl_backend;
extern const struct heed_backend heed_reference_backend;

const struct heed_backend *const heed_backends[] = {
#ifdef HEED_HAVE_CUDA
    &heed_cuda_backend,
#endif
    &heed_cpu_backend,
#ifdef HEED_HAVE_OPENCL
    &heed_opencl_backend,
#endif
#ifdef HEED_HAVE_EMULATE
    &heed_emulate_backend,
#endif
    &heed_reference_backend,
    NULL,
};

const struct heed_backend_absent heed_backends_absent[] = {
#ifndef HEED_HAVE_OPENCL
    { "opencl", "this library was built without an OpenCL backend" },
#endif
#ifndef HEED_HAVE_CUDA
    { "cuda", "this library was built without a CUDA backend" },
#endif
    { NULL, NULL },
};
