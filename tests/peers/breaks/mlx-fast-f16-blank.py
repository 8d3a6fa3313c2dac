# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
# scripts/judge-peers wrote this. Exit status 0: the break shows; 1: it does not.
# mlx-fast f16, blank: op=attn batch=1 nq=1 d=1 dv=1 q=f16 o=f16 s0.nk=1 s0.k=f16 s0.v=f16 s0.mask=hk seed=1
import mlx.core as mx
import numpy as np

mx.set_default_device(mx.cpu)


def attention(q, k, v, scale, mask=None):
    mask = None if mask is None else mx.array(mask)
    return np.array(mx.fast.scaled_dot_product_attention(
        mx.array(q), mx.array(k), mx.array(v), scale=scale, mask=mask))


seen = np.array([x == "1" for x in "10"]).reshape(1, 2, 1, 1)
q = np.array([0x3b40, 0x3b70], "u2").view("f2").reshape(1, 2, 1, 1)
k = np.array([0x3f60, 0x3fa8], "u2").view("f2").reshape(1, 2, 1, 1)
v = np.array([0x3fa4, 0x32a0], "u2").view("f2").reshape(1, 2, 1, 1)
o = attention(q, k, v, 1.0, mask=seen)
print(o[0, 1, 0, 0])
raise SystemExit(bool(o[0, 1, 0, 0] == 0))
