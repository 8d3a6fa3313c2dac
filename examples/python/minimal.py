#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""What examples/minimal.c does, with the same bits: a sliding window over a long text, with the first
key as a global one. PYTHONPATH=build/bindings/python python3 examples/python/minimal.py"""

import heed
import numpy as np

HEADS, ROWS, DIM = 2, 1000, 64


def numbers(i):
    cells = np.arange(HEADS * ROWS * DIM) * 37 + i * 11
    return (cells % 101).astype("float32").reshape(1, HEADS, ROWS, DIM) / np.float32(50) - 1


q, k, v = numbers(0), numbers(1), numbers(2)
# 64 keys to each side, and the first key for every row.
see = [heed.window(64), heed.global_tokens(1)]

o = heed.attention(q, k, v, terms=see)          # checks, plans and runs

plan = heed.attention.plan(q, k, v, terms=see)  # to be run often: plan once
again = plan(q=q, o=np.empty_like(q))           # on these arrays, or others that lie alike
seen = heed.visible(plan, head=0)               # [rows][keys]
print("row 500 of head 0 begins %.6f %.6f %.6f" % tuple(o[0, 0, 500, :3]))
assert (again == o).all() and seen[500].sum() == 1 + 64 + 1 + 64
