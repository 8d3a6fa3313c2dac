/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * See fake_cublaslt.h.
 */
#include "fake_cublaslt.h"

#include "backends/kernels/numerics.h"
#include "fake_cuda.h"

#include <string.h>

enum { INVALID = 7, NOT_SUPPORTED = 15, WORK = 1024, WORK_ALIGN = 256 };

struct product {
    int compute, transposes[2];     /* a, b */
};

struct layout {
    int type;
    int64_t rows, columns, line, step;
    int32_t items;
};

struct preference {
    uint64_t workspace;
    uint32_t reduction, align;
};

struct fake_cublaslt fake_cublaslt;

void fake_cublaslt_reset(void)
{
    fake_cublaslt = (struct fake_cublaslt){ .version = 130100 };
    heed_cublaslt_set(&fake_cublaslt_api, NULL);
}

/* What the vendor's library would answer, or not forgive. */
static int wrong(const char *call)
{
    fake_mistake(call);
    return INVALID;
}

/* ---- objects ---- */

static size_t version(void)
{
    return fake_cublaslt.version;
}

static int create(void **handle)
{
    const int code = fake_call("cublasLtCreate");

    if (fake_cuda.depth == 0)
        return wrong("cublasLtCreate");
    if (code == 0)
        *handle = fake_create(FAKE_PRODUCT, 1);
    return code;
}

static int end(void *object, const char *call)
{
    return fake_release(object, FAKE_PRODUCT, call) ? fake_call(call) : INVALID;
}

static int destroy(void *handle)
{
    return end(handle, "cublasLtDestroy");
}

static int product_create(void **to, int compute, int scale)
{
    const int code = fake_call("cublasLtMatmulDescCreate");

    if (scale != HEED_CUBLASLT_F32)
        return wrong("cublasLtMatmulDescCreate");
    if (code != 0)
        return code;
    *to = fake_create(FAKE_PRODUCT, sizeof(struct product));
    ((struct product *)*to)->compute = compute;
    return 0;
}

static int product_destroy(void *product)
{
    return end(product, "cublasLtMatmulDescDestroy");
}

static int product_set(void *product, int attribute, const void *from, size_t bytes)
{
    const int which = attribute - HEED_CUBLASLT_PRODUCT_TRANSPOSES_A;

    if (which < 0 || which > 1 || bytes != sizeof(int))
        return wrong("cublasLtMatmulDescSetAttribute");
    memcpy(&((struct product *)product)->transposes[which], from, bytes);
    return fake_call("cublasLtMatmulDescSetAttribute");
}

static int layout_create(void **to, int type, uint64_t rows, uint64_t columns, int64_t line)
{
    const int code = fake_call("cublasLtMatrixLayoutCreate");

    if (rows == 0 || columns == 0 || line < (int64_t)rows)
        return wrong("cublasLtMatrixLayoutCreate");
    if (code != 0)
        return code;
    *to = fake_create(FAKE_PRODUCT, sizeof(struct layout));
    *(struct layout *)*to = (struct layout){ type, (int64_t)rows, (int64_t)columns, line, 0, 1 };
    return 0;
}

static int layout_destroy(void *layout)
{
    return end(layout, "cublasLtMatrixLayoutDestroy");
}

static int layout_set(void *given, int attribute, const void *from, size_t bytes)
{
    struct layout *const layout = given;

    if (attribute == HEED_CUBLASLT_LAYOUT_ITEMS && bytes == sizeof(layout->items))
        memcpy(&layout->items, from, bytes);
    else if (attribute == HEED_CUBLASLT_LAYOUT_STEP && bytes == sizeof(layout->step))
        memcpy(&layout->step, from, bytes);
    else
        return wrong("cublasLtMatrixLayoutSetAttribute");
    return fake_call("cublasLtMatrixLayoutSetAttribute");
}

static int preference_create(void **to)
{
    const int code = fake_call("cublasLtMatmulPreferenceCreate");

    if (code != 0)
        return code;
    *to = fake_create(FAKE_PRODUCT, sizeof(struct preference));
    ((struct preference *)*to)->align = 256;
    return 0;
}

static int preference_destroy(void *preference)
{
    return end(preference, "cublasLtMatmulPreferenceDestroy");
}

static int preference_set(void *given, int attribute, const void *from, size_t bytes)
{
    struct preference *const preference = given;

    if (attribute == HEED_CUBLASLT_PREFERENCE_WORKSPACE && bytes == sizeof(preference->workspace))
        memcpy(&preference->workspace, from, bytes);
    else if (attribute == HEED_CUBLASLT_PREFERENCE_REDUCTION && bytes == sizeof(uint32_t))
        memcpy(&preference->reduction, from, bytes);
    else if (attribute >= HEED_CUBLASLT_PREFERENCE_ALIGN_A &&
             attribute < HEED_CUBLASLT_PREFERENCE_ALIGN_A + 4 && bytes == sizeof(uint32_t))
        memcpy(&preference->align, from, bytes);
    else
        return wrong("cublasLtMatmulPreferenceSetAttribute");
    return fake_call("cublasLtMatmulPreferenceSetAttribute");
}

/* ---- products ---- */

/* Row i, column j of what is multiplied. */
struct matrix {
    const struct layout *layout;
    const unsigned char *at;
    int64_t rows, columns;
    int transposed;
};

static struct matrix matrix_of(const void *layout, const void *at, int transposed)
{
    struct matrix m = { .layout = layout, .at = at, .transposed = transposed };

