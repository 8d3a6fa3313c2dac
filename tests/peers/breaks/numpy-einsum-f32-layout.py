# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
# scripts/judge-peers wrote this. Exit status 0: the break shows; 1: it does not.
# numpy-einsum f32, layout: op=attn batch=1 nq=1 d=1 dv=1 s0.nk=4 seed=7
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


def transposed(x):
    return x.swapaxes(1, 2).copy().swapaxes(1, 2)


q = np.array([0xbe387200, 0x3f8acc40], "u4").view("f4").reshape(1, 2, 1, 1)
k = np.array([0x3f080200, 0xbf82d160, 0xbeffd780, 0xbede2a00, 0xbed05a80, 0x3fcc1e60, 0x3f11fac0,
    0x3ed5b880], "u4").view("f4").reshape(1, 2, 4, 1)
v = np.array([0xbff47b80, 0xbeaf4f00, 0x3fa11160, 0x3e99fd00, 0xbf9f5980, 0xbe91be80, 0xbfd5e640,
    0x3ff25d00], "u4").view("f4").reshape(1, 2, 4, 1)
one = attention(q, k, v, 1.0, product="einsum")
other = attention(transposed(q), transposed(k), transposed(v), 1.0, product="einsum")
print(one[one != other], other[one != other])
raise SystemExit(not (one != other).any())
