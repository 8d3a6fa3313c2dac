# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
# scripts/judge-peers wrote this. Exit status 0: the break shows; 1: it does not.
# torch-sdpa-flash f16, chunk: op=attn batch=1 h=1 nq=1 d=2 dv=2 q=f16 o=f16 s0.nk=2 s0.k=f16 s0.v=f16 seed=4
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


seen = np.ones((1, 1, 1, 2), bool)
q = np.array([0x3d58, 0x3cac], "u2").view("f2").reshape(1, 1, 1, 2)
k = np.array([0xbaf0, 0xb650, 0xb520, 0x3bc8], "u2").view("f2").reshape(1, 1, 2, 2)
v = np.array([0x3a50, 0xbf0c, 0x3858, 0xbe58], "u2").view("f2").reshape(1, 1, 2, 2)
pad = ((0, 0), (0, 0), (0, 16), (0, 0))
longer = np.pad(seen, pad[:2] + pad[3:] + pad[2:3])
one = attention(q, k, v, 0.7071067811865475, mask=seen, kernel="FLASH_ATTENTION")
other = attention(q, np.pad(k, pad), np.pad(v, pad), 0.7071067811865475, mask=longer, kernel="FLASH_ATTENTION")
print(one[one != other], other[one != other])
raise SystemExit(not (one != other).any())
