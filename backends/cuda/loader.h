/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The vendor's libraries, opened when first asked for and kept for the life of the process.
 */
#ifndef HEED_BACKENDS_CUDA_LOADER_H
#define HEED_BACKENDS_CUDA_LOADER_H

#include "api.h"

/* The driver, or NULL with *reason static text. Any thread. */
const struct heed_cuda_driver *heed_cuda_driver_get(const char **reason);

/* NVRTC, or NULL with *reason static text. Any thread. */
const struct heed_cuda_nvrtc *heed_cuda_nvrtc_get(const char **reason);

/* For tests: from now on these tables; one that is NULL has not been found. heed_cuda_loader_reset:
 * the libraries again. While no other thread is in this backend. */
void heed_cuda_loader_fake(const struct heed_cuda_driver *, const struct heed_cuda_nvrtc *);
void heed_cuda_loader_reset(void);

#endif
