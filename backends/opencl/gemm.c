/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * CLBlast, which multiplies matrices on OpenCL devices (Nugteren 2018, "CLBlast: A tuned OpenCL
 * BLAS library"). Nothing of it is needed to build heed. Products are single calls: its batched
 * ones take no workspace of the caller's. Its products of halves sum in halves, which FAST does not
 * allow, so only f32 goes there.
 */
#include "gemm.h"

#include "../device/library.h"
#include "state.h"

#include <stdio.h>
#include <string.h>

static const char *const files[] = { "libclblast.so.1", "libclblast.so", "clblast.dll", NULL };

#define NAME(name, parameters) "CLBlast" #name,
static const char *const names[] = { HEED_CLBLAST_FUNCTIONS(NAME) };
#undef NAME

/* Written under its own lock. */
static struct heed_clblast_api table;
static struct heed_library library = {
    .files = files,
    .names = names,
    .n_names = sizeof(names) / sizeof(names[0]),
    .table = &table,
    .absent = "libclblast.so.1 cannot be opened",
    .too_old = "libclblast.so.1 lacks functions of CLBlast 1.5",
    .lock = PTHREAD_MUTEX_INITIALIZER,
};

/* Values of the vendor's enums. */
enum { ROW_MAJOR = 101, AS_IT_IS = 111, TRANSPOSED = 112 };
enum { FLOAT = 4, SPAN_MAX = 1 << 30, SPAN_FREE = 1 << 20 }; /* bytes; elements */

void heed_clblast_set(const struct heed_clblast_api *api, const char *reason)
{
    heed_library_set(&library, api, reason);
}

static const struct heed_clblast_api *api_get(void)
{
    _Static_assert(sizeof(table) == sizeof(names), "a function a name");
    return heed_library_get(&library, NULL);
}

static bool describe(char text[HEED_GEMM_TEXT])
{
    const char *reason = NULL;
    char file[64];

    if (heed_library_get(&library, &reason) == NULL) {
        if (text != NULL)
            snprintf(text, HEED_GEMM_TEXT, "clblast: %s", reason != NULL ? reason : "not found");
        return false;
    }
    if (text == NULL)
        return true;
    heed_library_file(&library, file, sizeof(file));
    snprintf(text, HEED_GEMM_TEXT, "clblast%s%s", file[0] != '\0' ? " " : "", file);
    return true;
}

/* Its kernels count elements with 32 bits. */
static bool is_small(const struct heed_gemm_matrix *matrix)
{
    return matrix->span < SPAN_MAX;
}

/* Elements of a matrix as it lies in the workspace: of whole tiles, of 128 at most. */
static double padded(int64_t rows, int64_t columns)
{
    return ((double)rows + 127) * ((double)columns + 127);
}

/* Matrices are copied to whole tiles. Those that are thin become many times as large, and are no
 * work for a library. */
static bool is_stout(const struct heed_gemm *gemm)
{
    const double a = padded(gemm->m, gemm->k), b = padded(gemm->n, gemm->k),
                 c = padded(gemm->m, gemm->n);
    const double bare = (double)gemm->m * (double)gemm->k + (double)gemm->n * (double)gemm->k +
                        (double)gemm->m * (double)gemm->n;

    return a < SPAN_MAX && b < SPAN_MAX && c < SPAN_MAX && a + b + c < 4 * bare + SPAN_FREE;
}

static bool takes(const void *state, const struct heed_gemm *gemm, const char **reason)
{
    (void)state;
    *reason = "clblast: elements are f32";
    if (gemm->a.dtype != HEED_F32 || gemm->b.dtype != HEED_F32 || gemm->c.dtype != HEED_F32)
        return false;
    *reason = "clblast: a matrix has 2^30 elements or more";
    if (!is_small(&gemm->a) || !is_small(&gemm->b) || !is_small(&gemm->c))
        return false;
    *reason = "clblast: tiles of its kernels are far larger than the matrices";
    return is_stout(gemm);
}

/* b is n x k to heed and k x n to BLAS. */
static int transposed(const struct heed_gemm_matrix *matrix, bool second)
{
    return (matrix->turned != 0) != second ? TRANSPOSED : AS_IT_IS;
}

/* Codes of its own lie beyond OpenCL's. None of them tells of a lost device: what it was given is
 * what it complains of. */
static heed_status status_of(int code, const char *call, struct heed_error_detail *detail)
{
    const heed_status status = heed_opencl_status(code, call, detail);

    return status == HEED_E_DEVICE_LOST ? HEED_E_DEVICE : status;
}

/* Matrices that begin with their buffer may need less: these do not. */
static heed_status bytes_ask(struct heed_opencl_state *d, const struct heed_gemm *gemm,
                             size_t *bytes, struct heed_error_detail *detail)
{
    int32_t code = HEED_CL_SUCCESS;
    void *queue = d->api->CreateCommandQueue(d->context, d->device, 0, &code);
    heed_status status = heed_opencl_check(d, code, "clCreateCommandQueue", detail);

    if (status < 0)
        return status;
    status = status_of(api_get()->SGemmTempBufferSize(
                           ROW_MAJOR, transposed(&gemm->a, false), transposed(&gemm->b, true),
                           (size_t)gemm->m, (size_t)gemm->n, (size_t)gemm->k, FLOAT,
                           (size_t)gemm->a.line, FLOAT, (size_t)gemm->b.line, FLOAT,
                           (size_t)gemm->c.line, &queue, bytes),
                       "CLBlastSGemmTempBufferSize", detail);
    (void)d->api->ReleaseCommandQueue(queue);
    return status;
}

static heed_status prepare(void *state, struct heed_gemm_plan *plan,
                           struct heed_error_detail *detail)
{
    struct heed_opencl_state *const d = state;
    uint32_t align = 0;
    size_t bytes = 0;
    heed_status status = heed_opencl_enter(d, detail);

    if (status >= 0)
        status = bytes_ask(d, &plan->form, &bytes, detail);
    if (status >= 0)
        status =
            heed_opencl_check(d,
                              d->api->GetDeviceInfo(d->device, HEED_CL_DEVICE_MEM_BASE_ADDR_ALIGN,
                                                    sizeof(align), &align, NULL),
                              "clGetDeviceInfo", detail);
    if (status < 0)
        return status;
    plan->workspace_size = bytes;
    plan->workspace_align = align >= 8 ? align / 8 : 1;
    return HEED_OK;
}

static void release(void *state, struct heed_gemm_plan *plan)
{
    (void)state;
    plan->prepared = NULL;
}

/* A buffer as CLBlast is given it. */
struct part {
    void *memory, *made; /* made: ours, to be given back; NULL: none */
    size_t offset;       /* elements */
};

/* Where the place itself does not do, a buffer that begins at it, or a little before; the driver
 * keeps it until the commands that use it are complete. */
static heed_status part_open(const struct heed_opencl_state *d, const heed_buf *at, size_t bytes,
                             uint64_t align, bool does, struct part *part,
                             struct heed_error_detail *detail)
{
    const uint64_t rest = at->offset % align;
    const size_t region[2] = { (size_t)(at->offset - rest), bytes + (size_t)rest };
    int32_t code = HEED_CL_SUCCESS;

    *part = (struct part){ .memory = at->handle, .offset = (size_t)(at->offset / FLOAT) };
    if (does)
        return HEED_OK;
    part->made = d->api->CreateSubBuffer(at->handle, 0 /* those of the buffer */,
                                         HEED_CL_BUFFER_CREATE_TYPE_REGION, region, &code);
    part->memory = part->made;
    part->offset = (size_t)(rest / FLOAT);
    return status_of(code, "clCreateSubBuffer", detail);
}

/* Its kernels count elements of a buffer with 32 bits. */
static bool is_far(const heed_buf *at)
{
    return at->offset / FLOAT >= SPAN_MAX;
}

static heed_status matrix_open(const struct heed_opencl_state *d, const heed_buf *at,
                               const struct heed_gemm_matrix *matrix, uint64_t align,
                               struct part *part, struct heed_error_detail *detail)
{
    return part_open(d, at, (size_t)matrix->span * FLOAT, align, !is_far(at), part, detail);
}

enum { A, B, C, WORKSPACE, PARTS };

static bool is_shared(const struct heed_gemm_place *at)
{
    const void *const memory = at->workspace.handle;

    return at->a.handle == memory || at->b.handle == memory || at->c.handle == memory;
}

/* CLBlast takes the workspace from its first byte on. A buffer and a part of it must not be used at
 * once, so where matrices lie in the same memory, CLBlast makes a workspace: NULL. So it does where
 * the workspace is a part of a buffer itself, of which there are no parts. */
static heed_status workspace_open(const struct heed_opencl_state *d,
                                  const struct heed_gemm_plan *plan,
                                  const struct heed_gemm_place *at, struct part *part)
{
    const bool whole = at->workspace.offset == 0;

    if (plan->workspace_size == 0 || (!whole && is_shared(at)))
        return HEED_OK;
    if (part_open(d, &at->workspace, (size_t)plan->workspace_size, plan->workspace_align, whole,
                  part, NULL) < 0)
        *part = (struct part){ .memory = NULL };
    return HEED_OK;
}

/* A matrix that begins so far in its buffer that it needs a part, beside another in that buffer. */
static bool is_beside(const heed_buf *at, const heed_buf *other)
{
    return is_far(at) && at->handle == other->handle;
}

static bool parts_clash(const struct heed_gemm_place *at)
{
    return is_beside(&at->a, &at->b) || is_beside(&at->a, &at->c) || is_beside(&at->b, &at->a) ||
           is_beside(&at->b, &at->c) || is_beside(&at->c, &at->a) || is_beside(&at->c, &at->b);
}

static heed_status parts_open(const struct heed_opencl_state *d, const struct heed_gemm_plan *plan,
                              const struct heed_gemm_place *at, struct part part[PARTS],
                              struct heed_error_detail *detail)
{
    const struct heed_gemm *const gemm = &plan->form;
    const uint64_t align = plan->workspace_align;
    heed_status status;

    if (parts_clash(at)) {
        heed_offload_say(detail, "CLBlast: a matrix beyond 4 GiB of a buffer that has another");
        return HEED_E_UNSUPPORTED;
    }
    status = matrix_open(d, &at->a, &gemm->a, align, &part[A], detail);

    if (status >= 0)
        status = matrix_open(d, &at->b, &gemm->b, align, &part[B], detail);
    if (status >= 0)
        status = matrix_open(d, &at->c, &gemm->c, align, &part[C], detail);
    return status < 0 ? status : workspace_open(d, plan, at, &part[WORKSPACE]);
}

static heed_status enqueue(void *state, void *queue, const struct heed_gemm_plan *plan,
                           const struct heed_gemm_place *at, struct heed_error_detail *detail)
{
    struct heed_opencl_state *const d = state;
    const struct heed_gemm *const gemm = &plan->form;
    void *vendors = ((struct heed_opencl_queue *)queue)->queue;
    struct part part[PARTS] = { { .memory = NULL } };
    heed_status status = parts_open(d, plan, at, part, detail);

    if (status >= 0)
        status =
            status_of(api_get()->SgemmWithTempBuffer(
                          ROW_MAJOR, transposed(&gemm->a, false), transposed(&gemm->b, true),
                          (size_t)gemm->m, (size_t)gemm->n, (size_t)gemm->k, 1.0f, part[A].memory,
                          part[A].offset, (size_t)gemm->a.line, part[B].memory, part[B].offset,
                          (size_t)gemm->b.line, 0.0f, part[C].memory, part[C].offset,
                          (size_t)gemm->c.line, &vendors, NULL, part[WORKSPACE].memory),
                      "CLBlastSgemm", detail);
    for (int i = 0; i < PARTS; i++) {
        if (part[i].made != NULL)
            (void)d->api->ReleaseMemObject(part[i].made);
    }
    return status;
}

const struct heed_gemm_provider heed_clblast = {
    .name = "clblast",
    .describe = describe,
    .takes = takes,
    .prepare = prepare,
    .release = release,
    .enqueue = enqueue,
};
