#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""A kernel in another language than C under heed-conform: attention and pooling in plain Python.

    heed-conform --peer "python3 examples/peer/peer.py" --cases 100
    heed-conform --peer "python3 examples/peer/peer.py" --op pool --cases 100

Each line of the standard input is a case; each line of the standard output answers it. Nothing but
Python itself is needed; docs/testing-kernels.md explains the lines and the arrays.
"""

import array
import itertools
import json
import math
import struct
import sys

TAKES = {"causal", "causal_end", "band", "mask", "scale", "softcap", "bias", "joined", "sinks",
         "grouped", "d_v", "lse", "blank", "nonfinite", "empty"}
POOL_SUM, POOL_MEAN, POOL_MAX = range(3)    # HEED_POOL_*
MOST = 40000        # products of a query and a key: Python is slow
CODES = {"f32": "f", "bool": "B"}


class Refused(Exception):
    """What this kernel does not do: a field, and a sentence."""


def load(about):
    """The elements of a file of NumPy, one after another."""
    with open(about["file"], "rb") as file:
        if file.read(8) != b"\x93NUMPY\x01\x00":
            raise ValueError("no file of NumPy's first version")
        file.read(struct.unpack("<H", file.read(2))[0])
        elements = array.array(CODES[about["dtype"]])
        elements.frombytes(file.read())
    return elements


def rounded(x):
    """As f32; what is too large is infinite."""
    return array.array("f", [x])[0] if abs(x) < 2.0**128 - 2.0**103 or x != x \
        else math.copysign(math.inf, x)


def save(about, values):
    """Writes elements over those of a file that is there, whose header stays as it is.

    heed/attn.h wants +0 for every zero, and one kind of NaN.
    """
    values = [x + 0.0 if x == x else math.nan for x in map(rounded, values)]
    with open(about["file"], "r+b") as file:
        file.seek(8)
        file.seek(10 + struct.unpack("<H", file.read(2))[0])
        file.write(array.array("f", values).tobytes())


def row(case, q, k, v, seen, bias, joined, sink):
    """One row: o, and the natural logarithm of the sum of its weights."""
    logits, values = [], []
    for j in (j for j, times in enumerate(seen) if times):
        y = (math.fsum(a * b for a, b in zip(q, k[j])) + (joined[j] if joined else 0)) \
            * case["scale"]
        if case["softcap"]:
            y = case["softcap"] * math.tanh(y / case["softcap"])
        # A bias of -Inf removes the key, also one whose score is NaN.
        y = -math.inf if bias and bias[j] == -math.inf else y + (bias[j] if bias else 0)
        if y != -math.inf:
            logits.append(y)
            values.append(v[j])
    if not logits:
        return [0.0] * case["d_v"], (-math.inf if sink is None or case["lse"] == "plain" else sink)
    finite = all(y < math.inf for y in logits)
    most = max(logits)
    weights = [math.exp(y - most) for y in logits] if finite else []
    total = math.fsum(weights)
    lse = most + math.log(total) if finite else math.nan
    if not finite or (sink is not None and not sink < math.inf):
        return [math.nan] * case["d_v"], math.nan if case["lse"] == "with_sink" else lse
    if sink is not None and sink > most:
        weights = [w * math.exp(most - sink) for w in weights]
        total, most = total * math.exp(most - sink) + 1, sink
    elif sink is not None:
        total += math.exp(sink - most)
    o = [sum(w * x[c] for w, x in zip(weights, values)) / total for c in range(case["d_v"])]
    return o, most + math.log(total) if case["lse"] == "with_sink" else lse


def rows_of(elements, width, count):
    return [elements[i * width:(i + 1) * width] for i in range(count)]


def compute(case):
    source, inputs = case["sources"][0], case["inputs"]
    items, heads, n, keys = case["items"], case["heads"], case["rows"], source["keys"]
    named = {name: load(about) for name, about in inputs.items()
             if about["dtype"] in CODES}
    q = rows_of(named["q"], case["d"], items * heads * n)
    k = rows_of(named["k0"], case["d"], items * source["heads"] * keys)
    v = rows_of(named["v0"], case["d_v"], items * source["heads"] * keys)
    o, lse = [], []
    for b, h, i in itertools.product(range(items), range(heads), range(n)):
        at = (b * heads + h) * n + i
        of_keys = (b * source["heads"] + h // (heads // source["heads"])) * keys
        seen, bias, joined = (named[name][at * keys:(at + 1) * keys] if name in named else None
                              for name in ("visible0", "bias0", "joined0"))
        sink = named["sinks"][h] if "sinks" in named else None
        row_o, row_lse = row(case, q[at], k[of_keys:of_keys + keys], v[of_keys:of_keys + keys],
                             seen, bias, joined, sink)
        o += row_o
        lse.append(row_lse)
    save(case["outputs"]["o"], o)
    if "lse" in case["outputs"]:
        save(case["outputs"]["lse"], lse)


def pool(case):
    """Sums, means and maxima over whole windows: [batch...][head][rows][channels]."""
    x, shape = load(case["inputs"]["x"]), case["inputs"]["x"]["shape"]
    y_shape, y = case["outputs"]["y"]["shape"], []
    n, d = shape[-2:]
    for place in itertools.product(*map(range, y_shape[:-2])):
        outer = 0
        for index, extent in zip(place, shape):     # an extent of 1 is that of all
            outer = outer * extent + (index if extent > 1 else 0)
        for j, c in itertools.product(range(y_shape[-2]), range(d)):
            taps = [x[(outer * n + j * case["stride"] + i) * d + c] for i in range(case["kernel"])]
            if any(tap != tap for tap in taps) or {math.inf, -math.inf} <= set(taps):
                y.append(max(taps) if case["kind"] == POOL_MAX and all(tap == tap for tap in taps)
                         else math.nan)
            elif case["kind"] == POOL_MAX:
                y.append(max(taps))
            else:
                total = sum(taps) if math.inf in map(abs, taps) else math.fsum(taps)
                y.append(total / (case["kernel"] if case["kind"] == POOL_MEAN else 1))
    save(case["outputs"]["y"], y)


def answer_pool(case):
    if case["kind"] not in (POOL_SUM, POOL_MEAN, POOL_MAX) or case["tail"] != 0:
        raise Refused("kind", "sums, means and maxima over whole windows only")
    for name in (set(case["inputs"]) | set(case["outputs"])) - {"x", "y"}:
        raise Refused(name, "x and y only")
    if {case[way][name]["dtype"] for way, name in (("inputs", "x"), ("outputs", "y"))} != {"f32"}:
        raise Refused("x.dtype", "f32 only")
    if len(case["inputs"]["x"]["shape"]) != len(case["outputs"]["y"]["shape"]):
        raise Refused("x.ndim", "as many axes as y")
    if math.prod(case["outputs"]["y"]["shape"]) * case["kernel"] > MOST:
        raise Refused("kernel", "it would take too long")
    if not case.get("ask"):
        pool(case)


def answer(case):
    """Refuses what is not taken; computes, unless that is only a question."""
    if case["op"] == "pool":
        answer_pool(case)
        return
    if case["op"] != "attn":
        raise Refused("op", "not in this kernel")
    lacking = [need for need in case["needs"] if need not in TAKES]
    types = {about["dtype"] for name, about in case["inputs"].items()
             if name in ("q", "k0", "v0", "sinks")}
    if lacking:
        raise Refused(lacking[0], "not in this kernel")
    if types != {"f32"}:
        raise Refused("types", "f32 only")
    if case["items"] * case["heads"] * case["rows"] * case["sources"][0]["keys"] > MOST:
        raise Refused("rows", "it would take too long")
    if not case.get("ask"):
        compute(case)


def main():
    for line in sys.stdin:
        try:
            answer(json.loads(line))
            said = {"status": "ok"}
        except Refused as why:
            said = {"status": "refused", "field": why.args[0], "why": why.args[1]}
        except Exception as why:    # the kit hears of it, whatever it is
            said = {"status": "error", "why": f"{type(why).__name__}: {why}"}
        print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main()
