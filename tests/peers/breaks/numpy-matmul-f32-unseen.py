# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
# scripts/judge-peers wrote this. Exit status 0: the break shows; 1: it does not.
# numpy-matmul f32, unseen: op=attn batch=1 h=1 nq=1 d=1 dv=1 fill=special s0.nk=9 s0.rmask=bytes1 seed=8
import numpy as np


def attention(q, k, v, scale, mask=None, product="matmul"):
    if product == "matmul":
        s = q @ k.swapaxes(2, 3)
    else:
        s = np.einsum("bhid,bhjd->bhij", q, k)
    s = s * np.float32(scale)
    s = s if mask is None else np.where(mask, s, np.float32(-np.inf))
    p = np.exp(s - s.max(3, keepdims=True))
    o = p @ v if product == "matmul" else np.einsum("bhij,bhjc->bhic", p, v)
    return o / p.sum(3, keepdims=True)


seen = np.array([x == "1" for x in "001101110"]).reshape(1, 1, 1, 9)
q = np.array([0xbfd5c740], "u4").view("f4").reshape(1, 1, 1, 1)
k = np.array([0x3f2e8b40, 0xbfc1a6e0, 0x3fcf4a60, 0xbebf4780, 0x3f624640, 0xbf8ecea0, 0x3f6f14c0,
    0x3f6ad8c0, 0xbf8b5de0], "u4").view("f4").reshape(1, 1, 9, 1)
v = np.array([0xbf829940, 0x3f83eae0, 0x3d6df400, 0xbf3f4240, 0x3f5f6b40, 0x3f4797c0, 0xbf8a21a0,
    0xbf34be80, 0xff800000], "u4").view("f4").reshape(1, 1, 9, 1)
o = attention(q, k, v, 1.0, mask=seen, product="matmul")
k[0, 0, ~seen[0, 0, 0]] = v[0, 0, ~seen[0, 0, 0]] = 0
other = attention(q, k, v, 1.0, mask=seen, product="matmul")
print(o[0, 0, 0, 0], other[0, 0, 0, 0])
raise SystemExit(bool(np.isfinite(o[0, 0, 0, 0]) or np.isnan(other[0, 0, 0, 0])))
