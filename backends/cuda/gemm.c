/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * cuBLASLt, which multiplies matrices on NVIDIA's GPUs. Nothing of it is needed to build heed.
 * Numbers of binary32 are asked for with the pedantic type of computation, so that none becomes a
 * narrower one on the way; halves with sums in binary32, and sums in several parts are joined in
 * that type. cuBLASLt chooses how when a plan is prepared: once for matrices at multiples of 16
 * bytes, once for any other place, because which one a run has is known only then.
 */
#include "gemm.h"

#include "../device/library.h"
#include "state.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>

#define NAME(result, member, symbol, arguments) symbol,
static const char *const files[] = {
    "libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11", "libcublasLt.so",
    "cublasLt64_13.dll", "cublasLt64_12.dll", "cublasLt64_11.dll", NULL,
};
static const char *const names[] = { HEED_CUBLASLT_FUNCTIONS(NAME) };
#undef NAME

/* Written under its own lock. */
static struct heed_cublaslt_api table;
static struct heed_library library = {
    .files = files,
    .names = names,
    .n_names = sizeof(names) / sizeof(names[0]),
    .table = &table,
    .absent = "libcublasLt.so cannot be opened",
    .too_old = "libcublasLt.so lacks functions",
    .lock = PTHREAD_MUTEX_INITIALIZER,
};

enum { EARLY = 100000 };     /* versions below are 11401 for 11.4.1, later ones 130100 for 13.1.0 */
enum { PLACES = 2, ALIGNED = 16, WORKSPACE_ALIGN = 256 };
static const size_t workspace_most = (size_t)32 << 20;

/* A plan's own. */
struct prepared {
    void *product, *a, *b, *c;      /* layouts; b and a change places for cuBLASLt */
    struct heed_cublaslt_algorithm algorithm[PLACES];   /* of any place, of aligned ones */
};

void heed_cublaslt_set(const struct heed_cublaslt_api *api, const char *reason)
{
    heed_library_set(&library, api, reason);
}

static const struct heed_cublaslt_api *api_get(void)
{
    _Static_assert(sizeof(table) == sizeof(names), "a function a name");
    return heed_library_get(&library, NULL);
}

static bool describe(char text[HEED_GEMM_TEXT])
{
    const char *reason = NULL;
    const struct heed_cublaslt_api *const api = heed_library_get(&library, &reason);
    size_t version, major;

    if (api == NULL && text == NULL)
        return false;
    if (api == NULL) {
        snprintf(text, HEED_GEMM_TEXT, "cublaslt: %s", reason != NULL ? reason : "not found");
        return false;
    }
    if (text == NULL)
        return true;
    version = api->version();
    major = version < EARLY ? version / 1000 : version / 10000;
    snprintf(text, HEED_GEMM_TEXT, "cublaslt %u.%u.%u", (unsigned)major,
             (unsigned)(version / 100 % (version < EARLY ? 10 : 100)), (unsigned)(version % 100));
    return true;
}

static int status_of(int code, const char *call, struct heed_error_detail *detail)
{
    if (code == 0)
        return HEED_OK;
    if (detail != NULL)
        detail->native = code;
    heed_offload_say(detail, "%s answered %d", call, code);
    return HEED_E_DEVICE;
}

static int type_of(uint32_t dtype)
{
    if (dtype == HEED_F32)
        return HEED_CUBLASLT_F32;
    if (dtype == HEED_F16)
        return HEED_CUBLASLT_F16;
    if (dtype == HEED_BF16)
        return HEED_CUBLASLT_BF16;
    assert(0);                          /* takes() refuses others */
    return HEED_CUBLASLT_F32;
}

static bool is_number(uint32_t dtype)
{
    return dtype == HEED_F32 || dtype == HEED_F16 || dtype == HEED_BF16;
}

static bool takes(const void *state, const struct heed_gemm *gemm, const char **reason)
{
    (void)state;
    *reason = "cublaslt: x and w are of one type, f32, f16 or bf16, and y of that or of f32";
    if (!is_number(gemm->a.dtype) || gemm->a.dtype != gemm->b.dtype ||
        (gemm->c.dtype != gemm->a.dtype && gemm->c.dtype != HEED_F32))
        return false;
    *reason = "cublaslt: an extent has more than 31 bits";
    return gemm->m <= INT_MAX && gemm->n <= INT_MAX && gemm->k <= INT_MAX &&
           gemm->items[HEED_GEMM_AXES - 1] <= INT_MAX;
}

/* ---- a plan ---- */

