# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
# scripts/judge-peers wrote this. Exit status 0: the break shows; 1: it does not.
# jax-xla f32, chunk: op=attn batch=1 h=1 nq=2 d=1 dv=1 s0.nk=6 seed=538522304366
import jax
import numpy as np


def attention(q, k, v, scale, mask=None):
    q, k, v = (jax.numpy.asarray(x.swapaxes(1, 2)) for x in (q, k, v))
    o = jax.nn.dot_product_attention(q, k, v, mask=mask, scale=scale, implementation="xla")
    return np.asarray(o).swapaxes(1, 2)


q = np.array([0xbfdbc220, 0xbf311580], "u4").view("f4").reshape(1, 1, 2, 1)
k = np.array([0xbfe27480, 0xbf879c60, 0xbd7e3000, 0x3ed3ae00, 0x3fe02280, 0x3fa9e620
    ], "u4").view("f4").reshape(1, 1, 6, 1)
v = np.array([0x3f568740, 0x3f77f2c0, 0xbff64b00, 0xbfc99300, 0xbfd0d080, 0x3d47bc00
    ], "u4").view("f4").reshape(1, 1, 6, 1)
scale = 1.0
one = attention(q, k, v, scale)[:, :, 0:1]
other = attention(q[:, :, 0:1].copy(), k, v, scale)
print(one[one != other], other[one != other])
raise SystemExit(not (one != other).any())
