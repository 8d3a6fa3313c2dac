# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
# scripts/judge-peers wrote this. Exit status 0: the break shows; 1: it does not.
# jax-xla f32, unseen: op=attn batch=1 h=1 nq=1 d=5 dv=5 fill=special s0.nk=8 s0.causal=yes seed=916891680152
import jax
import numpy as np


dot_product_attention = jax.jit(jax.nn.dot_product_attention, static_argnames="implementation")


def attention(q, k, v, scale, mask=None):
    q, k, v = (jax.numpy.asarray(x.swapaxes(1, 2)) for x in (q, k, v))
    o = dot_product_attention(q, k, v, mask=mask, scale=scale, implementation="xla")
    return np.asarray(o).swapaxes(1, 2)


seen = np.array([x == "1" for x in "10000000"]).reshape(1, 1, 1, 8)
q = np.array([0xbdd4fa00, 0x3fb3d4c0, 0xbfa49de0, 0x3ffcf2e0, 0x3fbb8960
    ], "u4").view("f4").reshape(1, 1, 1, 5)
k = np.array([0xbfa01120, 0x3f94e7a0, 0x3f74d1c0, 0xbf8e3160, 0x3f6bf540, 0x3f47f600, 0x3fce5160,
    0xbf307c80, 0x3fc3b760, 0x3e79ea00, 0xbfc38540, 0xbe8b5100, 0x3f32f180, 0x3f7afcc0,
    0xbf054580, 0xbfda9ba0, 0x3fbc5020, 0xbff91660, 0xbf7176c0, 0xbff40320, 0x3e358e00,
    0xbf9199a0, 0x3e4c2700, 0x3d2d2800, 0x3fb110e0, 0xbf622d00, 0x3fe9ea60, 0xbf923c80,
    0xbf5cd500, 0xbfa7dea0, 0x3e975200, 0xbfecb3e0, 0x3f8e9ca0, 0xbf804720, 0x3f38d440,
    0xbffc5380, 0x3fb42700, 0xbf0a3840, 0xbf9a7b40, 0x3fb5a100
    ], "u4").view("f4").reshape(1, 1, 8, 5)
v = np.array([0x3e40a900, 0x3f325f40, 0x3eb87e00, 0x3f8e1580, 0xbe015b00, 0xbd2d3800, 0xbfc63c00,
    0xbf82cc40, 0x3fb12a00, 0x3f753e00, 0x3fd99c60, 0xbecd4200, 0x3f7ce240, 0xbe01b200,
    0x3d617c00, 0x3ff81040, 0x3e6fe800, 0xbf8717c0, 0xbf58f780, 0xbf854480, 0x3f5c09c0,
    0x3fee5ea0, 0x3ffa1760, 0x3fa2b880, 0xbf52a780, 0xbffdc360, 0x3fc3d8a0, 0xbf570440,
    0xbfc759a0, 0x3d5e6800, 0xbfc92ae0, 0x3ffd26a0, 0xbe25c400, 0xbf9c7ea0, 0xbfa83fa0,
    0xbf77c380, 0xbf0a39c0, 0xbfb4b560, 0xbd9c7a00, 0xff800000
    ], "u4").view("f4").reshape(1, 1, 8, 5)
o = attention(q, k, v, 0.4472135954999579, mask=seen)
k[0, 0, ~seen[0, 0, 0]] = v[0, 0, ~seen[0, 0, 0]] = 0
other = attention(q, k, v, 0.4472135954999579, mask=seen)
print(o[0, 0, 0, 4], other[0, 0, 0, 4])
raise SystemExit(bool(np.isfinite(o[0, 0, 0, 4]) or np.isnan(other[0, 0, 0, 4])))
