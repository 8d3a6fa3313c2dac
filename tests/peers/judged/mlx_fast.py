# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""scaled_dot_product_attention of MLX (mlx.core.fast), on the processor."""

import mlx.core as mx
import numpy as np

mx.set_default_device(mx.cpu)


def attention(q, k, v, scale, mask=None):
    mask = None if mask is None else mx.array(mask)
    return np.array(mx.fast.scaled_dot_product_attention(
        mx.array(q), mx.array(k), mx.array(v), scale=scale, mask=mask))


PROJECT = "MLX"
PACKAGES = ("mlx",)
TAKES = ("mask", "grouped", "d_v")
DENSE = True
KERNELS = {"mlx-fast": {}}
TYPES = ("f32", "f16")
