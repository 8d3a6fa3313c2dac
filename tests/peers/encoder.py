# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""An encoder layer of transformers' BERT beside heed: the module's weights, one plan of heed for the
whole layer, and each of its steps held against the module's own, in double, on what the steps before
it have left. So a bound is that of one step, and what is off further on is found where it began.
"""

import copy

import heed
import numpy as np
import torch
from transformers import BertConfig
from transformers.models.bert.modeling_bert import BertLayer

import oracle
from common import draw, run

UNIT = oracle.UNIT
# Of section 14 of docs/numerics.md: what GELU is off by at most, of the value and of |x|.
GELU_VALUE, GELU_X, GELU_SLOPE = 5e-7, 1.1e-7, 1.13


def config_of(width, heads, hidden, attention="sdpa"):
    return BertConfig(hidden_size=width, num_attention_heads=heads, intermediate_size=hidden,
                      hidden_dropout_prob=0, attention_probs_dropout_prob=0,
                      attn_implementation=attention)


def module_of(config, seed=1):
    """Weights of the size that models have."""
    made = torch.Generator().manual_seed(seed)
    module = BertLayer(config).eval()
    with torch.no_grad():
        for name, weight in module.named_parameters():
            size = 1 / weight.shape[-1] ** 0.5 if weight.ndim > 1 else 0.1
            weight.copy_(torch.randn(weight.shape, generator=made) * size +
                         ("LayerNorm.weight" in name))
    return module


def array(tensor):
    return tensor.detach().numpy()


class Encoder:
    """The plans of a BertLayer over n tokens, and their program. lsg: the attention is LSG's."""

    def __init__(self, module, n, device=None, lsg=None, terms=None):
        own, out = module.attention.self, module.attention.output
        self.width, self.heads = own.query.in_features, own.num_attention_heads
        self.hidden_size = module.intermediate.dense.out_features
        self.n, self.device, self.plans = n, device, []
        self.x, self.y = self.rows(self.width), self.rows(self.width)
        self.qkv, self.o, self.total, self.middle = (
            self.rows(size) for size in (3 * self.width, self.width, self.width, self.width))
        self.hidden, self.last = self.rows(self.hidden_size), self.rows(self.width)
        parts = (own.query, own.key, own.value)
        self.linear(self.x, np.concatenate([array(part.weight) for part in parts]),
                    np.concatenate([array(part.bias) for part in parts]), self.qkv)
        q, k, v = (self.of_heads(self.qkv[..., i * self.width:(i + 1) * self.width])
                   for i in range(3))
        o = self.of_heads(self.o)
        self.attend = heed.lsg.plan(q, heed.Keys(k, v), o=o, device=device, **lsg) if lsg \
            else heed.attention.plan(q, k, v, o=o, terms=terms, device=device)
        self.plans.append(self.attend)
        self.dense(self.o, out.dense, self.total, add=self.x)
        self.norm(self.total, out.LayerNorm, self.middle)
        self.dense(self.middle, module.intermediate.dense, self.hidden, act="gelu")
        self.dense(self.hidden, module.output.dense, self.last, add=self.middle)
        self.norm(self.last, module.output.LayerNorm, self.y)

    def rows(self, width):
        return np.zeros((1, 1, self.n, width), "float32")

    def of_heads(self, rows):
        return rows.reshape(1, self.n, self.heads, -1).transpose(0, 2, 1, 3)

    def linear(self, x, w, bias, y, **more):
        self.plans.append(heed.linear.plan(x, w, bias=bias, y=y, device=self.device, **more))

    def dense(self, x, module, y, **more):
        self.linear(x, array(module.weight), array(module.bias), y, **more)

    def norm(self, x, module, y):
        self.plans.append(heed.norm.plan(x, y=y, weight=array(module.weight), eps=module.eps,
                                         bias=array(module.bias), kind="layer",
                                         device=self.device))

    def program(self):
        temporaries = [self.qkv, self.o, self.total, self.middle, self.hidden, self.last]
        return heed.program(self.plans, temporaries, x=self.x, y=self.y)