/* cuBLASLt counts by columns, so lines are its columns, and its product is turned: c is n x m. */
static int layout_make(const struct heed_cublaslt_api *api, const struct heed_gemm *gemm,
                       const struct heed_gemm_matrix *matrix, int64_t lines, int64_t width,
                       void **layout)
{
    const int32_t items = (int32_t)gemm->items[HEED_GEMM_AXES - 1];
    const int64_t step = matrix->step[HEED_GEMM_AXES - 1];
    int code = api->layout_create(layout, type_of(matrix->dtype),
                                  (uint64_t)(matrix->turned ? lines : width),
                                  (uint64_t)(matrix->turned ? width : lines), matrix->line);

    if (code == 0)
        code = api->layout_set(*layout, HEED_CUBLASLT_LAYOUT_ITEMS, &items, sizeof(items));
    return code == 0 ? api->layout_set(*layout, HEED_CUBLASLT_LAYOUT_STEP, &step, sizeof(step))
                     : code;
}

static int product_make(const struct heed_cublaslt_api *api, const struct heed_gemm *gemm,
                        struct prepared *to)
{
    const int first = gemm->b.turned ? 0 : HEED_CUBLASLT_TRANSPOSED;
    const int second = gemm->a.turned ? HEED_CUBLASLT_TRANSPOSED : 0;
    const bool halves = gemm->a.dtype != HEED_F32;
    int code = api->product_create(&to->product,
                                   halves ? HEED_CUBLASLT_COMPUTE_F32
                                          : HEED_CUBLASLT_COMPUTE_F32_PEDANTIC,
                                   HEED_CUBLASLT_F32);

    if (code == 0)
        code = api->product_set(to->product, HEED_CUBLASLT_PRODUCT_TRANSPOSES_A, &first,
                                sizeof(first));
    return code == 0 ? api->product_set(to->product, HEED_CUBLASLT_PRODUCT_TRANSPOSES_B, &second,
                                        sizeof(second))
                     : code;
}

static int preference_fill(const struct heed_cublaslt_api *api, void *preference, uint32_t align)
{
    const uint64_t most = workspace_most;
    const uint32_t reduction = HEED_CUBLASLT_REDUCTION_COMPUTE_TYPE;
    int code = api->preference_set(preference, HEED_CUBLASLT_PREFERENCE_WORKSPACE, &most,
                                   sizeof(most));

    if (code == 0)
        code = api->preference_set(preference, HEED_CUBLASLT_PREFERENCE_REDUCTION, &reduction,
                                   sizeof(reduction));
    for (int i = 0; i < 4 && code == 0; i++)
        code = api->preference_set(preference, HEED_CUBLASLT_PREFERENCE_ALIGN_A + i, &align,
                                   sizeof(align));
    return code;
}

/* align: bytes of the places of all matrices. */
static heed_status choose(const struct heed_cuda_state *state, struct prepared *to, int place,
                          uint32_t align, uint64_t *bytes, struct heed_error_detail *detail)
{
    const struct heed_cublaslt_api *const api = api_get();
    struct heed_cublaslt_choice choice = { .workspace = 0 };
    void *preference = NULL;
    int found = 0, code = api->preference_create(&preference);

    if (code == 0)
        code = preference_fill(api, preference, align);
    if (code == 0)
        code = api->choose(state->gemm, to->product, to->b, to->a, to->c, to->c, preference, 1,
                           &choice, &found);
    if (preference != NULL)
        (void)api->preference_destroy(preference);
    if (code != 0)
        return status_of(code, "cublasLtMatmulAlgoGetHeuristic", detail);
    if (found < 1 || choice.state != 0) {
        heed_offload_say(detail, "cuBLASLt has no way for such a product");
        return HEED_E_DEVICE;
    }
    to->algorithm[place] = choice.algorithm;
    if (choice.workspace > *bytes)
        *bytes = choice.workspace;
    return HEED_OK;
}

/* The device's handle, made once; within the device's context. */
static heed_status require_handle(struct heed_cuda_state *state, struct heed_error_detail *detail)
{
    int code = 0;

    pthread_mutex_lock(&state->common.building);
    if (state->gemm == NULL)
        code = api_get()->create(&state->gemm);
    if (code != 0)
        state->gemm = NULL;
    pthread_mutex_unlock(&state->common.building);
    return status_of(code, "cublasLtCreate", detail);
}

void heed_cuda_gemm_close(struct heed_cuda_state *state)
{
    if (state->gemm != NULL)
        (void)api_get()->destroy(state->gemm);
    state->gemm = NULL;
}

