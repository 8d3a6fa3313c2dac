# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
# scripts/judge-peers wrote this. Exit status 0: the break shows; 1: it does not.
# torch-sdpa-flash f32, layout: op=attn batch=1 nq=2 d=1 dv=1 seed=1
import numpy as np
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel


def attention(q, k, v, scale, mask=None, threads=1, kernel="MATH"):
    torch.set_num_threads(threads)
    q, k, v = map(torch.from_numpy, (q, k, v))
    with sdpa_kernel(getattr(SDPBackend, kernel)):
        return torch.nn.functional.scaled_dot_product_attention(
            q, k, v, None if mask is None else torch.from_numpy(mask), scale=scale,
            enable_gqa=q.shape[1] != k.shape[1]).numpy()


def transposed(x):
    return x.swapaxes(1, 2).copy().swapaxes(1, 2)


draw = np.random.default_rng(0).standard_normal
q, k, v = (draw(shape).astype("f4") for shape in ((1, 2, 2, 1), (1, 2, 33, 1), (1, 2, 33, 1)))
one = attention(q, k, v, 1.0, kernel="FLASH_ATTENTION")
other = attention(transposed(q), transposed(k), transposed(v), 1.0, kernel="FLASH_ATTENTION")
print(one[one != other], other[one != other])
raise SystemExit(not (one != other).any())
