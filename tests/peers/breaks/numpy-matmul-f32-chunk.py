# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
# scripts/judge-peers wrote this. Exit status 0: the break shows; 1: it does not.
# numpy-matmul f32, chunk: op=attn batch=1 h=1 nq=1 d=1 dv=1 s0.nk=3 seed=1
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


seen = np.ones((1, 1, 1, 3), bool)
q = np.array([0xbfe6a300], "u4").view("f4").reshape(1, 1, 1, 1)
k = np.array([0xbfec8500, 0xbf9294e0, 0x3fa28b20], "u4").view("f4").reshape(1, 1, 3, 1)
v = np.array([0x3ec3f480, 0x3f572e00, 0xbfc34d40], "u4").view("f4").reshape(1, 1, 3, 1)
pad = ((0, 0), (0, 0), (0, 32), (0, 0))
longer = np.pad(seen, pad[:2] + pad[3:] + pad[2:3])
one = attention(q, k, v, 1.0, mask=seen, product="matmul")
other = attention(q, np.pad(k, pad), np.pad(v, pad), 1.0, mask=longer, product="matmul")
print(one[one != other], other[one != other])
raise SystemExit(not (one != other).any())
