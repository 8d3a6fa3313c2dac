# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
# scripts/judge-peers wrote this. Exit status 0: the break shows; 1: it does not.
# jax-xla f32, bound: op=attn batch=1 h=1 nq=1 d=1 dv=1 fill=subnormal s0.nk=1 seed=1
import jax
import numpy as np


dot_product_attention = jax.jit(jax.nn.dot_product_attention, static_argnames="implementation")


def attention(q, k, v, scale, mask=None):
    q, k, v = (jax.numpy.asarray(x.swapaxes(1, 2)) for x in (q, k, v))
    o = dot_product_attention(q, k, v, mask=mask, scale=scale, implementation="xla")
    return np.asarray(o).swapaxes(1, 2)


q = np.array([0xbfe6a300], "u4").view("f4").reshape(1, 1, 1, 1)
k = np.array([0x80022efd], "u4").view("f4").reshape(1, 1, 1, 1)
v = np.array([0x001a3467], "u4").view("f4").reshape(1, 1, 1, 1)
o = attention(q, k, v, 1.0)
s = k[0, 0].astype(float) @ q[0, 0, 0] * 1.0
p = np.exp(s - s.max())
error = abs(o[0, 0, 0, 0] - p @ v[0, 0, :, 0] / p.sum())
print(error, 3.72e-44)
raise SystemExit(bool(error <= 3.72e-44))
