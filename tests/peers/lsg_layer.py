# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""The stand-alone attention layer of lsg-converter beside heed: its global token is the first one
of the text, which has no other part in it."""

import heed
import numpy as np
import torch
from lsg_converter.attention_layers import LSGSelfAttention

import lsg
from common import HEADS, ITEMS, both, bound_of, draw, run
from lsg import BLOCK, FACTOR, N


class Layer(lsg.Case):
    """The layer takes q, k and v themselves. Row 0 is the global row: it is not compared here."""

    def __init__(self, kind, lengths, scale, causal=False):
        self.kind, self.sparse, self.flags = kind, BLOCK, "causal" if causal else 0
        module = LSGSelfAttention(block_size=BLOCK, sparsity_factor=FACTOR, sparsity_type=kind,
                                  is_causal=causal, attention_dropout_prob=0.0).eval()
        self.q, self.k, self.v = (draw(ITEMS, HEADS, N, lsg.DIM, seed=seed, scale=scale)
                                  for seed in range(3))
        self.there = torch.arange(N)[None] < torch.tensor(lengths)[:, None]

        def call(made, dtype):
            mask = torch.zeros(ITEMS, N, dtype=dtype).masked_fill(~self.there,
                                                                  torch.finfo(dtype).min)
            return made(*(x.to(dtype) for x in (self.q, self.k, self.v)), mask[:, None, None])

        self.narrow, self.exact, _ = both(module, [], call)
        self.mask = self.there[:, None].to(torch.uint8)
        self.mask[:, :, 0] = 0
        self.text = heed.Keys(self.k, self.v, mask=self.mask)
        self.globals = (self.k[:, :, :1], self.v[:, :, :1])
        self.there = self.there.clone()
        self.there[:, 0] = False
        self.name = f"LSG layer {kind} lengths={lengths} {'causal ' if causal else ''}x{scale}"


def by_place(report):
    for kind in (None, "stride", "block_stride"):
        for causal in (False, True):
            case = Layer(kind, [N, 120], 1.0, causal)
            plan = heed.lsg.plan(case.q, case.text, globals=case.globals, block=BLOCK,
                                 factor=FACTOR, sparsity=kind or "none", flags=case.flags)
            case.judge(report, plan(), bound_of(plan))


def norm(report):
    for scale in (0.5, 2.0):
        lsg.norm_case(report, Layer("norm", [N, 120], scale))


def off_rows(case, o, bound, item):
    """The largest error over the bound of each row of an item."""
    off = abs(np.asarray(o, "float64") - np.asarray(case.exact)) / bound
    return off[item].max((0, 2))


def differ(report, case, o, bound, sees, said):
    """Rows that do not see what the layer has otherwise agree, and all others differ."""
    rows = case.there & ~sees
    case.judge(report, o, bound, rows)
    bad = [off_rows(case, o, bound, b)[(case.there & sees)[b].numpy()] for b in range(ITEMS)]
    bad = np.concatenate(bad)
    report.disagree(case.name, bool(len(bad) and (bad > 1).all()), f"{len(bad)} rows, {said}")


def pooling(report):
    """A group of padding is a key and a value of zeros, where rows reach it."""
    case = Layer("pooling", [N, N - 3], 1.0)
    case.judge(report, case.program(), lsg.pooling_stages(case)[1])
    case = Layer("pooling", [N, 117], 0.5)
    sees = torch.stack([torch.zeros(N, dtype=bool), lsg.sees_groups_from(-(-117 // FACTOR))])
    differ(report, case, case.program(), lsg.pooling_stages(case)[1], sees,
           "groups of padding are visible keys of zeros")


def bos_pooling(report):
    """The first token has its part in the mean of its group, beside being global."""
    case = Layer("bos_pooling", [N, N - 3], 0.5)
    block = torch.arange(N) // BLOCK
    left = (block - 1) * BLOCK
    sees = ((left > 0) & (left - BLOCK * FACTOR <= 0))[None].expand(ITEMS, -1)
    differ(report, case, case.program(), lsg.bos_stages(case)[1], sees,
           "the global token is in the mean of the first group")


if __name__ == "__main__":
    run([by_place, norm, pooling, bos_pooling])