    m.rows = transposed ? m.layout->columns : m.layout->rows;
    m.columns = transposed ? m.layout->rows : m.layout->columns;
    return m;
}

static int64_t place_of(const struct matrix *m, int64_t item, int64_t i, int64_t j)
{
    return item * m->layout->step + (m->transposed ? i * m->layout->line + j
                                                   : j * m->layout->line + i);
}

static float element(const struct matrix *m, int64_t item, int64_t i, int64_t j)
{
    const int64_t place = place_of(m, item, i, j);
    hk_u16 half;

    if (m->layout->type == HEED_CUBLASLT_F32)
        return ((const float *)(const void *)m->at)[place];
    memcpy(&half, m->at + 2 * place, sizeof(half));
    return m->layout->type == HEED_CUBLASLT_F16 ? hk_from_f16(half) : hk_from_bf16(half);
}

static void element_set(const struct layout *layout, unsigned char *to, int64_t place, float x)
{
    const hk_u16 half = layout->type == HEED_CUBLASLT_F16 ? hk_to_f16(x) : hk_to_bf16(x);

    if (layout->type == HEED_CUBLASLT_F32)
        memcpy(to + 4 * place, &x, sizeof(x));
    else
        memcpy(to + 2 * place, &half, sizeof(half));
}

/* Do the types and extents go together? f32 must not become narrower on its way. */
static bool fits(const struct product *product, const struct matrix *a, const struct matrix *b,
                 const struct layout *c)
{
    const int compute = a->layout->type == HEED_CUBLASLT_F32 ? HEED_CUBLASLT_COMPUTE_F32_PEDANTIC
                                                             : HEED_CUBLASLT_COMPUTE_F32;

    return product->compute == compute && a->layout->type == b->layout->type &&
           (c->type == a->layout->type || c->type == HEED_CUBLASLT_F32) &&
           a->columns == b->rows && a->rows == c->rows && b->columns == c->columns &&
           a->layout->items == c->items && b->layout->items == c->items;
}

static int choose(void *handle, void *product, void *a, void *b, void *c, void *d,
                  void *preference, int wanted, struct heed_cublaslt_choice *choices, int *found)
{
    const struct product *const p = product;
    const struct preference *const asked = preference;
    const struct matrix first = matrix_of(a, NULL, p->transposes[0]);
    const struct matrix second = matrix_of(b, NULL, p->transposes[1]);
    const int code = fake_call("cublasLtMatmulAlgoGetHeuristic");

    if (!fake_is(handle, FAKE_PRODUCT, "cublasLtMatmulAlgoGetHeuristic") || c != d || wanted < 1 ||
        asked->reduction != HEED_CUBLASLT_REDUCTION_COMPUTE_TYPE || asked->workspace < WORK ||
        !fits(p, &first, &second, c))
        return wrong("cublasLtMatmulAlgoGetHeuristic");
    *found = code == 0 && !fake_cublaslt.no_way;
    choices[0] = (struct heed_cublaslt_choice){ .workspace = WORK };
    choices[0].algorithm.words[0] = asked->align;
    return code != 0 ? code : fake_cublaslt.no_way ? NOT_SUPPORTED : 0;
}

static void compute(const struct matrix *a, const struct matrix *b, const struct layout *c,
                    unsigned char *to)
{
    for (int64_t n = 0; n < c->items * c->rows * c->columns; n++) {
        const int64_t i = n % c->rows, j = n / c->rows % c->columns;
        const int64_t item = n / c->rows / c->columns;
        float sum = 0;

        for (int64_t l = 0; l < a->columns; l++)
            sum += element(a, item, i, l) * element(b, item, l, j);
        if (n == 0 && fake_cublaslt.wrong)
            sum += 1;
        element_set(c, to, item * c->step + j * c->line + i, sum);
    }
}

static int multiply(void *handle, void *product, const void *alpha, const void *a, void *a_layout,
                    const void *b, void *b_layout, const void *beta, const void *c,
                    void *c_layout, void *d, void *d_layout,
                    const struct heed_cublaslt_algorithm *algorithm, void *workspace, size_t bytes,
                    void *stream)
{
    const struct product *const p = product;
    const struct matrix first = matrix_of(a_layout, a, p->transposes[0]);
    const struct matrix second = matrix_of(b_layout, b, p->transposes[1]);
    const uint64_t align = algorithm->words[0];
    const int code = fake_call("cublasLtMatmul");

    if (fake_cuda.depth == 0 || !fake_is(handle, FAKE_PRODUCT, "cublasLtMatmul") ||
        (stream != NULL && !fake_is(stream, FAKE_QUEUE, "cublasLtMatmul")) ||
        *(const float *)alpha != 1 || *(const float *)beta != 0 || c != d ||
        c_layout != d_layout || bytes < WORK || (uintptr_t)workspace % WORK_ALIGN != 0 ||
        align == 0 || ((uintptr_t)a % align | (uintptr_t)b % align | (uintptr_t)d % align) != 0 ||
        !fits(p, &first, &second, d_layout))
        return wrong("cublasLtMatmul");
    if (code != 0)
        return code;
    memset(workspace, 0x77, WORK);
    compute(&first, &second, d_layout, d);
    fake_cublaslt.products++;
    return 0;
}

#define MEMBER(result, member, symbol, arguments) .member = member,
const struct heed_cublaslt_api fake_cublaslt_api = { HEED_CUBLASLT_FUNCTIONS(MEMBER) };
#undef MEMBER
