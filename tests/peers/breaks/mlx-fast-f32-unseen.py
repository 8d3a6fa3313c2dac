# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
# scripts/judge-peers wrote this. Exit status 0: the break shows; 1: it does not.
# mlx-fast f32, unseen: op=attn batch=1 nq=1 d=1 dv=6 fill=special s0.nk=2 s0.causal=yes seed=2
import mlx.core as mx
import numpy as np

mx.set_default_device(mx.cpu)


def attention(q, k, v, scale, mask=None):
    mask = None if mask is None else mx.array(mask)
    return np.array(mx.fast.scaled_dot_product_attention(
        mx.array(q), mx.array(k), mx.array(v), scale=scale, mask=mask))


seen = np.array([x == "1" for x in "1010"]).reshape(1, 2, 1, 2)
q = np.array([0x3f43c3c0, 0x3f7d3b80], "u4").view("f4").reshape(1, 2, 1, 1)
k = np.array([0x3eef2280, 0xbf192600, 0x3e8a2980, 0xbf7240c0
    ], "u4").view("f4").reshape(1, 2, 2, 1)
v = np.array([0x3fd8f040, 0xbfc08960, 0xbf826540, 0x3debee00, 0x3fabe240, 0xbfde4aa0, 0xbf67bf00,
    0x3e624200, 0x3fb48620, 0x3ff069a0, 0xbc276000, 0xbf9d3460, 0xbfc0c460, 0x3fa4f300,
    0x3f66a480, 0xbf14dd80, 0xbe3b6900, 0x3ff18b00, 0x3ed6f500, 0xbfb7b120, 0xbf0b7c80,
    0xbdd11a00, 0x3f23c400, 0x7f800000], "u4").view("f4").reshape(1, 2, 2, 6)
o = attention(q, k, v, 1.0, mask=seen)
k[0, 1, ~seen[0, 1, 0]] = v[0, 1, ~seen[0, 1, 0]] = 0
other = attention(q, k, v, 1.0, mask=seen)
print(o[0, 1, 0, 5], other[0, 1, 0, 5])
raise SystemExit(bool(np.isfinite(o[0, 1, 0, 5]) or np.isnan(other[0, 1, 0, 5])))
