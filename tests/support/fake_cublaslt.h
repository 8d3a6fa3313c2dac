/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A cuBLASLt that is not there, beside the CUDA driver of fake_cuda.h, whose device memory is the
 * host's: it multiplies in plain C, with a rounding for each product and each addition, and looks
 * at what it is given as the vendor's library documents it.
 */
#ifndef HEED_TESTS_SUPPORT_FAKE_CUBLASLT_H
#define HEED_TESTS_SUPPORT_FAKE_CUBLASLT_H

#include "backends/cuda/gemm.h"
#include "fake.h"

struct fake_cublaslt {
    /* To be set. */
    size_t version;
    bool no_way;                    /* no choice is found */
    bool wrong;                     /* the first element of a product is */
    /* To be read. */
    long products;
};

/* There is one, for one thread. */
extern struct fake_cublaslt fake_cublaslt;
extern const struct heed_cublaslt_api fake_cublaslt_api;
void fake_cublaslt_reset(void);     /* after fake_cuda_reset; behind the backend */

#endif
