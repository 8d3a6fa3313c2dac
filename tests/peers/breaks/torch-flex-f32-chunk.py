# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
# scripts/judge-peers wrote this. Exit status 0: the break shows; 1: it does not.
# torch-flex f32, chunk: op=attn batch=1 h=1 nq=1 d=1 dv=1 s0.nk=3 seed=8
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


seen = np.ones((1, 1, 1, 3), bool)
q = np.array([0xbfd5c740], "u4").view("f4").reshape(1, 1, 1, 1)
k = np.array([0x3f2e8b40, 0xbfc1a6e0, 0x3fcf4a60], "u4").view("f4").reshape(1, 1, 3, 1)
v = np.array([0xbf829940, 0x3f83eae0, 0x3d6df400], "u4").view("f4").reshape(1, 1, 3, 1)
pad = ((0, 0), (0, 0), (0, 16), (0, 0))
longer = np.pad(seen, pad[:2] + pad[3:] + pad[2:3])
one = attention(q, k, v, 1.0, mask=seen)
other = attention(q, np.pad(k, pad), np.pad(v, pad), 1.0, mask=longer)
print(one[one != other], other[one != other])
raise SystemExit(not (one != other).any())
