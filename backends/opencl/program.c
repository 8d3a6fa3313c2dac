/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Kernels, built when a plan first needs them: from the cache on disk, else from source, which then
 * goes into the cache. A binary that the driver does not take (any more) is as good as none.
 */
#include "../device/cache.h"
#include "state.h"

#include <stdio.h>
#include <string.h>

/* No option that loosens arithmetic may ever stand here: results are defined bit for bit. Every
 * driver of OpenCL 1.2 or newer should take the first; the others are tried in turn. */
static const char *const standards[] = { "-cl-std=CL1.2 ", "-cl-std=CL3.0 ", "" };
enum { N_STANDARDS = sizeof(standards) / sizeof(standards[0]) };

enum {
    OPTIONS = 640,
    NAME_BYTES = 512,
    LOG_BYTES = 1 << 20,
    PROGRAM_DEVICES = 64
};

/* One kernel on its way. */
struct build {
    struct heed_opencl_state *d;
    enum heed_kernel row;
    struct heed_error_detail *detail;
    char defines[OPTIONS];          /* all options but the standard */
    uint8_t key[HEED_HASH_BYTES];
    char *source;
    size_t source_bytes;
    bool keeps;                     /* the cache has it, or is to have it */
    void *program;
};

static const struct heed_services *services_of(const struct build *b)
{
    return b->d->common.base.services;
}

static void fetch_log(struct build *b)
{
    const struct heed_opencl_api *const api = b->d->api;
    size_t bytes = 0;
    char *log;

    if (api->GetProgramBuildInfo(b->program, b->d->device, HEED_CL_PROGRAM_BUILD_LOG, 0, NULL,
                                 &bytes) != HEED_CL_SUCCESS ||
        bytes > LOG_BYTES)
        bytes = 0;
    heed_offload_say(b->detail, "kernel %s: the compiler left no log",
                     heed_kernel_rows[b->row].name);
    log = heed_offload_alloc(b->d, bytes + 1, 1);
    if (log == NULL)
        return;
    memset(log, 0, bytes + 1);
    if (bytes > 0 &&
        api->GetProgramBuildInfo(b->program, b->d->device, HEED_CL_PROGRAM_BUILD_LOG, bytes, log,
                                 NULL) != HEED_CL_SUCCESS)
        log[0] = '\0';
    heed_offload_build_log(b->d, HEED_OFFLOAD_ERROR, b->row, log, b->detail);
    heed_offload_free(b->d, log, bytes + 1, 1);
}

/* ---- texts of platforms and devices ------------------------------------- */

/* Some drivers do not end a text that was cut, and some count no final NUL. */
static void take_text(const char *text, size_t size, char *to, size_t room)
{
    size_t n = 0;

    while (n < size && n + 1 < room && text[n] != '\0') {
        to[n] = (unsigned char)text[n] < ' ' ? ' ' : text[n];
        n++;
    }
    to[n] = '\0';
}

void heed_opencl_text(heed_opencl_info *get, void *object, uint32_t what, char *to, size_t size)
{
    char text[NAME_BYTES];
    size_t n = 0;

    if (get(object, what, sizeof(text), text, &n) != HEED_CL_SUCCESS)
        n = 0;
    take_text(text, n < sizeof(text) ? n : sizeof(text), to, size);
}

/* ---- the cache --------------------------------------------------------- */

static void hash_text(struct heed_hash *hash, heed_opencl_info *get, void *object, uint32_t what)
{
    char text[NAME_BYTES];

    heed_opencl_text(get, object, what, text, sizeof(text));
    heed_hash_add_text(hash, text);
}

void heed_opencl_hash(const struct heed_opencl_api *api, void *platform, void *device,
                      struct heed_hash *hash)
{
    hash_text(hash, api->GetPlatformInfo, platform, HEED_CL_PLATFORM_NAME);
    hash_text(hash, api->GetPlatformInfo, platform, HEED_CL_PLATFORM_VERSION);
    hash_text(hash, api->GetDeviceInfo, device, HEED_CL_DEVICE_NAME);
    hash_text(hash, api->GetDeviceInfo, device, HEED_CL_DEVICE_VERSION);
    hash_text(hash, api->GetDeviceInfo, device, HEED_CL_DRIVER_VERSION);
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
    heed_opencl_hash(b->d->api, b->d->platform, b->d->device, &hash);
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

    if (!b->keeps)
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

/* Codes after which another standard may do. */
static bool refused(int32_t code)
{
    return code == HEED_CL_BUILD_PROGRAM_FAILURE || code == HEED_CL_INVALID_BUILD_OPTIONS ||
           code == HEED_CL_INVALID_COMPILER_OPTIONS;
}

/* With the standard that was taken last, else with the others in turn. The first refusal is the one
 * that people are told of: the later ones are last attempts. first NULL: nobody is told. */
static int32_t build_standards(struct build *b, int32_t *first)
{
    const uint32_t last = b->d->standard;
    int32_t code = HEED_CL_SUCCESS;

    for (uint32_t i = 0; i < N_STANDARDS; i++) {
        const uint32_t standard = (last + i) % N_STANDARDS;

        code = build(b, standard);
        if (code == HEED_CL_SUCCESS)
            b->d->standard = standard;
        if (!refused(code))
            return code;
        if (i == 0 && first != NULL) {
            *first = code;
            fetch_log(b);
        }
    }
    return code;
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
        build_standards(b, NULL) == HEED_CL_SUCCESS)
        return true;
    drop_program(b);
    return false;
}

