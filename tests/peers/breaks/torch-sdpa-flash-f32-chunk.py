# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
# scripts/judge-peers wrote this. Exit status 0: the break shows; 1: it does not.
# torch-sdpa-flash f32, chunk: op=attn batch=1 h=1 nq=2 d=1 dv=1 s0.nk=2 seed=6
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


seen = np.ones((1, 1, 2, 2), bool)
q = np.array([0x3e209d00, 0xbf67c5c0], "u4").view("f4").reshape(1, 1, 2, 1)
k = np.array([0xbf8f5c40, 0x3f938580], "u4").view("f4").reshape(1, 1, 2, 1)
v = np.array([0xbf3a83c0, 0x3f339ac0], "u4").view("f4").reshape(1, 1, 2, 1)
pad = ((0, 0), (0, 0), (0, 16), (0, 0))
longer = np.pad(seen, pad[:2] + pad[3:] + pad[2:3])
one = attention(q, k, v, 1.0, mask=seen, kernel="FLASH_ATTENTION")
other = attention(q, np.pad(k, pad), np.pad(v, pad), 1.0, mask=longer, kernel="FLASH_ATTENTION")
print(one[one != other], other[one != other])
raise SystemExit(not (one != other).any())
