/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * heed's declarations of cuBLASLt (backends/cuda/gemm.h) against the vendor's header, and the
 * functions of the vendor's library that need no GPU.
 */
#include "backends/cuda/gemm.h"
#include "support/suite.h"

#include <cublasLt.h>
#include <dlfcn.h>
#include <stdio.h>

#define SAME(theirs, ours) _Static_assert((int)(theirs) == (int)(ours), #ours)
SAME(CUDA_R_32F, HEED_CUBLASLT_F32);
SAME(CUDA_R_16F, HEED_CUBLASLT_F16);
SAME(CUDA_R_16BF, HEED_CUBLASLT_BF16);
SAME(CUBLAS_COMPUTE_32F, HEED_CUBLASLT_COMPUTE_F32);
SAME(CUBLAS_COMPUTE_32F_PEDANTIC, HEED_CUBLASLT_COMPUTE_F32_PEDANTIC);
SAME(CUBLAS_OP_T, HEED_CUBLASLT_TRANSPOSED);
SAME(CUBLASLT_MATMUL_DESC_TRANSA, HEED_CUBLASLT_PRODUCT_TRANSPOSES_A);
SAME(CUBLASLT_MATMUL_DESC_TRANSB, HEED_CUBLASLT_PRODUCT_TRANSPOSES_B);
SAME(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, HEED_CUBLASLT_LAYOUT_ITEMS);
SAME(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, HEED_CUBLASLT_LAYOUT_STEP);
SAME(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, HEED_CUBLASLT_PREFERENCE_WORKSPACE);
SAME(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, HEED_CUBLASLT_PREFERENCE_REDUCTION);
SAME(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, HEED_CUBLASLT_PREFERENCE_ALIGN_A);
SAME(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, HEED_CUBLASLT_PREFERENCE_ALIGN_A + 3);
SAME(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE, HEED_CUBLASLT_REDUCTION_COMPUTE_TYPE);
SAME(sizeof(cublasLtMatmulAlgo_t), sizeof(struct heed_cublaslt_algorithm));
SAME(sizeof(cublasLtMatmulHeuristicResult_t), sizeof(struct heed_cublaslt_choice));
SAME(offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize),
     offsetof(struct heed_cublaslt_choice, workspace));
SAME(offsetof(cublasLtMatmulHeuristicResult_t, state),
     offsetof(struct heed_cublaslt_choice, state));
#undef SAME

static struct heed_cublaslt_api api;
static void *opened;

/* Functions are copied as bytes: C has no conversion from void *. */
static void fill(void)
{
    char *to = (char *)&api;
#define NAME(result, member, symbol, arguments) symbol,
    static const char *const names[] = { HEED_CUBLASLT_FUNCTIONS(NAME) };
#undef NAME

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        void *const function = dlsym(opened, names[i]);

        ck_assert_msg(function != NULL, "%s", names[i]);
        memcpy(to + i * sizeof function, &function, sizeof function);
    }
}

TEST(attributes_are_taken)
{
    const int32_t items = 3;
    const int64_t step = 600;
    const uint64_t most = 1 << 20;
    const uint32_t reduction = HEED_CUBLASLT_REDUCTION_COMPUTE_TYPE, align = 4;
    const int transposed = HEED_CUBLASLT_TRANSPOSED;
    void *product = NULL, *layout = NULL, *preference = NULL;

    fill();
    ck_assert_uint_ge(api.version(), 11000);
    ck_assert_int_eq(api.product_create(&product, HEED_CUBLASLT_COMPUTE_F32_PEDANTIC,
                                        HEED_CUBLASLT_F32), 0);
    for (int which = 0; which < 2; which++)
        ck_assert_int_eq(api.product_set(product, HEED_CUBLASLT_PRODUCT_TRANSPOSES_A + which,
                                         &transposed, sizeof transposed), 0);
    ck_assert_int_eq(api.layout_create(&layout, HEED_CUBLASLT_BF16, 20, 30, 25), 0);
    ck_assert_int_eq(api.layout_set(layout, HEED_CUBLASLT_LAYOUT_ITEMS, &items, sizeof items), 0);
    ck_assert_int_eq(api.layout_set(layout, HEED_CUBLASLT_LAYOUT_STEP, &step, sizeof step), 0);
    ck_assert_int_eq(api.preference_create(&preference), 0);
    ck_assert_int_eq(api.preference_set(preference, HEED_CUBLASLT_PREFERENCE_WORKSPACE, &most,
                                        sizeof most), 0);
    ck_assert_int_eq(api.preference_set(preference, HEED_CUBLASLT_PREFERENCE_REDUCTION,
                                        &reduction, sizeof reduction), 0);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(api.preference_set(preference, HEED_CUBLASLT_PREFERENCE_ALIGN_A + i,
                                            &align, sizeof align), 0);
    ck_assert_int_eq(api.preference_destroy(preference), 0);
    ck_assert_int_eq(api.layout_destroy(layout), 0);
    ck_assert_int_eq(api.product_destroy(product), 0);
}

int main(void)
{
    char file[64];

    snprintf(file, sizeof file, "libcublasLt.so.%d", CUBLAS_VER_MAJOR);
    opened = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (opened == NULL) {
        printf("skipped: %s\n", dlerror());
        return 77;
    }
    return suite_run("cublaslt", 60, NULL, NULL);
}
