/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Kernels, built when a plan first needs them: from the cache on disk, else from source, which then
 * goes into the cache. A binary that the driver does not take (any more) is as good as none.
 */
#include "../device/cache.h"
#include "devices.h"
#include "state.h"

#include <stdio.h>
#include <string.h>

/* No option that loosens arithmetic may ever stand here: results are defined bit for bit. Every
 * driver of OpenCL 1.2 or newer should take the first; the others are tried in turn. */
static const char *const standards[] = { "-cl-std=CL1.2 ", "-cl-std=CL3.0 ", "" };
enum { N_STANDARDS = sizeof(standards) / sizeof(standards[0]) };

enum {
    OPTIONS = 512,
    LOG_LINE = 200,
    LOG_BYTES = 1 << 20,
    PROGRAM_DEVICES = 64
};

/* One kernel on its way. */
struct build {
    struct heed_opencl_device *d;
    const struct heed_kernel_row *row;
    struct heed_error_detail *detail;
    char defines[OPTIONS];          /* all options but the standard */
    uint8_t key[HEED_HASH_BYTES];
    char *source;
    size_t source_bytes;
    void *program;
};

static const struct heed_services *services_of(const struct build *b)
{
    return b->d->base.services;
}

/* ---- the log ----------------------------------------------------------- */

static void log_line(const struct heed_services *services, const char *text, size_t length)
{
    char line[LOG_LINE + 1];

    while (length > 0) {
        const size_t n = length < LOG_LINE ? length : LOG_LINE;

        memcpy(line, text, n);
        line[n] = '\0';
        services->log(services->runtime, 1, line);
        text += n;
        length -= n;
    }
}

static bool has_error(const char *line, size_t length)
{
    for (size_t i = 0; i + 5 <= length; i++) {
        if (memcmp(line + i, "error", 5) == 0)
            return true;
    }
    return false;
}

/* Every line is logged; the first that speaks of an error, else the first that is not blank, goes
 * into the detail. */
static void take_log(struct build *b, const char *log)
{
    const char *best = "the compiler left no log";
    size_t best_length = strlen(best);
    bool found = false, error = false;

    while (*log != '\0') {
        const size_t length = strcspn(log, "\r\n");
        const size_t blank = strspn(log, " \t");

        log_line(services_of(b), log, length);
        if (blank < length && (!found || (!error && has_error(log, length)))) {
            best = log + blank;
            best_length = length - blank;
            error = has_error(log, length);
            found = true;
        }
        log += length;
        log += strspn(log, "\r\n");
    }
    snprintf(b->detail->text, sizeof(b->detail->text), "kernel %s: %.*s", b->row->name,
             best_length < 128 ? (int)best_length : 128, best);
}

static void fetch_log(struct build *b)
{
    const struct heed_services *const services = services_of(b);
    const struct heed_opencl_api *const api = b->d->api;
    size_t bytes = 0;
    char *log;

    if (api->GetProgramBuildInfo(b->program, b->d->device, HEED_CL_PROGRAM_BUILD_LOG, 0, NULL,
                                 &bytes) != HEED_CL_SUCCESS ||
        bytes > LOG_BYTES)
        bytes = 0;
    log = services->alloc(services->runtime, bytes + 1, 1);
    if (log == NULL) {
        take_log(b, "");
        return;
    }
    memset(log, 0, bytes + 1);
    if (bytes > 0 &&
        api->GetProgramBuildInfo(b->program, b->d->device, HEED_CL_PROGRAM_BUILD_LOG, bytes, log,
                                 NULL) != HEED_CL_SUCCESS)
        log[0] = '\0';
    take_log(b, log);
    services->free(services->runtime, log, bytes + 1, 1);
}

/* ---- the cache --------------------------------------------------------- */

static void hash_device_text(struct heed_hash *hash, const struct heed_opencl_device *d,
                             uint32_t what)
{
    char text[512];

    heed_opencl_device_text(d->api, d->device, what, text, sizeof(text));
    heed_hash_add_text(hash, text);
}

static void hash_platform_text(struct heed_hash *hash, const struct heed_opencl_device *d,
                               uint32_t what)
{
    char text[512];

    heed_opencl_platform_text(d->api, d->platform, what, text, sizeof(text));
    heed_hash_add_text(hash, text);
}

