# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
# scripts/judge-peers wrote this. Exit status 0: the break shows; 1: it does not.
# jax-xla f32, chunk: op=attn batch=1 h=1 nq=1 d=1 dv=1 s0.nk=2 seed=3
import jax
import numpy as np


dot_product_attention = jax.jit(jax.nn.dot_product_attention, static_argnames="implementation")


def attention(q, k, v, scale, mask=None):
    q, k, v = (jax.numpy.asarray(x.swapaxes(1, 2)) for x in (q, k, v))
    o = dot_product_attention(q, k, v, mask=mask, scale=scale, implementation="xla")
    return np.asarray(o).swapaxes(1, 2)


seen = np.ones((1, 1, 1, 2), bool)
q = np.array([0xbf183200], "u4").view("f4").reshape(1, 1, 1, 1)
k = np.array([0x3f8d5020, 0x3d240400], "u4").view("f4").reshape(1, 1, 2, 1)
v = np.array([0xbfece980, 0x3fd75080], "u4").view("f4").reshape(1, 1, 2, 1)
pad = ((0, 0), (0, 0), (0, 32), (0, 0))
longer = np.pad(seen, pad[:2] + pad[3:] + pad[2:3])
one = attention(q, k, v, 1.0, mask=seen)
other = attention(q, np.pad(k, pad), np.pad(v, pad), 1.0, mask=longer)
print(one[one != other], other[one != other])
raise SystemExit(not (one != other).any())
