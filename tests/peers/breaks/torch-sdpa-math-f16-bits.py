# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
# scripts/judge-peers wrote this. Exit status 0: the break shows; 1: it does not.
# torch-sdpa-math f16, bits: op=attn batch=1 h=1 nq=4 dv=28 q=f16 o=f16 fill=ties s0.k=f16 s0.v=f16 seed=5
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


draw = np.random.default_rng(14).standard_normal
q, k, v = (draw(shape).astype("f2") for shape in ((1, 1, 4, 16), (1, 1, 33, 16), (1, 1, 33, 28)))
o = attention(q, k, v, 0.25, kernel="MATH")
got = o[0, 0, 0, 15].view("u2")
print(f"{got:#x}, the reference 0x9e0a")
raise SystemExit(bool(got == 0x9e0a))
