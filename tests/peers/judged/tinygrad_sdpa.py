# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""scaled_dot_product_attention of tinygrad, on the processor."""

from tinygrad import Tensor
from tinygrad.helpers import DEV

DEV.value = "CPU"


def attention(q, k, v, scale, mask=None):
    q, k, v = map(Tensor, (q, k, v))
    mask = None if mask is None else Tensor(mask)
    grouped = q.shape[1] != k.shape[1]
    return q.scaled_dot_product_attention(k, v, attn_mask=mask, enable_gqa=grouped).numpy()


PROJECT = "tinygrad"
PACKAGES = ("tinygrad",)
TAKES = ("mask", "grouped", "d_v")
SCALE_IS_DEFAULT = True
DENSE = True
COMPILES = 4
KERNELS = {"tinygrad-sdpa": {}}
