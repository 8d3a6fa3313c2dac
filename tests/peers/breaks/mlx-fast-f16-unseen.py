# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
# scripts/judge-peers wrote this. Exit status 0: the break shows; 1: it does not.
# mlx-fast f16, unseen: op=attn batch=1 h=1 nq=1 d=1 dv=5 q=f16 o=f16 fill=special s0.nk=8 s0.k=f16 s0.v=f16 s0.causal=yes seed=916891680152
import mlx.core as mx
import numpy as np

mx.set_default_device(mx.cpu)


def attention(q, k, v, scale, mask=None):
    mask = None if mask is None else mx.array(mask)
    return np.array(mx.fast.scaled_dot_product_attention(
        mx.array(q), mx.array(k), mx.array(v), scale=scale, mask=mask))


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
