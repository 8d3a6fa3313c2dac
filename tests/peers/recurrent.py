# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Transformer-XL of transformers beside heed, with and without a memory."""

import heed
import numpy as np
import torch
from transformers.models.deprecated.transfo_xl.modeling_transfo_xl import (
    RelPartialLearnableMultiHeadAttn)

from common import HEADS, ITEMS, both, bound_of, draw, randomize, run

DIM = 16
WIDTH = HEADS * DIM


class Tap(torch.nn.Module):
    """Keeps what it is given: the attention's result, before it is added to the input."""

    def forward(self, x):
        self.seen = x
        return x


def heads_of(x):
    """[n][B][H d] as [B][H][n][d]."""
    return x.view(x.shape[0], x.shape[1], HEADS, DIM).permute(1, 2, 0, 3)


def transformer_xl(report, n, memory, scale):
    module = randomize(RelPartialLearnableMultiHeadAttn(HEADS, WIDTH, DIM, 0.0))
    module.layer_norm, module.o_net = torch.nn.Identity(), Tap()
    text, mems = draw(n, ITEMS, WIDTH, scale=scale), draw(memory, ITEMS, WIDTH, seed=3, scale=scale)
    places = draw(memory + n, 1, WIDTH, seed=4, scale=0.7)
    later = torch.ones(n, memory + n).triu(1 + memory)[:, :, None]

    def call(made, dtype):
        made(text.to(dtype), places.to(dtype), attn_mask=later.to(dtype), mems=mems.to(dtype))
        return heads_of(made.o_net.seen)

    narrow, exact, records = both(module, ["qkv_net", "r_net"], call)
    q, k, v = (heads_of(x) for x in records["qkv_net"][0].chunk(3, -1))
    u, w = (x.detach()[None, :, None] for x in (module.r_w_bias, module.r_r_bias))
    r = records["r_net"][0].view(memory + n, HEADS, DIM).transpose(0, 1)
    zero, q = memory + n - 1, (q[:, :, memory:] + u)
    shift = torch.einsum("hd,hjd->hj", (w.double() - u.double())[0, :, 0], r.double()) / DIM ** 0.5
    sets = {"memory": (k[:, :, :memory], v[:, :, :memory])} if memory else {
        "memory": (torch.empty(ITEMS, HEADS, 0, DIM), torch.empty(ITEMS, HEADS, 0, DIM))}
    plan = heed.transformer_xl.plan(q, (k[:, :, memory:], v[:, :, memory:]), **sets,
                                    relative=heed.Relative(r, shift.float(), zero))
    i, j = np.ogrid[:n, :memory + n]
    index = np.clip(zero - (i + memory - j), 0, zero)

    def biases(b, h):
        rows, table = q[b, h].double().numpy(), r[h].double().numpy()
        at = (np.indices(index.shape)[0], index)
        total = (rows @ table.T)[at] / DIM ** 0.5
        size = (abs(rows) @ abs(table).T)[at] / DIM ** 0.5 * (DIM + 6) / 6
        added = shift[h].numpy()[index]
        return total + added, size + abs(added)

    report.judge(f"Transformer-XL n={n} memory={memory} x{scale}", plan(), exact, narrow,
                 bound_of(plan, biases))


def transformer_xls(report):
    for scale in (0.3, 1.0):
        for memory in (0, 30, 64):
            transformer_xl(report, 64, memory, scale)


if __name__ == "__main__":
    run([transformer_xls])
