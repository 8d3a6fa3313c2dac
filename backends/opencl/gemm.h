/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What heed calls of CLBlast 1.5 (its C interface), declared here because nothing of it is needed
 * to build heed. Enums are ints, handles void *, results statuses: 0 and the codes of OpenCL among
 * them. Offsets and lines count elements; the size of the temporary buffer is in bytes.
 */
#ifndef HEED_BACKENDS_OPENCL_GEMM_H
#define HEED_BACKENDS_OPENCL_GEMM_H

#include <stddef.h>

#define HEED_CLBLAST_FUNCTIONS(X)                                                                  \
    X(SgemmWithTempBuffer,                                                                         \
      (int layout, int a_transposed, int b_transposed, size_t m, size_t n, size_t k, float alpha,  \
       void *a, size_t a_offset, size_t a_line, void *b, size_t b_offset, size_t b_line,           \
       float beta, void *c, size_t c_offset, size_t c_line, void **queue, void **event,            \
       void *workspace))                                                                           \
    X(SGemmTempBufferSize,                                                                         \
      (int layout, int a_transposed, int b_transposed, size_t m, size_t n, size_t k,               \
       size_t a_offset, size_t a_line, size_t b_offset, size_t b_line, size_t c_offset,            \
       size_t c_line, void **queue, size_t *bytes))

struct heed_clblast_api {
#define HEED_CLBLAST_MEMBER(name, parameters) int(*name) parameters;
    HEED_CLBLAST_FUNCTIONS(HEED_CLBLAST_MEMBER)
#undef HEED_CLBLAST_MEMBER
};

/* For tests: heed_library_set. */
void heed_clblast_set(const struct heed_clblast_api *, const char *reason);

#endif
