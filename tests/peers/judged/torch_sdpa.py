# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""scaled_dot_product_attention of PyTorch, by one of its kernels for the processor."""

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel


def attention(q, k, v, scale, mask=None, threads=1, kernel="MATH"):
    torch.set_num_threads(threads)
    q, k, v = map(torch.from_numpy, (q, k, v))
    with sdpa_kernel(getattr(SDPBackend, kernel)):
        return torch.nn.functional.scaled_dot_product_attention(
            q, k, v, None if mask is None else torch.from_numpy(mask), scale=scale,
            enable_gqa=q.shape[1] != k.shape[1]).numpy()


PROJECT = "PyTorch"
PACKAGES = ("torch",)
TAKES = ("mask", "grouped", "d_v")
KERNELS = {
    "torch-sdpa-math": {"kernel": "MATH"},
    "torch-sdpa-flash": {"kernel": "FLASH_ATTENTION"},
}
LACKING = "No available kernel"
TYPES = ("f32", "f16")
