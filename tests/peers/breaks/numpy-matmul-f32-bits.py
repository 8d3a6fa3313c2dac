# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
# scripts/judge-peers wrote this. Exit status 0: the break shows; 1: it does not.
# numpy-matmul f32, bits: op=attn batch=1 h=1 nq=1 d=3 dv=2 s0.nk=1 seed=1
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


q = np.array([0xbfe6a300, 0x3fb044a0, 0xbfe4b820], "u4").view("f4").reshape(1, 1, 1, 3)
k = np.array([0xbfec8500, 0xbee94480, 0xbe761900], "u4").view("f4").reshape(1, 1, 1, 3)
v = np.array([0x3ec3f480, 0xbfdfcca0], "u4").view("f4").reshape(1, 1, 1, 2)
o = attention(q, k, v, 0.5773502691896258, product="matmul")
got = o[0, 0, 0, 1].view("u4")
print(f"{got:#x}, the reference 0xbfdfcc9f")
raise SystemExit(bool(got == 0xbfdfcc9f))