/* Whatever the binary depends on. */
static void find_key(struct build *b)
{
    struct heed_hash hash;

    heed_cache_key(&hash);
    heed_hash_add_text(&hash, "opencl");
    heed_hash_add_text(&hash, b->source);
    for (size_t i = 0; i < N_STANDARDS; i++)
        heed_hash_add_text(&hash, standards[i]);
    heed_hash_add_text(&hash, b->defines);
    hash_platform_text(&hash, b->d, HEED_CL_PLATFORM_NAME);
    hash_platform_text(&hash, b->d, HEED_CL_PLATFORM_VERSION);
    hash_device_text(&hash, b->d, HEED_CL_DEVICE_NAME);
    hash_device_text(&hash, b->d, HEED_CL_DEVICE_VERSION);
    hash_device_text(&hash, b->d, HEED_CL_DRIVER_VERSION);
    heed_hash_finish(&hash, b->key);
}

/* Our device's place among those that a program is for; -1: unknown. */
static int place_of_device(const struct build *b, uint32_t *n)
{
    const struct heed_opencl_api *const api = b->d->api;
    void *devices[PROGRAM_DEVICES] = { NULL };

    if (api->GetProgramInfo(b->program, HEED_CL_PROGRAM_NUM_DEVICES, sizeof(*n), n, NULL) !=
            HEED_CL_SUCCESS ||
        *n > PROGRAM_DEVICES ||
        api->GetProgramInfo(b->program, HEED_CL_PROGRAM_DEVICES, sizeof(devices[0]) * *n, devices,
                            NULL) != HEED_CL_SUCCESS)
        return -1;
    for (uint32_t i = 0; i < *n; i++) {
        if (devices[i] == b->d->device)
            return (int)i;
    }
    return -1;
}

static void keep_binary(const struct build *b)
{
    const struct heed_services *const services = services_of(b);
    const struct heed_opencl_api *const api = b->d->api;
    size_t sizes[PROGRAM_DEVICES] = { 0 };
    unsigned char *binaries[PROGRAM_DEVICES] = { NULL };        /* NULL: not wanted */
    uint32_t n = 0;
    int place;

    if (services->cache_dir == NULL)
        return;
    place = place_of_device(b, &n);
    if (place < 0 || api->GetProgramInfo(b->program, HEED_CL_PROGRAM_BINARY_SIZES,
                                         sizeof(sizes[0]) * n, sizes, NULL) != HEED_CL_SUCCESS)
        return;
    binaries[place] = services->alloc(services->runtime, sizes[place], 1);
    if (binaries[place] == NULL)
        return;
    if (api->GetProgramInfo(b->program, HEED_CL_PROGRAM_BINARIES, sizeof(binaries[0]) * n,
                            binaries, NULL) == HEED_CL_SUCCESS)
        heed_cache_store(services, b->key, binaries[place], sizes[place]);
    services->free(services->runtime, binaries[place], sizes[place], 1);
}

/* ---- building ---------------------------------------------------------- */

static int32_t build(const struct build *b, uint32_t standard)
{
    char options[OPTIONS + 32];

    snprintf(options, sizeof(options), "%s%s", standards[standard], b->defines);
    return b->d->api->BuildProgram(b->program, 1, &b->d->device, options, NULL, NULL);
}

static void drop_program(struct build *b)
{
    if (b->program != NULL)
        (void)b->d->api->ReleaseProgram(b->program);
    b->program = NULL;
}

static bool build_binary(struct build *b, const unsigned char *binary, size_t bytes)
{
    int32_t code = HEED_CL_SUCCESS, taken = HEED_CL_SUCCESS;

    b->program = b->d->api->CreateProgramWithBinary(b->d->context, 1, &b->d->device, &bytes,
                                                    &binary, &taken, &code);
    if (b->program != NULL && code == HEED_CL_SUCCESS && taken == HEED_CL_SUCCESS &&
        build(b, b->d->standard) == HEED_CL_SUCCESS)
        return true;
    drop_program(b);
    return false;
}

/* true: b->program is built from what the cache held. */
static bool build_cached(struct build *b)
{
    const struct heed_services *const services = services_of(b);
    size_t bytes = 0;
    void *const binary = heed_cache_load(services, b->key, &bytes);
    bool built;

    if (binary == NULL)
        return false;
    built = build_binary(b, binary, bytes);
    services->free(services->runtime, binary, bytes, 1);
    if (!built)
        services->log(services->runtime, 3, "kernel cache: the driver refuses its own binary");
    return built;
}