def linear_bound(x, w, size, add=0.0, act=False, exact=None):
    """Chains of 256 terms, whose sums are added, with the bias and an addend."""
    terms = min(w.shape[1], 256) + -(-w.shape[1] // 256) + 3
    total = UNIT * terms * (abs(x) @ abs(w).T + size + abs(add))
    if act:
        total = GELU_SLOPE * total + GELU_X * abs(exact) + GELU_VALUE * abs(gelu(exact))
    return total + 2.0 ** -100


def gelu(x):
    return torch.nn.functional.gelu(torch.from_numpy(x)).numpy()


def norm_step(x, module):
    """The module's norm in double, and its bound: the mean and the squares are partial sums of at
    most d / 16 + 4 roundings, the root has 3 units."""
    weight, bias = (np.asarray(array(part), "float64") for part in (module.weight, module.bias))
    d = x.shape[-1]
    off = UNIT * (d / 16 + 6)
    mean, size = x.mean(-1, keepdims=True), abs(x).mean(-1, keepdims=True)
    apart = x - mean
    square = (apart ** 2).mean(-1, keepdims=True)
    root = np.sqrt(square + module.eps)
    moved = off * size + UNIT * abs(apart)
    of_root = (off * square + 2 * (abs(apart) * moved).mean(-1, keepdims=True)) / (square + module.eps)
    bound = abs(weight) / root * (moved + abs(apart) * (of_root + 8 * UNIT))
    with torch.no_grad():
        exact = copy.deepcopy(module).double()(torch.from_numpy(x)).numpy()
    return exact, bound + 2 * UNIT * (abs(bias) + abs(exact)) + 2.0 ** -100


def judge(report, name, got, exact, bound):
    got, exact, bound = (np.asarray(x).reshape(got.shape[-2], -1) for x in (got, exact, bound))
    report.judge(name, got[None, None], exact[None, None], exact[None, None], bound[None, None])


def dense_step(report, name, x, module, got, add=None, act=False):
    x, w, bias = (np.asarray(part, "float64")
                  for part in (x[0, 0], array(module.weight), array(module.bias)))
    exact = x @ w.T + bias
    more = 0.0 if add is None else np.asarray(add[0, 0], "float64")
    bound = linear_bound(x, w, abs(bias), more, act, exact + more)
    judge(report, name, got, gelu(exact) if act else exact + more, bound)


def steps(report, name, module, layer):
    """Each step on what heed's steps before it have left."""
    own, out = module.attention.self, module.attention.output
    for i, part in enumerate((own.query, own.key, own.value)):
        dense_step(report, f"{name}, {'qkv'[i]}", layer.x, part,
                   layer.qkv[..., i * layer.width:(i + 1) * layer.width])
    q, k, v = (layer.of_heads(layer.qkv[..., i * layer.width:(i + 1) * layer.width])[0]
               for i in range(3))
    seen = np.stack([np.concatenate(heed.pairs(layer.attend, batch=0, head=h), 1)
                     for h in range(layer.heads)])
    if seen.shape[-1] == layer.n:   # LSG's sources are several: tests/peers/lsg.py
        exact, bound = oracle.of_heads(q, k, v, seen)
        judge(report, f"{name}, attention", layer.o, exact.transpose(1, 0, 2),
              bound.transpose(1, 0, 2))
    dense_step(report, f"{name}, out", layer.o, out.dense, layer.total, layer.x)
    judge(report, f"{name}, norm", layer.middle,
          *norm_step(np.asarray(layer.total[0, 0], "float64"), out.LayerNorm))
    dense_step(report, f"{name}, hidden", layer.middle, module.intermediate.dense, layer.hidden,
               act=True)
    dense_step(report, f"{name}, down", layer.hidden, module.output.dense, layer.last, layer.middle)
    judge(report, f"{name}, last norm", layer.y,
          *norm_step(np.asarray(layer.last[0, 0], "float64"), module.output.LayerNorm))


def case(report, n, width, heads, hidden, scale):
    module = module_of(config_of(width, heads, hidden))
    layer = Encoder(module, n)
    x = draw(1, n, width, scale=scale)
    layer.x[:] = array(x)[None]
    program = layer.program()
    whole = program().copy()
    for plan in layer.plans:
        plan()
    name = f"BERT n={n} width={width} x{scale}"
    report.add(name + ", one plan", np.array_equal(whole, layer.y), said="the words of its steps")
    steps(report, name, module, layer)
    with torch.no_grad():
        narrow = module(x)
        exact = copy.deepcopy(module).double()(x.double())
    narrow, exact = ((y[0] if isinstance(y, tuple) else y).reshape(n, width)
                     for y in (narrow, exact))
    off = [float(abs(np.asarray(y, "float64") - np.asarray(exact)).max())
           for y in (layer.y[0, 0], narrow)]
    print(f"       {name}: off the module in double by {off[0]:.2e}, the module in binary32 "
          f"{off[1]:.2e}")


def small(report):
    case(report, 37, 48, 3, 130, 1.0)
    case(report, 150, 96, 4, 200, 3.0)


def base(report):
    """The sizes of BERT-base."""
    case(report, 128, 768, 12, 3072, 1.0)


if __name__ == "__main__":
    run([small, base])
