# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Arithmetic in binary64 that knows how far a right result in binary32 may be from it.

Every operation makes an array of values, local errors, and functions that take the derivative of
something by its result to the derivatives by its operands. A local error is how far heed may be off
by this operation alone, from operands that are exact: the bounds that docs/numerics.md and the
headers give for it. What all rows or channels share, the factor of a norm, the weight of a key, is
one error with one direction. A result is then off, to first order, by the sum over all local errors
of their derivatives times them, because each of them reaches the result by this way and no other.
So there are two bounds, and the smaller one is taken:

    A   sum of |derivative * local error|
    B   LAMBDA * sqrt(sum of (derivative * local error)^2)

A holds whatever the errors are. B holds of errors that have the mean 0 given those before them, with
a probability of 1 - 2 exp(-LAMBDA^2 / 2) (Azuma and Hoeffding, as Higham and Mary 2019 use it, "A new
approach to probabilistic rounding error analysis"): with 8 it fails once in 10^13 numbers. No
magnitudes are multiplied through the layers, which would let a bound grow with the norm of each.
Left out are products of two errors: local errors are below 1e-5 of what they stand beside.
"""

import math

import numpy

U, TINY = 2.0 ** -24, 2.0 ** -149
LAMBDA = 8
PART = 96                               # Results whose derivatives are taken at a time.


def gamma(n):
    """What n roundings, one after another, leave at most, relative (Higham 2002, section 3.1)."""
    return n * U / (1 - n * U)


class Node:
    """Values, local errors of elements, and the way back: pairs of a node and what makes its
    derivative. shared: makes of a derivative those by errors that several elements share, times
    these errors."""

    def __init__(self, tape, value, error, parents=(), shared=None):
        self.value, self.error = value, numpy.broadcast_to(error, value.shape)
        self.parents, self.shared = parents, shared
        tape.nodes.append(self)


class Tape:
    """The operations in the order in which they were made."""

    def __init__(self):
        self.nodes = []

    def leaf(self, value, error=0.0):
        """Numbers that nothing was done to, or whose error is known."""
        return Node(self, value, error)

    def linear(self, x, w, bias=None, add=None):
        """x w^T + bias + add: docs/numerics.md, section 15."""
        terms = w.shape[1]
        n = min(terms, 256) + -(-terms // 256) + (bias is not None) + (add is not None)
        value, size = x.value @ w.T, abs(x.value) @ abs(w).T
        parents = [(x, lambda c: c @ w)]
        if bias is not None:
            value, size = value + bias, size + abs(bias)
        if add is not None:
            value, size = value + add.value, size + abs(add.value)
            parents.append((add, lambda c: c))
        return Node(self, value, gamma(n) * size + n * TINY, parents)

    def norm(self, x, weight, bias, eps):
        """LAYER with a bias, RMS without: section 12, with the bound that stands there."""
        s, d = x.value, x.value.shape[-1]
        g, layer = gamma(d / 16 + 8), bias is not None
        c = s - s.mean(-1, keepdims=True) if layer else s
        v = (c * c).mean(-1, keepdims=True) + eps
        factor = 1 / numpy.sqrt(v)
        z = c * factor
        e = g * abs(s).sum(-1, keepdims=True) / d + U * abs(c) if layer else 0 * c
        # The rounding of eps, and that of the sum with eps, are two units of it at most.
        r = g * v + (1 + g) * (2 * abs(c) * e + e * e).mean(-1, keepdims=True) + 2 * U * v + 2 * TINY
        share = (1 - r / v) ** -0.5 * (1 + 2.0 ** -23) - 1
        value = z * weight + (bias if layer else 0)
        error = abs(weight) * (e * factor * (1 + share) + U * abs(z)) + U * abs(value) + 2 * TINY

        def back(y):
            y = y * weight
            mean = y.mean(-1, keepdims=True) if layer else 0
            return factor * (y - mean - z * (y * z).mean(-1, keepdims=True))

        def shared(y):
            return (y * weight * z).sum(-1) * share[:, 0]
        return Node(self, value, error, [(x, back)], shared)

    def act(self, x, kind):
        """A function of each number; the errors stand in heed/nn.h."""
        value, slope, error = ACTS[kind](x.value)
        return Node(self, value, error + TINY, [(x, lambda c: c * slope)])

    def multiply(self, a, b):
        """Products, element by element."""
        value = a.value * b.value
        return Node(self, value, U * abs(value) + TINY,
                    [(a, lambda c: c * b.value), (b, lambda c: c * a.value)])

    def scale(self, x, factor):
        """A product with a constant that is rounded itself."""
        return Node(self, x.value * factor, 2 * U * abs(x.value * factor) + TINY,
                    [(x, lambda c: c * factor)])

    def sums(self, x, groups):
        """Sums of rows, `groups` [sums][rows] saying which: section 6."""
        most = groups.sum(-1, keepdims=True)
        return Node(self, groups @ x.value, gamma(most) * (groups @ abs(x.value)),
                    [(x, lambda c: groups.T @ c)])

    def join(self, *parts):
        """Rows one behind the other."""
        ends = numpy.cumsum([0] + [p.value.shape[0] for p in parts])

        def cut(i):
            return lambda c: c[:, ends[i]:ends[i + 1]]
        return Node(self, numpy.concatenate([p.value for p in parts]), 0.0,
                    [(p, cut(i)) for i, p in enumerate(parts)])

    def rows(self, x, first, end):
        """Rows of x."""
        def back(c):
            whole = numpy.zeros((c.shape[0],) + x.value.shape)
            whole[:, first:end] = c
            return whole
        return Node(self, x.value[first:end], 0.0, [(x, back)])

    def attend(self, q, k, v, heads, seen, scale=None, bias=None, places=None):
        """Attention, [rows][heads * d] each: section 4. seen [rows][keys], or of each head: who sees
        whom, and how often; bias [heads][rows][keys] is added to scaled scores and is exact. places: rows that
        queries meet, rows that keys meet (None: there are none), and which [rows][keys]."""
        def split(x):
            return x.reshape(x.shape[:-1] + (heads, -1)).swapaxes(-2, -3)

        def merge(x):
            x = x.swapaxes(-2, -3)
            return x.reshape(x.shape[:-2] + (-1,))
        hq, hk, hv = split(q.value), split(k.value), split(v.value)
        d = hq.shape[-1]
        scale = 1 / math.sqrt(d) if scale is None else scale
        y = hq @ hk.swapaxes(-1, -2) * scale + (0 if bias is None else bias)
        size = abs(hq) @ abs(hk).swapaxes(-1, -2) * abs(scale) + (0 if bias is None else abs(bias))
        met = [] if places is None else [
            (node, split(node.value), which) for node, which in zip(places, (0, 1)) if node]
        for _, table, which in met:
            more, more_size = (meeting(f(x), f(table), places[2], which) * scale
                               for f, x in ((numpy.asarray, (hq, hk)[which]),
                                            (abs, (hq, hk)[which])))
            y, size = y + more, size + abs(more_size)
        with numpy.errstate(divide="ignore"):
            y = y + numpy.log(seen)
        below = y.max(-1, keepdims=True) - y
        p = numpy.exp(-below)
        p = p / p.sum(-1, keepdims=True)
        o = p @ hv
        off, error = attention_errors(p, numpy.where(seen > 0, below, 0),
                                      numpy.where(seen > 0, size, 0),
                                      d + 8 + 2 * (bias is not None) + 4 * len(met), hv, o,
                                      seen.sum(-1).max())

        def scores(c):
            by_p = split(c) @ hv.swapaxes(-1, -2)
            return p * (by_p - (by_p * p).sum(-1, keepdims=True))
        parents = [(q, lambda c: merge(scores(c) @ hk * scale)),
                   (k, lambda c: merge(scores(c).swapaxes(-1, -2) @ hq * scale)),
                   (v, lambda c: merge(p.swapaxes(-1, -2) @ split(c)))]

        def of_rows(table, which):
            return lambda c: merge(gathered(scores(c), places[2], which, table.shape[-2]) @
                                   table * scale)

        def of_table(table, which):
            return lambda c: merge(
                gathered(scores(c), places[2], which, table.shape[-2]).swapaxes(-1, -2) @
                (hq, hk)[which] * scale)
        for node, table, which in met:
            parents += [((q, k)[which], of_rows(table, which)), (node, of_table(table, which))]
        return Node(self, merge(o), merge(error), parents, lambda c: scores(c) * off)

    def bound(self, result, rows=slice(None)):
        """How far a right result may be off, of some of its rows."""
        which = numpy.arange(result.value.size).reshape(result.value.shape)[rows]
        out = numpy.zeros(which.size)
        for i in range(0, which.size, PART):
            part = which.ravel()[i:i + PART]
            seed = numpy.zeros((part.size, result.value.size))
            seed[numpy.arange(part.size), part] = 1
            out[i:i + PART] = self.back(result, seed.reshape((-1,) + result.value.shape))
        return out.reshape(which.shape)

    def back(self, result, seed):
        """The bound of each of the sums of results whose derivatives begin as `seed`."""
        waiting, count = {id(result): seed}, len(seed)
        total, squares = numpy.zeros(count), numpy.zeros(count)
        for node in reversed(self.nodes):
            c = waiting.pop(id(node), None)
            if c is None:
                continue
            sites = [c * node.error] if node.error.any() else []
            for site in sites + ([node.shared(c)] if node.shared else []):
                site = site.reshape(count, -1)
                total += abs(site).sum(1)
                squares += (site * site).sum(1)
            for parent, function in node.parents:
                more = function(c)
                known = waiting.get(id(parent))
                waiting[id(parent)] = more if known is None else known + more
        return numpy.minimum(total, LAMBDA * numpy.sqrt(squares))


def meeting(x, table, index, which):
    """x . table[index] of each row and key: x of rows, or with which 1 of keys."""
    products = x @ table.swapaxes(-1, -2)               # [heads][rows or keys][entries]
    if which == 0:
        return numpy.take_along_axis(products, index[None], -1)
    return numpy.take_along_axis(products, index.T[None], -1).swapaxes(-1, -2)


def gathered(scores, index, which, entries):
    """Sums of scores [...][rows][keys] over the keys, or with which 1 the rows, of each entry."""
    if which == 1:
        scores, index = scores.swapaxes(-1, -2), index.T
    out = numpy.zeros(scores.shape[:-1] + (entries,))
    for entry in range(entries):
        out[..., entry] = (scores * (index == entry)).sum(-1)
    return out


def attention_errors(p, below, size, roundings, v, o, keys):
    """How far weights are off, relative, and results besides. As the oracle of the conformance kit
    derives it (tools/conform/ops/attn/oracle.c): scores are off by `roundings` units of their size,
    weights by that, 3 units of the distance to the largest, 2 of the reach, and 4 for each power;
    sums of n terms by n units and n / 16 + 2 for blocks."""
    n = keys
    blocks = n / 16 + 2
    reach = size.max(-1, keepdims=True)
    off = numpy.expm1(U * (roundings * size + 3 * below + 2 * reach + (blocks + 1) * 4 + blocks))
    g = gamma(n + blocks + 2)
    error = g * (p @ abs(v)) + (g + 5 * U) * abs(o) + TINY + 2.0 ** -98 * (
        abs(v).sum(-2, keepdims=True) + n * abs(o))
    return off, error


# ---- functions: values, slopes, and the errors of heed/nn.h ----

def relu(x):
    return numpy.maximum(x, 0), (x > 0) * 1.0, 0 * x


def gelu(x):
    normal = 0.5 * numpy.array([math.erfc(-t / math.sqrt(2)) for t in x.ravel()]).reshape(x.shape)
    error = 1.1e-7 * abs(x)
    tail = (x > -5.5) & (x < 0)
    error = numpy.where(tail, numpy.minimum(error, 5e-7 * abs(x * normal)), error)
    return x * normal, normal + x * numpy.exp(-x * x / 2) / math.sqrt(2 * math.pi), error


def gelu_tanh(x):
    c = math.sqrt(2 / math.pi)
    t = numpy.tanh(c * (x + 0.044715 * x ** 3))
    slope = (1 + t) / 2 + x / 2 * (1 - t * t) * c * (1 + 3 * 0.044715 * x * x)
    return x * (1 + t) / 2, slope, 1.6e-7 * abs(x)


def silu(x):
    g = 1 / (1 + numpy.exp(-x))
    return x * g, g + x * g * (1 - g), 1.5e-7 * abs(x)


ACTS = {"relu": relu, "gelu": gelu, "gelu_new": gelu_tanh, "gelu_pytorch_tanh": gelu_tanh,
        "gelu_fast": gelu_tanh, "silu": silu, "swish": silu}
