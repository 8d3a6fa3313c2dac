#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Attention of ONNX Runtime under heed's conformance kit, on the processor.

    python3 examples/python/conform_onnxruntime.py [NAME...] [--cases N]

Two operators: Attention of ONNX (opset 23), and ONNX Runtime's own MultiHeadAttention.
"""

import argparse

import heed
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

TYPES = {"float32": TensorProto.FLOAT, "float16": TensorProto.FLOAT16, "bool": TensorProto.BOOL}


def session(node, arrays, out):
    """A model of one node, whose inputs have any extents."""
    inputs = [helper.make_tensor_value_info(name, TYPES[a.dtype.name], [None] * a.ndim)
              for name, a in arrays.items()]
    output = helper.make_tensor_value_info("o", TYPES[arrays["q"].dtype.name], [None] * out)
    graph = helper.make_graph([node], "attention", inputs, [output])
    model = helper.make_model(graph, ir_version=10,
                              opset_imports=[helper.make_opsetid("", 23),
                                             helper.make_opsetid("com.microsoft", 1)])
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    return onnxruntime.InferenceSession(model.SerializeToString(), options,
                                        providers=["CPUExecutionProvider"])


def run(node, arrays, out):
    try:
        made = session(node, arrays, out)
    except onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented as why:
        raise heed.Refused("types", str(why)[-80:]) from None
    return made.run(None, arrays)[0]


def additive(q, k, mask, bias):
    """A mask and a bias as one array of numbers."""
    shape = (*q.shape[:3], k.shape[2])
    total = np.zeros(shape, "float32") if bias is None else bias
    return total if mask is None else np.where(mask, total, np.float32(-np.inf))


def attention(q, k, v, *, scale, softcap, causal, mask, bias):
    """Attention of ONNX: grouped heads, a mask of booleans or numbers, causal, softcap."""
    if causal == "end":
        raise heed.Refused("causal_end", "is_causal counts from the first key")
    if bias is not None and q.dtype.name != "float32":
        raise heed.Refused("bias", "it would be rounded to the type of q")
    if scale <= 0:
        raise heed.Refused("scale", "it must be greater than 0")
    if 0 in q.shape or 0 in k.shape or 0 in v.shape:
        raise heed.Refused("empty", "arrays have elements")
    arrays = {"q": q, "k": k, "v": v}
    if bias is not None:
        arrays["mask"] = additive(q, k, mask, bias)
    elif mask is not None:
        arrays["mask"] = mask
    node = helper.make_node("Attention", list(arrays), ["o"], scale=float(scale),
                            softcap=float(softcap), is_causal=int(causal == "start"))
    return run(node, arrays, 4)


def multi_head(q, k, v, *, scale, causal, mask, bias):
    """MultiHeadAttention of com.microsoft: f32, one head of keys for each of queries."""
    if causal == "end":
        raise heed.Refused("causal_end", "each token sees those before it")
    if q.shape[1] != k.shape[1]:
        raise heed.Refused("grouped")
    if 0 in q.shape or 0 in k.shape or 0 in v.shape:
        raise heed.Refused("empty", "arrays have elements")
    if scale == 0:
        raise heed.Refused("scale", "0 is the default's name")

    def joined(x):      # [items][rows][heads * d]
        return np.ascontiguousarray(x.swapaxes(1, 2)).reshape(x.shape[0], x.shape[2], -1)
    arrays = {"q": joined(q), "k": joined(k), "v": joined(v)}
    names = list(arrays)
    if mask is not None or bias is not None:
        arrays["bias"] = additive(q, k, mask, bias)
        names += ["", "", "bias"]
    node = helper.make_node("MultiHeadAttention", names, ["o"], domain="com.microsoft",
                            num_heads=q.shape[1], scale=float(scale),
                            unidirectional=int(causal == "start"))
    o = run(node, arrays, 3)
    return o.reshape(q.shape[0], q.shape[2], q.shape[1], -1).swapaxes(1, 2)


KERNELS = {"attention": (attention, "f32"), "attention-f16": (attention, "f16"),
           "multi-head": (multi_head, "f32")}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(KERNELS))
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--refuse", default="", help="needs of cases that are left out")
    options = parser.parse_args()
    print(f"onnxruntime {onnxruntime.__version__}, onnx {onnx.__version__}")
    for name in options.names:
        kernel, types = KERNELS[name]
        result = heed.conform(kernel, options.cases, refuse=options.refuse.split(","),
                              only=f"q={types} o={types} s0.k={types} s0.v={types}")
        result.name = name
        print(result, end="\n\n", flush=True)


if __name__ == "__main__":
    main()
