# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
# scripts/judge-peers wrote this. Exit status 0: the break shows; 1: it does not.
# torch-sdpa-flash f16, bits: op=attn batch=1 h=1 nq=1 d=1 dv=1 q=f16 o=f16 s0.nk=4 s0.k=f16 s0.v=f16 seed=1
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


q = np.array([0x3b40], "u2").view("f2").reshape(1, 1, 1, 1)
k = np.array([0x3f60, 0x3d64, 0xbe9c, 0x3af0], "u2").view("f2").reshape(1, 1, 4, 1)
v = np.array([0x3fa4, 0xbd20, 0xb6a0, 0xbff0], "u2").view("f2").reshape(1, 1, 4, 1)
o = attention(q, k, v, 1.0, kernel="FLASH_ATTENTION")
got = o[0, 0, 0, 0].view("u2")
print(f"{got:#x}, the reference 0x2fd8")
raise SystemExit(bool(got == 0x2fd8))
