#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""The calls of docs/index.md in Python: an engine with a cache of pages, an encoder of long
documents, a kernel that is tested, and a device by its name. Each result is held against another
way to the same bits."""

import heed
import numpy as np

ITEMS, HEADS, DIM, PAGE, PAGES = 2, 4, 16, 8, 6
MOST = PAGES // ITEMS * PAGE
drawn = np.random.default_rng(1)


def array(*shape):
    return drawn.standard_normal(shape, dtype="float32")


def engine():
    text_k, text_v = array(ITEMS, HEADS, MOST, DIM), array(ITEMS, HEADS, MOST, DIM)
    q, new_k, new_v = (np.zeros((ITEMS, HEADS, 1, DIM), "float32") for _ in range(3))
    pool_k, pool_v = (np.zeros((PAGES, HEADS, PAGE, DIM), "float32") for _ in range(2))
    table = np.array([[4, 0, 2], [1, 5, 3]], "int32")
    length = np.zeros(ITEMS, "int64")

    # Once. A plan keeps the arrays that it is made for.
    cache = heed.Source(pool_k, pool_v, layout="paged", slot=table, len=length)
    attend = heed.attention.plan(q, sources=[cache], align="end").bind()
    append_k = heed.copy.plan(new_k, pool_k, at=length, table=table).bind()
    append_v = heed.copy.plan(new_v, pool_v, at=length, table=table).bind()

    for n in range(MOST):
        q[:], new_k[:, :, 0], new_v[:, :, 0] = array(*q.shape), text_k[:, :, n], text_v[:, :, n]
        # Each step, with the new tokens' projections in q, new_k and new_v.
        append_k(), append_v()
        length += 1
        o = attend()
        plain = heed.attention(q, text_k[:, :, :n + 1], text_v[:, :, :n + 1])
        assert (o == plain).all(), n


def encoder():
    q, k, v = (array(1, HEADS, 600, DIM) for _ in range(3))
    length = np.array([550])

    o = heed.longformer(q, heed.Keys(k, v, len=length), window=64, n_globals=2)

    see = [heed.window(64), heed.global_tokens(2, rows=True)]
    assert (o == heed.attention(q, k, v, terms=see, len=length, q_len=length,
                                 align="start")).all()


def kernel():
    def attention(q, k, v, *, scale, mask):
        y = scale * q @ np.swapaxes(k, -1, -2)
        y = y if mask is None else np.where(mask, y, -np.inf)
        p = np.exp(y - y.max(-1, keepdims=True))
        return p / p.sum(-1, keepdims=True) @ v

    result = heed.conform(attention, 40, refuse=["nonfinite", "blank", "grouped"],
                          only="q=f32 o=f32 s0.k=f32 s0.v=f32")
    print(result)               # what passed, what was refused, and the smallest failing cases

    assert result


def device():
    q, k, v = (array(1, HEADS, 100, DIM) for _ in range(3))

    o = heed.attention(q, k, v, causal=True, device="cpu")      # or "opencl:0", "cuda:0"

    assert (o == heed.attention(q, k, v, causal=True, device="reference")).all()


if __name__ == "__main__":
    for task in (engine, encoder, kernel, device):
        task()
