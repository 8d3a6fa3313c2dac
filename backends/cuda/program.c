/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Kernels, built when a plan first needs them: the cubin that the build embedded if the device can
 * load it, else one made by NVRTC for this device: machine code where NVRTC knows the device, else
 * PTX of the newest architecture it knows that is not newer. What NVRTC makes is kept in the cache.
 */
#include "../device/cache.h"
#include "state.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- NVRTC ------------------------------------------------------------- */

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
    enum heed_kernel row;
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
    option_add(options, "-DHK_GROUP_ROWS=%u", job->state->common.base.traits.group_rows);
    option_add(options, "-DHK_GROUP_SUMS=%u", job->state->common.base.traits.group_sums);
    if (heed_kernel_needs_unit(job->row))
        option_add(options, "-DHK_MMA=%u", job->state->common.base.traits.mma);
    option_split(options, heed_kernel_rows[job->row].options);
}

static heed_status nvrtc_fail(int code, const char *call, struct heed_error_detail *detail)
{
    detail->native = code;
    heed_offload_say(detail, "%s: NVRTC error %d", call, code);
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
    heed_offload_say(detail, "NVRTC compiles for no architecture that sm_%d runs",
                  job->state->capability);
    return HEED_E_KERNEL_BUILD;
}

static heed_status require_version(const struct job *job, struct heed_error_detail *detail)
{
    int major = 0, minor = 0, driver = 0;

    if (job->nvrtc->version(&major, &minor) != 0 ||
        job->state->driver->driver_version(&driver) != 0 || heed_cuda_nvrtc_suits(driver, major))
        return HEED_OK;             /* or not known: loading will tell */
    heed_offload_say(detail, "NVRTC is of CUDA %d.%d, the driver of CUDA %d.%d, which is older",
                     major, minor, driver / 1000, driver % 1000 / 10);
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

static heed_status report_log(const struct job *job, void *program, int code,
                              struct heed_error_detail *detail)
{
    size_t size = 0;
    char *log = NULL;

    (void)nvrtc_fail(code, heed_kernel_rows[job->row].name, detail);
    if (job->nvrtc->log_size(program, &size) == 0 && size > 1)
        log = heed_offload_alloc(job->state, size, 1);
    if (log != NULL && job->nvrtc->log(program, log) == 0) {
        log[size - 1] = '\0';
        heed_offload_build_log(job->state, HEED_OFFLOAD_ERROR, job->row, log, detail);
    }
    heed_offload_free(job->state, log, size, 1);
    return HEED_E_KERNEL_BUILD;
}

static heed_status take_cubin(const struct job *job, void *program, char **cubin, size_t *bytes,
                              struct heed_error_detail *detail)
{
    const struct heed_cuda_nvrtc *nvrtc = job->nvrtc;
    size_t size = 0;
    char *made;
    int code;

    code = job->machine ? nvrtc->cubin_size(program, &size) : nvrtc->ptx_size(program, &size);
    if (code || size == 0)
        return nvrtc_fail(code, "the size of NVRTC's result", detail);
    made = heed_offload_alloc(job->state, size, 1);
    if (made == NULL)
        return HEED_E_NOMEM;
    code = job->machine ? nvrtc->cubin(program, made) : nvrtc->ptx(program, made);
    if (code) {
        heed_offload_free(job->state, made, size, 1);
        return nvrtc_fail(code, "NVRTC's result", detail);
    }
    *cubin = made;
    *bytes = size;
    return HEED_OK;
}

static heed_status build(const struct job *job, char **cubin, size_t *bytes,
                         struct heed_error_detail *detail)
{
    void *program = NULL;
    heed_status status;
    int code;

    heed_offload_compiles(job->state, job->row);
    code = job->nvrtc->create(&program, job->source, heed_kernel_rows[job->row].file, 0, NULL,
                              NULL);
    if (code)
        return nvrtc_fail(code, "nvrtcCreateProgram", detail);
    code = job->nvrtc->compile(program, job->options.n, job->options.list);
    if (code)
        status = report_log(job, program, code, detail);
    else
        status = take_cubin(job, program, cubin, bytes, detail);
    (void)job->nvrtc->destroy(&program);
    return status;
}

static heed_status find_or_build(struct job *job, uint32_t large, char **cubin, size_t *bytes,
                                 struct heed_error_detail *detail)
{
    uint8_t key[HEED_HASH_BYTES];
    heed_status status = require_version(job, detail);

    if (status >= 0)
        status = choose_arch(job, detail);
    if (status < 0)
        return status;
    choose_options(job, large);
    make_key(job, key);
    *cubin = heed_cache_load(job->services, key, bytes);
    if (*cubin)
        return HEED_OK;
    status = build(job, cubin, bytes, detail);
    if (status >= 0)
        heed_cache_store(job->services, key, *cubin, *bytes);
    return status;
}

heed_status heed_cuda_compile(const struct heed_cuda_state *state, enum heed_kernel row,
                              uint32_t large, char **cubin, size_t *bytes,
                              struct heed_error_detail *detail)
{
    const struct heed_services *services = state->common.base.services;
    struct job job = { .state = state, .services = services, .row = row };
    const char *reason = NULL;
    size_t length = 0;
    char *source;
    heed_status status;

    job.nvrtc = heed_cuda_nvrtc_get(&reason);
    if (job.nvrtc == NULL) {
        heed_offload_say(detail, "kernel %s: no cubin in this library that sm_%d can use, and %s",
                      heed_kernel_rows[row].name, state->capability, reason);
        return HEED_E_KERNEL_BUILD;
    }
    source = heed_kernel_source(services, heed_kernel_rows[row].file, &length);
    if (source == NULL)
        return HEED_E_NOMEM;
    job.source = source;
    status = find_or_build(&job, large, cubin, bytes, detail);
    heed_offload_free(state, source, length + 1, 1);
    return status;
}

/* ---- loading ----------------------------------------------------------- */

static const struct heed_cuda_cubin *find_cubin(const char *name, uint32_t large)
{
    for (const struct heed_cuda_cubin *cubin = heed_cuda_cubins; cubin->name; cubin++) {
        if (cubin->large == large && strcmp(cubin->name, name) == 0)
            return cubin;
    }
    return NULL;
}

/* The function is asked for an attribute because a driver may put off loading its code until then:
 * a launch is no place for that, least of all one that is being captured. */
static int find_function(const struct heed_cuda_api *driver, void *module, void **function)
{
    int threads = 0, code = driver->module_function(function, module, "heed_kernel");

    if (code == 0)
        code = driver->function_attribute(&threads, HEED_CU_FUNCTION_MAX_THREADS, *function);
    return code;
}

/* The driver's complaint about a cubin goes to the log; it is the detail's text where it says more
 * than the code does. */
static heed_status load(struct heed_cuda_state *state, enum heed_kernel row, const void *cubin,
                        struct heed_cuda_kernel *kernel, struct heed_error_detail *detail)
{
    const struct heed_cuda_api *driver = state->driver;
    char log[2048] = "";
    int options[] = { HEED_CU_JIT_ERROR_LOG_BUFFER, HEED_CU_JIT_ERROR_LOG_BUFFER_SIZE };
    void *values[] = { log, (void *)(uintptr_t)(sizeof(log) - 1) };
    void *module = NULL, *function = NULL;
    heed_status status;
    int code = driver->module_load(&module, cubin, 2, options, values);

    if (code == 0) {
        code = find_function(driver, module, &function);
        if (code)
            (void)driver->module_unload(module);
    }
    status = heed_cuda_check(state, code, "cuModuleLoadDataEx", detail);
    if (status >= 0) {
        *kernel = (struct heed_cuda_kernel){ .module = module, .function = function };
        return HEED_OK;
    }
    log[sizeof(log) - 1] = '\0';
    heed_offload_log(state, HEED_OFFLOAD_WARNING, detail->text);
    heed_offload_build_log(state, HEED_OFFLOAD_WARNING, row, log, detail);
    return status == HEED_E_DEVICE ? HEED_E_KERNEL_BUILD : status;
}

static heed_status load_compiled(struct heed_cuda_state *state, enum heed_kernel row,
                                 uint32_t large, struct heed_cuda_kernel *kernel,
                                 struct heed_error_detail *detail)
{
    char *cubin = NULL;
    size_t bytes = 0;
    heed_status status = heed_cuda_compile(state, row, large, &cubin, &bytes, detail);

    if (status < 0)
        return status;
    status = load(state, row, cubin, kernel, detail);
    heed_offload_free(state, cubin, bytes, 1);
    return status;
}

static heed_status load_any(struct heed_cuda_state *state, enum heed_kernel row, uint32_t large,
                            struct heed_cuda_kernel *kernel, struct heed_error_detail *detail)
{
    const struct heed_cuda_cubin *cubin = find_cubin(heed_kernel_rows[row].name, large);
    struct heed_error_detail first = { 0 };
    heed_status status = heed_cuda_enter(state, detail);
    int mode;

    if (status < 0)
        return status;
    mode = heed_cuda_capture_set(state, HEED_CU_CAPTURE_RELAXED);
    status = HEED_E_KERNEL_BUILD;
    if (cubin)
        status = load(state, row, cubin->bytes, kernel, &first);
    if (status == HEED_E_KERNEL_BUILD) {
        status = load_compiled(state, row, large, kernel, detail);
        if (status == HEED_E_KERNEL_BUILD && detail->text[0] == '\0')
            *detail = first;
    } else if (status < 0) {
        *detail = first;
    }
    (void)heed_cuda_capture_set(state, mode);
    heed_cuda_leave(state);
    return status;
}

heed_status heed_cuda_kernel_create(void *opened, enum heed_kernel row, uint32_t large,
                                    void **compiled, struct heed_error_detail *detail)
{
    struct heed_cuda_state *const state = opened;
    const heed_status status = load_any(state, row, large, &state->kernels[row][large], detail);

    if (status >= 0)
        *compiled = &state->kernels[row][large];
    return status;
}

void heed_cuda_kernel_destroy(void *opened, void *compiled)
{
    struct heed_cuda_state *const state = opened;
    const struct heed_cuda_kernel *const kernel = compiled;
    int mode;

    if (!heed_cuda_enter_to_destroy(state))
        return;
    mode = heed_cuda_capture_set(state, HEED_CU_CAPTURE_RELAXED);
    (void)state->driver->module_unload(kernel->module);
    (void)heed_cuda_capture_set(state, mode);
    heed_cuda_leave(state);
}
