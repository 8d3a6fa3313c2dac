/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Kernels compiled at run time by NVRTC: machine code where NVRTC knows the device, else PTX of the
 * newest architecture it knows that is not newer than the device. Results are kept in the cache.
 */
#include "state.h"

#include "../device/cache.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { OPTIONS = 24, OPTION_TEXT = 48, ARCHS = 64 };

/* Defaults on which bits depend are written out. */
static const char *const fixed_options[] = {
    "--std=c++17", "--fmad=false", "--ftz=false", "--prec-div=true", "--prec-sqrt=true",
    "-DHK_TILE_ROWS=6",
};

struct options {
    int n;
    const char *list[OPTIONS];
    char text[OPTIONS][OPTION_TEXT];
};

struct job {
    const struct heed_cuda_state *state;
    const struct heed_services *services;
    const struct heed_cuda_nvrtc *nvrtc;
    const struct heed_kernel_row *row;
    const char *source;
    struct options options;
    int arch, machine;              /* 90; 1: machine code, 0: PTX */
};

HEED_PRINTF(2, 3)
static void option_add(struct options *options, const char *format, ...)
{
    char *text = options->text[options->n];
    va_list arguments;

    if (options->n == OPTIONS)
        return;
    va_start(arguments, format);
    vsnprintf(text, OPTION_TEXT, format, arguments);
    va_end(arguments);
    options->list[options->n++] = text;
}

/* The row's own options, which stand in one string. */
static void option_split(struct options *options, const char *text)
{
    while (*text) {
        const size_t length = strcspn(text, " ");

        if (length > 0)
            option_add(options, "%.*s", (int)length, text);
        text += length;
        text += strspn(text, " ");
    }
}

static void choose_options(struct job *job, uint32_t large)
{
    struct options *options = &job->options;

    for (size_t i = 0; i < sizeof(fixed_options) / sizeof(fixed_options[0]); i++)
        option_add(options, "%s", fixed_options[i]);
    option_add(options, "--gpu-architecture=%s_%d", job->machine ? "sm" : "compute", job->arch);
    option_add(options, "-DHK_LARGE=%u", large);
    option_add(options, "-DHK_GROUP_ROWS=%u", job->state->shared.traits.group_rows);
    option_split(options, job->row->options);
}

static heed_status nvrtc_fail(int code, const char *call, struct heed_error_detail *detail)
{
    detail->native = code;
    heed_cuda_say(detail, "%s: NVRTC error %d", call, code);
    return HEED_E_KERNEL_BUILD;
}

/* The newest architecture that NVRTC compiles for and the device runs. */
static heed_status choose_arch(struct job *job, struct heed_error_detail *detail)
{
    int archs[ARCHS], n = 0, code = job->nvrtc->archs_count(&n);

    if (code == 0 && n > 0 && n <= ARCHS)
        code = job->nvrtc->archs(archs);
    if (code || n > ARCHS)
        return nvrtc_fail(code, "nvrtcGetSupportedArchs", detail);
    for (int i = 0; i < n; i++) {
        if (archs[i] <= job->state->capability && archs[i] > job->arch)
            job->arch = archs[i];
    }
    job->machine = job->arch == job->state->capability;
    if (job->arch != 0)
        return HEED_OK;
    heed_cuda_say(detail, "NVRTC compiles for no architecture that sm_%d runs",
                  job->state->capability);
    return HEED_E_KERNEL_BUILD;
}

static void make_key(const struct job *job, uint8_t digest[HEED_HASH_BYTES])
{
    struct heed_hash hash;
    char version[48];
    int major = 0, minor = 0;

    (void)job->nvrtc->version(&major, &minor);
    snprintf(version, sizeof(version), "cuda nvrtc %d.%d", major, minor);
    heed_cache_key(&hash);
    heed_hash_add_text(&hash, version);
    heed_hash_add_text(&hash, job->source);
    for (int i = 0; i < job->options.n; i++)
        heed_hash_add_text(&hash, job->options.list[i]);
    heed_hash_finish(&hash, digest);
}

