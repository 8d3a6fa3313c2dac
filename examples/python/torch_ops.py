#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""heed as operators of PyTorch: a layer for long documents as one graph of torch.compile, and
decoding from pages. Each result is held against another way to the same bits."""

import heed
import heed.torch
import torch

HEADS, DIM, PAGE = 4, 16, 8


class Layer(torch.nn.Module):
    def __init__(self, width=HEADS * DIM):
        super().__init__()
        self.qkv = torch.nn.Linear(width, 3 * width)
        self.out = torch.nn.Linear(width, width)

    def forward(self, x, length):
        q, k, v = self.qkv(x).unflatten(-1, (3, HEADS, DIM)).permute(2, 0, 3, 1, 4)
        see = [heed.window(32), heed.global_tokens(1, rows=True)]
        o = heed.torch.attention(q, k, v, terms=see, len=length, align="start")
        return self.out(o.transpose(1, 2).flatten(2))


def document():
    layer, x, length = Layer().eval(), torch.randn(2, 300, HEADS * DIM), torch.tensor([300, 170])
    compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
    with torch.inference_mode():
        assert torch.equal(compiled(x, length), layer(x, length))


def pages():
    pool_k, pool_v = torch.zeros(6, HEADS, PAGE, DIM), torch.zeros(6, HEADS, PAGE, DIM)
    table, length = torch.tensor([[4, 0, 2], [1, 5, 3]], dtype=torch.int32), torch.zeros(2, dtype=torch.int64)
    text_k, text_v = torch.randn(2, HEADS, 20, DIM), torch.randn(2, HEADS, 20, DIM)
    for n in range(20):
        page = table[:, n // PAGE].long()           # where token n of each item goes
        pool_k[page, :, n % PAGE], pool_v[page, :, n % PAGE] = text_k[:, :, n], text_v[:, :, n]
        length += 1
        q = torch.randn(2, HEADS, 1, DIM)
        o = heed.torch.attention(q, pool_k, pool_v, layout="paged", slot=table, len=length)
        assert torch.equal(o, heed.attention(q, text_k[:, :, :n + 1], text_v[:, :, :n + 1])), n


if __name__ == "__main__":
    document()
    pages()
    print("a document in one graph, and 20 tokens from pages")
