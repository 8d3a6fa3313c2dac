# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
# scripts/judge-peers wrote this. Exit status 0: the break shows; 1: it does not.
# torch-flex f16, unseen: op=attn batch=1 h=1 nq=1 d=1 dv=5 q=f16 o=f16 fill=special s0.nk=8 s0.k=f16 s0.v=f16 s0.causal=yes seed=916891680152
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


seen = np.array([x == "1" for x in "10000000"]).reshape(1, 1, 1, 8)
q = np.array([0xb7d0], "u2").view("f2").reshape(1, 1, 1, 1)
k = np.array([0x3ddc, 0x3f60, 0x3f58, 0x3c8c, 0xb720, 0x3d30, 0x3920, 0xb8e0
    ], "u2").view("f2").reshape(1, 1, 8, 1)
v = np.array([0xbd5c, 0xb818, 0xbc10, 0xbd50, 0x3928, 0xbd38, 0x3000, 0xb620, 0xb980, 0xbc20,
    0xbc74, 0xb820, 0x3e24, 0x34e0, 0xbe84, 0xbdf8, 0x3fa0, 0x3d08, 0xbf78, 0xb080, 0xbf64,
    0x3ba8, 0xbd14, 0xb380, 0xb8f0, 0xaec0, 0x3a28, 0x3fbc, 0xba68, 0x3e68, 0x3948, 0xba58,
    0x3380, 0xbfd4, 0x2200, 0xbc38, 0x3c64, 0x3550, 0xb3a0, 0xfc00
    ], "u2").view("f2").reshape(1, 1, 8, 5)
o = attention(q, k, v, 1.0, mask=seen)
k[0, 0, ~seen[0, 0, 0]] = v[0, 0, ~seen[0, 0, 0]] = 0
other = attention(q, k, v, 1.0, mask=seen)
print(o[0, 0, 0, 4], other[0, 0, 0, 4])
raise SystemExit(bool(np.isfinite(o[0, 0, 0, 4]) or np.isnan(other[0, 0, 0, 4])))
