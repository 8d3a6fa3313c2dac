/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What heed calls of cuBLASLt, of CUDA 11.4 to 13, declared here because nothing of it is needed to
 * build heed. Enums are ints, handles (cublasLtHandle_t, cublasLtMatmulDesc_t,
 * cublasLtMatrixLayout_t, cublasLtMatmulPreference_t) void *, results ints with 0 for success.
 */
#ifndef HEED_BACKENDS_CUDA_GEMM_H
#define HEED_BACKENDS_CUDA_GEMM_H

#include <stddef.h>
#include <stdint.h>

/* cublasLtMatmulAlgo_t and cublasLtMatmulHeuristicResult_t. */
struct heed_cublaslt_algorithm {
    uint64_t words[8];
};

struct heed_cublaslt_choice {
    struct heed_cublaslt_algorithm algorithm;
    size_t workspace;               /* bytes */
    int state;                      /* 0: the choice is good */
    float waves;
    int reserved[4];
};

#define HEED_CUBLASLT_FUNCTIONS(F)                                                                 \
    F(size_t, version, "cublasLtGetVersion", (void))                                               \
    F(int, create, "cublasLtCreate", (void **handle))                                              \
    F(int, destroy, "cublasLtDestroy", (void *handle))                                             \
    F(int, product_create, "cublasLtMatmulDescCreate",                                             \
      (void **product, int compute_type, int scale_type))                                          \
    F(int, product_destroy, "cublasLtMatmulDescDestroy", (void *product))                          \
    F(int, product_set, "cublasLtMatmulDescSetAttribute",                                          \
      (void *product, int attribute, const void *from, size_t bytes))                              \
    F(int, layout_create, "cublasLtMatrixLayoutCreate",                                            \
      (void **layout, int type, uint64_t rows, uint64_t columns, int64_t line))                    \
    F(int, layout_destroy, "cublasLtMatrixLayoutDestroy", (void *layout))                          \
    F(int, layout_set, "cublasLtMatrixLayoutSetAttribute",                                         \
      (void *layout, int attribute, const void *from, size_t bytes))                               \
    F(int, preference_create, "cublasLtMatmulPreferenceCreate", (void **preference))               \
    F(int, preference_destroy, "cublasLtMatmulPreferenceDestroy", (void *preference))              \
    F(int, preference_set, "cublasLtMatmulPreferenceSetAttribute",                                 \
      (void *preference, int attribute, const void *from, size_t bytes))                           \
    F(int, choose, "cublasLtMatmulAlgoGetHeuristic",                                               \
      (void *handle, void *product, void *a, void *b, void *c, void *d, void *preference,          \
       int wanted, struct heed_cublaslt_choice *choices, int *found))                              \
    F(int, multiply, "cublasLtMatmul",                                                             \
      (void *handle, void *product, const void *alpha, const void *a, void *a_layout,              \
       const void *b, void *b_layout, const void *beta, const void *c, void *c_layout, void *d,    \
       void *d_layout, const struct heed_cublaslt_algorithm *algorithm, void *workspace,           \
       size_t bytes, void *stream))

struct heed_cublaslt_api {
#define HEED_CUBLASLT_MEMBER(result, member, symbol, arguments) result(*member) arguments;
    HEED_CUBLASLT_FUNCTIONS(HEED_CUBLASLT_MEMBER)
#undef HEED_CUBLASLT_MEMBER
};

/* Values of the vendor's enums. */
enum {
    HEED_CUBLASLT_F32 = 0,          /* cudaDataType */
    HEED_CUBLASLT_F16 = 2,
    HEED_CUBLASLT_BF16 = 14,
    HEED_CUBLASLT_COMPUTE_F32 = 68,
    HEED_CUBLASLT_COMPUTE_F32_PEDANTIC = 69,
    HEED_CUBLASLT_TRANSPOSED = 1,   /* cublasOperation_t */
    HEED_CUBLASLT_PRODUCT_TRANSPOSES_A = 3,     /* attributes */
    HEED_CUBLASLT_PRODUCT_TRANSPOSES_B = 4,
    HEED_CUBLASLT_LAYOUT_ITEMS = 5,
    HEED_CUBLASLT_LAYOUT_STEP = 6,
    HEED_CUBLASLT_PREFERENCE_WORKSPACE = 1,
    HEED_CUBLASLT_PREFERENCE_REDUCTION = 3,
    HEED_CUBLASLT_PREFERENCE_ALIGN_A = 5,       /* then those of b, c and d */
    HEED_CUBLASLT_REDUCTION_COMPUTE_TYPE = 2
};

/* For tests: heed_library_set. */
void heed_cublaslt_set(const struct heed_cublaslt_api *, const char *reason);

#endif
