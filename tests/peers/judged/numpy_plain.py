# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""softmax(q k^T) v in NumPy, by its matrix product or by einsum."""

import numpy as np


def attention(q, k, v, scale, mask=None, product="matmul"):
    if product == "matmul":
        s = q @ k.swapaxes(2, 3)
    else:
        s = np.einsum("bhid,bhjd->bhij", q, k)
    s = s * np.float32(scale)
    s = s if mask is None else np.where(mask, s, np.float32(-np.inf))
    p = np.exp(s - s.max(3, keepdims=True))
    o = p @ v if product == "matmul" else np.einsum("bhij,bhjc->bhic", p, v)
    return o / p.sum(3, keepdims=True)


PROJECT = "NumPy"
PACKAGES = ("numpy",)
TAKES = ("mask", "d_v")
KERNELS = {"numpy-matmul": {"product": "matmul"}, "numpy-einsum": {"product": "einsum"}}