static heed_status fill(struct heed_cuda_state *state, struct heed_gemm_plan *plan,
                        struct prepared *to, struct heed_error_detail *detail)
{
    const struct heed_cublaslt_api *const api = api_get();
    const struct heed_gemm *const gemm = &plan->form;
    uint64_t bytes = 0;
    heed_status status = require_handle(state, detail);

    if (status >= 0)
        status = status_of(product_make(api, gemm, to), "cublasLtMatmulDescCreate", detail);
    if (status >= 0)
        status = status_of(layout_make(api, gemm, &gemm->a, gemm->m, gemm->k, &to->a),
                           "cublasLtMatrixLayoutCreate", detail);
    if (status >= 0)
        status = status_of(layout_make(api, gemm, &gemm->b, gemm->n, gemm->k, &to->b),
                           "cublasLtMatrixLayoutCreate", detail);
    if (status >= 0)
        status = status_of(layout_make(api, gemm, &gemm->c, gemm->m, gemm->n, &to->c),
                           "cublasLtMatrixLayoutCreate", detail);
    if (status >= 0)
        status = choose(state, to, 0, gemm->a.dtype == HEED_F32 ? 4 : 2, &bytes, detail);
    if (status >= 0)
        status = choose(state, to, 1, ALIGNED, &bytes, detail);
    plan->workspace_size = bytes;
    plan->workspace_align = WORKSPACE_ALIGN;
    return status;
}

/* Descriptions are of the host alone: no context is needed. */
static void release(void *state, struct heed_gemm_plan *plan)
{
    const struct heed_cublaslt_api *const api = api_get();
    struct prepared *const prepared = plan->prepared;

    if (prepared->product != NULL)
        (void)api->product_destroy(prepared->product);
    if (prepared->a != NULL)
        (void)api->layout_destroy(prepared->a);
    if (prepared->b != NULL)
        (void)api->layout_destroy(prepared->b);
    if (prepared->c != NULL)
        (void)api->layout_destroy(prepared->c);
    heed_offload_free(state, prepared, sizeof(*prepared), _Alignof(struct prepared));
    plan->prepared = NULL;
}

static heed_status prepare(void *opened, struct heed_gemm_plan *plan,
                           struct heed_error_detail *detail)
{
    struct heed_cuda_state *const state = opened;
    struct prepared *const prepared =
        heed_offload_alloc(state, sizeof(*prepared), _Alignof(struct prepared));
    heed_status status = HEED_E_NOMEM;

    if (prepared == NULL)
        return status;
    *prepared = (struct prepared){ .product = NULL };
    plan->prepared = prepared;
    status = heed_cuda_enter(state, detail);
    if (status >= 0) {
        const int mode = heed_cuda_capture_set(state, HEED_CU_CAPTURE_RELAXED);

        status = fill(state, plan, prepared, detail);
        (void)heed_cuda_capture_set(state, mode);
        heed_cuda_leave(state);
    }
    if (status < 0)
        release(state, plan);
    return status;
}

/* ---- a run ---- */

static void *address(const heed_buf *at)
{
    return (void *)((uintptr_t)at->handle + at->offset);
}

static bool is_aligned(const struct heed_gemm_place *at)
{
    return ((at->a.offset + (uintptr_t)at->a.handle) % ALIGNED |
            (at->b.offset + (uintptr_t)at->b.handle) % ALIGNED |
            (at->c.offset + (uintptr_t)at->c.handle) % ALIGNED) == 0;
}

/* Within the device's context (run.c). */
static heed_status enqueue(void *opened, void *queue, const struct heed_gemm_plan *plan,
                           const struct heed_gemm_place *at, struct heed_error_detail *detail)
{
    static const float one = 1.0f, zero = 0.0f;
    const struct heed_cuda_state *const state = opened;
    const struct prepared *const prepared = plan->prepared;
    void *const c = address(&at->c);

    return status_of(
        api_get()->multiply(state->gemm, prepared->product, &one, address(&at->b), prepared->b,
                            address(&at->a), prepared->a, &zero, c, prepared->c, c, prepared->c,
                            &prepared->algorithm[is_aligned(at)],
                            plan->workspace_size > 0 ? address(&at->workspace) : NULL,
                            (size_t)plan->workspace_size,
                            ((const struct heed_cuda_queue *)queue)->stream),
        "cublasLtMatmul", detail);
}

const struct heed_gemm_provider heed_cublaslt = {
    .name = "cublaslt",
    .batches = true,
    .describe = describe,
    .takes = takes,
    .prepare = prepare,
    .release = release,
    .enqueue = enqueue,
};
