/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The NVRTC of the tests. Every function begins with fake_call(), which counts, writes down and may
 * fail it.
 */
#include "fake_cuda.h"

#include <stdio.h>
#include <string.h>

enum { INVALID_VALUE = 1 };

static int rtc_version(int *major, int *minor)
{
    *major = 13;
    *minor = 0;
    return fake_call("nvrtcVersion");
}

static int rtc_archs_count(int *count)
{
    *count = 4;
    return fake_call("nvrtcGetNumSupportedArchs");
}

static int rtc_archs(int *archs)
{
    static const int known[] = { 75, 80, 86, 90 };

    memcpy(archs, known, sizeof(known));
    return fake_call("nvrtcGetSupportedArchs");
}

static int rtc_create(void **program, const char *source, const char *name, int n,
                      const char *const *headers, const char *const *names)
{
    const int code = fake_call("nvrtcCreateProgram");

    if (code || source == NULL || name == NULL || n != 0 || headers || names)
        return code ? code : INVALID_VALUE;
    *program = fake_create(FAKE_PROGRAM, 0);
    return 0;
}

static int rtc_compile(void *program, int n, const char *const *options)
{
    const int code = fake_call("nvrtcCompileProgram");
    size_t used = 0;

    fake_cuda.compiles++;
    for (int i = 0; i < n && used < sizeof(fake_cuda.options); i++)
        used += (size_t)snprintf(fake_cuda.options + used, sizeof(fake_cuda.options) - used, "%s ",
                                 options[i]);
    if (code || !fake_is(program, FAKE_PROGRAM, "nvrtcCompileProgram"))
        return code ? code : INVALID_VALUE;
    return fake_cuda.compile_code;
}

static int rtc_destroy(void **program)
{
    const int code = fake_call("nvrtcDestroyProgram");

    (void)fake_release(*program, FAKE_PROGRAM, "nvrtcDestroyProgram");
    return code;
}

static const char rtc_text[] = "kernel.cl(1): error: first\nand second\n";

static int rtc_log_size(void *program, size_t *size)
{
    *size = fake_is(program, FAKE_PROGRAM, "nvrtcGetProgramLogSize") ? sizeof(rtc_text) : 0;
    return fake_call("nvrtcGetProgramLogSize");
}

static int rtc_log(void *program, char *log)
{
    if (fake_is(program, FAKE_PROGRAM, "nvrtcGetProgramLog"))
        memcpy(log, rtc_text, sizeof(rtc_text));
    return fake_call("nvrtcGetProgramLog");
}

static int rtc_size(void *program, size_t *size)
{
    *size = fake_is(program, FAKE_PROGRAM, "nvrtcGetCUBINSize") ? sizeof(FAKE_CUDA_COMPILED) : 0;
    return fake_call("nvrtcGetCUBINSize");
}

static int rtc_cubin(void *program, char *cubin)
{
    if (fake_is(program, FAKE_PROGRAM, "nvrtcGetCUBIN"))
        memcpy(cubin, FAKE_CUDA_COMPILED, sizeof(FAKE_CUDA_COMPILED));
    return fake_call("nvrtcGetCUBIN");
}

const struct heed_cuda_nvrtc fake_cuda_nvrtc = {
    .version = rtc_version,
    .archs_count = rtc_archs_count,
    .archs = rtc_archs,
    .create = rtc_create,
    .compile = rtc_compile,
    .destroy = rtc_destroy,
    .log_size = rtc_log_size,
    .log = rtc_log,
    .cubin_size = rtc_size,
    .cubin = rtc_cubin,
    .ptx_size = rtc_size,
    .ptx = rtc_cubin,
};