/* Codes after which another standard may do. */
static bool refused(int32_t code)
{
    return code == HEED_CL_BUILD_PROGRAM_FAILURE || code == HEED_CL_INVALID_BUILD_OPTIONS ||
           code == HEED_CL_INVALID_COMPILER_OPTIONS;
}

/* The first refusal is the one that people are told of: the later ones are last attempts. */
static heed_status build_source(struct build *b)
{
    const char *text = b->source;
    const uint32_t first = b->d->standard;
    int32_t first_code = HEED_CL_SUCCESS, code = HEED_CL_SUCCESS;
    heed_status status;

    b->program = b->d->api->CreateProgramWithSource(b->d->context, 1, &text,
                                                    &b->source_bytes, &code);
    status = heed_opencl_check(b->d, code, "clCreateProgramWithSource", b->detail);
    if (status < 0)
        return status;
    for (uint32_t i = 0; i < N_STANDARDS; i++) {
        const uint32_t standard = (first + i) % N_STANDARDS;

        code = build(b, standard);
        if (code == HEED_CL_SUCCESS) {
            b->d->standard = standard;
            keep_binary(b);
            return HEED_OK;
        }
        if (i == 0)
            first_code = code;
        if (!refused(code))
            return heed_opencl_check(b->d, code, "clBuildProgram", b->detail);
        if (i == 0)
            fetch_log(b);
    }
    b->detail->native = first_code;
    return HEED_E_KERNEL_BUILD;
}

/* The program lives on in its kernel. */
static heed_status make_kernel(struct build *b, struct heed_opencl_kernel *out)
{
    int32_t code = HEED_CL_SUCCESS;
    void *const kernel = b->d->api->CreateKernel(b->program, "heed_kernel", &code);
    heed_status status;

    if (kernel == NULL && code == HEED_CL_SUCCESS)
        code = HEED_CL_OUT_OF_RESOURCES;
    status = heed_opencl_check(b->d, code, "clCreateKernel", b->detail);
    if (status >= 0)
        out->kernel = kernel;
    return status;
}

static heed_status build_kernel(struct build *b, struct heed_opencl_kernel *out)
{
    const struct heed_services *const services = services_of(b);
    heed_status status = HEED_OK;

    b->source = heed_kernel_source(services, b->row->file, &b->source_bytes);
    if (b->source == NULL)
        return HEED_E_NOMEM;
    if (services->cache_dir != NULL)
        find_key(b);
    if (!build_cached(b))
        status = build_source(b);
    if (status >= 0)
        status = make_kernel(b, out);
    drop_program(b);
    services->free(services->runtime, b->source, b->source_bytes + 1, 1);
    return status;
}

heed_status heed_opencl_kernel(void *state, enum heed_kernel which, uint32_t large,
                               void **compiled, struct heed_error_detail *detail)
{
    struct heed_opencl_device *const d = state;
    struct heed_opencl_kernel *const kernel = &d->kernels[which][large != 0];
    struct build b = { .d = d, .row = &heed_kernel_rows[which], .detail = detail };
    heed_status status = heed_opencl_alive(d, detail);

    if (status < 0)
        return status;
    snprintf(b.defines, sizeof(b.defines),
             "-DHK_LARGE=%d -DHK_GROUP_ROWS=%u -DHK_TILE_ROWS=%u -DHK_PROCESSOR=%u %.320s",
             large != 0, (unsigned)d->base.traits.group_rows,
             (unsigned)d->base.traits.tile_rows, (unsigned)d->base.traits.processor,
             b.row->options);
    pthread_mutex_lock(&d->building);
    if (kernel->kernel == NULL)
        status = build_kernel(&b, kernel);
    pthread_mutex_unlock(&d->building);
    if (status >= 0)
        *compiled = kernel;
    return status;
}

void heed_opencl_kernels_release(struct heed_opencl_device *d)
{
    for (int i = 0; i < HEED_KERNELS; i++) {
        for (int large = 0; large < 2; large++) {
            if (d->kernels[i][large].kernel != NULL)
                (void)d->api->ReleaseKernel(d->kernels[i][large].kernel);
            d->kernels[i][large].kernel = NULL;
        }
    }
}
