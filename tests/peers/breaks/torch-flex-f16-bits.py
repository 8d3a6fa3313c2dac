# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
# scripts/judge-peers wrote this. Exit status 0: the break shows; 1: it does not.
# torch-flex f16, bits: op=attn batch=1 h=1 nq=1 d=1 dv=1 q=f16 o=f16 s0.nk=2 s0.k=f16 s0.v=f16 seed=6
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


q = np.array([0xbd8c], "u2").view("f2").reshape(1, 1, 1, 1)
k = np.array([0xbb10, 0xbf50], "u2").view("f2").reshape(1, 1, 2, 1)
v = np.array([0xab80, 0x36b0], "u2").view("f2").reshape(1, 1, 2, 1)
o = attention(q, k, v, 1.0)
got = o[0, 0, 0, 0].view("u2")
print(f"{got:#x}, the reference 0x3512")
raise SystemExit(bool(got == 0x3512))
