/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The one list of what devices that run kernels implement.
 */
#include "impls.h"

#include "gemm.h"

const struct heed_impl *const heed_device_impls[] = {
    &heed_attend_impl,
    &heed_gemm_impl, /* before the kernels of the same operation */
#define HK_OPERATION(OP, name) &heed_operation_impls[HEED_OPERATION_##OP],
#define HK_LAUNCH(OP, lanes, workgroup)
#include "../kernels/operations.def"
#undef HK_OPERATION
#undef HK_LAUNCH
    NULL,
};
