/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The CUDA backend's tables.
 */
#include "state.h"

extern const struct heed_backend heed_cuda_backend;

static const struct heed_vendor vendor = {
    .offload = {
        .size = sizeof(struct heed_backend_offload),
        .handles = 0,
        .open = heed_offload_open,
        .close = heed_offload_close,
        .wrap = heed_offload_wrap,
        .buf_create = heed_cuda_buf_create,
        .buf_destroy = heed_cuda_buf_destroy,
        .buf_write = heed_cuda_buf_write,
        .buf_read = heed_cuda_buf_read,
        .queue_create = heed_cuda_queue_create,
        .queue_wait = heed_cuda_queue_wait,
        .queue_captures = heed_cuda_queue_captures,
        .queue_destroy = heed_cuda_queue_destroy,
        .event_wait = heed_cuda_event_wait,
        .event_destroy = heed_cuda_event_destroy,
        .event_wrap = heed_cuda_event_wrap,
        .event_native = heed_cuda_event_native,
        .gemm = heed_offload_gemm,
    },
    .driver = {
        .size = sizeof(struct heed_driver),
        .handles = 0,
        .memory_create = heed_cuda_memory_create,
        .memory_destroy = heed_cuda_memory_destroy,
        .kernel = heed_offload_kernel,
        .run = heed_cuda_run,
        .has_unit = heed_offload_has_unit,
        .gemm = &heed_cublaslt,
        .gemm_test = heed_offload_gemm_test,
    },
    .name = "cuda",
    .state_size = sizeof(struct heed_cuda_state),
    .state_align = _Alignof(struct heed_cuda_state),
    .device_wrap = heed_cuda_device_wrap,
    .attach = heed_cuda_attach,
    .detach = heed_cuda_detach,
    .kernel_create = heed_cuda_kernel_create,
    .kernel_destroy = heed_cuda_kernel_destroy,
};

const struct heed_backend heed_cuda_backend = {
    .size = sizeof(struct heed_backend),
    .kind = HEED_DEVICE_CUDA,
    .host = 0,
    .count = heed_cuda_device_count,
    .describe = heed_cuda_device_describe,
    .impls = heed_device_impls,
    .offload = &vendor.offload,
    .none = heed_cuda_device_none,
    .prefix = "cuda",
};
