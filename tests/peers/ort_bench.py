# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Attention of ONNX Runtime beside heed's, in turn in one process: ort_bench.py [THREADS [PAIRS]].

Operators: Attention of ONNX, com.microsoft.GroupQueryAttention with a cache in place (heed: two
appends and an attention), com.microsoft.MultiHeadAttention (as many key heads as heads). Prints for
each case the median times and the median of the ratios of neighbours with its quartiles, and how far
the two results are apart.
"""

import statistics
import sys
import time

import heed
import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper

H, H_K, D = 32, 8, 128
TYPES = {"float32": TensorProto.FLOAT, "float16": TensorProto.FLOAT16, "int32": TensorProto.INT32,
         "bool": TensorProto.BOOL, "int64": TensorProto.INT64}
DRAWN = np.random.default_rng(1)


def draw(*shape, dtype="float32"):
    return DRAWN.standard_normal(shape, dtype="float32").astype(dtype)


def session(node, inputs, outputs, threads):
    """A model of one node."""
    def info(name, array):
        return helper.make_tensor_value_info(name, TYPES[array.dtype.name], array.shape)
    graph = helper.make_graph([node], "attention", [info(*one) for one in inputs.items()],
                              [info(*one) for one in outputs.items()])
    model = helper.make_model(graph, ir_version=10, opset_imports=[
        helper.make_opsetid("", 23), helper.make_opsetid("com.microsoft", 1)])
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = threads, 4
    return ort.InferenceSession(model.SerializeToString(), options,
                                providers=["CPUExecutionProvider"])


def bound(node, inputs, outputs, threads):
    """A call that runs a node on these arrays, where they lie."""
    made = session(node, inputs, outputs, threads)
    binding = made.io_binding()
    for bind, arrays in ((binding.bind_input, inputs), (binding.bind_output, outputs)):
        for name, array in arrays.items():
            bind(name, "cpu", 0, array.dtype, array.shape, array.ctypes.data)

    def call(_keeps=(inputs, outputs)):     # a binding has addresses alone
        made.run_with_iobinding(binding)
    return call


def attention(rows, keys, dtype, threads, _):
    """Attention of ONNX over keys that are there, causal at the end by a mask of booleans."""
    q, k, v = draw(1, H, rows, D, dtype=dtype), *(draw(1, H_K, keys, D, dtype=dtype) for _ in "kv")
    o, mine = np.empty_like(q), np.empty_like(q)
    inputs = {"q": q, "k": k, "v": v}
    if rows > 1:
        inputs["mask"] = np.tril(np.ones((rows, keys), bool), keys - rows)
    node = helper.make_node("Attention", list(inputs), ["o"])
    theirs = bound(node, inputs, {"o": o}, threads)
    ours = heed.attention.plan(q, k, v, mine, causal=True, align="end", threads=threads).bind()
    return theirs, ours, o, mine


def grouped(rows, keys, dtype, threads, window):
    """GroupQueryAttention: rows are appended to a cache in place, and attend to it."""
    q, *new = (draw(1, rows, heads * D, dtype=dtype) for heads in (H, H_K, H_K))
    past = [draw(1, H_K, keys, D, dtype=dtype) for _ in "kv"]
    o, mine = np.empty_like(q), np.empty_like(q)
    inputs = {"q": q, "k": new[0], "v": new[1], "past_key": past[0], "past_value": past[1],
              "seqlens_k": np.array([keys - 1], "int32"), "total": np.array([keys], "int32")}
    node = helper.make_node(
        "GroupQueryAttention", list(inputs), ["o", "present_key", "present_value"],
        domain="com.microsoft", num_heads=H, kv_num_heads=H_K, local_window_size=window or -1)
    theirs = bound(node, inputs, {"o": o, "present_key": past[0], "present_value": past[1]},
                   threads)
    cache = [part.copy() for part in past]
    at = np.array([keys - rows], "int64")
    def heads(x, count):
        return x.reshape(1, rows, count, D).transpose(0, 2, 1, 3)
    runs = [heed.copy.plan(heads(x, H_K), to, at=at, threads=threads).bind()
            for x, to in zip(new, cache)]
    terms = [heed.window(window - 1, 0)] if window else []
    runs.append(heed.attention.plan(heads(q, H), *cache, heads(mine, H), causal=True, align="end",
                                    terms=terms, threads=threads).bind())
    return theirs, lambda: [run() for run in runs], o, mine


def multi_head(rows, keys, dtype, threads, _):
    """MultiHeadAttention, with as many key heads as heads."""
    q, k, v = (draw(1, n, H * D, dtype=dtype) for n in (rows, keys, keys))
    o, mine = np.empty_like(q), np.empty_like(q)
    inputs = {"q": q, "k": k, "v": v}
    node = helper.make_node("MultiHeadAttention", list(inputs), ["o"], domain="com.microsoft",
                            num_heads=H)
    theirs = bound(node, inputs, {"o": o}, threads)
    split = [x.reshape(1, -1, H, D).transpose(0, 2, 1, 3) for x in (q, k, v, mine)]
    ours = heed.attention.plan(*split, threads=threads).bind()
    return theirs, ours, o, mine


def timed(call):
    begin = time.perf_counter()
    call()
    return 1e6 * (time.perf_counter() - begin)


def compare(theirs, ours, pairs):
    """Times of both in turn. A pause lets threads of the one fall asleep before the other's turn."""
    theirs(), ours()
    found = []
    for i in range(pairs):
        both = {}
        for name, call in (("theirs", theirs), ("ours", ours))[::1 if i % 2 else -1]:
            time.sleep(0.01)
            call()
            both[name] = min(timed(call) for _ in range(3))
        found.append((both["theirs"], both["ours"]))
    low, middle, high = statistics.quantiles([a / b for a, b in found], n=4)
    return (*(statistics.median(column) for column in zip(*found)), low, middle, high)


CASES = [(make, rows, keys, dtype, window)
         for make, window in ((attention, 0), (grouped, 0), (multi_head, 0), (grouped, 1024))
         for dtype in ("float32", "float16")
         for rows, keys in ((1, 256), (1, 4096), (512, 4096)) if not window or keys == 4096]


def main():
    threads, pairs = (*map(int, sys.argv[1:]), 1, 15)[:2] if len(sys.argv) > 1 else (1, 15)
    if len(sys.argv) == 2:
        pairs = 15
    print(f"onnxruntime {ort.__version__}, {heed.build_text()}, {threads} threads, {pairs} pairs")
    for make, rows, keys, dtype, window in CASES:
        name = f"{make.__name__}, {rows} x {keys}, {dtype}{f', window {window}' * bool(window)}"
        try:
            theirs, ours, o, mine = make(rows, keys, dtype, threads, window)
            count = pairs if rows == 1 else max(pairs // 3, 3)
            times = compare(theirs, ours, count)
            apart = float(abs(o.astype("float64") - mine).max())
            print("| {} | {:.0f} | {:.0f} | {:.2f} ({:.2f} .. {:.2f}) | {:.1e} |".format(
                name, times[0], times[1], times[3], times[2], times[4], apart), flush=True)
        except Exception as why:
            print(f"| {name} | {type(why).__name__}: {str(why)[:160]} |", flush=True)


if __name__ == "__main__":
    main()
