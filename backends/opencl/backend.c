/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The OpenCL backend's tables.
 */
#include "state.h"

extern const struct heed_backend heed_opencl_backend;

static const struct heed_vendor vendor = {
    .offload = {
        .size = sizeof(struct heed_backend_offload),
        .handles = 1,
        .open = heed_offload_open,
        .recall = heed_opencl_recall,
        .close = heed_offload_close,
        .wrap = heed_offload_wrap,
        .buf_create = heed_opencl_buf_create,
        .buf_destroy = heed_opencl_buf_destroy,
        .buf_write = heed_opencl_buf_write,
        .buf_read = heed_opencl_buf_read,
        .queue_create = heed_opencl_queue_create,
        .queue_wait = heed_opencl_queue_wait,
        .queue_destroy = heed_opencl_queue_destroy,
        .event_wait = heed_opencl_event_wait,
        .event_destroy = heed_opencl_event_destroy,
        .event_wrap = heed_opencl_event_wrap,
        .event_native = heed_opencl_event_native,
        .event_over = heed_opencl_event_over,
        .gemm = heed_offload_gemm,
    },
    .driver = {
        .size = sizeof(struct heed_driver),
        .handles = 1,
        .memory_create = heed_opencl_memory_create,
        .memory_destroy = heed_opencl_memory_destroy,
        .kernel = heed_offload_kernel,
        .run = heed_opencl_run,
        .has_unit = heed_offload_has_unit,
        .gemm = &heed_clblast,
        .gemm_test = heed_offload_gemm_test,
    },
    .name = "opencl",
    .state_size = sizeof(struct heed_opencl_state),
    .state_align = _Alignof(struct heed_opencl_state),
    .device_wrap = heed_opencl_device_wrap,
    .attach = heed_opencl_attach,
    .detach = heed_opencl_detach,
    .kernel_create = heed_opencl_kernel_create,
    .kernel_destroy = heed_opencl_kernel_destroy,
    .identify = heed_opencl_identify,
    .shape = heed_opencl_shape,
};

void heed_opencl_recall(uint32_t index, const struct heed_services *services,
                        heed_device_props *props)
{
    heed_offload_recall(&vendor, index, services, props);
}

const struct heed_backend heed_opencl_backend = {
    .size = sizeof(struct heed_backend),
    .kind = HEED_DEVICE_OPENCL,
    .host = 0,
    .count = heed_opencl_device_count,
    .describe = heed_opencl_device_describe,
    .impls = heed_device_impls,
    .offload = &vendor.offload,
    .none = heed_opencl_device_none,
    .prefix = "opencl",
};
