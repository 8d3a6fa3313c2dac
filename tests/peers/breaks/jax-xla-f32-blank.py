# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
# scripts/judge-peers wrote this. Exit status 0: the break shows; 1: it does not.
# jax-xla f32, blank: op=attn batch=1 h=1 nq=1 d=1 dv=1 s0.nk=1 s0.mask=1 seed=6
import jax
import numpy as np


dot_product_attention = jax.jit(jax.nn.dot_product_attention, static_argnames="implementation")


def attention(q, k, v, scale, mask=None):
    q, k, v = (jax.numpy.asarray(x.swapaxes(1, 2)) for x in (q, k, v))
    o = dot_product_attention(q, k, v, mask=mask, scale=scale, implementation="xla")
    return np.asarray(o).swapaxes(1, 2)


seen = np.array([x == "1" for x in "0"]).reshape(1, 1, 1, 1)
q = np.array([0x3e209d00], "u4").view("f4").reshape(1, 1, 1, 1)
k = np.array([0xbf8f5c40], "u4").view("f4").reshape(1, 1, 1, 1)
v = np.array([0xbf3a83c0], "u4").view("f4").reshape(1, 1, 1, 1)
o = attention(q, k, v, 1.0, mask=seen)
print(o[0, 0, 0, 0])
raise SystemExit(bool(o[0, 0, 0, 0] == 0))
