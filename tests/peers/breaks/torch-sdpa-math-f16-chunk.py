# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
# scripts/judge-peers wrote this. Exit status 0: the break shows; 1: it does not.
# torch-sdpa-math f16, chunk: op=attn batch=1 h=1 nq=6 d=1 dv=9 q=f16 o=f16 s0.nk=9 s0.k=f16 s0.v=f16 seed=2
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


seen = np.ones((1, 4, 6, 9), bool)
draw = np.random.default_rng(1).standard_normal
q, k, v = (draw(shape).astype("f2") for shape in ((1, 4, 6, 1), (1, 4, 9, 1), (1, 4, 9, 16)))
pad = ((0, 0), (0, 0), (0, 7), (0, 0))
longer = np.pad(seen, pad[:2] + pad[3:] + pad[2:3])
one = attention(q, k, v, 1.0, mask=seen, kernel="MATH")
other = attention(q, np.pad(k, pad), np.pad(v, pad), 1.0, mask=longer, kernel="MATH")
print(one[one != other], other[one != other])
raise SystemExit(not (one != other).any())
