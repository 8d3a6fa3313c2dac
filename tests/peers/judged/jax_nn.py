# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""jax.nn.dot_product_attention under jax.jit, by XLA on the processor."""

import jax
import numpy as np


dot_product_attention = jax.jit(jax.nn.dot_product_attention, static_argnames="implementation")


def attention(q, k, v, scale, mask=None):
    q, k, v = (jax.numpy.asarray(x.swapaxes(1, 2)) for x in (q, k, v))
    o = dot_product_attention(q, k, v, mask=mask, scale=scale, implementation="xla")
    return np.asarray(o).swapaxes(1, 2)


PROJECT = "JAX"
PACKAGES = ("jax", "jaxlib")
TAKES = ("mask", "grouped")
DENSE = True
COMPILES = 6
KERNELS = {"jax-xla": {}}
TYPES = ("f32",)  # XLA on the processor has no products of f16 for some shapes
