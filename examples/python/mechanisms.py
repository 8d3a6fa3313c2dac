#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""The calls of docs/mechanisms.md in Python. Every one writes an output that is finite."""

import heed
import numpy as np

HEADS, N, DIM = 4, 96, 16
drawn = np.random.default_rng(1)
outputs = []


def array(*shape):
    return drawn.standard_normal(shape, dtype="float32")


def rows(n=N):
    return array(HEADS, n, DIM)


def keys(n=N):
    return rows(n), rows(n)


def done(*arrays):
    for one in arrays:
        assert np.isfinite(one).all()
    outputs.extend(arrays)


q, text, front, memory, old = rows(), keys(), keys(3), keys(20), keys(5)

o = heed.longformer(q, text, window=2, n_globals=1)
done(o)
o = heed.global_rows(rows(2), text, globals=keys(2))
done(o)
blocks = drawn.integers(0, 12, (HEADS, 12, 2)).astype("int32")
o = heed.bigbird(q, text, random=heed.constant(blocks), block=8)
done(o)

table, side_table = array(HEADS, 32), array(HEADS, 32)
sums = [heed.pool(x, kind="sum", tail="join", kernel=16, stride=16) for x in text]
block_ids = np.minimum(np.arange(N) // 16, N // 16 - 1).astype("int32")
o = heed.longt5(q, text, side=sums, table=table, side_table=side_table, radius=3, zero=128,
                map=heed.map_t5(257, 128), block_ids=block_ids)
done(o)
o = heed.lsg(q, text, globals=front, sparsity="block_stride", block=16, factor=2)
done(o)
o = heed.lsg_program(q, text, globals=front, sparsity="norm", block=16, factor=4)
done(o)
o = heed.hepos(rows(3), text, stride=4)
done(o)
pages, w = array(3, 10, DIM), array(DIM)
o = heed.pagesum(pages, w)
done(o)
o = heed.pegasus_x(q, text, globals=front, block=8, flags="staggered")
done(o)
o = heed.salient(q, text, prefix=keys(6))
done(o)
o = heed.poolingformer_level1(q, text, window=3, n_globals=2)
done(o)
o = heed.poolingformer_level2(q, text, window=32, kernel=5, stride=4, pooling="mean")
done(o)
r, shift = array(HEADS, N + 20, DIM), array(HEADS, N + 20)
o = heed.transformer_xl(q, text, memory=memory, relative=heed.Relative(r, shift, N + 19))
done(o)
o = heed.compressive(q, text, memory=memory, compressed=old)
done(o)
kr, qr = array(HEADS, 17, DIM), array(HEADS, 17, DIM)
o = heed.deberta(q, text, kr=kr, qr=qr, zero=8, window=5)
done(o)
far_kr = array(HEADS, 9, DIM)
o = heed.poolingformer_deberta(q, text, globals=front, kr=kr, global_kr=far_kr, zero=8,
                               global_zero=4, window=4)
done(o)

hidden = array(1, N, DIM)
units = heed.pool(hidden, kind="mean", tail="ceil", kernel=32, stride=24)
o = heed.top_down(q, keys(units.shape[-2]))
done(o)

kept, head, length = rows(20), np.zeros(1, "int64"), np.zeros(1, "int64")
fallen, fallen_length = rows(8), np.zeros(1, "int64")
for segment in range(3):
    o = heed.awesome(rows(8), keys(8), memory=heed.Keys(kept, kept, len=length),
                     memory_head=head, compressed=old)
    heed.push(kept, head, length, rows(8), out=fallen, out_len=fallen_length)
    packed = heed.pool(fallen, kind="mean", tail="end", kernel=5, stride=5, len=fallen_length)
    done(o, packed)

s = heed.global_rows(rows(5), text)         # the memory asks the segment
done(s)
best = heed.select(text[0], q, kind="topk", count=8)
o = heed.retrieval(q, memory=text, list=best)
done(o)
words, scores = array(6, 3, 100), array(6, 3)
o = heed.merge(words, scores)               # of 6 snippets, 3 steps
done(o)
e = array(6, N)
shorter = heed.pool(np.broadcast_to(hidden, (6, N, DIM)), kind="linear", tail="ceil", kernel=N,
                    stride=N, weights=e)
done(shorter)
assert np.allclose(shorter[:, 0], e @ hidden[0], atol=1e-4)
features, asked = heed.act(rows(N), kind="elu_plus_one"), heed.act(q, kind="elu_plus_one")
ones = np.concatenate([rows(N), np.ones((HEADS, N, 1), "f")], -1)
sums, state = heed.recur(asked, features, ones, np.zeros((HEADS, DIM, DIM + 1), "f"))
o = sums[..., :-1] / sums[..., -1:]
done(o, state)
print(f"{len(outputs)} outputs are finite")