/* true: b->program is built from what the cache held. */
static bool build_cached(struct build *b)
{
    const struct heed_services *const services = services_of(b);
    size_t bytes = 0;
    void *const binary = b->keeps ? heed_cache_load(services, b->key, &bytes) : NULL;
    bool built;

    if (binary == NULL)
        return false;
    built = build_binary(b, binary, bytes);
    services->free(services->runtime, binary, bytes, 1);
    if (!built)
        services->log(services->runtime, 3, "kernel cache: the driver refuses its own binary");
    return built;
}

static heed_status build_source(struct build *b)
{
    const char *text = b->source;
    int32_t first = HEED_CL_SUCCESS, code = HEED_CL_SUCCESS;
    heed_status status;

    heed_offload_compiles(b->d, b->row);
    b->program = b->d->api->CreateProgramWithSource(b->d->context, 1, &text,
                                                    &b->source_bytes, &code);
    status = heed_opencl_check(b->d, code, "clCreateProgramWithSource", b->detail);
    if (status < 0)
        return status;
    code = build_standards(b, &first);
    if (code == HEED_CL_SUCCESS) {
        keep_binary(b);
        return HEED_OK;
    }
    if (!refused(code))
        return heed_opencl_check(b->d, code, "clBuildProgram", b->detail);
    b->detail->native = first;
    return HEED_E_KERNEL_BUILD;
}

/* The program lives on in its kernel. */
static heed_status make_kernel(struct build *b, struct heed_opencl_kernel *made)
{
    int32_t code = HEED_CL_SUCCESS;
    heed_status status;

    made->n_given = HEED_BUFFERS_LARGE;      /* nothing is set */
    made->kernel = b->d->api->CreateKernel(b->program, "heed_kernel", &code);
    if (made->kernel == NULL && code == HEED_CL_SUCCESS)
        code = HEED_CL_OUT_OF_RESOURCES;
    status = heed_opencl_check(b->d, code, "clCreateKernel", b->detail);
    /* A plain mutex, of which POSIX lets initialising fail only for want of memory; here none is
     * needed. */
    if (status >= 0)
        (void)pthread_mutex_init(&made->lock, NULL);
    return status;
}

/* What only some compilers of the vendor know, by how much of it is left out. */
enum { ALL_MODES, NO_REGISTERS, NO_LANES, MODES };

static void options_write(struct build *b, uint32_t large, int modes)
{
    const struct heed_device_traits *const traits = &b->d->common.base.traits;
    char unit[24] = "";

    if (heed_kernel_needs_unit(b->row))
        snprintf(unit, sizeof(unit), "-DHK_MMA=%u ", (unsigned)traits->mma);
    snprintf(b->defines, sizeof(b->defines),
             "-DHK_LARGE=%u -DHK_GROUP_ROWS=%u -DHK_GROUP_SUMS=%u -DHK_TILE_ROWS=%u "
             "-DHK_PROCESSOR=%u -DHK_LEAST_LANES=%u %s%s%.320s",
             (unsigned)large, (unsigned)traits->group_rows, (unsigned)traits->group_sums,
             (unsigned)traits->tile_rows, (unsigned)traits->processor,
             modes < NO_LANES ? (unsigned)traits->least_lanes : 0,
             traits->many_registers && modes < NO_REGISTERS ? "-cl-intel-256-GRF-per-thread " : "",
             unit, heed_kernel_rows[b->row].options);
}

heed_status heed_opencl_kernel_create(void *state, enum heed_kernel row, uint32_t large,
                                      void **compiled, struct heed_error_detail *detail)
{
    struct heed_opencl_state *const d = state;
    const struct heed_device_traits *const traits = &d->common.base.traits;
    struct build b = { .d = d, .row = row, .detail = detail };
    heed_status status = heed_opencl_enter(d, detail);

    if (status < 0)
        return status;
    options_write(&b, large, ALL_MODES);
    b.source = heed_kernel_source(services_of(&b), heed_kernel_rows[row].file, &b.source_bytes);
    if (b.source == NULL)
        return HEED_E_NOMEM;
    b.keeps = heed_cache_wanted(services_of(&b)) && !d->keeps_programs;
    if (b.keeps)
        find_key(&b);
    if (!build_cached(&b))
        status = build_source(&b);
    for (int modes = NO_REGISTERS; modes < MODES && status == HEED_E_KERNEL_BUILD; modes++) {
        if (modes == NO_REGISTERS ? !traits->many_registers : !traits->least_lanes)
            continue;               /* that was not asked for */
        drop_program(&b);
        options_write(&b, large, modes);
        status = build_source(&b);
    }
    if (status >= 0)
        status = make_kernel(&b, &d->kernels[row][large]);
    if (status >= 0)
        *compiled = &d->kernels[row][large];
    drop_program(&b);
    heed_offload_free(d, b.source, b.source_bytes + 1, 1);
    return status;
}

void heed_opencl_kernel_destroy(void *state, void *compiled)
{
    struct heed_opencl_state *const d = state;
    struct heed_opencl_kernel *const kernel = compiled;

    (void)d->api->ReleaseKernel(kernel->kernel);
    pthread_mutex_destroy(&kernel->lock);
}
