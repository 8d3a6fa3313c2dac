# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
# scripts/judge-peers wrote this. Exit status 0: the break shows; 1: it does not.
# mlx-fast f32, unseen: op=attn batch=1 h=1 nq=1 d=1 dv=1 fill=special s0.nk=22 s0.rmask=bytes1 seed=6
import mlx.core as mx
import numpy as np

mx.set_default_device(mx.cpu)


def attention(q, k, v, scale, mask=None):
    mask = None if mask is None else mx.array(mask)
    return np.array(mx.fast.scaled_dot_product_attention(
        mx.array(q), mx.array(k), mx.array(v), scale=scale, mask=mask))


seen = np.array([x == "1" for x in "1100001100101000101000"]).reshape(1, 1, 1, 22)
q = np.array([0x3e209d00], "u4").view("f4").reshape(1, 1, 1, 1)
k = np.array([0xbf8f5c40, 0x3f938580, 0x3fadcfc0, 0xbf9d1fa0, 0x3f75b040, 0x3f116240, 0x3fa65760,
    0x3f1e32c0, 0xbf8c43c0, 0x3ff779c0, 0xbfa46420, 0xbd1e5c00, 0x3f9ef140, 0xbce6d000,
    0x3edfa480, 0x3f43f440, 0xbfc323a0, 0xbdffc200, 0xbf4fe300, 0x3fdc7820, 0xbfe3ddc0, 0x3ffd9600
    ], "u4").view("f4").reshape(1, 1, 22, 1)
v = np.array([0xbf3a83c0, 0x3f339ac0, 0xbdc96800, 0xbfa23960, 0xbf1565c0, 0x3f294100, 0xbd384000,
    0x3fcaedc0, 0x3ec7d900, 0xbd926c00, 0x3fc373a0, 0x3dfca800, 0xbc6bf000, 0x3fe51160,
    0x3f1e4980, 0x3f14fa00, 0xbf97fa60, 0xbfde77e0, 0x3f066540, 0x3f8d7aa0, 0x3f2e8580, 0x7f800000
    ], "u4").view("f4").reshape(1, 1, 22, 1)
o = attention(q, k, v, 1.0, mask=seen)
k[0, 0, ~seen[0, 0, 0]] = v[0, 0, ~seen[0, 0, 0]] = 0
other = attention(q, k, v, 1.0, mask=seen)
print(o[0, 0, 0, 0], other[0, 0, 0, 0])
raise SystemExit(bool(np.isfinite(o[0, 0, 0, 0]) or np.isnan(other[0, 0, 0, 0])))
