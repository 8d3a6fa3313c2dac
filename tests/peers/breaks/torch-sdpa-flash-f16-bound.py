# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
# scripts/judge-peers wrote this. Exit status 0: the break shows; 1: it does not.
# torch-sdpa-flash f16, bound: op=attn batch=1 nq=1 d=1 dv=1 q=f16 o=f16 s0.nk=3 s0.k=f16 s0.v=f16 seed=2
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


q = np.array([0x3c3c, 0xbc48], "u2").view("f2").reshape(1, 2, 1, 1)
k = np.array([0x3450, 0x3da0, 0xbc70, 0xbeb4, 0x3be8, 0xb9b0
    ], "u2").view("f2").reshape(1, 2, 3, 1)
v = np.array([0x3e08, 0xbbe0, 0xb878, 0xb060, 0xad80, 0xbee8
    ], "u2").view("f2").reshape(1, 2, 3, 1)
o = attention(q, k, v, 1.0, kernel="FLASH_ATTENTION")
s = k[0, 1].astype(float) @ q[0, 1, 0] * 1.0
p = np.exp(s - s.max())
error = abs(o[0, 1, 0, 0] - p @ v[0, 1, :, 0] / p.sum())
print(error, 0.0002621)
raise SystemExit(bool(error <= 0.0002621))
