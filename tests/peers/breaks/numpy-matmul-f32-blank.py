# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
# scripts/judge-peers wrote this. Exit status 0: the break shows; 1: it does not.
# numpy-matmul f32, blank: op=attn batch=1 nq=1 d=1 dv=1 s0.nk=1 s0.mask=hk seed=1
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


seen = np.array([x == "1" for x in "10"]).reshape(1, 2, 1, 1)
q = np.array([0xbfe6a300, 0xbfa42240], "u4").view("f4").reshape(1, 2, 1, 1)
k = np.array([0xbfec8500, 0x3f03fa80], "u4").view("f4").reshape(1, 2, 1, 1)
v = np.array([0x3ec3f480, 0xbe4dcb00], "u4").view("f4").reshape(1, 2, 1, 1)
o = attention(q, k, v, 1.0, mask=seen, product="matmul")
print(o[0, 1, 0, 0])
raise SystemExit(bool(o[0, 1, 0, 0] == 0))
