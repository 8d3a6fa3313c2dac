/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Arrays in files of NumPy's format, version 1.0: dense, the last axis fastest. NumPy has no
 * bfloat16: its elements are written as uint16.
 */
#ifndef HEED_TOOLS_CONFORM_WAYS_NPY_H
#define HEED_TOOLS_CONFORM_WAYS_NPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NPY_BOOL = -1 }; /* beside HEED_F32, ...: a byte, 0 or 1 */
enum { NPY_AXES = 6 };

struct npy {
    int dtype; /* HEED_F32, ... or NPY_BOOL */
    int ndim;
    int64_t shape[NPY_AXES];
    size_t bytes; /* of all elements */
    void *data;
};

const char *npy_dtype_name(int dtype); /* "f32" */
bool npy_write(const char *path, const struct npy *);
/* Reads elements of that type and shape into data. false: `why` begins with a verdict: missing,
 * shape, dtype or file. */
bool npy_read(const char *path, const struct npy *, char *why, size_t size);

#endif