/* All of the log to the log, its first line to the detail. */
static heed_status report_log(const struct job *job, void *program, int code,
                              struct heed_error_detail *detail)
{
    const struct heed_services *services = job->services;
    size_t size = 0;
    char *log = NULL;

    (void)nvrtc_fail(code, job->row->name, detail);
    if (job->nvrtc->log_size(program, &size) != 0 || size <= 1)
        return HEED_E_KERNEL_BUILD;
    log = services->alloc(services->runtime, size, 1);
    if (log == NULL)
        return HEED_E_KERNEL_BUILD;
    if (job->nvrtc->log(program, log) == 0) {
        log[size - 1] = '\0';
        heed_cuda_log(services, HEED_CUDA_LOG_ERROR, log);
        heed_cuda_quote(detail, log);
    }
    services->free(services->runtime, log, size, 1);
    return HEED_E_KERNEL_BUILD;
}

static heed_status take_image(const struct job *job, void *program, char **image, size_t *bytes,
                              struct heed_error_detail *detail)
{
    const struct heed_cuda_nvrtc *nvrtc = job->nvrtc;
    const struct heed_services *services = job->services;
    size_t size = 0;
    char *made;
    int code;

    code = job->machine ? nvrtc->cubin_size(program, &size) : nvrtc->ptx_size(program, &size);
    if (code || size == 0)
        return nvrtc_fail(code, "the size of NVRTC's result", detail);
    made = services->alloc(services->runtime, size, 1);
    if (made == NULL)
        return HEED_E_NOMEM;
    code = job->machine ? nvrtc->cubin(program, made) : nvrtc->ptx(program, made);
    if (code) {
        services->free(services->runtime, made, size, 1);
        return nvrtc_fail(code, "NVRTC's result", detail);
    }
    *image = made;
    *bytes = size;
    return HEED_OK;
}

static heed_status build(const struct job *job, char **image, size_t *bytes,
                         struct heed_error_detail *detail)
{
    void *program = NULL;
    heed_status status;
    int code = job->nvrtc->create(&program, job->source, job->row->file, 0, NULL, NULL);

    if (code)
        return nvrtc_fail(code, "nvrtcCreateProgram", detail);
    code = job->nvrtc->compile(program, job->options.n, job->options.list);
    if (code)
        status = report_log(job, program, code, detail);
    else
        status = take_image(job, program, image, bytes, detail);
    (void)job->nvrtc->destroy(&program);
    return status;
}

static heed_status find_or_build(struct job *job, uint32_t large, char **image, size_t *bytes,
                                 struct heed_error_detail *detail)
{
    uint8_t key[HEED_HASH_BYTES];
    heed_status status = choose_arch(job, detail);

    if (status < 0)
        return status;
    choose_options(job, large);
    make_key(job, key);
    *image = heed_cache_load(job->services, key, bytes);
    if (*image)
        return HEED_OK;
    status = build(job, image, bytes, detail);
    if (status >= 0)
        heed_cache_store(job->services, key, *image, *bytes);
    return status;
}

heed_status heed_cuda_compile(const struct heed_cuda_state *state, enum heed_kernel row,
                              uint32_t large, char **image, size_t *bytes,
                              struct heed_error_detail *detail)
{
    const struct heed_services *services = state->shared.services;
    struct job job = { .state = state, .services = services, .row = &heed_kernel_rows[row] };
    const char *reason = NULL;
    size_t length = 0;
    char *source;
    heed_status status;

    job.nvrtc = heed_cuda_nvrtc_get(&reason);
    if (job.nvrtc == NULL) {
        heed_cuda_say(detail, "kernel %s: no image in this library that sm_%d can use, and %s",
                      job.row->name, state->capability, reason);
        return HEED_E_KERNEL_BUILD;
    }
    source = heed_kernel_source(services, job.row->file, &length);
    if (source == NULL)
        return HEED_E_NOMEM;
    job.source = source;
    status = find_or_build(&job, large, image, bytes, detail);
    services->free(services->runtime, source, length + 1, 1);
    return status;
}
