# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
# scripts/judge-peers wrote this. Exit status 0: the break shows; 1: it does not.
# torch-sdpa-flash f16, unseen: op=attn batch=1 h=1 nq=1 d=5 dv=5 q=f16 o=f16 fill=special s0.nk=8 s0.k=f16 s0.v=f16 s0.causal=yes seed=916891680152
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


seen = np.array([x == "1" for x in "10000000"]).reshape(1, 1, 1, 8)
q = np.array([0xb7d0, 0x3930, 0x3c44, 0x3e5c, 0xbed4], "u2").view("f2").reshape(1, 1, 1, 5)
k = np.array([0x3ddc, 0x3cf4, 0x3d1c, 0x3750, 0x3f54, 0x3f60, 0x3858, 0x2b00, 0xb450, 0xad80,
    0x3f58, 0xb910, 0x3f18, 0x3fcc, 0x3b50, 0x3c8c, 0x3808, 0x3d34, 0x30a0, 0x3f9c, 0xb720,
    0x3ccc, 0xbf64, 0x3d28, 0xbde4, 0x3d30, 0x3d4c, 0x2f00, 0xbd50, 0xbba8, 0x3920, 0x3610,
    0xbc6c, 0xb320, 0x3d44, 0xb8e0, 0xba40, 0x3c7c, 0xbf68, 0xbbc0
    ], "u2").view("f2").reshape(1, 1, 8, 5)
v = np.array([0xbd5c, 0xb818, 0xbc10, 0xbd50, 0x3928, 0xbd38, 0x3000, 0xb620, 0xb980, 0xbc20,
    0xbc74, 0xb820, 0x3e24, 0x34e0, 0xbe84, 0xbdf8, 0x3fa0, 0x3d08, 0xbf78, 0xb080, 0xbf64,
    0x3ba8, 0xbd14, 0xb380, 0xb8f0, 0xaec0, 0x3a28, 0x3fbc, 0xba68, 0x3e68, 0x3948, 0xba58,
    0x3380, 0xbfd4, 0x2200, 0xbc38, 0x3c64, 0x3550, 0xb3a0, 0xfc00
    ], "u2").view("f2").reshape(1, 1, 8, 5)
o = attention(q, k, v, 0.4472135954999579, mask=seen, kernel="FLASH_ATTENTION")
k[0, 0, ~seen[0, 0, 0]] = v[0, 0, ~seen[0, 0, 0]] = 0
other = attention(q, k, v, 0.4472135954999579, mask=seen, kernel="FLASH_ATTENTION")
print(o[0, 0, 0, 4], other[0, 0, 0, 4])
raise SystemExit(bool(np.isfinite(o[0, 0, 0, 4]) or np.isnan(other[0, 0, 0, 4])))
