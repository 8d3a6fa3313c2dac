# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
# scripts/judge-peers wrote this. Exit status 0: the break shows; 1: it does not.
# torch-flex f16, bound: op=attn batch=1 h=1 nq=1 d=1 dv=1 q=f16 o=f16 s0.nk=3 s0.k=f16 s0.v=f16 seed=3
import numpy as np
import torch
from torch.nn.attention.flex_attention import create_block_mask, flex_attention


def attention(q, k, v, scale, mask=None, threads=1):
    torch.set_num_threads(threads)
    q, k, v = map(torch.from_numpy, (q, k, v))
    blocks = None
    if mask is not None:
        seen = torch.from_numpy(mask)
        blocks = create_block_mask(lambda b, h, i, j: seen[b, h, i, j], *seen.shape, device="cpu")
    return flex_attention(q, k, v, scale=scale, block_mask=blocks,
                          enable_gqa=q.shape[1] != k.shape[1]).numpy()


q = np.array([0x3ce0], "u2").view("f2").reshape(1, 1, 1, 1)
k = np.array([0x3808, 0xbbf8, 0xb780], "u2").view("f2").reshape(1, 1, 3, 1)
v = np.array([0xbd30, 0x3820, 0x3b78], "u2").view("f2").reshape(1, 1, 3, 1)
o = attention(q, k, v, 1.0)
s = k[0, 0].astype(float) @ q[0, 0, 0] * 1.0
p = np.exp(s - s.max())
error = abs(o[0, 0, 0, 0] - p @ v[0, 0, :, 0] / p.sum())
print(error, 0.0003123)
raise SystemExit(bool(error <= 0.0003123))
